"""Taking in the findings of one subagent: evidence looked up, sent back if need be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio.to_thread

from orchestrator.agent.build import Services
from orchestrator.agent.rebuild import NOT_BEGUN, AgentPast
from orchestrator.errors import StoreError
from orchestrator.events import FindingsSubmitted
from orchestrator.findings import Findings
from orchestrator.subagents.intake import Checked, check, settle
from orchestrator.subagents.shortening import fits
from orchestrator.subagents.sightings import Sightings
from orchestrator.tools.base import ToolOutput

__all__ = ["Accepted", "Collector"]

MAX_RETURNS = 2
"""How often findings go back before they are taken with what is unsupported marked."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Findings as they were taken in.

    Attributes:
        findings: lines corrected.
        unsupported: numbers, from 1, of items whose evidence was not found.
        notes: what the program changed or could not mend, a line each.
        sources: path → SHA-256 of the file in which evidence was found.
    """

    findings: Findings
    unsupported: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


class Collector:
    """The port behind `submit_findings` of one subagent.

    Attributes:
        knows_ref: whether a reference occurs in what the subagent was shown; set by
            who makes it.
    """

    def __init__(
        self,
        agent: str,
        services: Services,
        sightings: Sightings,
        *,
        max_tokens: int,
        past: AgentPast = NOT_BEGUN,
        unfinished: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """Make the port.

        Args:
            agent: id of the subagent.
            services: what all agents share.
            sightings: which files it saw.
            max_tokens: what its brief allows the findings.
            past: what an earlier process did: what it sent back counts, and what it
                took in and logged comes once more for its value alone.
            unfinished: its own subagents whose findings it has not got, id → in
                words; it is told of them once, and that handing in ends them.
        """
        self.knows_ref: Callable[[str], bool] = lambda _ref: False
        self._agent = agent
        self._services = services
        self._sightings = sightings
        self._max_tokens = max_tokens
        self._returned = [
            Findings.model_validate(each["findings"], extra="ignore")
            for each in past.returned
            if not each.get("unfinished")
        ]
        self._is_last = False
        self._is_on_record = past.is_handed_in
        self._unfinished = unfinished
        self._is_warned = len(self._returned) < len(past.returned)

    def take_as_is(self) -> None:
        """Send nothing back any more: the subagent has no call left to mend it."""
        self._is_last = True

    async def submit(self, findings: Findings) -> ToolOutput:
        """Take the findings in, or send them back with what to mend."""
        checked, is_long = await anyio.to_thread.run_sync(self._check, findings)
        if self._is_on_record:
            return _taken_in(checked)
        if not self._is_warned and not self._is_last and (out := self._unfinished()):
            return self._warned(findings, out)
        problems = list(checked.problems)
        # Too long is worth one try; after that the program shortens.
        if is_long and not self._returned:
            problems.append(
                f"the findings are longer than the {self._max_tokens} tokens of the "
                "brief: keep what answers the questions, with the shortest quotes"
            )
        can_mend = len(self._returned) < MAX_RETURNS and not self._is_last
        back = bool(problems) and can_mend
        self._services.log.append(
            FindingsSubmitted(
                attempt=len(self._returned) + 1,
                accepted=not back,
                problems=problems,
                findings=findings.model_dump(mode="json"),
            ),
            agent=self._agent,
        )
        if back:
            self._returned.append(findings)
            return ToolOutput(_sent_back(problems), is_error=True)
        return _taken_in(checked)

    def _warned(self, findings: Findings, out: Mapping[str, str]) -> ToolOutput:
        """Send findings back, once, because subagents are out."""
        self._is_warned = True
        lines = "\n".join(f"- {line}" for line in out.values())
        text = self._services.words("unfinished", agents=lines, tool="submit_findings")
        self._services.log.append(
            FindingsSubmitted(
                attempt=len(self._returned) + 1,
                accepted=False,
                problems=[f"its own subagents are out: {', '.join(out)}"],
                findings=findings.model_dump(mode="json"),
                unfinished=list(out),
            ),
            agent=self._agent,
        )
        return ToolOutput(text, is_error=True)

    async def newest(self) -> Accepted | None:
        """Return what was sent back last, with what is wrong marked, or None.

        For a subagent that ends before it has mended its findings.
        """
        if not self._returned:
            return None
        checked, _ = await anyio.to_thread.run_sync(self._check, self._returned[-1])
        return _accepted(checked)

    def _check(self, findings: Findings) -> tuple[Checked, bool]:
        """Return the findings looked up, and whether they are too long."""
        seen = self._sightings.of(self._agent)
        own = {each.artifact for versions in seen.values() for each in versions}

        def read_text(ref: str) -> str:
            # What others stored is no evidence of this agent's.
            if ref not in own and not self.knows_ref(ref):
                raise StoreError(f"`{ref}` was not shown to `{self._agent}`")
            # As the quotes are: a value may have become known since this was kept.
            text = self._services.artifacts.read_text(ref)
            return self._services.redact(text)

        checked = check(findings, seen, read_text)
        is_long = not fits(checked.findings, self._max_tokens, self._services.count)
        return checked, is_long


def _taken_in(checked: Checked) -> ToolOutput:
    return ToolOutput("Accepted.", ends=True, value=_accepted(checked))


def _accepted(checked: Checked) -> Accepted:
    settled = settle(checked)
    return Accepted(
        settled.findings, settled.unsupported, settled.notes, settled.sources
    )


def _sent_back(problems: Sequence[str]) -> str:
    lines = ["The findings were not accepted yet. Mend this and submit them again:"]
    return "\n".join([*lines, *(f"- {problem}" for problem in problems)])
