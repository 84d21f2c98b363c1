"""Other ways to search the memory's retrieval set: plain BM25, and a vector store."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from orchestrator.memory.embedding import Embedder
from orchestrator.memory.entries import Topic

__all__ = ["PACKAGES", "Ranked", "bm25", "installed", "vector_store"]

PACKAGES: Final = ("bm25s==0.3.16", "PyStemmer==3.1.0", "usearch==2.26.6")
_WIDE: Final = re.compile("([\u3040-\u30ff\u3400-\u9fff])")
_TOKEN: Final = "(?u)[\u3040-\u30ff\u3400-\u9fff]|\\b\\w\\w+\\b"
_MOST: Final = 5

Ranked = Callable[[str], Sequence[tuple[str, float]]]
"""Returns keys and scores, more is better, the best first; five at most."""


def installed(folder: Path) -> str:
    """Install the packages into a folder, importable; return why not, or ""."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"),
            *("--disable-pip-version-check", "--target", str(folder), *PACKAGES),
            *("numkong", "tqdm"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return "could not be installed"
    sys.path.insert(0, str(folder))
    return ""


def bm25(topics: Sequence[Topic], *, is_cut: bool) -> Ranked:
    """Return plain BM25 with English stems and stop words.

    Args:
        topics: what is searched.
        is_cut: each character of East Asia is a word.
    """
    bm25s: Any = import_module("bm25s")
    stemmer = import_module("Stemmer").Stemmer("english")
    more = {"token_pattern": _TOKEN} if is_cut else {}

    def cut(texts: list[str]) -> Any:
        if is_cut:
            texts = [_WIDE.sub(r" \1 ", text) for text in texts]
        return bm25s.tokenize(
            texts, stopwords="en", stemmer=stemmer, show_progress=False, **more
        )

    keys, texts = _texts(topics)
    index = bm25s.BM25()
    index.index(cut(texts), show_progress=False)

    def ranked(query: str) -> list[tuple[str, float]]:
        rows, scores = index.retrieve(cut([query]), k=_MOST, show_progress=False)
        pairs = zip(rows[0], scores[0], strict=True)
        return [(keys[at], float(score)) for at, score in pairs if score > 0]

    return ranked


def vector_store(topics: Sequence[Topic], embedder: Embedder) -> Ranked:
    """Return a search for the nearest vectors, by cosine."""
    np: Any = import_module("numpy")
    stores: Any = import_module("usearch.index")
    keys, texts = _texts(topics)
    vectors = np.asarray(embedder.embed(texts), dtype=np.float32)
    index = stores.Index(ndim=vectors.shape[1], metric="cos", dtype="f32")
    index.add(np.arange(len(keys)), vectors)

    def ranked(query: str) -> list[tuple[str, float]]:
        vector = np.asarray(embedder.embed([query])[0], dtype=np.float32)
        found = index.search(vector, _MOST)
        pairs = zip(found.keys, found.distances, strict=True)
        return [(keys[int(at)], 1 - float(distance)) for at, distance in pairs]

    return ranked


def _texts(topics: Sequence[Topic]) -> tuple[list[str], list[str]]:
    entries = [entry for topic in topics for entry in topic.entries]
    return (
        [entry.key for entry in entries],
        [f"{entry.key}: {entry.value}" for entry in entries],
    )
