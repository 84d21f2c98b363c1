"""What stands in the place of secrets, and the way back to them.

The values are in memory only. They come back when their source is read again, so that
a run that goes on in another process needs no more than the same salt.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
from typing import Final

from orchestrator.errors import ToolError

__all__ = ["PLACEHOLDER", "Vault", "kind_of", "line_ends", "placeholder"]

PLACEHOLDER: Final = re.compile(r"\[secret:[a-z0-9-]+:[0-9a-f]{8}\]")
_LINE_END: Final = re.compile(r"\r\n|\n|\r")

MOST_VALUES: Final = 10_000
MOST_CHARS: Final = 20_000_000
"""Of all values together."""
_SHOWN: Final = 3
# The value's own line ends are kept behind its placeholder.
_WITH_LINE_ENDS: Final = re.compile(rf"({PLACEHOLDER.pattern})((?:\r\n|\n|\r)*)")


def placeholder(salt: bytes, kind: str, value: str) -> str:
    """Return what stands for `value`: within a run always the same."""
    data = value.encode("utf-8", "surrogatepass")
    mark = hmac.digest(salt, data, hashlib.sha256).hex()[:8]
    return f"[secret:{kind}:{mark}]"


def kind_of(mark: str) -> str:
    """Return the kind that a placeholder names."""
    return mark.split(":")[1]


def line_ends(value: str) -> str:
    """Return the line ends in `value`, which stay in the text."""
    return "".join(_LINE_END.findall(value))


class Vault:
    """Placeholder → value, the newest of a run. Safe to use from many threads."""

    def __init__(self, most: int = MOST_VALUES, most_chars: int = MOST_CHARS) -> None:
        """Begin empty.

        Args:
            most: values that are held.
            most_chars: of them together.
        """
        self._most, self._most_chars = most, most_chars
        self._lock = threading.Lock()
        # "": two values have this placeholder, so that neither can be put back.
        self._values: dict[str, str] = {}
        self._chars = 0

    def put(self, mark: str, value: str) -> None:
        """Hold `value`, whose placeholder is `mark`."""
        with self._lock:
            held = self._values.pop(mark, None)
            self._chars -= len(held or "")
            if held is not None and held != value:
                value = ""
            self._values[mark] = value
            self._chars += len(value)
            while len(self._values) > self._most or self._chars > self._most_chars:
                oldest = next(iter(self._values))
                self._chars -= len(self._values.pop(oldest))

    def restored(self, text: str) -> tuple[str, dict[str, str]]:
        """Return `text` with values in place of their placeholders, and which they are.

        Raises:
            ToolError: the value of a placeholder is not held.
        """
        used: dict[str, str] = {}
        unknown: dict[str, None] = {}

        def value_of(match: re.Match[str]) -> str:
            mark, behind = match.groups()
            value = self._values.get(mark, "")
            if not value:
                unknown[mark] = None
                return match[0]
            used[mark] = value
            own_ends = line_ends(value)
            return value + behind[len(own_ends) * behind.startswith(own_ends) :]

        with self._lock:
            restored = _WITH_LINE_ENDS.sub(value_of, text)
            if unknown:
                raise ToolError(self._why([*unknown]))
        return restored, used

    def _why(self, marks: list[str]) -> str:
        named = ", ".join(f"`{mark}`" for mark in marks[:_SHOWN])
        if any(mark in self._values for mark in marks):
            return f"{named}: two values have this placeholder, so none is put back"
        more = f" and {len(marks) - _SHOWN} more" if len(marks) > _SHOWN else ""
        return (
            f"{named}{more}: what stands behind is not at hand. Copy the placeholder "
            "exactly, and read the place again where you saw it; then call again."
        )
