from __future__ import annotations

import json
import time
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from orchestrator.tools.json_args import json_args
from orchestrator.tools.mcp.schemas import written_out
from orchestrator.tools.mcp.shown import MAX_CHARS, known_keys, shown_schema
from orchestrator.tools.schema import input_schema

NODE: dict[str, Any] = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "next": {"$ref": "#/$defs/node"},
            },
        }
    },
    "properties": {"root": {"$ref": "#/$defs/node", "description": "the first"}},
}
ONE_OF: dict[str, Any] = {
    "type": "object",
    "properties": {"mode": {"type": "string"}},
    "required": ["mode"],
    "oneOf": [
        {"properties": {"path": {"type": "string"}}, "required": ["path", "mode"]},
        {"properties": {"url": {"type": "string"}}, "required": ["url"]},
    ],
}
KINDS: dict[str, Any] = {
    "anyOf": [
        {"properties": {"kind": {"const": "a"}, "n": {}}, "required": ["kind"]},
        {"properties": {"kind": {"const": "b"}}, "required": ["kind"]},
    ]
}  # fmt: skip
DRAFT_4: dict[str, Any] = {
    "id": "http://example.org/old",
    "type": "object",
    "definitions": {
        "count": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
    },
    "properties": {
        "n": {"$ref": "#/definitions/count"},
        "pair": {"items": [{"type": "string"}, True], "additionalItems": False},
        "any": True,
        "never": False,
        "odd": {"type": "any"},
        "maybe": {"type": "string", "nullable": True},
    },
    "dependencies": {"n": ["any"], "odd": {"properties": {"more": {}}}},
}
OUTSIDE: dict[str, Any] = {
    "properties": {
        "a": {"$ref": "http://127.0.0.1:9/x.json"},
        "b": {"$ref": "#/nowhere"},
    }
}
DEEP = {f"a{i}": {"anyOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 9} for i in range(40)}
WIDE = {f"p{i}": {"type": "string", "description": "d" * 900} for i in range(1500)}
PATTERNS = {"p": {"pattern": "(a+)+$", "type": "string"}, "q": {"pattern": "(("}}
NUMBERS = {"multipleOf": -1, "minLength": 2.5, "maxItems": -1, "minimum": 1e400}
HOSTILE: list[object] = [
    {"$ref": "#"},
    {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    {"$defs": DEEP, "properties": {"x": {"$ref": "#/$defs/a0"}}},
    {"properties": WIDE},
    {"properties": {"e": {"enum": [f"value {i}" for i in range(50_000)]}}},
    {"properties": PATTERNS},
    {"properties": 5, "required": "no", "type": "zzz", "oneOf": {}, "items": 3},
    {"properties": {"a": NUMBERS}},
    {"properties": {"a": {"minLength": "x", "required": [1, "b"], "default": 10**400}}},
    True, False, None, [], "x", {"type": "array", "items": {}},
]  # fmt: skip


def sent(schema: object) -> dict[str, Any]:
    """Return a schema as it stands in a tool definition."""
    model = json_args("A", shown=shown_schema(schema).schema, checked={})
    return input_schema(model)


@pytest.mark.parametrize(
    "schema", [NODE, ONE_OF, KINDS, DRAFT_4, OUTSIDE, *HOSTILE], ids=lambda _: "schema"
)
def test_whatever_comes_what_is_sent_is_an_object_that_the_api_takes(
    schema: object,
) -> None:
    began = time.monotonic()

    found = sent(schema)

    assert time.monotonic() - began < 5
    assert found["type"] == "object"
    assert isinstance(found["properties"], dict)
    assert not {"oneOf", "anyOf", "allOf", "$ref"} & set(found)
    text = json.dumps(found)
    assert '"$ref"' not in text
    assert len(text) <= MAX_CHARS * 1.2
    Draft202012Validator.check_schema(found)


def test_references_are_written_out_and_recursion_ends_open() -> None:
    root = sent(NODE)["properties"]["root"]

    assert root["description"] == "the first"
    assert root["properties"]["name"] == {"type": "string"}
    inner = root["properties"]["next"]["properties"]
    assert inner["name"] == {"type": "string"}
    assert inner["next"] == {}


def test_choices_on_top_are_merged_and_what_each_needs_is_told() -> None:
    shown = shown_schema(ONE_OF)

    assert set(shown.schema["properties"]) == {"mode", "path", "url"}
    assert shown.schema["required"] == ["mode"]
    assert shown.notes == ("Needs one of: path; or url.",)


def test_the_values_that_tell_choices_apart_become_one_list() -> None:
    found = sent(KINDS)

    assert found["properties"]["kind"] == {"enum": ["a", "b"]}
    assert found["required"] == ["kind"]


def test_older_drafts_are_understood() -> None:
    found = sent(DRAFT_4)["properties"]

    assert found["n"] == {"type": "integer", "exclusiveMinimum": 0}
    assert found["pair"]["prefixItems"] == [{"type": "string"}, {}]
    assert found["any"] == {}
    assert found["never"] == {"not": {}}
    assert found["odd"] == {}
    assert found["maybe"] == {"type": ["string", "null"]}


def test_arguments_that_the_api_has_no_name_for_are_told_in_words() -> None:
    shown = shown_schema(
        {
            "properties": {
                "城市": {"type": "string", "description": "the city"},
                "where": {"properties": {"$filter": {"type": "string"}}},
            },
            "required": ["城市"],
        }
    )

    assert set(shown.schema["properties"]) == {"where"}
    assert shown.notes == ("Also takes `城市` (string, required): the city.",)
    assert shown.schema["properties"]["where"] == {
        "properties": {},
        "description": "Also takes `$filter` (string).",
    }


def test_a_part_that_is_elsewhere_is_open() -> None:
    assert written_out(OUTSIDE) == {"properties": {"a": {}, "b": {}}}


def test_a_list_of_values_without_end_becomes_a_few_examples() -> None:
    found = sent(HOSTILE[4])

    assert len(found["properties"]["e"]["examples"]) == 5


@pytest.mark.parametrize(
    ("schema", "keys"),
    [
        pytest.param({"properties": {"a": {}, "城市": {}}}, {"a", "城市"}, id="named"),
        pytest.param(ONE_OF, {"mode", "path", "url"}, id="choices"),
        pytest.param(
            {"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"a": {}}}}},
            {"a"},
            id="reference",
        ),
        pytest.param({"type": "object", "properties": {}}, None, id="none named"),
        pytest.param(
            {"properties": {"a": {}}, "additionalProperties": {"type": "string"}},
            None,
            id="others allowed",
        ),
        pytest.param(
            {"properties": {"a": {}}, "patternProperties": {"^x": {}}},
            None,
            id="others by pattern",
        ),
        pytest.param(
            {"properties": {"a": {}}, "allOf": [{"$ref": "https://x.example/y"}]},
            None,
            id="a part is elsewhere",
        ),
        pytest.param({"properties": {"a": {}}, "allOf": 5}, {"a"}, id="broken"),
    ],
)
def test_all_keys_are_known_unless_a_schema_leaves_room(
    schema: dict[str, Any], keys: set[str] | None
) -> None:
    assert known_keys(schema) == keys
