"""What the pattern of a search stands for in files, which hold what was replaced."""

from __future__ import annotations

import re
from typing import Final

from orchestrator.security.placeholders import PLACEHOLDER
from orchestrator.security.untrusted import SIGN
from orchestrator.tools.base import ToolContext

__all__ = ["as_in_files"]

# With the brackets escaped, or as they are.
_MARK: Final = re.compile(r"\\?\[(secret:[a-z0-9-]+:[0-9a-f]{8})\\?\]")
# In the place of one of these the sign stands in what was shown.
_DEFUSED: Final = rf"[{SIGN}<\[: ]"


def as_in_files(pattern: str, context: ToolContext) -> str:
    """Return `pattern` with what it copies from results as it stands in the files.

    A placeholder finds its secret, one of many lines by its longest, and itself; a
    mark that was shown defused is found as it was. What is found is shown replaced
    again, so that this needs no permission.

    Args:
        pattern: a regex, as the model wrote it.
        context: of the call.

    Raises:
        ToolError: what a placeholder stands for is not at hand.
    """

    def found(match: re.Match[str]) -> str:
        mark = f"[{match[1]}]"
        lines = context.restore_file(mark).splitlines() or [mark]
        return f"(?:{re.escape(max(lines, key=len))}|{re.escape(mark)})"

    if PLACEHOLDER.search(pattern.replace("\\", "")):
        pattern = _MARK.sub(found, pattern)
    return pattern.replace(SIGN, _DEFUSED)
