"""What a person is shown of a change before it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.errors import ToolError
from orchestrator.events.diffs import NO_END, diff
from orchestrator.evidence import split_lines
from orchestrator.tools.base import ToolContext
from orchestrator.tools.replacing import Before, look_at

__all__ = ["proposed"]


def proposed(
    path: str,
    make: Callable[[Before], str],
    context: ToolContext,
    *,
    fragment: tuple[str, str],
) -> str:
    """Return what would become of a file: its new text, or what differs from the old.

    Where the change cannot be made as the file is now (an earlier call of the step may
    come first), the piece itself is compared.

    Args:
        path: as the model wrote it.
        make: returns the new text for what is there.
        context: of the call.
        fragment: the piece before and after.

    Raises:
        OutsideWorkspace: the path leads out of the workspace or its scope.
        ToolError: the file may not be changed.
    """
    before = look_at(path, context)
    try:
        after = make(before)
    except ToolError:
        rows = [row for row in diff(*fragment).rows[1:] if row != NO_END]
        return "\n".join([f"change in {before.name}:", *rows])
    # Not cleaned: a code, or a line that is drawn over, must not hide what is written.
    shown = context.redact(after)
    if before.found is None:
        lines = split_lines(shown)
        return _told(f"create {before.name} (+{len(lines):,})", lines)
    found = diff(context.redact(before.text.text), shown)
    sums = f"+{found.added:,} −{found.removed:,}"
    return _told(f"change {before.name} ({sums})", found.rows)


def _told(head: str, rows: Sequence[str]) -> str:
    return "\n".join([f"{head}:", *rows])
