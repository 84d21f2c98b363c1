"""What is sent of an agent's conversation: its transcript with the edits applied.

Each message is encoded once, when it is appended or changed; a request joins the
pieces. So the work of a turn does not grow with the number of turns before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.context.factor import LEARNS_FROM_TOKENS
from orchestrator.context.layout import ShownResult
from orchestrator.context.marks import End
from orchestrator.events.edits import (
    with_stubs,
    with_text,
    without_thinking_behind,
)
from orchestrator.messages import (
    THINKING,
    Block,
    Message,
    encode,
    without_thinking,
)

__all__ = ["Shown"]

MAX_DEARNESS = 4.0
"""No text costs more: a token is a byte at least, an estimate at most four."""
SLACK = 0.2
"""Of what an edit takes away: so much may have been less than estimated."""


@dataclass(slots=True)
class _Piece:
    """A message as it is sent, in bytes and by size."""

    data: bytes
    tokens: int
    layers: dict[str, int] = field(default_factory=dict)


class Shown:
    """What the next request holds of the conversation, oldest first.

    Attributes:
        messages: as they are sent.
        known_tokens: what the service reported for the newest request and its answer,
            or what is left of that after an edit.
        added_tokens: estimate of what came after it, in `added_blocks` blocks.
        slack_tokens: what may have to be added to it, since it was edited.
        dearness: the most that the service counted for what was estimated as one token.
        factor: tokens that the service is likely to count for an estimated one.
        base_counted: what it counted for head and task alone; 0: it has not.
        rewritten: how often what was sent has changed.
        results: sent whole, by call, oldest first.
        composition: estimated tokens of it all by layer.
        steps: estimated size of each step, oldest first. Brought along, as are the
            ends of stubs: a turn must not cost more, the more came before it.
        stub_ends: where the stubs of this and of the clear before it end, old first.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.known_tokens = 0
        self.added_tokens = 0
        self.added_blocks = 0
        self.slack_tokens = 0
        self.dearness = 1.0
        self.factor = 1.0
        self.rewritten = 0
        self.results: dict[str, ShownResult] = {}
        self.composition: dict[str, int] = {}
        self._pieces: list[_Piece] = []
        self._head_tokens = self._first_blocks = 0
        self._first_layers: dict[str, int] = {}
        self.base_counted = 0
        self.steps: list[int] = []
        self.stub_ends: list[End] = []

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def pieces(self) -> list[bytes]:
        """Return the messages in bytes."""
        return [piece.data for piece in self._pieces]

    @property
    def tokens(self) -> int:
        """Return the size of the next request, in tokens: reported plus estimated."""
        return self.known_tokens + math.ceil(self.added_tokens * self.factor)

    @property
    def first_tokens(self) -> int:
        """Return the estimated size up to the first message, that included."""
        return self._head_tokens + self._pieces[0].tokens

    @property
    def base_tokens(self) -> int:
        """Return the estimated size of what never goes: head and task."""
        return self._head_tokens + sum(self._first_layers.values())

    @property
    def end(self) -> End:
        """Return where a request with everything up to now ends."""
        return End(len(self) - 1, len(self.messages[-1]["content"]), self.tokens)

    def at_most(self, factor: float, block_tokens: int, *, more: int = 0) -> int:
        """Return how long the next request may be, in tokens; what is known is known.

        Args:
            factor: of what is only estimated, 1 or more.
            block_tokens: what each block adds that the service has not counted.
            more: tokens that come besides, estimated.
        """
        added = math.ceil((self.added_tokens + more) * factor)
        known = self.known_tokens + self.slack_tokens
        return known + added + self.added_blocks * block_tokens

    def begin(
        self,
        content: Sequence[Block],
        *,
        layers: Mapping[str, int],
        head_tokens: int,
        tools: int,
    ) -> None:
        """Begin with the first user message.

        Args:
            content: of it.
            layers: its estimated size by what it is.
            head_tokens: estimated size of system prompt and tools.
            tools: of the tools alone.
        """
        self._head_tokens, self._first_layers = head_tokens, dict(layers)
        self.composition = {"prompt": head_tokens - tools, "tools": tools}
        self.added_tokens += head_tokens
        self.append("user", content, tokens=sum(layers.values()), layers=layers)
        self._first_blocks = len(content)

    def append(
        self,
        role: str,
        content: Sequence[Block],
        *,
        tokens: int,
        layers: Mapping[str, int] | None = None,
    ) -> None:
        """Append one message; what a role adds to its own last message joins that.

        Args:
            role: `user` or `assistant`.
            content: one block or more, none of them an empty text.
            tokens: estimated size.
            layers: the same by what it is.

        Raises:
            ValueError: there is no content.
        """
        if not content:
            raise ValueError("a message needs content")
        blocks, size, parts = list(content), tokens, dict(layers or {})
        if self.messages and self.messages[-1]["role"] == role:
            blocks = [*self.messages.pop()["content"], *blocks]
            before = self._pieces.pop()
            size += before.tokens
            _add(self.composition, before.layers, -1)
            _add(parts, before.layers)
        message: Message = {"role": role, "content": blocks}
        self.messages.append(message)
        self._pieces.append(_Piece(encode(message), size, parts))
        _add(self.composition, parts)
        if len(self.messages) > 1:
            self._count_step(role, tokens, is_new=len(blocks) == len(content))
        self.added_tokens += tokens
        self.added_blocks += len(content)

    def _count_step(self, role: str, tokens: int, *, is_new: bool) -> None:
        """Count what is added to the newest step, or begins another."""
        if not self.steps or (role == "assistant" and is_new):
            self.steps.append(0)
        self.steps[-1] += tokens

    def took(self, results: Iterable[ShownResult]) -> None:
        """Take note of results that are in the newest message."""
        for each in results:
            self.results[each.call] = each

    def measured(self, tokens: int) -> None:
        """Compare the estimate of what was added with what the service counted.

        Args:
            tokens: counted for everything up to now, the answer not yet in it.
        """
        if len(self.messages) == 1 and not self.rewritten:
            self.base_counted = min(tokens, int(self.base_tokens * MAX_DEARNESS))
        if self.added_tokens >= LEARNS_FROM_TOKENS and not self.slack_tokens:
            dearness = (tokens - self.known_tokens) / self.added_tokens
            self.dearness = max(self.dearness, min(dearness, MAX_DEARNESS))

    def reported(self, tokens: int) -> None:
        """Take over what the service counted for everything up to now."""
        self.known_tokens, self.added_tokens, self.added_blocks = tokens, 0, 0
        self.slack_tokens = 0

    def doubt(self) -> None:
        """Take what was counted for an estimate: another model counts otherwise."""
        self.added_tokens += self.known_tokens
        self.known_tokens = self.base_counted = 0

    def clear(
        self, stubs: Mapping[str, str], sizes: Mapping[str, int], *, spares_newest: bool
    ) -> int:
        """Put a stub in the place of each of these results.

        Thinking behind the first of them goes too: it is bound to what was there.

        Args:
            stubs: call → text. Calls that are not shown are passed over.
            sizes: call → estimated tokens of its stub.
            spares_newest: thinking of the newest step stays.

        Returns:
            How many blocks of thinking went.
        """
        ends: list[tuple[int, int]] = []
        first, before = len(self), self._estimate
        for place, message in enumerate(self.messages):
            if message["role"] != "user":
                continue
            for at, block in enumerate(message["content"]):
                if block.get("tool_use_id") in stubs:
                    first = min(first, place)
                    ends.append((place, at + 1))
        if not ends:
            return 0
        changed = {place for place, _ in ends}
        for place in sorted(changed):
            message = self.messages[place]
            piece = self._pieces[place]
            _add(self.composition, piece.layers, -1)
            for block in message["content"]:
                call = str(block.get("tool_use_id") or "")
                if call in stubs:
                    self._count_stub(piece, call, sizes.get(call, 0))
            _add(self.composition, piece.layers)
            self._put(place, with_stubs([message], stubs)[0])
        thinking = self._strip_behind(first, spares_newest=spares_newest)
        last, blocks = ends[-1]
        upto = sum(piece.tokens for piece in self._pieces[: last + 1])
        end = End(last, blocks, self._head_tokens + upto)
        self.stub_ends = [*self.stub_ends[-1:], end]
        self._edited(before)
        return thinking

    def _count_stub(self, piece: _Piece, call: str, tokens: int) -> None:
        known = self.results.pop(call, None)
        if known is None:
            return
        layer = f"results:{known.name}"
        piece.layers[layer] = piece.layers.get(layer, 0) - known.tokens
        if piece.layers[layer] <= 0:
            del piece.layers[layer]
        piece.layers["stubs"] = piece.layers.get("stubs", 0) + tokens
        piece.tokens += tokens - known.tokens

    def compact(
        self, text: str, *, kept: int, parts: Mapping[str, int], spares_newest: bool
    ) -> int:
        """Put one text in the place of all but the first and the newest messages.

        Args:
            text: what stands there; "": nothing.
            kept: how many of the newest messages stay.
            parts: estimated tokens of the text, by what it is.
            spares_newest: thinking of the newest step stays.

        Returns:
            How many blocks of thinking went.
        """
        before = self._estimate
        self.messages = with_text(
            self.messages, kept=kept, text=text, begun=self._first_blocks
        )
        layers = dict(self._first_layers)
        _add(layers, parts)
        tail = self._pieces[len(self._pieces) - kept :]
        head = _Piece(encode(self.messages[0]), sum(layers.values()), layers)
        self._pieces = [head, *tail]
        fixed = {n: self.composition.get(n, 0) for n in ("prompt", "tools")}
        self.composition = fixed
        for piece in self._pieces:
            _add(self.composition, piece.layers)
        shown = {
            str(block.get("tool_use_id"))
            for message in self.messages
            for block in message["content"]
        }
        self.results = {c: each for c, each in self.results.items() if c in shown}
        self.stub_ends = []
        thinking = self._strip_behind(0, spares_newest=spares_newest)
        self._edited(before)
        return thinking

    def size_with(self, parts: Mapping[str, int], *, kept: int) -> int:
        """Return the estimated size of a request after `compact`, in tokens."""
        tail = sum(p.tokens for p in self._pieces[len(self._pieces) - kept :])
        after = self.base_tokens + sum(parts.values()) + tail
        before = self._estimate
        return math.ceil(self.tokens * after / before) if before else after

    def _strip_behind(self, index: int, *, spares_newest: bool) -> int:
        """Take thinking out behind a message; return how many blocks."""
        stripped = without_thinking_behind(
            self.messages, index, spares_newest=spares_newest
        )
        blocks = 0
        for place, (old, new) in enumerate(zip(self.messages, stripped, strict=True)):
            if old is not new:
                blocks += _thinking_blocks(old) - _thinking_blocks(new)
                self._put(place, new)
        return blocks

    def drop_thinking(self) -> int:
        """Take the thinking out of all messages up to now; return how many blocks.

        The size stays an estimate from above, until the service reports it again.
        """
        dropped = 0
        for place, message in enumerate(self.messages):
            if message["role"] != "assistant":
                continue
            content = without_thinking(message["content"])
            if content != message["content"]:
                dropped += max(len(message["content"]) - len(content), 1)
                self._put(place, {"role": "assistant", "content": content})
        self.rewritten += bool(dropped)
        return dropped

    def answer_anew(self, result: Block, *, tokens: int) -> Block | None:
        """Put a result in the place of the one that its call has; return that.

        None: no result of that call is here.

        Args:
            result: the block.
            tokens: its size, estimated.
        """
        call = result["tool_use_id"]
        for place, message in enumerate(self.messages):
            for at, block in enumerate(message["content"]):
                if block.get("tool_use_id") == call:
                    before = self._estimate
                    content = list(message["content"])
                    content[at] = result
                    self._put(place, {**message, "content": content})
                    if result != block:
                        piece = self._pieces[place]
                        _add(self.composition, piece.layers, -1)
                        self._count_stub(piece, call, tokens)
                        _add(self.composition, piece.layers)
                        self._edited(before)
                    return dict(block)
        return None

    @property
    def _estimate(self) -> int:
        return self._head_tokens + sum(piece.tokens for piece in self._pieces)

    def _put(self, place: int, message: Message) -> None:
        self.messages[place] = message
        self._pieces[place].data = encode(message)

    def _edited(self, before: int) -> None:
        """Take note of an edit; `before` was the estimated size."""
        self.rewritten += 1
        self.steps = []
        for message, piece in zip(self.messages[1:], self._pieces[1:], strict=True):
            self._count_step(message["role"], piece.tokens, is_new=True)
        after, tokens = self._estimate, self.tokens
        if not self.known_tokens or not before:
            self.added_tokens = after
            return
        now = min(math.ceil(tokens * after / before), tokens + max(after - before, 0))
        self.slack_tokens += math.ceil(abs(tokens - now) * SLACK)
        self.known_tokens, self.added_tokens, self.added_blocks = now, 0, 0


def _add(to: dict[str, int], layers: Mapping[str, int], sign: int = 1) -> None:
    for name, tokens in layers.items():
        to[name] = to.get(name, 0) + sign * tokens


def _thinking_blocks(message: Message) -> int:
    return sum(block.get("type") in THINKING for block in message["content"])
