"""Profiles as rows and as text; loads no tool and no model code."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from orchestrator.cli.output import cut, fill, is_terminal, pad, safe, terminal_width
from orchestrator.spec.foreign import OUR_TOOLS
from orchestrator.spec.profile import Profile
from orchestrator.spec.profiles import LEAD, Discovery, allowed_tools

__all__ = ["profile_lines", "profile_row", "profile_rows"]


def profile_row(
    profile: Profile,
    *,
    may_delegate: bool = True,
    available: Collection[str] = OUR_TOOLS,
) -> dict[str, Any]:
    """Return one profile as plain data.

    Args:
        profile: as read.
        may_delegate: whether its subagents have a level left below them.
        available: tools of ours that the run has.
    """
    is_lead = profile.name == LEAD
    tools = allowed_tools(
        profile, is_lead=is_lead, may_delegate=may_delegate, available=available
    )
    return {
        "name": profile.name,
        "source": profile.source,
        "model": profile.model,
        "effort": profile.effort,
        "tools": list(tools),
        "not_available": [
            name
            for name in profile.tools or ()
            if name not in tools and name not in profile.disallowed_tools
        ],
        "limits": profile.limits.model_dump(exclude_none=True),
        "description": profile.description,
    }


def profile_rows(found: Discovery) -> list[dict[str, Any]]:
    """Return the profiles in force as plain data, the lead first."""
    names = sorted(found.profiles, key=lambda name: (name != LEAD, name))
    return [profile_row(found.profiles[name]) for name in names]


def profile_lines(rows: list[dict[str, Any]], *, margin: str = "") -> Iterator[str]:
    """Yield profiles as text: a line, then what it is for and may call.

    What it is for is cut at the edge of a terminal; piped, it is whole.

    Args:
        rows: as `profile_row` gives them.
        margin: before every line.
    """
    columns = max((len(row["name"]) for row in rows), default=0) + 2
    for row in rows:
        model = row["model"] or "model of the run"
        name = margin + pad(safe(row["name"]), columns)
        yield f"{name}{safe(row['source'])}  ({safe(model)})"
        indent = margin + " " * columns
        told = safe(row["description"])
        room = max(terminal_width() - len(indent), 40)
        yield f"{indent}{cut(told, room) if is_terminal() else told}"
        below = indent + "  "
        yield fill(f"tools: {', '.join(row['tools'])}", indent=below, first=indent)
        if row["not_available"]:
            names = f"not allowed by the task: {', '.join(row['not_available'])}"
            yield fill(names, indent=below, first=indent)
        if row["limits"]:
            shown = ", ".join(
                f"{key} {value:g}" for key, value in row["limits"].items()
            )
            yield f"{indent}limits: {shown}"
