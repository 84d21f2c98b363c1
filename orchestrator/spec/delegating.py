"""What a task's depth means for profiles that may send subagents of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from orchestrator.spec.limits import Limits
from orchestrator.spec.profile import Profile
from orchestrator.spec.profiles import asks_to_delegate

__all__ = ["depth_notices"]


def depth_notices(limits: Limits, subagents: Iterable[Profile]) -> Iterator[str]:
    """Yield what a user should know before a run, at most a line.

    Args:
        limits: the task's.
        subagents: profiles that the task names.
    """
    names = [f"`{each.name}`" for each in subagents if asks_to_delegate(each)]
    if not names or not limits.depth or not limits.subagents:
        return
    listed, is_one = ", ".join(names), len(names) == 1
    if limits.depth == 1:
        yield (
            f"{listed} can hand parts of the work to subagents from `limits.depth: 2` "
            f"on; with 1 {'it works' if is_one else 'they work'} alone"
        )
        return
    yield (
        f"{listed} may send {'its own kind' if is_one else 'each other and themselves'}"
        f" again; only `limits.depth` ({limits.depth}) and `limits.subagents` "
        f"({limits.subagents} in the whole run) bound that"
    )
