from __future__ import annotations

import time
from typing import Any

import pytest

from orchestrator.errors import ToolError
from orchestrator.tools.arguments import parse_arguments
from orchestrator.tools.json_args import JsonArgs, json_args

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "minimum": 1},
        "on": {"type": "boolean"},
        "maybe": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "tags": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
        "where": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "kind": {"enum": ["a", "b"]},
        "names": {
            "anyOf": [
                {"type": "array", "items": {"type": "string"}},
                {"type": "null"},
            ]
        },
        "more": {"type": ["object", "null"]},
    },
    "additionalProperties": False,
}
OPEN: dict[str, Any] = {"type": "object", "properties": {}}


def args(schema: dict[str, Any]) -> type[JsonArgs]:
    return json_args("Args", shown=schema, checked=schema)


def parsed(given: dict[str, Any], schema: dict[str, Any] = SCHEMA) -> Any:
    return parse_arguments("tool", args(schema), given).model_extra


def told(given: dict[str, Any], schema: dict[str, Any] = SCHEMA) -> list[str]:
    with pytest.raises(ToolError) as caught:
        parse_arguments("tool", args(schema), given)
    return str(caught.value).splitlines()[1:]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"n": "5"}, {"n": 5}),
        ({"n": 5.0}, {"n": 5.0}),
        ({"on": "True"}, {"on": True}),
        ({"maybe": "2.5"}, {"maybe": 2.5}),
        ({"tags": '[1, "2"]'}, {"tags": [1, 2]}),
        ({"where": '{"city": "Oslo"}'}, {"where": {"city": "Oslo"}}),
        ({"kind": "a", "n": None}, {"kind": "a"}),
        ({"names": '["x"]', "more": '{"y": 1}'}, {"names": ["x"], "more": {"y": 1}}),
        ({"maybe": None}, {"maybe": None}),
    ],
)
def test_what_is_meant_is_taken(
    given: dict[str, Any], expected: dict[str, Any]
) -> None:
    before = repr(given)

    assert parsed(given) == expected
    assert repr(given) == before


def test_a_text_that_may_be_a_text_stays_one() -> None:
    schema = {"properties": {"x": {"type": ["string", "integer"]}}}

    assert parsed({"x": "5"}, schema) == {"x": "5"}


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({"n": "many"}, ['- `n`: must be integer; found "many"']),
        ({"n": 0}, ["- `n`: must be 1 or more; found 0"]),
        ({"kind": "c"}, ["- `kind`: must be one of 'a', 'b'; found \"c\""]),
        ({"tags": [1, 2, 3, 4]},
         ["- `tags`: must have at most 3 items; found [1, 2, 3, 4]"]),
        ({"tags": [1, "x"]}, ['- `tags[1]`: must be integer; found "x"']),
        ({"where": {}}, ["- `where.city` is missing"]),
        ({"where": {"city": "x", "zip": 1}},
         ["- `where.zip` is unknown; known keys there: `city`"]),
        ({"maybe": "x"}, ['- `maybe`: must be number or null; found "x"']),
        ({"zzz": 1}, ["- `zzz` is unknown; known keys there: "
                      "`n`, `on`, `maybe`, `tags`, `where`, `kind`, `names`, `more`"]),
        ({"n": 0, "kind": "c"}, ["- `n`: must be 1 or more; found 0",
                                 "- `kind`: must be one of 'a', 'b'; found \"c\""]),
    ],
)  # fmt: skip
def test_each_problem_is_one_line_that_says_where_and_what(
    given: dict[str, Any], lines: list[str]
) -> None:
    assert told(given) == lines


def test_a_choice_tells_what_each_part_needs() -> None:
    schema = {"oneOf": [{"required": ["a"]}, {"required": ["b", "c"]}]}

    assert told({}, schema) == ["- the input: needs one of: `a`; or `b`+`c`; found {}"]


@pytest.mark.parametrize("key", ["self", "model_config", "shown_schema", "_x", "城市"])
def test_a_key_may_be_anything(key: str) -> None:
    assert parsed({key: 1}, OPEN) == {key: 1}


def test_a_key_that_nobody_knows_is_refused_where_there_are_no_others() -> None:
    schema = {"properties": {"a": {"type": "integer"}, "b": {}}}
    model = json_args("Args", shown=schema, checked=schema, known=frozenset("ab"))

    with pytest.raises(ToolError) as caught:
        parse_arguments("tool", model, {"a": "1", "c": 2})

    assert str(caught.value).splitlines()[1:] == [
        "- `c` is unknown; known keys there: `a`, `b`"
    ]
    assert parse_arguments("tool", model, {"a": "1"}).model_extra == {"a": 1}


def test_a_pattern_is_left_to_the_server() -> None:
    schema = {"properties": {"x": {"type": "string", "pattern": "(a+)+$"}}}
    began = time.monotonic()

    assert parsed({"x": "a" * 60 + "!"}, schema)

    assert time.monotonic() - began < 1


def test_a_huge_value_makes_no_huge_message() -> None:
    assert len("".join(told({"n": "x" * 1_000_000, "kind": "y" * 1_000_000}))) < 400
