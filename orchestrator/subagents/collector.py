"""Taking in the findings of one subagent: evidence looked up, sent back if need be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio.to_thread

from orchestrator.agent.build import Services
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
    """

    findings: Findings
    unsupported: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class Collector:
    """The port behind `submit_findings` of one subagent."""

    def __init__(
        self,
        agent: str,
        services: Services,
        sightings: Sightings,
        *,
        max_tokens: int,
        returned: int = 0,
    ) -> None:
        """Make the port.

        Args:
            agent: id of the subagent.
            services: what all agents share.
            sightings: which files it saw.
            max_tokens: what its brief allows the findings.
            returned: how often an earlier process sent findings back.
        """
        self._agent = agent
        self._services = services
        self._sightings = sightings
        self._max_tokens = max_tokens
        self._returned = returned

    async def submit(self, findings: Findings) -> ToolOutput:
        """Take the findings in, or send them back with what to mend."""
        checked = await anyio.to_thread.run_sync(self._check, findings)
        problems = list(checked.problems)
        # Too long is worth one try; after that the program shortens.
        if self._returned == 0 and not self._fits(checked.findings):
            problems.append(
                f"the findings are longer than the {self._max_tokens} tokens of the "
                "brief: keep what answers the questions, with the shortest quotes"
            )
        back = bool(problems) and self._returned < MAX_RETURNS
        self._services.log.append(
            FindingsSubmitted(
                attempt=self._returned + 1,
                accepted=not back,
                problems=problems,
                findings=findings.model_dump(mode="json"),
            ),
            agent=self._agent,
        )
        if back:
            self._returned += 1
            return ToolOutput(_sent_back(problems), is_error=True)
        settled = settle(checked)
        value = Accepted(settled.findings, settled.unsupported, settled.notes)
        return ToolOutput("Accepted.", ends=True, value=value)

    def _check(self, findings: Findings) -> Checked:
        seen = self._sightings.of(self._agent)
        return check(findings, seen, self._services.artifacts.read_text)

    def _fits(self, findings: Findings) -> bool:
        return fits(findings, self._max_tokens, self._services.count)


def _sent_back(problems: Sequence[str]) -> str:
    lines = ["The findings were not accepted yet. Mend this and submit them again:"]
    return "\n".join([*lines, *(f"- {problem}" for problem in problems)])
