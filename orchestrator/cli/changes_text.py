"""The changes of a run as text: a unified diff, and how much it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from orchestrator.cli.output import Style, safe, safe_lines
from orchestrator.events.diffs import Diff
from orchestrator.events.phrases import count_phrase
from orchestrator.inspection.changes import FileDiff, sum_of

__all__ = ["Found", "change_lines", "changed_phrase", "changes_json", "cut_off_phrase"]

Found = Sequence[tuple[FileDiff, Diff, str]]
"""Each file with its diff and a remark, as `inspection.changes.diffs_of` gives it."""

_COLORS = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}
_NOWHERE = "/dev/null"


def changed_phrase(found: Found) -> str:
    """Return how much was changed, like `3 (+12 −4)`."""
    total = sum_of(found)
    return f"{total.files} (+{total.added} −{total.removed})"


def change_lines(found: Found, *, style: Style) -> Iterator[str]:
    """Yield all changes as a unified diff, a remark before each file, a sum last.

    Args:
        found: the files.
        style: of the terminal.
    """
    for each, lines, remark in found:
        path = safe(each.path)
        agents = ", ".join(
            f"{safe(agent)} ({count_phrase(times, 'change')})"
            for agent, times in each.agents.items()
        )
        yield style(f"{path}: {each.state} by {agents}", "bold")
        if remark:
            yield style(f"  {safe(remark)}", "dim")
        if lines.rows:
            yield f"--- {_NOWHERE if each.state == 'created' else f'a/{path}'}"
            yield f"+++ {_NOWHERE if each.state == 'removed' else f'b/{path}'}"
        for row in lines.rows:
            yield style(_row(row), _COLORS.get(row[:1], ""))
        yield ""
    total = sum_of(found)
    files, added = count_phrase(total.files, "file"), count_phrase(total.added, "line")
    yield f"{files} changed, {added} added, {total.removed:,} removed"


def cut_off_phrase(tools: Sequence[str]) -> str:
    """Return that these calls were cut off, or are at work: nobody knows the rest."""
    calls = count_phrase(len(tools), "call")
    names = ", ".join(sorted(set(tools)))
    return f"not ended: {calls} ({names}); what files they changed is not known"


def changes_json(found: Found, *, with_diff: bool) -> dict[str, Any]:
    """Return the changes for machines; the shape only grows."""
    return {
        **asdict(sum_of(found)),
        "changes": [
            {
                "path": each.path,
                "state": each.state,
                "added": lines.added,
                "removed": lines.removed,
                "agents": each.agents,
                "before_sha256": each.first.before_sha256,
                "after_sha256": each.last.after_sha256,
                "before": each.first.before,
                "after": each.last.after,
                "remark": remark,
                **({"diff": list(lines.rows)} if with_diff else {}),
            }
            for each, lines, remark in found
        ],
    }


def _row(row: str) -> str:
    """Return a row that stays one, whatever the line holds."""
    return safe_lines(row).replace("\n", "␊")
