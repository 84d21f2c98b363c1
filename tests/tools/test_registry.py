from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from pydantic import BaseModel

from orchestrator.context.tokens import estimate
from orchestrator.messages import encode
from orchestrator.tools.delegate import Delegate
from orchestrator.tools.directing import Cancel, FollowUp, WaitFor
from orchestrator.tools.files import ListDir, ReadFile
from orchestrator.tools.handin import Finish, SubmitFindings
from orchestrator.tools.notes import UpdateNotes
from orchestrator.tools.recall import Recall
from orchestrator.tools.refs import ReadRef
from orchestrator.tools.registry import Registry
from orchestrator.tools.schema import input_schema
from orchestrator.tools.search import Glob, Grep

LEAD = {
    "cancel",
    "delegate",
    "finish",
    "follow_up",
    "glob",
    "grep",
    "list_dir",
    "read_file",
    "read_ref",
    "recall",
    "update_notes",
    "wait_for",
}


class Port:
    """Stands for every port; definitions never call one."""

    async def update(self, section: str, mode: str, text: str, pin: bool) -> str:
        return text

    async def finish(self, report: str, result: Any) -> Any: ...

    async def submit(self, findings: Any) -> Any: ...

    async def delegate(self, call: str, briefs: Any, wait: str) -> Any: ...

    async def wait_for(self, agents: Any, mode: Any, timeout_s: Any) -> Any: ...

    async def follow_up(self, call: str, agent: str, question: str) -> Any: ...

    async def cancel(self, agent: str, reason: str) -> Any: ...


def registry() -> Registry:
    port = Port()
    return Registry(
        [
            Cancel(port),
            Delegate(port),
            Finish(port),
            FollowUp(port),
            Glob(),
            Grep(),
            ListDir(),
            ReadFile(),
            ReadRef(),
            Recall(),
            SubmitFindings(port),
            UpdateNotes(port),
            WaitFor(port),
        ]
    )


def walk(node: Any) -> Any:
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from walk(child)
    elif isinstance(node, list):
        for child in node:
            yield from walk(child)


def test_the_leads_definitions_together_stay_below_3000_tokens() -> None:
    definitions = registry().definitions(LEAD)

    assert {each["name"] for each in definitions} == LEAD
    assert estimate(encode(definitions).decode()) < 3000


def test_definitions_are_byte_equal_on_every_call_and_in_any_order() -> None:
    first = encode(registry().definitions(LEAD))

    assert encode(registry().definitions(sorted(LEAD, reverse=True))) == first
    assert encode(registry().definitions(list(LEAD))) == first


def test_definitions_do_not_change_with_the_hash_seed() -> None:
    # What is sent is the same in every process.
    code = (
        "from orchestrator.messages import encode;"
        "from orchestrator.tools.registry import Registry;"
        "from orchestrator.tools.files import ListDir, ReadFile;"
        "from orchestrator.tools.search import Glob, Grep;"
        "from orchestrator.tools.handin import SubmitFindings;"
        "tools = {ListDir(), ReadFile(), Glob(), Grep(), SubmitFindings(None)};"
        "print(encode(Registry(tools).definitions()).decode())"
    )

    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(outputs) == 1


def test_a_caller_may_change_what_it_got() -> None:
    every = registry()
    every.definitions()[0]["cache_control"] = {}

    assert "cache_control" not in every.definitions()[0]


@pytest.mark.parametrize(
    "definition", registry().definitions(), ids=lambda definition: definition["name"]
)
def test_schemas_are_plain_enough_for_every_endpoint(definition: Any) -> None:
    schema = definition["input_schema"]

    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert not {"anyOf", "oneOf", "allOf", "$defs"} & set(schema)
    for node in walk(schema):
        assert "$ref" not in node
        assert "$defs" not in node
        assert node.get("default", "") is not None
        assert not isinstance(node.get("title"), str)
        assert {"type": "null"} not in node.get("anyOf", [])


def test_a_property_named_title_stays() -> None:
    [delegate] = registry().definitions({"delegate"})

    brief = delegate["input_schema"]["properties"]["briefs"]["items"]
    assert brief["properties"]["title"]["type"] == "string"


def test_descriptions_stay() -> None:
    [delegate] = registry().definitions({"delegate"})

    brief = delegate["input_schema"]["properties"]["briefs"]["items"]
    assert "stand alone" in brief["properties"]["objective"]["description"]


def test_an_unknown_name_has_no_tool() -> None:
    assert registry().get("Read_File") is None


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools are named `glob`"):
        Registry([Glob(), Glob()])


@pytest.mark.parametrize("name", ["", "a b", "搜索", "x" * 65, "a.b"])
def test_a_name_that_the_api_would_refuse_is_refused_here(name: str) -> None:
    class Odd(Glob):
        pass

    Odd.name = name
    with pytest.raises(ValueError, match="must be 1 to 64 ASCII"):
        Registry([Odd()])


class Tree(BaseModel):
    children: list[Tree] = []


def test_an_input_that_refers_to_itself_is_refused() -> None:
    with pytest.raises(TypeError, match="`Tree` refers to itself"):
        input_schema(Tree)


def test_what_our_own_tools_say_of_themselves_is_not_defused() -> None:
    here = registry()

    for definition in here.definitions():
        tool = here.get(definition["name"])
        assert tool is not None
        assert definition["description"] == tool.description
        assert definition["input_schema"] == input_schema(tool.Args)
