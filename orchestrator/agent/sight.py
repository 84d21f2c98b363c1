"""What of an agent's conversation is in sight, and what is kept of the rest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.context.layout import ShownResult
from orchestrator.context.showings import Showings
from orchestrator.context.shown import Shown
from orchestrator.context.transcript import Transcript
from orchestrator.events import (
    ContextCleared,
    ContextCompacted,
    ModelAnswered,
    TextAdded,
)
from orchestrator.events.of_agent import Label
from orchestrator.messages import text_of
from orchestrator.tools.calls import CallResult

__all__ = ["FILLING", "Sight"]

FILLING = "context"
"""`limit` of a reminder that says that the context is filling."""
AGAIN_TURNS = 3
"""A result that is asked for again within so many turns of its clear was needed."""


@dataclass(slots=True)
class Sight:
    """Follows what is cleared and compacted; all of it can be rebuilt from the log.

    Attributes:
        showings: which lines of which files are in sight.
        lately: what was cleared, by its reference and by its call → turns made then.
        pinned: reference → text that must stay word for word, though its step is gone.
        put_back: what checks of summaries found missing, oldest first.
        words: what people said while it was at work, oldest first.
        newest_words: the newest of it, in their own words alone.
        compacted: the newest compaction.
        compacted_at: turns made at that, or at the newest attempt.
        compacted_to_tokens: size of the request right after that; None: there was none.
        asides: purpose → answer to the newest question of that kind beside the
            conversation, as long as what it was asked for is not done.
        clears_next: results are likely to be cleared before the request after the next.
        fitted_for: turn whose request was made to fit: what was decided for it holds.
        is_bound: thinking has been refused, since something before it had changed.
        rent_usd: paid for carrying what a clear would take away, since the last edit.
        remind: it is to be reminded of what holds.
        reminded_at: turns made when it was reminded last.
        forgiven: key of a step → edits that let it be taken again.
        is_warned: it was told since the newest compaction that its context is filling.
    """

    showings: Showings = field(default_factory=Showings)
    lately: dict[str | bytes, int] = field(default_factory=dict)
    pinned: dict[str, str] = field(default_factory=dict)
    put_back: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    newest_words: str = ""
    compacted: ContextCompacted | None = None
    compacted_at: int = 0
    compacted_to_tokens: int | None = None
    asides: dict[str, ModelAnswered] = field(default_factory=dict)
    clears_next: bool = False
    fitted_for: int = 0
    is_bound: bool = False
    rent_usd: float = 0.0
    remind: bool = False
    reminded_at: int = 0
    is_warned: bool = False
    forgiven: dict[bytes, int] = field(default_factory=dict)

    def heard(self, added: TextAdded, *, turns: int) -> None:
        """Take note of a text of the program, after so many turns."""
        if added.reason == "steer":
            self.words.append(added.text)
            self.newest_words = added.words or added.text
        elif added.reason == "reminder":
            self.remind, self.reminded_at = False, turns
            self.is_warned = self.is_warned or added.limit == FILLING

    def take_in(
        self,
        results: Iterable[CallResult],
        transcript: Transcript,
        shown: Shown,
        *,
        turns: int,
    ) -> None:
        """Take note of results that are sent from now on, and of what they make old."""
        step, taken = len(transcript.steps), []
        for each in results:
            if (made := transcript.calls.get(each.call)) is not None:
                self.showings.add(each.call, each.files, ref=made.reference)
            label = self._label(each, transcript, turns=turns)
            taken.append(ShownResult(each.call, each.name, step, each.tokens, label))
        shown.took(taken)
        for call in self.showings.superseded() & shown.results.keys():
            shown.results[call].is_superseded = True

    def _label(
        self, result: CallResult, transcript: Transcript, *, turns: int
    ) -> Label:
        """Return the label of a result: what was cleared and is asked for again stays.

        So a model that needs it does not have to open it a third time.
        """
        made = transcript.calls.get(result.call)
        if made is None:
            return result.label
        names: Sequence[str | bytes] = (made.key, str(made.input.get("ref")))
        at = max(self.lately.get(name, -1) for name in names)
        is_again = at >= 0 and turns - at <= AGAIN_TURNS
        return "critical" if is_again else result.label

    def cleared(
        self, event: ContextCleared, transcript: Transcript, shown: Shown, *, turns: int
    ) -> None:
        """Take note of a clear that has been made."""
        for each in event.cleared:
            made = transcript.calls.get(each["call"])
            if made is not None:
                self.lately[made.reference] = self.lately[made.key] = turns
        self.edited(shown)

    def pinned_after(
        self, kept_messages: int, transcript: Transcript, shown: Shown
    ) -> dict[str, str]:
        """Return what must stay word for word once a compaction has been made.

        Args:
            kept_messages: how many of the newest messages stay.
            transcript: of the agent.
            shown: as it is before the compaction.
        """
        pinned = dict(self.pinned)
        going = shown.messages[1 : len(shown) - kept_messages]
        for block in (block for message in going for block in message["content"]):
            call = str(block.get("tool_use_id"))
            result, made = shown.results.get(call), transcript.calls.get(call)
            if result is not None and made is not None and result.label == "critical":
                pinned[made.reference] = text_of([block])
        return pinned

    def tried(self, shown: Shown, *, turns: int) -> None:
        """Take note of a compaction that is about to be tried."""
        self.compacted_at, self.compacted_to_tokens = turns, shown.tokens

    def was_compacted(
        self, event: ContextCompacted, shown: Shown, *, turns: int
    ) -> None:
        """Take note of a compaction that has been made."""
        self.put_back += [each for each in event.added if each not in self.put_back]
        self.compacted, self.compacted_at = event, turns
        self.compacted_to_tokens = shown.tokens
        self.remind, self.is_warned = True, False
        self.edited(shown)

    def edited(self, shown: Shown) -> None:
        """Take note of an edit: what is no longer sent shows nothing."""
        for call in self.showings.calls - shown.results.keys():
            self.showings.forget(call)
        self.rent_usd, self.clears_next = 0.0, False
        self.asides.clear()
