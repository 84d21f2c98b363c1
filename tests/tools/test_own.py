from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from tool_bench import ToolBench

from orchestrator import tool
from orchestrator.errors import ToolError
from orchestrator.tools.base import ToolContext
from orchestrator.tools.calls import CallSpec
from orchestrator.tools.own import FunctionTool
from orchestrator.tools.registry import definition_of


class Line(BaseModel):
    """One line of an order."""

    article: str
    count: int = 1


@tool
def query_order(
    number: int,
    lines: list[Line],
    state: Literal["open", "paid"] = "open",
    note: Annotated[str, Field(description="In one word.")] = "",
) -> dict[str, Any]:
    """Look up an order by its number.

    Knows orders since 2020.

    Args:
        number: as printed on the invoice,
            without the dash.
        lines: what to compare it with.
        note: overruled by the annotation.

    Returns:
        Not for the model.
    """
    return {"number": number, "lines": [each.article for each in lines], "s": state}


def test_a_model_is_told_signature_and_docstring_up_to_its_sections() -> None:
    told = definition_of(query_order)
    schema = told["input_schema"]

    assert told["name"] == "query_order"
    assert told["description"] == (
        "Look up an order by its number.\nKnows orders since 2020."
    )
    assert schema["required"] == ["number", "lines"]
    assert schema["properties"]["number"] == {
        "description": "as printed on the invoice, without the dash.",
        "type": "integer",
    }
    assert schema["properties"]["note"]["description"] == "In one word."
    assert schema["properties"]["state"]["enum"] == ["open", "paid"]
    assert "article" in schema["properties"]["lines"]["items"]["properties"]
    assert schema["additionalProperties"] is False


async def test_arguments_become_typed_values_and_the_result_json(
    tmp_path: Path,
) -> None:
    bench = ToolBench(tmp_path, tools=[query_order])
    call = CallSpec(
        "t1", "query_order", {"number": "7", "lines": '[{"article": "saw"}]'}
    )

    [result] = await bench.run(call)

    assert not result.is_error
    assert '"number": 7' in str(result.content)
    assert '"saw"' in str(result.content)


async def test_unknown_arguments_come_back_with_the_known_ones(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, tools=[query_order])

    [result] = await bench.run(CallSpec("t1", "query_order", {"nummer": 7}))

    assert result.is_error
    assert "`nummer`" in str(result.content)
    assert "`number`" in str(result.content)


def test_the_function_itself_can_still_be_called() -> None:
    assert query_order(1, [])["number"] == 1


async def test_async_functions_and_the_context_work(tmp_path: Path) -> None:
    @tool(name="where", effects="reads", timeout_s=3, label="transient")
    async def anything(context: ToolContext, upper: bool = False) -> str:
        """Say who calls."""
        return context.agent.upper() if upper else context.agent

    bench = ToolBench(tmp_path, tools=[anything])
    [result] = await bench.run(CallSpec("t1", "where", {"upper": True}))

    assert result.content == "A1"
    assert result.label == "transient"
    assert "context" not in definition_of(anything)["input_schema"]["properties"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_what_the_function_refuses_is_told_and_bugs_are_named(
    tmp_path: Path, is_async: bool
) -> None:
    def fails(kind: str) -> str:
        """Fail."""
        raise ToolError("take another") if kind == "told" else KeyError("gone")

    async def fails_async(kind: str) -> str:
        """Fail."""
        return fails(kind)

    bench = ToolBench(tmp_path, tools=[tool(fails_async if is_async else fails)])
    name = bench.registry.names[0] if is_async else "fails"
    name = "fails_async" if is_async else name
    told, bug = await bench.run(
        CallSpec("t1", name, {"kind": "told"}), CallSpec("t2", name, {"kind": "bug"})
    )

    assert told.content == "take another"
    assert "failed with KeyError" in str(bug.content)


async def test_only_the_named_fields_of_a_result_are_shown(tmp_path: Path) -> None:
    @tool(context_fields=("total",))
    def sums() -> dict[str, Any]:
        """Add up."""
        return {"total": 3, "rows": ["one", "two"]}

    bench = ToolBench(tmp_path, tools=[sums])
    [result] = await bench.run(CallSpec("t1", "sums", {}))

    assert "3" in str(result.content)
    assert "two" not in str(result.content)


def test_a_call_has_effects_unless_its_author_says_otherwise() -> None:
    def pays() -> None:
        """Pay."""

    assert tool(pays).effects == "effects"


def untyped(a) -> str:  # type: ignore[no-untyped-def]
    """Say."""
    return str(a)


def many(*rows: str) -> str:
    """Say."""
    return str(rows)


def wordy(a: str) -> str:
    """Say."""
    return a


def wordless(a: str) -> str:
    return a


def strange(a: str, b: Callable[[int], int]) -> str:
    """Say."""
    return f"{a}{b}"


def told(a: str) -> str:
    """Say.

    Args:
        b: is not there.
    """
    return a


def hidden(a: str, /) -> str:
    """Say."""
    return a


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (untyped, "parameter `a` has no type"),
        (many, "`*rows` has no schema"),
        (wordless, "no docstring"),
        (strange, "tool `strange`"),
        (hidden, "must be accepted by its name"),
        (told, "describes `b`, which is no parameter"),
    ],
)
def test_what_cannot_be_told_to_a_model_is_refused(function: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words.replace("*", r"\*")):
        FunctionTool(function)


