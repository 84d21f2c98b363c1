from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.evidence import (
    FoldedText,
    Found,
    Source,
    citations,
    find_quote,
    fold,
    parse_source,
    quote_problem,
    split_lines,
)

CODE = """\
import jwt


def check(token: str) -> bool:
    claims = jwt.decode(token, KEY)
    return claims["exp"] > now()

KEY = 1
"""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("src/a.py", Source("src/a.py"), id="no lines"),
        pytest.param("src/a.py:12", Source("src/a.py", 12, 12), id="one line"),
        pytest.param("src/a.py:12-14", Source("src/a.py", 12, 14), id="range"),
        pytest.param("src/a.py:12–14", Source("src/a.py", 12, 14), id="long dash"),
        pytest.param("src/a.py:14-12", Source("src/a.py", 12, 14), id="backwards"),
        pytest.param("src/a.py#L12-L14", Source("src/a.py", 12, 14), id="hash form"),
        pytest.param("src/a.py:0", Source("src/a.py", 1, 1), id="line zero"),
        pytest.param("`src/a.py:3`", Source("src/a.py", 3, 3), id="back-quotes"),
        pytest.param("[src/a.py:3]", Source("src/a.py", 3, 3), id="brackets"),
        pytest.param("C:", Source("C:"), id="drive alone"),
        pytest.param("C:\\x\\y.txt", Source("C:\\x\\y.txt"), id="drive"),
        pytest.param("C:\\y.txt:7", Source("C:\\y.txt", 7, 7), id="drive and line"),
        pytest.param(
            "http://localhost:8080", Source("http://localhost:8080"), id="port"
        ),
        pytest.param(
            "http://localhost:8080/a:3",
            Source("http://localhost:8080/a", 3, 3),
            id="port and line",
        ),
        pytest.param(
            "https://x.org:443:12-14",
            Source("https://x.org:443", 12, 14),
            id="port, then lines",
        ),
        pytest.param("https://x.org/p", Source("https://x.org/p"), id="address"),
        pytest.param("文档/部署 手册.md:5", Source("文档/部署 手册.md", 5, 5), id="zh"),
        pytest.param("说明.md\uff1a5-6", Source("说明.md", 5, 6), id="wide colon"),
        pytest.param("art_0123456789ab:3", Source("art_0123456789ab", 3, 3), id="art"),
        pytest.param("a:b-c:d.txt:9", Source("a:b-c:d.txt", 9, 9), id="odd name"),
        pytest.param("2026-11-29.md", Source("2026-11-29.md"), id="date"),
        pytest.param("2026-11-29.md:1-2", Source("2026-11-29.md", 1, 2), id="date 2"),
        pytest.param("notes-12", Source("notes-12"), id="dash only"),
        pytest.param("a:" + "9" * 400, Source("a:" + "9" * 400), id="not a number"),
    ],
)
def test_sources_are_read_from_the_right(source: str, expected: Source) -> None:
    assert parse_source(source) == expected


@given(
    st.from_regex(r"[a-z/][a-z0-9:/._ -]{0,20}[a-z]", fullmatch=True),
    st.integers(1, 10**6),
    st.integers(0, 50),
)
def test_a_written_source_is_read_back(target: str, first: int, more: int) -> None:
    source = Source(target, first, first + more)

    assert parse_source(str(source)) == source


@given(st.text(max_size=60))
def test_any_text_is_a_source(text: str) -> None:
    parse_source(text)


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        pytest.param("claims = jwt.decode(token, KEY)", Found(5, 5), id="line"),
        pytest.param("jwt.decode(token,  KEY)\n  return", Found(5, 6), id="two lines"),
        pytest.param("5\t    claims = jwt.decode(token, KEY)", Found(5, 5), id="read"),
        pytest.param(
            "5\t    claims = jwt.decode(token, KEY)\n6\t    return",
            Found(5, 6),
            id="r2",
        ),
        pytest.param("a/b-1.py:5:    claims = jwt.encode(t", None, id="not the words"),
        pytest.param(
            "a/b-1.py:5:    claims = jwt.decode(token, KEY)", Found(5, 5), id="grep"
        ),
        pytest.param(
            "a.py-4-def check(token: str) -> bool:\na.py:5:    claims =",
            Found(4, 5),
            id="grep with context",
        ),
        pytest.param("import jwt", Found(1, 1), id="short whole line"),
        pytest.param("KEY = 1", Found(8, 8), id="short last line"),
        pytest.param("import", None, id="part of a line"),
        pytest.param("claims = jwt.encode(token, KEY)", None, id="not there"),
        pytest.param("", None, id="empty"),
        pytest.param("e", None, id="one letter"),
    ],
)
def test_a_quote_is_found_where_it_stands(quote: str, expected: Found | None) -> None:
    assert find_quote(quote, CODE) == expected


