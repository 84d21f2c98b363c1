"""The tools there are: who has them, what they do, what their definition costs."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.runtime.fixed import TOOLS, definition_tokens
from orchestrator.spec.foreign import NEEDS
from orchestrator.spec.profiles import DELEGATION

__all__ = ["BY_DEPTH", "ToolRow", "tool_rows"]

BY_DEPTH = "lead, subagents by depth"
_WHO = {
    **dict.fromkeys(DELEGATION, BY_DEPTH),
    "finish": "lead",
    "memory": "with memory: lead, subagents by name",
    "submit_findings": "subagents",
    **{name: f"with allow: {need}" for name, need in NEEDS.items()},
}


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool as `orchestrate tools` shows it."""

    name: str
    who: str
    """`all`, `lead`, `subagents`, what a task must allow or have, or `BY_DEPTH`: the
    lead, and subagents whose profile lists `delegate` while a level is left below
    them."""
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
            tokens=definition_tokens([tool.name]),
        )
        for tool in TOOLS
    ]


def _first_sentence(text: str) -> str:
    folded = " ".join(text.split())
    return folded.partition(". ")[0].rstrip(".")
