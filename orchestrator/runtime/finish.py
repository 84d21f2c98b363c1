"""Taking in the lead's report: citations, result schema, what is missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema

from orchestrator.agent.hooks import Words
from orchestrator.agent.rebuild import NOT_BEGUN, AgentPast
from orchestrator.agent.stops import MAX_HAND_INS
from orchestrator.events import ReportSubmitted
from orchestrator.ids import LEAD
from orchestrator.runtime.citations import (
    CitationCheck,
    KnownPlaces,
    check_citations,
    mark_wrong,
)
from orchestrator.spec.task import Deliverable
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.base import ToolOutput

__all__ = ["Finisher", "HasWords", "Report"]

MAX_COMPLAINTS = 12
MAX_RETURNS = 1
"""How often a report is sent back for wrong citations or a wrong result."""

HasWords = Callable[[], Awaitable[bool]]
"""Whether a person said something that the lead has not been told yet."""


@dataclass(frozen=True, slots=True)
class Report:
    """An accepted report.

    Attributes:
        text: Markdown, wrong citations marked.
        result: what `finish.result` held; None unless it fits the task's schema.
        missing: what is wrong or not there, a line each; none for a clean report.
        citations: how many places it cites.
        wrong: the wrong citations, a line each.
        unread: subagents whose findings the lead had not got.
    """

    text: str
    result: Any = None
    missing: list[str] = field(default_factory=list)
    citations: int = 0
    wrong: list[str] = field(default_factory=list)
    unread: tuple[str, ...] = ()


class Finisher:
    """The port behind `finish`."""

    def __init__(
        self,
        log: EventLog,
        deliverable: Deliverable,
        places: Callable[[], KnownPlaces],
        *,
        unfinished: Callable[[], Mapping[str, str]],
        has_words: HasWords,
        words: Words,
        past: AgentPast = NOT_BEGUN,
    ) -> None:
        """Make the port.

        Args:
            log: where each hand-in is written down.
            deliverable: what the task asks for.
            places: what may be cited now.
            unfinished: subagents whose findings the lead has not got, id → in words.
            has_words: asked at each hand-in.
            words: the program's prompts.
            past: what an earlier process did with the lead: what it sent back counts,
                and what it took in and logged comes once more for its value alone.
        """
        warned = [each for each in past.returned if each.get("unfinished")]
        unheard = [each for each in past.returned if each.get("unheard")]
        self._log = log
        self._deliverable = deliverable
        self._places = places
        self._unfinished = unfinished
        self._has_words = has_words
        self._words = words
        self._returned = len(past.returned) - len(warned) - len(unheard)
        self._attempts = len(past.returned)
        self._is_warned = bool(warned) or past.is_handed_in
        self._is_on_record = past.is_handed_in
        self._is_last = past.is_handed_in
        self._past = past

    def take_as_is(self) -> None:
        """Send nothing back any more: the lead has no call left to mend it."""
        self._returned = max(self._returned, MAX_RETURNS)
        self._is_warned = self._is_last = True

    async def finish(self, report: str, result: Any) -> ToolOutput:  # noqa: ANN401 - any JSON
        """Take in a report, or send it back once with what is wrong.

        It is sent back once, too, where findings have not reached the lead, and where a
        person said something since: those words follow it.
        """
        # What is handed in when no more may be sent back is better than nothing.
        can_wait = not self._is_last and self._attempts + 1 < MAX_HAND_INS
        if can_wait and await self._has_words():
            self._attempts += 1
            text = self._words("unheard", tool="finish")
            return self._held_back(report, result, text, words=1)
        out = self._unfinished()
        if out and not self._is_warned:
            self._is_warned = True
            self._attempts += 1
            lines = "\n".join(f"- {line}" for line in out.values())
            text = self._words("unfinished", agents=lines, tool="finish")
            return self._held_back(report, result, text, out=out)
        check = check_citations(report, self._places())
        wrong_result = self._result_problems(result)
        problems = list(wrong_result)
        if not report.strip():
            problems.append("`report` is empty; write what was asked for")
        can_mend = self._returned < MAX_RETURNS and not self._is_on_record
        back = bool(check.wrong or problems) and can_mend
        self._attempts += 1
        submitted = ReportSubmitted(
            attempt=self._attempts,
            accepted=not back,
            citations=check.total,
            wrong=check.complaints,
            report=report,
            result=result,
            unfinished=list(out),
        )
        if self._is_on_record:
            out = dict.fromkeys(self._past.accepted.get("unfinished") or (), "")
        else:
            self._log.append(submitted, agent=LEAD)
        if back:
            self._returned += 1
            return ToolOutput(_sent_back(check, problems), is_error=True)
        fits = self._deliverable.format == "json" and not wrong_result
        accepted = Report(
            text=mark_wrong(report, check.wrong),
            result=result if fits else None,
            missing=[f"wrong citation {line}" for line in check.complaints] + problems,
            citations=check.total,
            wrong=check.complaints,
            unread=tuple(out),
        )
        return ToolOutput("Accepted.", ends=True, value=accepted)

    def _held_back(
        self,
        report: str,
        result: Any,  # noqa: ANN401 - any JSON
        text: str,
        *,
        out: Collection[str] = (),
        words: int = 0,
    ) -> ToolOutput:
        """Send a report back: not for what it says, but for what the lead lacks."""
        submitted = ReportSubmitted(
            attempt=self._attempts,
            accepted=False,
            citations=0,
            wrong=[],
            report=report,
            result=result,
            unfinished=list(out),
            unheard=words,
        )
        self._log.append(submitted, agent=LEAD)
        return ToolOutput(text, is_error=True)

    def _result_problems(self, result: Any) -> list[str]:  # noqa: ANN401 - any JSON
        if self._deliverable.format != "json":
            return []
        if result is None:
            return ["`result` is missing; the task asks for JSON"]
        schema = self._deliverable.schema_
        if schema is None:
            return []
        validator = jsonschema.validators.validator_for(schema)(schema)
        errors = sorted(validator.iter_errors(result), key=lambda each: each.json_path)
        return [
            f"`result` at {error.json_path}: {error.message[:300]}"
            for error in errors[:MAX_COMPLAINTS]
        ]


def _sent_back(check: CitationCheck, problems: list[str]) -> str:
    lines = ["The report was not accepted yet. Mend this and call `finish` again:"]
    lines += [f"- {problem}" for problem in problems]
    lines += [f"- {line}" for line in check.complaints[:MAX_COMPLAINTS]]
    more = len(check.complaints) - MAX_COMPLAINTS
    if more > 0:
        lines.append(f"- and {more} more wrong citations")
    if check.wrong:
        lines.append(
            "Cite lines that findings or your own reads show, as `[path:12-14]` or "
            "`[a2#3]`, or leave the statement out."
        )
    return "\n".join(lines)
