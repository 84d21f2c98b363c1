"""The transcript of one agent: append-only, with its bytes and its size kept.

Each message is encoded once, when it is appended; a request joins the pieces. So the
work of a turn does not grow with the number of turns before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from orchestrator.context.marks import End
from orchestrator.messages import Block, Message, encode, tool_calls, without_thinking

__all__ = ["Transcript"]

MEASURED_FROM_TOKENS = 500
"""What the service adds for itself outweighs the text of smaller messages."""
MAX_DEARNESS = 4.0
"""No text costs more: a token is a byte at least, an estimate at most four."""


class Transcript:
    """Everything an agent's conversation ever held, oldest first.

    `known_tokens` is what the service reported for the newest request and its answer;
    `added_tokens` estimates what came after it, in `added_blocks` blocks.
    `dearness` is the most that the service counted for what was estimated as one token.
    `first_tokens` estimates the first message and all before it; `rewritten` counts how
    often what was sent has changed.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.pieces: list[bytes] = []
        self.known_tokens = 0
        self.added_tokens = 0
        self.added_blocks = 0
        self.dearness = 1.0
        self.first_tokens = 0
        self.rewritten = 0
        self.call_ids: set[str] = set()

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def tokens(self) -> int:
        """Return the size of the next request, in tokens: reported plus estimated."""
        return self.known_tokens + self.added_tokens

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
        return self.known_tokens + added + self.added_blocks * block_tokens

    def append(self, role: str, content: Sequence[Block], *, tokens: int) -> None:
        """Append one message; what a role adds to its own last message joins that.

        So user and assistant take turns, whatever was discarded between.

        Args:
            role: `user` or `assistant`.
            content: one block or more, none of them an empty text.
            tokens: estimated size.

        Raises:
            ValueError: there is no content.
        """
        if not content:
            raise ValueError("a message needs content")
        blocks = list(content)
        if self.messages and self.messages[-1]["role"] == role:
            blocks = [*self.messages.pop()["content"], *blocks]
            self.pieces.pop()
        message: Message = {"role": role, "content": blocks}
        self.messages.append(message)
        self.pieces.append(encode(message))
        self.added_tokens += tokens
        self.added_blocks += len(content)
        if len(self.messages) == 1:
            self.first_tokens += tokens
        self.call_ids |= {block["id"] for block in tool_calls(content)}

    def measured(self, tokens: int) -> None:
        """Compare the estimate of what was added with what the service counted.

        Args:
            tokens: counted for everything up to now, the answer not yet in it.
        """
        if self.added_tokens >= MEASURED_FROM_TOKENS:
            dearness = (tokens - self.known_tokens) / self.added_tokens
            self.dearness = max(self.dearness, min(dearness, MAX_DEARNESS))

    def reported(self, tokens: int) -> None:
        """Take over what the service counted for everything up to now."""
        self.known_tokens, self.added_tokens, self.added_blocks = tokens, 0, 0

    def doubt(self) -> None:
        """Take what was counted for an estimate: another model counts otherwise."""
        self.added_tokens += self.known_tokens
        self.known_tokens = 0

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
                self.messages[place] = {"role": "assistant", "content": content}
                self.pieces[place] = encode(self.messages[place])
        self.rewritten += bool(dropped)
        return dropped

    def shortened(self, tokens: int) -> None:
        """Take note that so much, as estimated, is not in it any more."""
        added = max(self.added_tokens - tokens, 0)
        self.known_tokens -= tokens - (self.added_tokens - added)
        self.added_tokens = added

    def answer_anew(self, result: Block) -> Block | None:
        """Put a result in the place of the one that its call has; return that.

        None: no result of that call is here. The size stays as it was.
        """
        call = result["tool_use_id"]
        for place, message in enumerate(self.messages):
            for at, block in enumerate(message["content"]):
                if block.get("tool_use_id") == call:
                    content = list(message["content"])
                    content[at] = result
                    self.messages[place] = {**message, "content": content}
                    self.pieces[place] = encode(self.messages[place])
                    self.rewritten += result != block
                    return dict(block)
        return None

    @property
    def open_calls(self) -> list[Block]:
        """Return the calls of a last assistant message: they wait for results."""
        if self.messages and self.messages[-1]["role"] == "assistant":
            return tool_calls(self.messages[-1]["content"])
        return []

    def holds(self, text: str) -> bool:
        """Return whether `text` occurs in anything the agent was sent.

        What it said itself does not count: saying a name must not make it known.
        """
        needle = encode(text)[1:-1]
        return any(
            needle in piece
            for message, piece in zip(self.messages, self.pieces, strict=True)
            if message["role"] == "user"
        )

    def texts(self, role: str) -> Iterable[str]:
        """Yield the text blocks of `role`, newest first."""
        for message in reversed(self.messages):
            if message["role"] == role:
                for block in reversed(message["content"]):
                    if block.get("type") == "text":
                        yield str(block["text"])
