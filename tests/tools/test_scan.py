from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orchestrator.tools.hits import parse_line
from orchestrator.tools.ripgrep import lines_of_ripgrep
from orchestrator.tools.scan import MAX_REGEX_CHARS, Hit, simple_scan

# What a scan in the process finds must be what ripgrep finds.

WORDS = st.sampled_from(["a", "ab", "foo", "foo_bar", "Foo", "9", "字", "é", " ", "."])
ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "foo",
        "Foo",
        "字",
        "é",
        r"\.",
        ".",
        "[ab]",
        "[^a]",
        "[a-c9]",
        r"[\]x]",
        r"\d",
        r"\w",
        r"\s",
        r"\b",
        " ",
        "-",
        "#",
        r"\#",
        r"\-",
        r"\/",
        "_",
        ":",
        "~",
    ]
)
QUANTIFIERS = st.sampled_from(["", "", "", "?", "*", "+", "{2}", "{1,3}", "{0,}", "+?"])
ITEMS = st.tuples(ATOMS, QUANTIFIERS).map("".join)
GROUPS = st.lists(ATOMS, min_size=1, max_size=2).map(
    lambda parts: f"({'|'.join(parts)})"
)
ALTERNATIVES = st.tuples(
    st.sampled_from(["", "", "^"]),
    st.lists(ITEMS | GROUPS, min_size=1, max_size=4).map("".join),
    st.sampled_from(["", "", "$"]),
).map("".join)
PATTERNS = st.tuples(
    st.sampled_from(["", "", "(?i)"]),
    st.lists(ALTERNATIVES, min_size=1, max_size=3).map("|".join),
).map("".join)
SOUP = st.text(alphabet=r"ab.*+?()[]{}|^$\-&~12,", min_size=1, max_size=8)
TEXTS = st.lists(st.lists(WORDS, max_size=6).map("".join), max_size=8).flatmap(
    lambda lines: st.sampled_from(["", "\n"]).map(lambda end: "\n".join(lines) + end)
)


def found_by_ripgrep(folder: Path, text: str, pattern: str, around: int) -> list[Hit]:
    (folder / "f.txt").write_text(text)
    options = ["-H", "--null", "--line-number", "--column", "--no-heading", "--crlf"]
    lines = lines_of_ripgrep(
        [*options, "--context", str(around), "--regexp", pattern, "--", "./f.txt"],
        folder=folder,
    )
    hits = [hit for line in lines if (hit := parse_line(line, is_count=False))]
    return [Hit(hit.line, hit.at, hit.text) for hit in hits]


def assert_equal_results(folder: Path, text: str, pattern: str, around: int) -> bool:
    scan = simple_scan(pattern)
    if scan is None or not scan.fits(text):
        return False
    found = list(scan.hits(text, context_lines=around))
    assert found == found_by_ripgrep(folder, text, pattern, around)
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scan")


@settings(max_examples=150, deadline=None)
@given(text=TEXTS, pattern=PATTERNS, around=st.sampled_from([0, 0, 1, 2]))
@example(text="", pattern="ab?", around=0)
@example(text="\n", pattern="a?", around=0)
@example(text="x\n\ny", pattern="a?", around=1)
@example(text="foo\nbar", pattern="(?i)FOO|bar", around=0)
@example(text="a.b\na-b\n", pattern=r"a[.\-]b$", around=0)
def test_a_scan_finds_what_ripgrep_finds(
    folder: Path, text: str, pattern: str, around: int
) -> None:
    assert_equal_results(folder, text, pattern, around)


@settings(max_examples=100, deadline=None)
@given(text=TEXTS, pattern=SOUP)
def test_a_scan_takes_no_pattern_that_ripgrep_reads_otherwise(
    folder: Path, text: str, pattern: str
) -> None:
    assert_equal_results(folder, text, pattern, 0)


@pytest.mark.parametrize(
    "pattern",
    [
        "token",
        "foo|bar",
        r"def check\(",
        "(?i)token",
        r"class \w+Error",
        "^import ",
        "(get|set)_user",
        "a.b",
        "[Tt]oken",
        r"\btoken\b",
        "字符",
        "--flag",
    ],
)
def test_the_patterns_of_every_day_are_scanned(pattern: str) -> None:
    assert simple_scan(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        "a{2",
        "a{,2}",
        "a**",
        "a++",
        "(a+)+",
        ".*foo",
        r"\w+x",
        r"\<a",
        r"\Bx",
        "[[:a:]]",
        "[a&&b]",
        "(?s)a",
        "(?P<n>a)",
        r"\x41",
        "a||b",
        "()",
        "(a|b)*",
        "(?i)é",
        "a\tb",
        "foo.*bar.*baz",
        r"[\d]",
        "x" * 301,
        "a{500}",
        "a$b",
        "|",
        "^$",
        "[]a]",
        "[z-a]",
    ],
)
def test_everything_else_goes_to_ripgrep(pattern: str) -> None:
    assert simple_scan(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a", "a\r\n"),
        ("a", "\ufeffa"),
        ("a", "a\0"),
        ("a", "a" * 1_000_001),
        (r"\w", "é"),
        ("(?i)k", "\u212a"),
        ("a.c", "abc " * (MAX_REGEX_CHARS // 4 + 1)),
        ("ab.*c", "ab" * 300),
    ],
    ids=lambda value: value[:10],
)
def test_texts_that_the_dialects_may_read_differently_go_to_ripgrep(
    pattern: str, text: str
) -> None:
    scan = simple_scan(pattern)

    assert scan is not None
    assert not scan.fits(text)
