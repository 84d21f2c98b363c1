"""Take apart a Markdown file that begins with settings between `---` lines."""

from __future__ import annotations

from orchestrator.errors import SpecError

__all__ = ["split_front"]

_FENCE = "---"


def split_front(text: str, file: str, *, what: str, body: str) -> tuple[str, str]:
    """Return the settings, as YAML, and what follows them.

    Args:
        text: of the file, with LF.
        file: how to name it to the user.
        what: it is, for the message: `a profile`.
        body: what follows the settings, for the message: `the system prompt`.

    Raises:
        SpecError: there are no settings, or nothing follows them.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        raise SpecError(
            f"does not start with `---`; {what} starts with `---`, then `name:` and "
            f"`description:` lines, then `---` and {body}",
            file,
            1,
        )
    ends = (i for i, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE)
    end = next(ends, 0)
    if not end:
        raise SpecError(
            f"the second `---` is missing; it ends the settings and {body} follows it",
            file,
            1,
        )
    rest = "\n".join(lines[end + 1 :]).strip()
    if not rest:
        raise SpecError(f"{body} after `---` is empty", file, end + 1)
    return "\n".join(lines[1:end]) + "\n", rest
