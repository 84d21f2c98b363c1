"""How much the calls of a step may bring, known before they run."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.spec.profiles import DELEGATION

__all__ = ["BEYOND", "PARTS", "ResultSizes"]

BEYOND = (
    "Not run: beside the calls before it, what it may bring does not fit what is left "
    "of the budget. Ask for less at a time, or hand in what you have."
)
PARTS = (1.0, 0.5, 0.25, 0.125)
"""Where the whole of a result cannot be paid for, less of it is shown."""
LEAST_TOKENS = 200
FRAME_TOKENS = 200
"""What a page may be over its limit."""
_PAGES = frozenset({"read_file", "read_ref"})
# Hand-ins and notes are answered in a line or two; what subagents bring is held for
# apart, and bounded by what is admitted.
_SMALL = frozenset(
    {
        "finish",
        "submit_findings",
        "update_notes",
        *DELEGATION,
    }
)


@dataclass(frozen=True, slots=True)
class ResultSizes:
    """The bounds of what enters a context, in estimated tokens.

    Attributes:
        read_tokens: of a page that is read.
        clip_tokens: of any other result.
    """

    read_tokens: int = 8000
    clip_tokens: int = 4000

    def of(self, tool: str) -> int:
        """Return the most that a call of `tool` brings; 0: next to nothing."""
        if tool in _SMALL:
            return 0
        page = max(self.read_tokens, self.clip_tokens)
        return (page if tool in _PAGES else self.clip_tokens) + FRAME_TOKENS

    def part(self, part: float) -> ResultSizes:
        """Return these sizes, `part` of them."""
        return ResultSizes(
            max(int(self.read_tokens * part), LEAST_TOKENS),
            max(int(self.clip_tokens * part), LEAST_TOKENS),
        )
