from __future__ import annotations

import base64
import json
import re
import textwrap
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from tool_bench import ToolBench

from orchestrator.context.clipping import clip_text
from orchestrator.context.layout import Label
from orchestrator.context.tokens import estimate
from orchestrator.messages import encode, text_of
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.cleaning import clean
from orchestrator.tools.entry import admit

BLOB = base64.b64encode(bytes(i * 7 % 256 for i in range(1500))).decode()
WRAPPED = "\n".join(textwrap.wrap(BLOB, 76))
REF = re.compile(r"art_[0-9a-f]{12}")


def keep_ends(text: str, *, limit_tokens: int, is_error: bool, ref: str) -> str:
    return f"{text[:200]}\n[… cut; {ref} …]\n{text[-200:]}"


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        pytest.param("\x1b[38;2;1;2;3mred\x1b[0m", "red", id="24-bit colour"),
        pytest.param("\x1b]0;title\x07text", "text", id="title ended by BEL"),
        pytest.param("\x1b]8;;http://x\x1b\\t", "t", id="link ended by ST"),
        pytest.param("\x1b]0;never ended\nnext", "\nnext", id="unended title"),
        pytest.param("\x9b1mbold", "bold", id="C1 form"),
        pytest.param("10%\r 50%\r100%\ndone", "100%\ndone", id="progress bar"),
        pytest.param("99%\r100%\r\ndone\r\n", "100%\ndone\n", id="CR LF"),
        pytest.param("N\x08NA\x08A |\x08/\x08-", "NA -", id="overstrikes"),
        pytest.param("a\0b\x07c", "a\ufffdb\ufffdc", id="NUL and BEL"),
        pytest.param("\ud83d half", "\ufffd half", id="lone surrogate"),
        pytest.param("a\tb\n", "a\tb\n", id="tabs and line ends stay"),
    ],
)
def test_terminal_codes_are_stripped_and_the_last_state_stays(
    raw: str, cleaned: str
) -> None:
    assert clean(raw) == cleaned


@pytest.mark.parametrize("blob", [BLOB, f"data:image/png;base64,{BLOB}", WRAPPED])
def test_base64_becomes_a_note_with_its_size(blob: str) -> None:
    text = clean(f"before\n{blob}\nafter")

    assert BLOB[:60] not in text
    assert "[base64 left out: 2,000 characters]" in text
    assert text.count("\n") == blob.count("\n") + 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(BLOB[:199], id="short"),
        pytest.param("/srv/Data2026/TheLongNameOfAFolder" * 10, id="a long path"),
        pytest.param("getUserNameFromSessionV2ById" * 12, id="a long name"),
        pytest.param("x" * 5000, id="one letter"),
        pytest.param("0123456789abcdef" * 200, id="hex"),
        pytest.param("\n".join(f"{n:064x}" for n in range(50)), id="hashes"),
        pytest.param("=" * 3000, id="a rule"),
        pytest.param("天地玄黄宇宙洪荒" * 300, id="Chinese"),
        pytest.param(
            "\n".join(f"com/Example/pkg{n}/{'Name' * (10 + n % 3)}" for n in range(60)),
            id="long paths",
        ),
    ],
)
def test_what_only_looks_like_base64_stays(text: str) -> None:
    assert clean(text) == text


@settings(deadline=None)
@given(
    st.text(alphabet=st.sampled_from("ab\r\n\t\x1b[]0m;\x07\x08\x9b\ud800é\U0001f600"))
)
def test_cleaning_twice_changes_nothing_and_gives_valid_utf8(raw: str) -> None:
    once = clean(raw)

    assert clean(once) == once
    assert once.encode().decode() == once


def test_a_long_result_is_clipped_and_its_whole_is_kept(bench: ToolBench) -> None:
    text = "".join(f"line {n} of the output\n" for n in range(5000))

    shown = admit(text, bench.context(), keep_ends)

    assert shown.tokens < 4000 < shown.full_tokens
    assert f"[… cut; {shown.artifact} …]" in text_of(shown.content)
    assert bench.artifacts.read_text(shown.artifact) == text


def test_a_brace_in_the_output_is_not_taken_for_the_marker(bench: ToolBench) -> None:
    text = 'f"{ref}" ' * 9000

    clip = partial(clip_text, count=estimate)
    shown = text_of(admit(text, bench.context(), clip).content)

    assert shown.startswith('f"{ref}" f"{ref}" ')
    assert len(REF.findall(shown)) == 1


def test_a_clip_without_a_marker_still_names_the_whole(bench: ToolBench) -> None:
    shown = admit(
        "word " * 20_000,
        bench.context(),
        lambda text, *, limit_tokens, is_error, ref: text[:100],
    )

    assert f'read_ref("{shown.artifact}")' in text_of(shown.content)


def test_a_page_is_not_clipped_unless_it_breaks_its_bound(bench: ToolBench) -> None:
    page = "".join(f"{n}\tsome text of a line\n" for n in range(700))
    assert 4000 < estimate(page) < 8000

    kept = admit(ToolOutput(page, paged=True), bench.context(), keep_ends)
    broken = admit(ToolOutput(page * 3, paged=True), bench.context(), keep_ends)

    assert (kept.content, kept.artifact) == (page, "")
    assert broken.artifact


def test_a_port_may_bring_its_own_bound(bench: ToolBench) -> None:
    text = "word " * 10_000

    output = ToolOutput(text, paged=True, limit_tokens=50_000)

    shown = admit(output, bench.context(), keep_ends)

    assert shown.artifact == ""


def test_secrets_are_replaced_before_anything_is_stored(bench: ToolBench) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = f"key: \x1b[1m{key}\x1b[0m\n" + "word " * 20_000

    shown = admit(text, bench.context(), keep_ends)

    assert key not in text_of(shown.content)
    assert key not in bench.artifacts.read_text(shown.artifact)