def test_the_place_closest_to_the_lines_given_is_preferred() -> None:
    line = "the very same words on this line"
    text = "\n".join(line if n in (3, 50, 90) else f"line {n}" for n in range(1, 100))
    folded = FoldedText(text)

    assert find_quote(line, folded) == Found(3, 3)
    assert find_quote(line, folded, (48, 48)) == Found(50, 50)
    assert find_quote(line, folded, (80, 84)) == Found(90, 90)
    assert find_quote(line, folded, (60, 60)) == Found(50, 50)
    assert find_quote(line, folded, (5000, 5001)) == Found(90, 90)
    assert find_quote("line 7", folded, (99, 99)) == Found(7, 7)


def test_a_quote_that_covers_the_lines_given_is_near() -> None:
    text = "x\nfirst half of the words\nsecond half of them\ny\n"

    assert find_quote("half of the words second half", text, (3, 3)) == Found(2, 3)


def test_chinese_lines_are_joined_without_a_space() -> None:
    text = "退款需要在七天之内提出申请\uff0c\n  并且附上原始的订单号码和收据。\n"

    assert find_quote("七天之内提出申请\uff0c并且附上原始的订单号码", text) == Found(
        1, 2
    )
    assert find_quote("七天之内提出申请\uff0c 并且附上原始的订单号码", text) == Found(
        1, 2
    )


@pytest.mark.parametrize(
    ("quote", "is_right"),
    [
        pytest.param("e", False, id="one letter"),
        pytest.param("", False, id="empty"),
        pytest.param(" \n\t ", False, id="blanks"),
        pytest.param("claims = jwt", False, id="part of a line"),
        pytest.param("import jwt", True, id="whole line"),
        pytest.param("1\timport jwt", True, id="whole line with its number"),
        pytest.param("some/long/path/name.py:1:e", False, id="a path adds no length"),
        pytest.param("claims = jwt.decode(tok", True, id="long enough"),
        pytest.param("words that are not there", True, id="length alone is judged"),
    ],
)
def test_short_quotes_are_refused(quote: str, is_right: bool) -> None:
    assert (quote_problem(quote, CODE) == "") is is_right


def test_a_one_letter_line_is_no_quote() -> None:
    assert quote_problem("}", "a {\n}\n")
    assert find_quote("}", "a {\n}\n") is None


@given(
    st.lists(st.text("ab 中文。\t", max_size=30), max_size=30),
    st.integers(0, 29),
    st.integers(0, 29),
)
def test_what_was_copied_is_found(lines: list[str], first: int, last: int) -> None:
    text = "\n".join(lines)
    quote = "\n".join(lines[first : last + 1])

    found = find_quote(quote, text, (first + 1, last + 1))

    if len(fold(quote)) >= 20:
        assert found is not None
        assert first + 1 <= found.first <= found.last <= last + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "quote"),
    [
        pytest.param("ab" * 2_500_000, "ab" * 900 + "c", id="never"),
        pytest.param("a" * 5_000_000, "a" * 1999, id="everywhere"),
        pytest.param("aaaa\n" * 1_000_000, "a " * 900 + "b", id="lines"),
        pytest.param("aaaa\n" * 1_000_000, "aaaa", id="short lines"),
        pytest.param("中文" * 2_500_000, "中文" * 900 + "止", id="Chinese"),
    ],
)
def test_look_up_is_linear_in_the_length_of_the_text(text: str, quote: str) -> None:
    started = time.perf_counter()
    folded = FoldedText(text)

    for near in (None, (1, 1), (500_000, 500_001)):
        find_quote(quote, folded, near)

    assert time.perf_counter() - started < 20


