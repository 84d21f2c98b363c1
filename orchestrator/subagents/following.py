"""Asking a subagent that has ended something more, on all that it has read."""

from __future__ import annotations

from dataclasses import dataclass

import anyio.to_thread

from orchestrator.agent.rebuild import AgentPast, AgentRecords, agent_past
from orchestrator.brief import MAX_BRIEF_CHARS, Brief
from orchestrator.errors import ToolError
from orchestrator.events import SubagentAsked
from orchestrator.findings import Findings
from orchestrator.messages import clean_text, one_line
from orchestrator.store.reading import read_events_of
from orchestrator.subagents.acceptance import Acceptance
from orchestrator.subagents.crew import FOLLOW_UP_TURNS, Crew
from orchestrator.subagents.place import CANCELLED, Place
from orchestrator.subagents.roster import USED_UP, Roster

__all__ = ["Following", "past_of"]

ROOM_TOKENS = 20_000
"""What an answer may add to a conversation: a few reads, and the findings."""
ROOM_SHARE = 0.2
"""Of a small window, in place of that."""
CUT_SHORT = ("failed", "limit")
CANNOT_GO_ON = ("`window` reached", "too_long:", "invalid:", "thinking_bound:")
"""Why the conversation cannot be gone on with: it is full, or the model will not."""
MAX_TITLE_CHARS = 200
MAX_SUMMARY_CHARS = 2000
MAX_CLAIM_CHARS = 400
"""Of what is known, so that it fits into the background of a brief."""


def past_of(crew: Crew, agent: str) -> AgentPast:
    """Return what a subagent has done so far, from the log; in a thread.

    What it read counts for its quotes again.

    Raises:
        StoreError: the log cannot be read.
    """
    services = crew.services
    path, artifacts = services.log.path, services.artifacts
    is_damaged = crew.lost > 0
    events = list(read_events_of(path, agent, artifacts, is_damaged=is_damaged))
    crew.sightings.reopen(agent, events)
    return agent_past(services, agent, AgentRecords(events, lost=crew.lost))


@dataclass(frozen=True, slots=True)
class Following:
    """Takes the further questions of one agent."""

    crew: Crew
    roster: Roster
    acceptance: Acceptance

    async def ask(self, call: str, place: Place, question: str) -> None:
        """Put a question to a subagent, or to a new one where that cannot go on.

        Args:
            call: the `follow_up` call.
            place: whom.
            question: what.

        Raises:
            ToolError: nothing is asked, it is at work, was cut off, or nobody is left.
            StoreError: the run folder cannot be written.
        """
        question = clean_text(question).strip()
        if not question:
            raise ToolError("the question is empty: say what you want to know")
        _must_have_ended(place)
        if place.recognises(call, question):
            return  # it has answered that, and only the record of the question is lost
        if self.roster.of_call(place.parent, call):
            return  # an earlier process has sent a new one
        has_room = await anyio.to_thread.run_sync(self._has_room, place, question)
        _must_have_ended(place)  # another call of this step may have asked it meanwhile
        if not has_room:
            await self._send_new(call, place, question)
            return
        services = self.crew.services
        asked = SubagentAsked(
            id=place.id,
            call=call,
            question=question,
            text=services.words(
                "follow_up",
                question=question,
                max_tokens=str(place.brief.deliverable.max_tokens),
                turns=str(FOLLOW_UP_TURNS),
            ),
        )
        cause = services.log.newest(place.parent)
        services.log.append(asked, agent=place.id, cause=cause)
        self.roster.ask(asked)

    async def replace_failed(self, call: str, place: Place, question: str) -> None:
        """Send a new subagent where the model would not go on with the old one.

        Args:
            call: the `follow_up` call.
            place: whom it asked.
            question: what.

        Raises:
            ToolError: all subagents are used up.
            StoreError: the run folder cannot be written.
        """
        found = self.roster.asked_by_call(place.parent, call)
        if found is None or self.roster.of_call(place.parent, call):
            return
        answer = place.answers[found[1]]
        if answer.outcome in CUT_SHORT and answer.reason.startswith(CANNOT_GO_ON):
            await self._send_new(call, place, clean_text(question).strip())

    def _has_room(self, place: Place, question: str) -> bool:
        """Return whether the conversation of a subagent can be gone on with."""
        rebuilt = past_of(self.crew, place.id).rebuilt
        if rebuilt is None:
            return False
        window = self.crew.window_tokens(rebuilt.state.form.model)
        room = min(ROOM_TOKENS, int(window * ROOM_SHARE))
        used = rebuilt.state.shown.tokens + self.crew.services.count(question)
        return used + room + rebuilt.spec.max_output_tokens <= window

    async def _send_new(self, call: str, place: Place, question: str) -> None:
        """Send a subagent with the brief and the findings of another one."""
        crew = self.crew
        async with crew.door:
            if len(self.roster.places) >= crew.task.limits.subagents:
                allowed = crew.task.limits.subagents
                raise ToolError(
                    f"{place.id} cannot go on with what it has read, and a new "
                    f"subagent cannot be sent: all {allowed} {USED_UP}"
                )
            brief = _with_question(place, question)
            asked = crew.services.log.newest(place.parent)
            self.acceptance.accept(call, 0, brief, asked)


def _must_have_ended(place: Place) -> None:
    """Raise `ToolError` where a subagent cannot be asked."""
    if place.ended is None:
        raise ToolError(f"{place.id} is still at work: `wait_for` it first, then ask")
    if place.ended.outcome in (CANCELLED, "failed"):
        raise ToolError(
            f"{place.id} was cut off ({place.ended.outcome}) and cannot go on: "
            "send a new brief"
        )


def _with_question(place: Place, question: str) -> Brief:
    """Return the brief of a subagent with a further question and what it found."""
    brief, found = place.brief, place.findings
    known = _as_background(found) if found else ""
    background = "\n\n".join(part for part in (brief.background, known) if part)
    asked = question[: MAX_BRIEF_CHARS // 4]
    return brief.model_copy(
        update={
            "title": one_line(f"{brief.title}: {asked}", MAX_TITLE_CHARS),
            "questions": (asked,),
            "background": background[: MAX_BRIEF_CHARS // 2],
        }
    )


def _as_background(findings: Findings) -> str:
    lines = ["Found so far:", one_line(findings.summary, MAX_SUMMARY_CHARS)]
    for item in findings.items:
        places = ", ".join(each.source for each in item.evidence)
        lines.append(f"- {one_line(item.claim, MAX_CLAIM_CHARS)} [{places}]")
    return "\n".join(lines)
