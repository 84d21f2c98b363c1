from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import SpecError
from orchestrator.spec.document import dump, parse, read_source

TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=40)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(DATA)
def test_what_is_dumped_is_read_back_the_same(data: object) -> None:
    assert parse(dump(data), file="t.yaml").value == data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("2026-01-01", "2026-01-01", id="a date stays text"),
        pytest.param("12:30", "12:30", id="a time stays text"),
        pytest.param("1e6", 1e6, id="an exponent is a number"),
        pytest.param("3_000_000", 3_000_000, id="grouped digits are a number"),
        pytest.param("010", "010", id="a leading zero is no octal number"),
        pytest.param("yes", True, id="yes is true"),
        pytest.param("", None, id="nothing is null"),
    ],
)
def test_plain_values_mean_what_a_reader_expects(text: str, value: object) -> None:
    assert parse(f"key: {text}", file="t").value == {"key": value}


def test_every_key_and_item_has_its_line() -> None:
    document = parse("a: 1\nb:\n  c:\n    - x\n    - y\n", file="t", first_line=5)

    assert document.line_of(("a",)) == 5
    assert document.line_of(("b", "c", 1)) == 9
    assert document.line_of(("b", "c", 1, "gone")) == 9


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param(
            "a: 1\nb: Use for: x, y\n", 2, 'b: "Use for: x, y"', id="unquoted colon"
        ),
        pytest.param(
            "a: 1\n- key: one: two\n", 2, "is not YAML", id="a list after a mapping"
        ),
        pytest.param("a: x\n  b: y\n", 2, "check the indent", id="colon by indent"),
        pytest.param("a:\n\tb: 1\n", 2, "tab", id="tab"),
        pytest.param(
            "a: 1\na: 2\n", 2, "given twice; the first is in line 1", id="twice"
        ),
        pytest.param("a: [1,\n", 1, "never closed", id="open bracket"),
        pytest.param("a: 'x\n", 1, "never closed", id="open quote"),
        pytest.param("a: 1\nb: @x\n", 2, "quotes", id="special character"),
        pytest.param("a: *gone\n", 1, "quotes", id="undefined alias"),
        pytest.param("a: !tag 1\n", 1, "tags", id="tag"),
        pytest.param("a: 1\n---\nb: 2\n", 2, "second document", id="two documents"),
        pytest.param("<<: {a: 1}\n", 1, "merge", id="merge key"),
        pytest.param("? [a]\n: b\n", 1, "key must be plain", id="list as a key"),
        pytest.param("a: 1\nb: \x07\n", 2, "U+0007", id="control character"),
        pytest.param("&a [*a]\n", 1, "beyond all bounds", id="alias of itself"),
        pytest.param("[" * 5000, 1, "nesting", id="deep nesting"),
    ],
)
def test_what_is_not_plain_yaml_is_named_with_line_and_way_out(
    text: str, line: int, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        parse(text, file="t.yaml")

    assert caught.value.line == line
    assert words in str(caught.value)
    assert str(caught.value).startswith("t.yaml:")


def test_aliases_cannot_blow_up_a_small_file() -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]

    with pytest.raises(SpecError, match="beyond all bounds"):
        parse("\n".join(rows), file="t")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(b"", "is empty", id="empty"),
        pytest.param(b" \n\n", "is empty", id="blanks"),
        pytest.param(b"a: 1\nb: \xff\xfe", ":2: is not UTF-8", id="latin"),
        pytest.param("a: 1".encode("utf-16"), ":1: is not UTF-8", id="utf-16"),
        pytest.param(b"x" * 2_000_000, "too big", id="huge"),
    ],
)
def test_what_is_no_text_is_said_plainly(
    tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "t.yaml"
    path.write_bytes(data)

    with pytest.raises(SpecError, match=words):
        read_source(path, what="task file")


def test_missing_file_and_folder_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such task file"):
        read_source(tmp_path / "gone.yaml", what="task file")
    with pytest.raises(SpecError, match="is a folder"):
        read_source(tmp_path, what="task file")
    with pytest.raises(SpecError, match="cannot read"):
        read_source(Path("a\0b"), what="task file")


def test_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1")

    assert read_source(path, what="task file") == "a: 1"
