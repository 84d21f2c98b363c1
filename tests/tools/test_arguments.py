from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from orchestrator.errors import ToolError
from orchestrator.findings import Findings
from orchestrator.tools.arguments import parse_arguments

MAX_CHARS = 5000

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")
    names: tuple[str, ...] = ()
    deep: dict[str, int] = {}


class Args(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: str = ""
    number: int = 1
    share: float = Field(default=0.5, ge=0, le=1)
    flag: bool = False
    maybe: int | None = None
    part: Part = Part()
    parts: tuple[Part, ...] = ()
    anything: Any = None


def parsed(**given: Any) -> Args:
    return parse_arguments("tool", Args, given)


def refusal(**given: Any) -> str:
    with pytest.raises(ToolError) as caught:
        parsed(**given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("field", "written", "meant"),
    [
        ("number", "42", 42),
        ("number", " 42 ", 42),
        ("share", "0.25", 0.25),
        ("flag", "true", True),
        ("flag", "False", False),
        ("maybe", "7", 7),
        ("part", '{"names": ["a"]}', Part(names=("a",))),
        ("part", {"names": '["a", "b"]'}, Part(names=("a", "b"))),
        ("part", '{"deep": "{\\"a\\": \\"1\\"}"}', Part(deep={"a": 1})),
        ("parts", '[{"names": ["a"]}]', (Part(names=("a",)),)),
        ("parts", ['{"names": "[\\"a\\"]"}'], (Part(names=("a",)),)),
    ],
)
def test_what_arrives_as_a_string_is_taken_where_the_schema_wants_it(
    field: str, written: Any, meant: Any
) -> None:
    assert getattr(parsed(**{field: written}), field) == meant


@pytest.mark.parametrize("text", ["42", "true", "[1]", '{"a": 1}', "null"])
def test_a_text_stays_a_text(text: str) -> None:
    args = parsed(text=text, anything=text)

    assert (args.text, args.anything) == (text, text)


def test_an_explicit_null_means_an_absent_key() -> None:
    args = parsed(number=None, part=None, parts=None, maybe=None)

    assert args == Args()


def test_the_input_is_not_changed() -> None:
    given = {"part": {"names": '["a"]'}}
    parsed(**given)

    assert given == {"part": {"names": '["a"]'}}


def test_unknown_keys_are_refused_with_the_known_ones() -> None:
    told = refusal(file="x", number=1)

    assert "Unknown: `file`" in told
    assert "`text`, `number`, `share`" in told


def test_unknown_keys_inside_are_refused_with_the_known_ones_there() -> None:
    told = refusal(parts=[{"names": [], "nmaes": 1}])

    assert "`parts[0].nmaes` is unknown" in told
    assert "known keys there: `names`, `deep`" in told


def test_each_fault_names_field_found_and_allowed() -> None:
    told = refusal(number="lots", share=2, part={"names": "no list"})

    assert "`number`: Input should be a valid integer" in told
    assert 'found "lots"' in told
    assert "`share`: Input should be less than or equal to 1; found 2" in told
    assert '`part.names`: must be a list; found "no list"' in told


def test_a_fault_in_findings_names_item_and_field() -> None:
    item = {"claim": "tokens are checked", "evidence": [{"source": "a.py:1"}]}

    with pytest.raises(ToolError) as caught:
        parse_arguments(
            "submit_findings",
            Findings,
            {"status": "done", "summary": "x", "items": [item, {"claim": "b"}]},
        )

    told = str(caught.value)
    assert "`status`: Input should be 'complete', 'partial'" in told
    assert "`items[0].evidence[0].quote` is missing" in told
    assert "`items[1].claim`: String should have at least 8 characters" in told


@pytest.mark.parametrize(
    "given",
    [
        {"x" * 5000: 1},
        {f"key{n}": 1 for n in range(500)},
        {"number": "9" * 9000},
        {"number": ["x" * 9000]},
        {"parts": [{"a" * 900: 1} for _ in range(200)]},
        {"parts": "[" * 9000},
        {"part": {"deep": {"k" * 900: "v" * 900}}},
    ],
    ids=["long key", "many keys", "digits", "list", "many faults", "nesting", "dict"],
)
def test_nothing_is_echoed_without_bound(given: dict[str, Any]) -> None:
    assert len(refusal(**given)) < MAX_CHARS


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*Args.model_fields, "x"]), JSON))
def test_any_input_is_taken_or_refused_in_bounded_words(given: dict[str, Any]) -> None:
    told = ""
    try:
        parse_arguments("tool", Args, given)
    except ToolError as error:
        told = str(error)

    assert len(told) < MAX_CHARS
