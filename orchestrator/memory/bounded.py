"""Read files that anybody may have put there: no link, no pipe, and so much at most."""

from __future__ import annotations

from pathlib import Path

from orchestrator.security import beneath

__all__ = ["read_start"]


def read_start(root: Path, relative: str, most: int) -> bytes:
    """Return the first `most` bytes of an ordinary file below `root`, or all of it.

    Raises:
        OSError: as `beneath.open_file`.
    """
    data = b""
    with beneath.open_file(root, relative) as file:
        # Some file systems give less at a time than they were asked for.
        while len(data) < most and (more := file.read(most - len(data))):
            data += more
    return data