class Node(BaseModel):
    """One that holds more of its kind."""

    inner: list[Node] = []


def refers_to_itself(node: Node) -> str:
    """Look at a tree."""
    return str(node)


def underscored(_number: int) -> str:
    """Look at a number."""
    return str(_number)


def renamed(number: int = Field(alias="n")) -> str:
    """Look at a number."""
    return str(number)


def odd_default(number: int = print) -> str:  # type: ignore[assignment]
    """Look at a number."""
    return str(number)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        pytest.param(refers_to_itself, "refers to itself", id="recursive"),
        pytest.param(underscored, "`_number` needs another name", id="underscore"),
        pytest.param(renamed, "`number` needs another name", id="alias"),
        pytest.param(partial(underscored, 1), "types cannot be read", id="partial"),
    ],
)
def test_what_a_model_could_not_call_is_refused_where_it_is_made(
    function: Callable[..., Any], why: str
) -> None:
    with pytest.raises(TypeError, match=f"tool `odd`: .*{why}"):
        FunctionTool(function, name="odd", description="Odd.")


@pytest.mark.filterwarnings("ignore:Default value")
async def test_arguments_that_no_json_holds_are_a_failure_of_the_call(
    tmp_path: Path,
) -> None:
    bench = ToolBench(tmp_path, [FunctionTool(odd_default), FunctionTool(big_number)])

    assert "fault of the tool" in await bench.error("odd_default")
    assert await bench.text("big_number", number=str(2**70)) == f"{2**70}"


def big_number(number: int) -> int:
    """Return a number."""
    return number


async def test_an_exception_that_cannot_be_told_is_one_all_the_same(
    tmp_path: Path,
) -> None:
    class Speechless(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    @tool
    def breaks() -> str:
        """Break."""
        raise Speechless

    bench = ToolBench(tmp_path, [breaks])

    assert "failed with Speechless. This is" in await bench.error("breaks")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit, SystemExit])
async def test_what_ends_a_program_ends_only_the_call(
    tmp_path: Path, kind: type[BaseException]
) -> None:
    @tool
    def ends() -> str:
        """End."""
        raise kind

    bench = ToolBench(tmp_path, [ends])

    assert "ended itself" in await bench.error("ends")


def test_a_default_that_json_cannot_hold_is_not_told() -> None:
    @tool
    def waits(seconds: float = float("inf")) -> str:
        """Wait."""
        return str(seconds)

    assert definition_of(waits)["input_schema"]["properties"] == {
        "seconds": {"type": "number"}
    }


def test_effects_are_one_of_three() -> None:
    with pytest.raises(TypeError, match="allowed: reads, repeatable, effects"):
        tool(effects="none")(wordy)  # type: ignore[call-overload]


async def test_results_one_by_one_are_no_result(tmp_path: Path) -> None:
    @tool
    def counts() -> Any:
        """Count."""
        yield 1

    bench = ToolBench(tmp_path, tools=[counts])
    [result] = await bench.run(CallSpec("t1", "counts", {}))

    assert result.is_error
    assert "a tool returns them all" in str(result.content)
