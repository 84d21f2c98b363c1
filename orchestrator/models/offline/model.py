"""`offline`: a deterministic, extractive stand-in behind the model port.

It needs no key, no network and no weights, and it understands nothing: it splits,
searches, copies and cites. It sees what a model would see, the request, and nothing
else.
"""

from __future__ import annotations

import time

from orchestrator.ids import sha256
from orchestrator.messages import Block, encode
from orchestrator.models.base import ModelRequest, OnRetry, Reply, Usage
from orchestrator.models.offline.lead import lead
from orchestrator.models.offline.reading import Conversation
from orchestrator.models.offline.recollecting import recollected
from orchestrator.models.offline.subagent import subagent
from orchestrator.models.offline.summary import is_asked_for, summarise

__all__ = ["OfflineModel"]

# Bytes of a JSON body per token, on the cautious side for mixed text.
BYTES_PER_TOKEN = 3.5


class OfflineModel:
    """Answers as lead or as subagent, by the tools that are offered."""

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        """Return the reply; the same request gives the same reply.

        Args:
            request: what a model would be sent.
            on_retry: never called, since nothing can fail on the way.
        """
        del on_retry
        started = time.perf_counter()
        content = _content(Conversation.of(request), request.max_output_tokens)
        seconds = time.perf_counter() - started
        has_calls = any(block["type"] == "tool_use" for block in content)
        return Reply(
            content=content,
            stop_reason="tool_use" if has_calls else "end_turn",
            usage=Usage(
                input_tokens=_tokens(len(request.body or encode(_shown(request)))),
                output_tokens=_tokens(len(encode(content))),
            ),
            model="offline",
            message_id=f"msg_{_mark(encode(content), len(request.messages), 0)}",
            seconds=seconds,
            first_token_s=seconds,
        )

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


def _content(conversation: Conversation, max_tokens: int) -> list[Block]:
    if is_asked_for(conversation):
        return [{"type": "text", "text": summarise(conversation, max_tokens)}]
    conversation = recollected(conversation)
    if "submit_findings" in conversation.tools:
        steps = subagent(conversation)
    elif "finish" in conversation.tools:
        steps = lead(conversation)
    else:
        return [{"type": "text", "text": summarise(conversation, max_tokens)}]
    return [
        {
            "type": "tool_use",
            "id": f"toolu_{_mark(encode([name, given]), conversation.turns, place)}",
            "name": name,
            "input": given,
        }
        for place, (name, given) in enumerate(steps)
    ]


def _mark(content: bytes, turn: int, place: int) -> str:
    # Turn and place make it unique where the same call is made twice.
    return sha256(b"%d.%d." % (turn, place) + content)[:20]


def _tokens(size: int) -> int:
    return int(size / BYTES_PER_TOKEN) + 1


def _shown(request: ModelRequest) -> list[object]:
    return [request.system, request.tools, request.messages]
