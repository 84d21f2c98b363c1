"""What compactions of a run left in the place of the steps that went."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from orchestrator.context.numbers import Numbers
from orchestrator.context.whatif import SUMMARY_SHARE, Leaves
from orchestrator.runtime.replaying.recorded_agent import Edited, RecordedAgent

__all__ = ["LeftBehind"]

FRAME_TOKENS: Final = 250
"""Of state and frame, where nobody has seen how long they are."""


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """Sizes of it, on average, in tokens.

    Attributes:
        summary_share: of what goes, that a summary has.
        beside_tokens: state, notes and table of subagents.
        files_tokens: files that were opened afresh.
        compactions: that these were taken from; 0: they are the usual ones.
        summaries: those of them that had a summary.
    """

    summary_share: float = SUMMARY_SHARE
    beside_tokens: int = FRAME_TOKENS
    files_tokens: int = 0
    compactions: int = 0
    summaries: int = 0

    @classmethod
    def of(cls, agents: Iterable[RecordedAgent]) -> LeftBehind:
        """Return what the compactions of these agents left."""
        made = [edit for agent in agents for edit in agent.edits if _is_whole(edit)]
        if not made:
            return cls()
        share = SUMMARY_SHARE
        summed = [each for each in made if each.by_summary and each.gone_tokens]
        if gone := sum(each.gone_tokens for each in summed):
            share = sum(each.parts.get("summary", 0) for each in summed) / gone
        files = sum(each.parts.get("files", 0) for each in made)
        beside = sum(
            tokens
            for each in made
            for part, tokens in each.parts.items()
            if part not in ("summary", "files")
        )
        return cls(
            min(share, 1.0),
            beside // len(made),
            files // len(made),
            len(made),
            len(summed),
        )

    def under(self, numbers: Numbers) -> Leaves:
        """Return what compactions of a policy leave."""
        files = min(self.files_tokens, numbers.reopen_files * numbers.reopen_tokens)
        beside = min(self.beside_tokens, FRAME_TOKENS + numbers.state_tokens)
        return Leaves(self.summary_share, beside + files)


def _is_whole(edit: Edited) -> bool:
    """Return whether an edit is a compaction that says what it left."""
    return edit.is_compaction and bool(edit.parts)
