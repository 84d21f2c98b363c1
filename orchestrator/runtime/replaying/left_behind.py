"""What compactions of a run left in the place of the steps that went."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from orchestrator.context.numbers import Numbers
from orchestrator.context.recorded import stub_like_live
from orchestrator.context.tokens import estimate
from orchestrator.context.whatif import POINTER_TOKENS, SUMMARY_SHARE, Leaves
from orchestrator.runtime.replaying.recorded_agent import Edited, RecordedAgent

__all__ = ["LeftBehind", "stub_size"]

SAMPLE: Final = 24
"""Results of a run whose stubs are made to know how long stubs are."""
LEAST_RESULT_TOKENS: Final = 150
"""Of those: shorter ones are seldom cleared."""
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

    def under(
        self, numbers: Numbers, *, factor: float = 1.0, stub_tokens: int | None = None
    ) -> Leaves:
        """Return what clears and compactions of a policy leave.

        Args:
            numbers: of the policy.
            factor: tokens that the service counts for an estimated one.
            stub_tokens: of its stubs, as counted; None: as long as was foreseen.
        """
        files = min(self.files_tokens, numbers.reopen_files * numbers.reopen_tokens)
        beside = min(self.beside_tokens, FRAME_TOKENS + numbers.state_tokens) + files
        tokens = round(beside * factor)
        if numbers.policy != "ladder" and self.compactions:
            tokens = max(tokens - POINTER_TOKENS, 0)  # which they have besides
        share = self.summary_share * factor if self.summaries else self.summary_share
        return Leaves(share, tokens, stub_tokens)


def _is_whole(edit: Edited) -> bool:
    """Return whether an edit is a compaction that says what it left."""
    return edit.is_compaction and bool(edit.parts)


def stub_size(agents: Iterable[RecordedAgent], digest_tokens: int) -> int | None:
    """Return how long stubs of a run are, on average; None: there is nothing to clear.

    Args:
        agents: of the run.
        digest_tokens: longest digest in one.
    """
    likely = [
        (call, came.text)
        for agent in agents
        for turn in agent.turns
        for call, came in turn.pairs
        if came.tokens >= LEAST_RESULT_TOKENS
    ]
    sample = likely[:: max(len(likely) // SAMPLE, 1)]
    sizes = [
        estimate(stub_like_live(call, "h12", text, digest_tokens=digest_tokens))
        for call, text in sample
    ]
    return round(sum(sizes) / len(sizes)) if sizes else None
