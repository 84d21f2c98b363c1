"""Texts as vectors: the port, an endpoint that speaks OpenAI's API, and the choice.

Vectors are an addition to words. Whoever uses an embedder goes on without it where it
fails, so that it raises one error for all that may go wrong.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from typing import Final, Protocol
from urllib.parse import urlsplit

import anyio

from orchestrator.errors import EmbedderError, SpecError
from orchestrator.extras import how_to_install, is_installed
from orchestrator.settings import Settings

__all__ = ["KEY_VARIABLE", "Embedder", "OpenAiEmbedder", "embedder_of"]

KEY_VARIABLE: Final = "ORCHESTRATE_EMBEDDER_KEY"
LIMIT_S: Final = 10.0
"""For one request, from the connection to the last byte."""
MOST_TEXTS: Final = 64
"""Of one request."""
_MOST_BYTES: Final = 50_000_000
_SAID_CHARS: Final = 200


class Embedder(Protocol):
    """Turns texts into vectors, of which near ones mean alike."""

    @property
    def name(self) -> str:
        """Return what tells its vectors from those of others."""
        ...

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text, all of one size. Called from any thread.

        Raises:
            EmbedderError: there are none; the same texts may be embedded later.
        """
        ...


class OpenAiEmbedder:
    """Asks an endpoint with OpenAI's API for embeddings (`POST <url>/embeddings`)."""

    def __init__(
        self, url: str, model: str, key: str = "", *, limit_s: float = LIMIT_S
    ) -> None:
        """Make an embedder; nothing is sent yet.

        Args:
            url: of the API, such as `https://api.example.com/v1`.
            model: as the endpoint calls it.
            key: sent as bearer token; "": none is sent.
            limit_s: for one request.
        """
        self.name = f"openai:{model}@{urlsplit(url).netloc.rpartition('@')[2]}"
        self._url, self._model, self._key = url.rstrip("/"), model, key
        self._limit_s = limit_s

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text.

        Raises:
            EmbedderError: nobody answers in time, or the answer holds no vectors.
        """
        found: list[Sequence[float]] = []
        for at in range(0, len(texts), MOST_TEXTS):
            part = list(texts[at : at + MOST_TEXTS])
            found += _vectors(self._answer(part), len(part))
        return found

    def _answer(self, texts: list[str]) -> bytes:
        import httpcore2  # noqa: PLC0415 - most processes never embed anything

        headers = [("Content-Type", "application/json"), ("Accept", "application/json")]
        if self._key:
            headers.append(("Authorization", f"Bearer {self._key}"))
        content = json.dumps({"model": self._model, "input": texts}).encode()
        limits = dict.fromkeys(("connect", "read", "write", "pool"), self._limit_s)

        async def ask() -> bytes:
            with anyio.fail_after(self._limit_s):
                async with (
                    httpcore2.AsyncConnectionPool() as pool,
                    pool.stream(
                        "POST",
                        f"{self._url}/embeddings",
                        headers=headers,
                        content=content,
                        extensions={"timeout": limits},
                    ) as response,
                ):
                    body = bytearray()
                    async for chunk in response.aiter_stream():
                        body += chunk
                        if len(body) > _MOST_BYTES:
                            raise EmbedderError("the endpoint sends too much")
                    if response.status != 200:
                        raise EmbedderError(self._refused(response.status, bytes(body)))
                    return bytes(body)

        try:
            return _in_thread(lambda: anyio.run(ask), self._limit_s)
        except TimeoutError as error:
            told = f"the endpoint did not answer within {self._limit_s:g} s"
            raise EmbedderError(told) from error
        except (
            OSError,
            httpcore2.NetworkError,
            httpcore2.ProtocolError,
            httpcore2.TimeoutException,
        ) as error:
            why = type(error).__name__
            raise EmbedderError(f"the endpoint cannot be reached ({why})") from error

    def _refused(self, status: int, body: bytes) -> str:
        said = " ".join(body.decode("utf-8", "replace").split())
        if self._key:
            said = said.replace(self._key, "***")
        return f"the endpoint answers {status}: {said[:_SAID_CHARS]}"


def _vectors(body: bytes, wanted: int) -> list[Sequence[float]]:
    """Return the vectors of an answer, in the order of what was asked.

    Raises:
        EmbedderError: the answer is not that.
    """
    try:
        rows = {int(row["index"]): row["embedding"] for row in json.loads(body)["data"]}
        found = [tuple(map(float, rows[at])) for at in range(wanted)]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise EmbedderError("the answer of the endpoint holds no vectors") from error
    sizes = {len(vector) for vector in found}
    if len(sizes) > 1 or 0 in sizes or len(rows) != wanted:
        raise EmbedderError("the vectors of the endpoint are not of one size")
    if not all(math.isfinite(each) for vector in found for each in vector):
        raise EmbedderError("the vectors of the endpoint hold what is no number")
    return list(found)


def _in_thread(work: Callable[[], bytes], limit_s: float) -> bytes:
    """Return what `work` returns, in a thread of its own: ours may have a loop.

    Raises:
        TimeoutError: it hangs where it cannot be stopped, such as in a look-up.
    """
    done: Future[bytes] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            done.set_exception(error)

    threading.Thread(target=run, daemon=True, name="embedder").start()
    return done.result(limit_s + 1)


def embedder_of(settings: Settings, env: Mapping[str, str]) -> Embedder | None:
    """Return the embedder that the settings ask for; None: words are enough.

    Raises:
        SpecError: there is no such embedder, or it is not installed.
    """
    chosen = settings.embedder
    if not chosen:
        return None
    if chosen == "local":
        if not is_installed("semantic"):
            told = f"`local` is not installed; {how_to_install('semantic')}"
            raise SpecError(told, field="ORCHESTRATE_EMBEDDER")
        return _local()
    model = chosen.removeprefix("openai:")
    key = env.get(KEY_VARIABLE, "").strip()
    return OpenAiEmbedder(settings.embedder_url, model, key)


@cache
def _local() -> Embedder:
    """Return the one encoder of this process: its weights take 154 MB."""
    from orchestrator.memory.local_embedder import (  # noqa: PLC0415 - an extra
        LocalEmbedder,
    )

    return LocalEmbedder()
