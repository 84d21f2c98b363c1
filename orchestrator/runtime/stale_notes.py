"""Which sections of the lead's notes its newest findings have passed by."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.events import Event, SubagentAccepted
from orchestrator.events.arrivals import arrivals
from orchestrator.ids import LEAD
from orchestrator.runtime.history import History
from orchestrator.store.notes import Notes
from orchestrator.store.notes_page import PERSON

__all__ = ["StaleNotes"]

FOLLOWING = frozenset({"Plan", "Facts", "Next"})
"""Sections that findings change, even if there is nothing in them yet."""
STANDING = frozenset({"Goal", PERSON})
"""Those that findings leave as they are."""


@dataclass(slots=True)
class StaleNotes:
    """Follows the log from one fan-out of the lead to the next.

    Attributes:
        notes: the lead's, which follow the log as well.
    """

    notes: Notes
    _call: str = ""
    """The newest by which the lead sent subagents."""
    _began: int = 0
    """`seq` of the first of them."""
    _agents: set[str] = field(default_factory=set)
    _has_brought: bool = False

    def apply(self, event: Event) -> None:
        """Take in one event."""
        if event.agent != LEAD:
            return
        if event.kind == SubagentAccepted.KIND:
            if event.data["call"] != self._call:
                self._call, self._began = event.data["call"], event.seq
                self._agents, self._has_brought = set(), False
            self._agents.add(event.data["id"])
        came = arrivals(event)
        if came.ids or came.call:
            self._deliver({*came.ids, came.call})

    def restore(self, history: History) -> None:
        """Take over what is not told by the events that were given again."""
        self._deliver(history.delivered | history.reported)

    def names(self) -> list[str]:
        """Return the sections that nobody touched since the newest fan-out began.

        None as long as that has brought nothing; nor those that are likely to have
        nothing to say, or to say the same as before.
        """
        if not self._has_brought:
            return []
        written = self.notes.written
        return [
            name
            for name, text in self.notes.sections.items()
            if (text or name in FOLLOWING)
            and name not in STANDING
            and (name not in written or written[name].seq < self._began)
        ]

    def _deliver(self, deliveries: set[str]) -> None:
        """Take note of findings that the lead has, by delivery id or by the call."""
        came = {each.partition("/")[0] for each in deliveries}
        if came & {*self._agents, self._call or None}:
            self._has_brought = True
