"""The tools there are: who has them, what they do, what their definition costs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from orchestrator.context.tokens import estimate
from orchestrator.messages import encode
from orchestrator.spec.profiles import DELEGATION
from orchestrator.tools.base import Tool
from orchestrator.tools.delegate import Delegate
from orchestrator.tools.directing import Cancel, FollowUp, WaitFor
from orchestrator.tools.files import ListDir, ReadFile
from orchestrator.tools.handin import Finish, SubmitFindings
from orchestrator.tools.notes import UpdateNotes
from orchestrator.tools.refs import ReadRef
from orchestrator.tools.registry import definition_of
from orchestrator.tools.search import Glob, Grep

__all__ = ["BY_DEPTH", "ToolRow", "definition_tokens", "tool_rows"]

TOOLS: tuple[type[Tool[Any]], ...] = (
    Delegate, WaitFor, FollowUp, Cancel, Finish, SubmitFindings, UpdateNotes, ReadRef,
    ReadFile, Grep, Glob, ListDir,
)  # fmt: skip
BY_DEPTH = "lead, subagents by depth"
_WHO = {
    **dict.fromkeys(DELEGATION, BY_DEPTH),
    "finish": "lead",
    "submit_findings": "subagents",
}


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool as `orchestrate tools` shows it."""

    name: str
    who: str
    """`all`, `lead`, `subagents`, or `BY_DEPTH`: the lead, and subagents whose profile
    lists `delegate` while a level is left below them."""
    effects: str
    description: str
    """First sentence."""
    tokens: int
    """Estimated tokens of the definition, which every request carries."""


def tool_rows() -> list[ToolRow]:
    """Return all tools, in the order of the manual."""
    return [
        ToolRow(
            name=tool.name,
            who=_WHO.get(tool.name, "all"),
            effects=tool.effects,
            description=_first_sentence(tool.description),
            tokens=_tokens(tool),
        )
        for tool in TOOLS
    ]


def definition_tokens(names: Collection[str]) -> int:
    """Return the estimated tokens of the definitions of the tools in `names`."""
    return sum(_tokens(tool) for tool in TOOLS if tool.name in names)


def _tokens(tool: type[Tool[Any]]) -> int:
    return estimate(encode(definition_of(tool)).decode())


def _first_sentence(text: str) -> str:
    folded = " ".join(text.split())
    return folded.partition(". ")[0].rstrip(".")
