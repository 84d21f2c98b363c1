"""The pictures of the README: small, of this project alone, drawn by one command."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from tempfile import gettempdir

import pytest

DOCS = Path(__file__).parents[1] / "docs"
MAX_BYTES = 150_000
PICTURES = ("live-view.svg", "context-plot.png")
PLACES = [bytes(each) for each in (Path.home(), Path(gettempdir()), DOCS.parent)]
"""Of the machine that draws; none of them is to be seen."""
PATH = re.compile(r"(?<![\w./:<])/\w+/\w")
"""A path from the root of a machine."""


def check(folder: Path) -> None:
    for name in PICTURES:
        data = (folder / name).read_bytes()
        assert 1000 < len(data) < MAX_BYTES
        for place in (*PLACES, b"cdnjs", b'url("http'):
            assert place not in data
    assert (folder / "context-plot.png").read_bytes().startswith(b"\x89PNG")
    drawn = (
        (folder / "live-view.svg").read_text(encoding="utf-8").replace("&#160;", " ")
    )
    assert not PATH.search(drawn)
    for told in ("running", "waits for a", "clr/cmp", "compaction", "usd", "complete"):
        assert told in drawn


def test_the_pictures_are_small_and_show_what_they_should() -> None:
    check(DOCS)


@pytest.mark.slow
def test_one_command_draws_them_anew(tmp_path: Path) -> None:
    runpy.run_path(str(DOCS / "picture.py"))["main"](str(tmp_path))

    check(tmp_path)
    assert size_of(tmp_path) == size_of(DOCS)


def size_of(folder: Path) -> tuple[str, bytes]:
    """The size of each picture, as its file tells it."""
    svg = (folder / "live-view.svg").read_text(encoding="utf-8")
    png = (folder / "context-plot.png").read_bytes()
    return svg.partition('viewBox="')[2].partition('"')[0], png[16:24]
