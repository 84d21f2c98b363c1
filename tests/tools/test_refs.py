from __future__ import annotations

import json
from typing import Any

import pytest
from tool_bench import ToolBench

from orchestrator.messages import text_of


def stored(bench: ToolBench, content: str) -> str:
    ref = bench.artifacts.put(content.encode())
    bench.shown += ref
    return ref


async def test_only_references_that_were_seen_can_be_opened(bench: ToolBench) -> None:
    ref = bench.artifacts.put(b"someone else's")

    told = await bench.error("read_ref", ref=ref)
    bench.shown = f"see {ref}"

    assert "does not occur in what you were shown" in told
    assert "1\tsomeone else's" in await bench.text("read_ref", ref=ref)


@pytest.mark.parametrize(
    "ref", ["h", "h1.", "a0", "art_", "art_xyz", "../../etc/passwd", "x" * 200]
)
async def test_what_is_no_reference_is_a_bounded_error(
    bench: ToolBench, ref: str
) -> None:
    bench.shown = ref

    assert "is no reference" in (told := await bench.error("read_ref", ref=ref))
    assert len(told) < 300


async def test_a_reference_may_come_in_the_clothes_it_was_seen_in(
    bench: ToolBench,
) -> None:
    ref = stored(bench, "text\n")

    for written in (f"`{ref}`", f"{ref}.txt", f'"{ref}"', f"[{ref}]", f"{ref}:1"):
        assert "1\ttext" in await bench.text("read_ref", ref=written)


async def test_a_reference_whose_file_is_gone_is_an_error(bench: ToolBench) -> None:
    ref = stored(bench, "text\n")
    bench.artifacts.path(ref).unlink()

    assert "cannot be opened" in await bench.error("read_ref", ref=ref)


async def test_it_is_paged_like_a_file(bench: ToolBench) -> None:
    ref = stored(bench, "".join(f"line {n}\n" for n in range(1, 5001)))

    first = await bench.call("read_ref", ref=ref)
    some = await bench.text("read_ref", ref=ref, first_line=4000, max_lines=2)

    assert first.tokens <= 8000
    assert "more lines; go on with first_line=" in text_of(first.content)
    assert some.startswith(f"{ref}: lines 4000-4001 of 5000\n4000\tline 4000\n")


@pytest.mark.parametrize("pattern", ["row 7", "row (7|8)$", "r.w 7", "(?-u)row 7"])
async def test_a_pattern_shows_only_lines_that_match(
    bench: ToolBench, pattern: str
) -> None:
    ref = stored(bench, "".join(f"row {n}\n" for n in range(100)))

    text = await bench.text("read_ref", ref=ref, pattern=pattern)

    assert text.split("\n")[:2] == [f"{ref}: matching lines", "8\trow 7"]


async def test_matching_lines_are_paged_too(bench: ToolBench) -> None:
    ref = stored(bench, "".join(f"row {n}\nother\n" for n in range(3000)))

    first = await bench.call("read_ref", ref=ref, pattern="row")
    text = text_of(first.content)
    next_line = int(text.rpartition("first_line=")[2].rstrip("]"))
    later = await bench.text(
        "read_ref", ref=ref, pattern="row", first_line=next_line, max_lines=2
    )

    assert first.tokens <= 8000
    last_shown = int(text.split("\n")[-2].partition("\t")[0])
    assert next_line == last_shown + 1
    assert later.split("\n")[1].startswith(f"{last_shown + 2}\trow")
    assert later.split("\n")[3].startswith("[more lines match")


async def test_no_match_is_said(bench: ToolBench) -> None:
    ref = stored(bench, "text\n")

    assert "No line of" in await bench.text("read_ref", ref=ref, pattern="nope")


async def test_a_bad_pattern_is_an_error(bench: ToolBench) -> None:
    ref = stored(bench, "text\n")

    assert "unclosed group" in await bench.error("read_ref", ref=ref, pattern="(a")


CONTENT: Any = {
    "total": 12,
    "items": [{"name": f"n{n}", "tags": ["x"]} for n in range(12)],
    "meta": {"by": {"who": "me"}, "long": "y" * 5000},
}


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        (["total"], "total: 12"),
        (["meta.by.who"], 'meta.by.who: "me"'),
        (["items.11.name"], 'items.11.name: "n11"'),
        (["items[2].name", "total"], 'items[2].name: "n2"'),
        (["items.name"], "12 items in all; ask for one by its number"),
        (["items"], "12 items in all; ask for one by its number"),
        (["meta.long"], "5,000 characters in all"),
    ],
)
async def test_fields_show_parts_of_a_json_content(
    bench: ToolBench, fields: list[str], shown: str
) -> None:
    ref = stored(bench, json.dumps(CONTENT))

    text = await bench.text("read_ref", ref=ref, fields=fields)

    assert shown in text
    assert "n6" not in text


async def test_long_lists_show_their_first_five(bench: ToolBench) -> None:
    ref = stored(bench, json.dumps(CONTENT))

    text = await bench.text("read_ref", ref=ref, fields=["items.name"])

    assert [f'"n{n}"' in text for n in range(6)] == [True] * 5 + [False]


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("totl", 'no field "totl" in `the content`: an object with `total`, `items`'),
        ("items.99", "a list of 12 items, counted from 0"),
        ("total.x", 'no field "x" in `total`: a plain value, 12'),
        ("z" * 900, "no field"),
    ],
)
async def test_a_field_that_is_not_there_says_what_is(
    bench: ToolBench, field: str, told: str
) -> None:
    ref = stored(bench, json.dumps(CONTENT))

    error = await bench.error("read_ref", ref=ref, fields=[field])

    assert told in error
    assert len(error) < 400


async def test_a_text_has_no_fields(bench: ToolBench) -> None:
    ref = stored(bench, "no json\n")

    assert "is not JSON" in await bench.error("read_ref", ref=ref, fields=["a"])