def test_lines_are_counted_as_editors_do() -> None:
    assert split_lines("a\r\nb\rc\u2028d\x0ce\n") == ["a", "b", "c\u2028d\x0ce"]
    assert split_lines("") == []
    assert split_lines("\n\n") == ["", ""]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        pytest.param("x [a.py:12-14].", [("a.py", 12, 14)], id="range"),
        pytest.param("x [src/a.py:12]", [("src/a.py", 12, 12)], id="line"),
        pytest.param("x [`a.py:12`]", [("a.py", 12, 12)], id="back-quotes"),
        pytest.param(
            "[a.py:1-2, b.py:3; c.py:4]",
            [("a.py", 1, 2), ("b.py", 3, 3), ("c.py", 4, 4)],
            id="several",
        ),
        pytest.param(
            "[a.py:1-2, 7]", [("a.py", 1, 2), ("a.py", 7, 7)], id="more lines"
        ),
        pytest.param(
            "[a.py:1][b.py:2]", [("a.py", 1, 1), ("b.py", 2, 2)], id="side by side"
        ),
        pytest.param("在[文档/手册.md:3]中", [("文档/手册.md", 3, 3)], id="Chinese"),
        pytest.param(
            "[手册.md:3、b.md:4\uff0cc.md:5]",
            [("手册.md", 3, 3), ("b.md", 4, 4), ("c.md", 5, 5)],
            id="、",
        ),
        pytest.param("[Makefile:3]", [("Makefile", 3, 3)], id="no extension"),
        pytest.param("[.env:3]", [(".env", 3, 3)], id="dot file"),
        pytest.param("[art_0123456789ab:3]", [("art_0123456789ab", 3, 3)], id="art"),
        pytest.param("[app/[id]/p.tsx:4]", [("app/[id]/p.tsx", 4, 4)], id="brackets"),
        pytest.param("[see [a.py:1] there]", [("a.py", 1, 1)], id="nested"),
        pytest.param("word[a.py:3]", [("a.py", 3, 3)], id="no blank before"),
        pytest.param("[my notes/a b.md:3]", [("my notes/a b.md", 3, 3)], id="blanks"),
        pytest.param("rows[1:2] and x[k:1] and x[ab:3]", [], id="slices"),
        pytest.param("[10:30] [Mon 10:30] [12:30-14:00]", [], id="times"),
        pytest.param("[a.py:12](http://x) [text](url)", [], id="links"),
        pytest.param("[localhost:8080] [127.0.0.1:80] [x.com:443]", [], id="ports"),
        pytest.param("[https://x.org:443]", [], id="address"),
        pytest.param("[https://x.org/a,b;c]", [], id="address with commas"),
        pytest.param(
            "[https://x.org:80/a,b;c:12-14, 20; a.py:3]",
            [
                ("https://x.org:80/a,b;c", 12, 14),
                ("https://x.org:80/a,b;c", 20, 20),
                ("a.py", 3, 3),
            ],
            id="lines of an address",
        ),
        pytest.param(
            "[https://x.org, a.py:3]", [("a.py", 3, 3)], id="address without lines"
        ),
        pytest.param(
            "[https://x.org/?k=[secret:github:0123abcd]:4]",
            [("https://x.org/?k=[secret:github:0123abcd]", 4, 4)],
            id="address with a placeholder",
        ),
        pytest.param(
            "[http://[2606:4700::1]:8080/a:4]",
            [("http://[2606:4700::1]:8080/a", 4, 4)],
            id="IPv6",
        ),
        pytest.param("[x] [ ] [1] [note: 12] []", [], id="others"),
        pytest.param("```\n[a.py:1]\n```\n[b.py:2]", [("b.py", 2, 2)], id="fenced"),
        pytest.param("~~~~\n[a.py:1]\n~~~\n[b.py:1]\n", [], id="never closed"),
        pytest.param("````\n```\n[a.py:1]\n````\n[b.py:1]", [("b.py", 1, 1)], id="4"),
    ],
)
def test_citations_of_lines(report: str, expected: list[tuple[str, int, int]]) -> None:
    assert [(c.target, c.first, c.last) for c in citations(report)] == expected


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        pytest.param("x [a2#3].", [("a2", 3)], id="one"),
        pytest.param("x[a2#3]", [("a2", 3)], id="no blank"),
        pytest.param("[a2#3, a10#1]", [("a2", 3), ("a10", 1)], id="two"),
        pytest.param("[a2#2-3]", [("a2", 2), ("a2", 3)], id="range"),
        pytest.param("[a2] [#3] [b2#3] [a0#1] [A2#3]", [], id="others"),
    ],
)
def test_citations_of_findings(report: str, expected: list[tuple[str, int]]) -> None:
    assert [(c.agent, c.item) for c in citations(report)] == expected


def test_a_citation_knows_where_it_stands() -> None:
    report = "first\nthen [a.py:1, b.py:2] end"

    for citation in citations(report):
        assert report[citation.start : citation.end] == "[a.py:1, b.py:2]"


@given(st.text("[]()a1:.,-#`~ \n", max_size=200))
def test_any_report_has_citations_inside_it(report: str) -> None:
    for citation in citations(report):
        assert report[citation.start] == "["
        assert report[citation.end - 1] == "]"