@pytest.mark.parametrize("agent", ["lead", "a1"])
async def test_every_agent_has_the_same_bound_and_can_open_the_whole(
    tmp_path: Path, agent: str
) -> None:
    # 8 MB in one result, and the reference in it can be opened.
    bench = ToolBench(tmp_path, agent=agent)
    (bench.root / "many").mkdir()
    ref = bench.artifacts.put(b"".join(b"row %d\n" % n for n in range(900_000)))
    bench.shown = ref

    first = await bench.call("read_ref", ref=ref)
    later = await bench.text("read_ref", ref=ref, first_line=899_999)

    assert first.tokens <= 8200
    assert "899999\trow 899998\n900000\trow 899999" in later


async def test_what_a_clipped_result_names_can_be_opened(bench: ToolBench) -> None:
    for n in range(700):
        bench.write(f"a_rather_long_name_for_a_file_{n:04}.txt", "x")

    shown = await bench.text("glob", pattern="*.txt")
    [ref] = REF.findall(shown)

    whole = await bench.text("read_ref", ref=ref, first_line=250, max_lines=1)
    assert "250\ta_rather_long_name_for_a_file_0249.txt" in whole


async def test_first_clipped_results_of_two_agents_never_collide(
    tmp_path: Path,
) -> None:
    # Names come from the content.
    bench = ToolBench(tmp_path)
    refs = [
        admit(f"{who} " * 20_000, bench.context(who), keep_ends).artifact
        for who in ("one", "two")
    ]

    assert len(set(refs)) == 2
    assert bench.artifacts.read_text(refs[0]).startswith("one")
    assert bench.artifacts.read_text(refs[1]).startswith("two")


async def test_a_cut_emoji_or_flag_reaches_neither_log_nor_wire(
    bench: ToolBench,
) -> None:
    bench.write("flags.txt", "🇩🇪👩‍👩‍👧e\u0301" * 20_000)

    result = await bench.call("read_file", path="flags.txt")

    encode(result.content)
    text = text_of(result.content)
    head, _, tail = text.partition(" [… ")
    assert re.fullmatch("[^\t]+\t(🇩🇪|👩‍👩‍👧|e\u0301)+", head)
    assert re.match("(🇩🇪|👩‍👩‍👧|e\u0301)+\n?", tail.partition("…] ")[2])


def test_an_image_counts_by_its_pixels_beside_the_text(tmp_path: Path) -> None:
    data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes([0, 0, 2, 128, 0, 0, 1, 224]) * 9000
    source = {
        "type": "base64",
        "media_type": "image/png",
        "data": base64.b64encode(data).decode(),
    }
    shown = ToolOutput("a picture", blocks=({"type": "image", "source": source},))
    context = ToolBench(tmp_path).context()

    admitted = admit(shown, context, keep_ends)

    assert admitted.tokens == 23 * 18 + context.count("a picture")
    assert admitted.full_tokens == admitted.tokens


ORDERS = {"total": 9000, "ids": list(range(9000)), "note": "\x1b[1mbold \ud83d"}


def test_json_over_the_limit_is_abridged_and_its_parts_can_be_asked_for(
    bench: ToolBench,
) -> None:
    admitted = admit(json.dumps(ORDERS), bench.context(), keep_ends)
    shown = text_of(admitted.content)

    assert "9000 items in all" in shown
    assert f'read_ref("{admitted.artifact}", fields=["…"])' in shown
    assert json.loads(bench.artifacts.read_text(admitted.artifact)) == ORDERS
    assert admitted.tokens < 200 < admitted.full_tokens
    shown.encode()


def test_errors_and_pages_of_json_stay_as_they_were(bench: ToolBench) -> None:
    text = json.dumps(ORDERS)

    for output in (ToolOutput(text, is_error=True), ToolOutput(text, paged=True)):
        shown = admit(output, bench.context(), keep_ends, fields=("total",))
        assert text_of(shown.content).startswith(text[:200] + "\n[… cut; art_")


def test_a_secret_that_json_wrote_with_escapes_is_not_shown(bench: ToolBench) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    text = json.dumps({"key": key, "rows": list(range(9000))}).replace(
        "ghp_", "ghp\\u005f"
    )

    shown = admit(text, bench.context(), keep_ends)

    assert key not in text_of(shown.content)


class NoArgs(BaseModel):
    """Takes nothing."""


class Query:
    """Answers with a record of which most is of no use."""

    name: ClassVar[str] = "query"
    description: ClassVar[str] = "Looks up an order."
    Args: ClassVar[type[BaseModel]] = NoArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 5
    context_fields: ClassVar[tuple[str, ...]] = ("order.state",)
    label: ClassVar[Label] = "transient"

    def run(self, args: NoArgs, context: ToolContext) -> str:
        return json.dumps({"order": {"state": "paid", "lines": [1, 2]}, "raw": "x"})


async def test_a_tool_names_the_parts_that_are_shown_of_it(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, tools=(Query(),))

    result = await bench.call("query")
    shown = text_of(result.content)

    assert shown.startswith(
        'order.state: "paid"\n[not shown: order.lines, raw. A part: '
    )
    ref = REF.search(shown)
    assert ref is not None
    assert 'raw: "x"' in await bench.text("read_ref", ref=ref[0], fields=["raw"])


async def test_the_label_of_a_result_is_in_the_log(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, tools=(Query(),))

    result = await bench.call("query")
    usual = await bench.call("list_dir")

    labels = [e.data["label"] for e in bench.events if e.kind == "tool.ended"]
    assert labels == ["transient", ""]
    assert (result.label, usual.label) == ("transient", "reference")
