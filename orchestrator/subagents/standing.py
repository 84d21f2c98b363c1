"""Where subagents stand and what they brought, from records, for who sent them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.subagents.mail import Mail
from orchestrator.subagents.place import Place, as_delivered, delivery_id
from orchestrator.subagents.render import MAX_TITLE_CHARS, defused_line, for_parent
from orchestrator.subagents.roster import Roster

__all__ = ["Standing"]

MAX_CLAIM_CHARS = 400
MAX_SUMMARY_CHARS = 300
MAX_WHY_CHARS = 200
MAX_RUNNING = 8


@dataclass(frozen=True, slots=True)
class Standing:
    """The subagents of one agent, as their records have them.

    Attributes:
        parent: the agent.
        roster: of the whole run.
        mail: what is delivered of what they brought.
    """

    parent: str
    roster: Roster
    mail: Mail

    @property
    def places(self) -> Sequence[Place]:
        """Return them, in order of acceptance."""
        return self.roster.sent_by(self.parent)

    def table(self) -> str:
        """Return a line for each, or "" if there is none."""
        if not self.places:
            return ""
        unseen = {due.place.id for due in self.mail.unseen()}
        rows = [
            f"{each.id} | {_title(each)} | {_state(each, unseen)}"
            for each in self.places
        ]
        return "\n".join(["id | title | state", *rows])

    def facts(self) -> list[str]:
        """Return what was delivered, a line each: summaries, then items by number."""
        lines: list[str] = []
        for place, number in self._delivered():
            found = as_delivered(place, number)
            summary = defused_line(found.findings.summary, MAX_SUMMARY_CHARS)
            status = found.findings.status
            lines.append(f"{place.id} ({_title(place)}), {status}: {summary}")
            for n, item in enumerate(found.findings.items, found.first_item):
                mark = " (unsupported)" if n in found.unsupported else ""
                claim = defused_line(item.claim, MAX_CLAIM_CHARS)
                lines.append(f"[{place.id}#{n}] {claim}{mark}")
        return lines

    def running(self) -> list[str]:
        """Return who is at work or waits for a place, in words."""
        out = [place for place in self.places if place.ended is None]
        named = [f"{place.id} ({_title(place)})" for place in out[:MAX_RUNNING]]
        more = len(out) - MAX_RUNNING
        return [*named, f"{more} more"] if more > 0 else named

    def opened(self, agent: str) -> str:
        """Return all that a subagent delivered, as it was delivered, or ""."""
        return "\n\n".join(
            for_parent(as_delivered(place, number))
            for place, number in self._delivered()
            if place.id == agent
        )

    def _delivered(self) -> Iterator[tuple[Place, int]]:
        """Yield each delivery that is in the conversation, or was."""
        unseen = {due.id for due in self.mail.unseen()}
        for place in self.places:
            for number in range(len(place.answers)):
                if delivery_id(place.id, number) not in unseen:
                    yield place, number


def _state(place: Place, unseen: set[str]) -> str:
    if place.ended is None:
        return place.state
    if place.id in unseen:
        return "ended; its findings come to you next"
    findings = place.findings
    items = len(findings.items) if findings else 0
    status = findings.status if findings else place.ended.outcome
    why = f" ({defused_line(place.problem, MAX_WHY_CHARS)})" if place.problem else ""
    return f'{status}{why}, {items} items, delivered: `read_ref` opens "{place.id}"'


def _title(place: Place) -> str:
    return defused_line(place.title, MAX_TITLE_CHARS).replace("|", "/")
