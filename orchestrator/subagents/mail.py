"""What subagents have brought and their parent has not got: each goes out once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import anyio.to_thread

from orchestrator.agent.loop import Agent
from orchestrator.agent.state import AgentState
from orchestrator.events import EvidenceStale
from orchestrator.security.workspace import Workspace
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.delivery import Delivery, delivery
from orchestrator.subagents.place import Place, as_delivered, delivery_id
from orchestrator.subagents.render import Delivered, Refused, Row
from orchestrator.subagents.roster import Roster
from orchestrator.subagents.staleness import stale, stale_note
from orchestrator.tools.base import ToolOutput

__all__ = ["Due", "Mail", "output_of"]

DELIVERY_SHARE = 0.25
"""Of the parent's free window: what all findings of one delivery may take together."""
REUSED = (
    "the brief is the same as before, and nothing in its scope has changed since: "
    "these are the earlier findings, and nothing was spent"
)


@dataclass(frozen=True, slots=True)
class Due:
    """One delivery: what a subagent brought on its brief, or on a further question."""

    place: Place
    number: int

    @property
    def id(self) -> str:
        """Return its name."""
        return delivery_id(self.place.id, self.number)


class Mail:
    """The deliveries of one agent.

    What is in its conversation is delivered, and never again; what a call of the
    newest step has taken is as good as that, until the step is over.
    """

    def __init__(
        self, crew: Crew, roster: Roster, parent: str, workspace: Workspace
    ) -> None:
        """Make it empty.

        Args:
            crew: what subagents are made from.
            roster: what they have brought.
            parent: whose deliveries these are.
            workspace: what that one may see.
        """
        self._crew = crew
        self._workspace = workspace
        self._roster = roster
        self._parent = parent
        self._state: AgentState | None = None
        self._window = crew.window_tokens(crew.models.lead)
        self._payable: Callable[[int], int] = lambda tokens: tokens
        self._taken: set[str] = set()

    def attach(self, agent: Agent) -> None:
        """Say in whose conversation all is delivered."""
        state, caller = agent.state, agent.caller
        self._state = state
        self._window = self._crew.window_tokens(state.form.model)
        self._payable = lambda tokens: caller.payable(state, tokens)

    def due(self, places: Sequence[Place]) -> list[Due]:
        """Return what these have brought and their parent has not got."""
        return [each for each in self._unseen(places) if each.id not in self._taken]

    def unseen(self) -> list[Due]:
        """Return what all subagents have brought and their parent has not read.

        What a call of the step that is under way has taken is among it.
        """
        return list(self._unseen(self._roster.sent_by(self._parent)))

    def _unseen(self, places: Sequence[Place]) -> Iterator[Due]:
        delivered = self._state.delivered if self._state else set()
        for place in places:
            for number in range(len(place.answers)):
                each = Due(place, number)
                # Older logs name the call that delivered all that it sent.
                is_of_call = number == 0 and place.call in delivered
                if each.id not in delivered and not is_of_call:
                    yield each

    def end_step(self) -> None:
        """Forget what calls have taken: it is in the conversation now, or was lost."""
        self._taken.clear()

    async def deliver(
        self,
        dues: Sequence[Due],
        *,
        refused: Sequence[Refused] = (),
        reused: Sequence[Place] = (),
        others: Sequence[Place] = (),
        told: str = "",
    ) -> Delivery:
        """Return what the parent is told, as far as it can be paid for.

        It takes at most a quarter of the free window.

        Args:
            dues: what is delivered; it counts as taken from now on.
            refused: briefs that were sent back.
            reused: subagents whose earlier findings answer a brief.
            others: those of which nothing is delivered now.
            told: the program's own words about the whole, or "".

        Raises:
            StoreError: the run folder cannot be written.
        """
        self._taken.update(each.id for each in dues)
        rows = [self.row(place) for place in others]
        changed: list[EvidenceStale] = []

        def make() -> Delivery:
            return self.render(
                dues,
                refused=refused,
                reused=reused,
                rows=rows,
                told=told,
                on_stale=changed.append,
            )

        try:
            made = await anyio.to_thread.run_sync(make)
            for each in changed:
                self._crew.services.log.append(each, agent=self._parent)
        except BaseException:
            self._taken.difference_update(each.id for each in dues)
            raise
        return made

    def render(
        self,
        dues: Sequence[Due],
        *,
        refused: Sequence[Refused] = (),
        reused: Sequence[Place] = (),
        rows: Sequence[Row] = (),
        told: str = "",
        on_stale: Callable[[EvidenceStale], object] = lambda _event: None,
    ) -> Delivery:
        """Return what the parent is told; it reads and writes files.

        Args:
            dues: as for `deliver`, like those that follow.
            refused: likewise.
            reused: likewise.
            rows: of those of whom nothing is delivered now.
            told: likewise.
            on_stale: told of findings whose files have changed since.

        Raises:
            StoreError: the run folder cannot be written.
        """
        services = self._crew.services
        found = [self._checked(each.place, each.number, on_stale) for each in dues]
        for place in reused:
            again = self._checked(place, 0, on_stale)
            found.append(replace(again, notes=(REUSED, *again.notes)))
        used = self._state.shown.tokens if self._state else 0
        total = self._payable(int((self._window - used) * DELIVERY_SHARE))
        return delivery(
            found,
            refused,
            total,
            services.count,
            services.artifacts,
            rows=rows,
            told=told,
        )

    def _checked(
        self, place: Place, number: int, on_stale: Callable[[EvidenceStale], object]
    ) -> Delivered:
        """Return findings with what has become of their files since."""
        made, ended = as_delivered(place, number), place.answers[number]
        files = self._crew.services.outside.stale(
            self._parent, place.id, lambda: stale(self._workspace, ended.sources)
        )
        if files:
            on_stale(EvidenceStale(place.id, dict(files)))
        note = stale_note(
            made.findings, files, agent=place.id, first_item=ended.first_item
        )
        return replace(made, stale=note)

    def row(self, place: Place) -> Row:
        """Return where a subagent stands of which nothing is delivered now."""
        state = place.state
        if place.ended is not None:
            state = "delivered before"
        elif place.is_begun:
            used = self._crew.spent_by(place.id).tokens
            state = f"{state}, {used:,} tokens used or set aside"
        return Row(place.id, place.brief.title, state)


def output_of(
    told: Delivery, dues: Sequence[Due], *, is_error: bool = False
) -> ToolOutput:
    """Return what a call brings that delivers something."""
    return ToolOutput(
        told.text,
        is_error=is_error,
        paged=True,
        # It is bounded; clipped once more, claims would be torn apart.
        limit_tokens=2 * told.tokens,
        delivers=tuple(each.id for each in dues),
    )
