"""`finish` and `submit_findings`: how the lead and a subagent hand in."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.findings import Findings
from orchestrator.tools.arguments import cleaned
from orchestrator.tools.base import Effects, ToolContext, ToolOutput

__all__ = ["Collector", "Finish", "FinishArgs", "FinishPort", "SubmitFindings"]


class Collector(Protocol):
    """Takes the findings of one subagent."""

    async def submit(self, findings: Findings) -> ToolOutput:
        """Check findings; accept them (`ends`), or say what to mend.

        Raises:
            ToolError: they cannot be taken at all.
        """
        ...


class FinishPort(Protocol):
    """Takes the report of the lead."""

    async def finish(self, report: str, result: Any) -> ToolOutput:  # noqa: ANN401 - any JSON
        """Check a report; accept it (`ends`), or say what to mend.

        Args:
            report: Markdown.
            result: any JSON, or None.

        Raises:
            ToolError: it cannot be taken at all.
        """
        ...


class SubmitFindings:
    """Hands in what a subagent found; nothing else of it reaches the lead."""

    name: ClassVar[str] = "submit_findings"
    description: ClassVar[str] = (
        "Hand in what you found and end your work. Only this reaches the agent that "
        "asked. Quotes are looked up in the files as you read them; what is not there "
        "word for word comes back to you. Finding nothing is an answer too: say "
        "`nothing_found`, and under failed_attempts where you looked."
    )
    Args: ClassVar[type[BaseModel]] = Findings
    effects: ClassVar[Effects] = "repeatable"
    own_marks: ClassVar[bool] = True
    timeout_s: ClassVar[float] = 120

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    async def run(self, args: Findings, context: ToolContext) -> ToolOutput:
        """Return the verdict on the findings.

        Raises:
            ToolError: they cannot be taken at all.
        """
        return await self._collector.submit(cleaned(self.name, args, context.redact))


class FinishArgs(BaseModel):
    """Arguments of `finish`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    report: str = Field(
        min_length=1,
        description="Markdown. Cite places as `[path:12-14]` and findings as `[a2#3]`.",
    )
    result: Any = Field(
        default=None, description="JSON, where the task asks for it; else leave out."
    )


class Finish:
    """Hands in the report and ends the run."""

    name: ClassVar[str] = "finish"
    description: ClassVar[str] = (
        "Hand in the report and end the run. Every claim cites a place in accepted "
        "findings or one you read yourself; citations are checked, and wrong ones come "
        "back. Say what is missing or uncertain."
    )
    Args: ClassVar[type[BaseModel]] = FinishArgs
    effects: ClassVar[Effects] = "repeatable"
    own_marks: ClassVar[bool] = True
    timeout_s: ClassVar[float] = 120

    def __init__(self, finisher: FinishPort) -> None:
        self._finisher = finisher

    async def run(self, args: FinishArgs, context: ToolContext) -> ToolOutput:
        """Return the verdict on the report.

        Raises:
            ToolError: it cannot be taken at all.
        """
        args = cleaned(self.name, args, context.redact)
        return await self._finisher.finish(args.report, args.result)
