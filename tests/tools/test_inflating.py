from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import ToolError
from orchestrator.tools.web.inflating import inflater


@settings(max_examples=40)
@given(
    st.binary(max_size=5000), st.integers(1, 400), st.sampled_from(["gzip", "deflate"])
)
def test_a_body_comes_out_as_it_was_however_it_is_cut(
    body: bytes, size: int, kind: str
) -> None:
    packed = gzip.compress(body) if kind == "gzip" else zlib.compress(body)
    unpacked = inflater("x-gzip" if kind == "gzip" else "deflate, identity")

    parts = [
        unpacked.feed(packed[start : start + size], 10_000)
        for start in range(0, len(packed), size)
    ]

    assert b"".join(parts) == body


def test_no_more_is_made_than_asked_for() -> None:
    bomb = gzip.compress(bytes(5_000_000))

    assert len(inflater("gzip").feed(bomb, 1000)) == 1000
    assert inflater("").feed(b"plain", 3) == b"pla"


@pytest.mark.parametrize("encoding", ["br", "zstd", "compress", "gzip, deflate"])
def test_what_was_not_asked_for_is_refused(encoding: str) -> None:
    with pytest.raises(ToolError, match="only gzip and deflate"):
        inflater(encoding)
