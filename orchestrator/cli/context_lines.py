"""The numbers of each agent's context, as `orchestrate check` shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from orchestrator.cli.output import safe
from orchestrator.runtime.fixed import AgentNumbers

__all__ = ["context_lines", "context_rows"]

_LAYERS = {"recent": "recent steps", "output": "output"}


def context_rows(agents: Sequence[AgentNumbers]) -> list[dict[str, Any]]:
    """Return the numbers of each profile as plain data, the lead's first."""
    return [
        {
            "profile": each.name,
            "model": each.model,
            "fixed_tokens": each.fixed_tokens,
            **asdict(each.numbers),
            "shrunk": [asdict(one) for one in each.shrunk],
        }
        for each in agents
    ]


def context_lines(
    rows: Sequence[Mapping[str, Any]], policy: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what `context_rows` found as text, two or three lines a profile.

    Args:
        rows: as it gave them.
        policy: `context_policy` of the task, as plain data.
    """
    yield f"context: policy {policy['policy']} (preset {policy['preset']})"
    for row in rows:
        name, fixed = (
            safe(row["profile"]),
            f"about {row['fixed_tokens']:,} always there",
        )
        if row["window_tokens"] is None:
            yield f"  {name}: window unknown, {fixed}; no marks, numbers as written"
            continue
        yield f"  {name}: window {row['window_tokens']:,}, {fixed}, {_marks(row)}"
        yield f"    {_sizes(row)}"
        if row["shrunk"]:
            yield f"    shrunk: {'; '.join(_shrunk(row['shrunk']))}"


def _marks(row: Mapping[str, Any]) -> str:
    soft, hard = f"{row['soft_tokens']:,}", f"{row['hard_tokens']:,}"
    if row["policy"] == "ladder":
        return f"cleared from {soft}, compacted from {hard}"
    drops = f"from {hard} the oldest steps go, down to {soft}"
    if row["policy"] == "window":
        return f"the last {row['last_steps']} steps are shown; {drops}"
    return drops


def _sizes(row: Mapping[str, Any]) -> str:
    parts = [
        f"replies up to {row['output_tokens']:,}",
        f"pages {row['read_tokens']:,}",
        f"other results {row['clip_tokens']:,}",
    ]
    if row["policy"] == "ladder":
        steps = "1 step" if row["tail_steps"] == 1 else f"{row['tail_steps']} steps"
        parts += [
            f"tail {steps} up to {row['tail_tokens']:,}",
            f"summary {row['summary_tokens']:,}",
        ]
    return ", ".join(parts)


def _shrunk(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a phrase for each layer with the numbers that did not fit into it."""
    for layer, words in _LAYERS.items():
        numbers = [
            f"{each['name']} {each['wanted']:,} to {each['got']:,}"
            for each in found
            if each["layer"] == layer
        ]
        if numbers:
            yield f"{', '.join(numbers)} (share of {words})"
