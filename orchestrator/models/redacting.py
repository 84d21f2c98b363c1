"""What an endpoint says, without secrets: the one way by which it enters a run.

An endpoint may repeat a key in an error, a name or a reason. Blocks of a reply stay as
they came, since they go back to it; only the handles of calls are the program's to use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from orchestrator.errors import ModelError
from orchestrator.messages import Block, shortened, with_texts
from orchestrator.models.base import (
    Model,
    ModelRequest,
    OnRetry,
    Reply,
    Retry,
    caches_prompts,
)

__all__ = ["Redacting", "redact_error"]

MAX_MESSAGE_CHARS: Final = 600
MAX_DETAIL_CHARS: Final = 100

Redact = Callable[[str], str]


class Redacting:
    """A model of which everything but the blocks of its replies is redacted.

    Attributes:
        caches_prompts: as the model it wraps.
    """

    def __init__(self, model: Model, redact: Redact) -> None:
        """Wrap `model`, which stays its owner's.

        Args:
            model: says what it says.
            redact: replaces secrets in a text; of the run that asks.
        """
        self._model, self._redact = model, redact
        self.caches_prompts = caches_prompts(model)

    @classmethod
    def opened(cls, opens: Callable[[str], Model], redact: Redact, name: str) -> Model:
        """Return the model called `name`, redacted.

        Args:
            opens: bare id → the model behind it.
            redact: as for the class.
            name: a bare id.

        Raises:
            ModelError: as `opens` does, redacted.
        """
        try:
            return cls(opens(name), redact)
        except ModelError as error:
            redact_error(error, redact)
            raise

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        """Return the reply to `request`.

        Raises:
            ModelError: no usable reply.
        """

        def on_told(retry: Retry) -> None:
            message = shortened(self._redact(retry.message), MAX_MESSAGE_CHARS)
            on_retry(replace(retry, message=message))

        try:
            reply = await self._model.complete(request, on_retry=on_told)
        except ModelError as error:
            redact_error(error, self._redact)
            raise
        return _redacted(reply, self._redact)

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self._model.aclose()


def redact_error(error: ModelError, redact: Redact) -> None:
    """Replace secrets in what an error says, in place: others may know it by itself.

    Only then is it cut, so that no half of a secret is left. Doing it again changes
    nothing.

    Args:
        error: changed.
        redact: replaces secrets in a text.
    """
    error.message = shortened(redact(error.message), MAX_MESSAGE_CHARS)
    error.detail = shortened(redact(error.detail), MAX_DETAIL_CHARS)
    error.args = (error.kind, error.message)


def _redacted(reply: Reply, redact: Redact) -> Reply:
    def fit(value: Any) -> Any:  # noqa: ANN401 - JSON
        return with_texts(value, redact)

    miss = reply.cache_miss
    return replace(
        reply,
        content=[_with_fit_handles(block, redact) for block in reply.content],
        stop_reason=fit(reply.stop_reason),
        model=redact(reply.model),
        message_id=redact(reply.message_id),
        cut_calls=frozenset(map(redact, reply.cut_calls)),
        broken_calls=fit(reply.broken_calls),
        stop_details=fit(reply.stop_details),
        cache_miss=miss and replace(miss, reason=redact(miss.reason)),
    )


def _with_fit_handles(block: Block, redact: Redact) -> Block:
    """Return a block whose handles, if it is a call, may stand in events and files."""
    if block.get("type") != "tool_use":
        return block
    names = [name for name in ("id", "name") if name in block]
    fit: Block = {name: redact(str(block[name])) for name in names}
    return block if fit.items() <= block.items() else {**block, **fit}
