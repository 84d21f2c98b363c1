"""What the service refuses, found before it is sent."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.messages import tool_result
from orchestrator.models.shape import shape_problem

Body = dict[str, Any]
MARK = {"cache_control": {"type": "ephemeral"}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool_use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "grep", "input": {}}


BODY: Body = {
    "model": "m",
    "max_tokens": 100,
    "system": [{**text("be good"), **MARK}],
    "tools": [{"name": "grep", "input_schema": {"type": "object"}, **MARK}],
    "messages": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "s"},
                text("look"),
                tool_use("t1"),
                tool_use("t2"),
            ],
        },
        {
            "role": "user",
            "content": [
                tool_result("t1", "found", is_error=True),
                {**tool_result("t2", [text("found")]), **MARK},
                {**text("and now"), **MARK},
            ],
        },
    ],
}


def test_a_right_request_has_no_problem() -> None:
    assert shape_problem(BODY) == ""


def _last(body: Body) -> list[Any]:
    content: list[Any] = body["messages"][-1]["content"]
    return content


def _said(body: Body) -> list[Any]:
    content: list[Any] = body["messages"][1]["content"]
    return content


def _set(target: dict[str, Any], **values: Any) -> None:
    target.update(values)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda b: _last(b).pop(0), "without `tool_result`"),
        (lambda b: _last(b).insert(0, tool_result("t9", "x")), "unexpected"),
        (lambda b: _last(b).append(tool_result("t1", "x")), "single result"),
        (lambda b: _last(b).insert(0, text("first")), "before anything else"),
        (lambda b: _said(b)[3].update(id="t1"), "must be unique"),
        (lambda b: _said(b)[3].update(id="t 2"), "id: found"),
        (lambda b: _said(b)[3].update(name=""), "1 to 200"),
        (lambda b: _said(b)[3].update(input="{}"), "must be an object"),
        (lambda b: _said(b)[0].update(MARK), "thinking blocks"),
        (lambda b: _said(b).append(text("")), "non-empty"),
        (lambda b: _said(b).append(text(" \n")), "non-whitespace"),
        (lambda b: _said(b).append({"type": "text"}), "must be a text"),
        (lambda b: _said(b).append("words"), "with a type"),
        (lambda b: _said(b).append(tool_result("t1", "x")), "only be in `user`"),
        (lambda b: _last(b).append(tool_use("t3")), "can not be in `user`"),
        (lambda b: _last(b)[1].update(content=[text("")]), "non-empty"),
        (lambda b: _last(b)[1].update(content=[{"type": "x"}]), "not allowed"),
        (lambda b: _last(b)[1].update(content=3), "text or a list"),
        (
            lambda b: _last(b)[0].update(content=[{"type": "image"}]),
            "if `is_error` is true",
        ),
        (lambda b: _last(b)[1]["content"][0].update(MARK), "Found 5"),
        (lambda b: b["messages"].pop(), "end with a user message"),
        (lambda b: b["messages"].pop(0), "first message"),
        (lambda b: b["messages"].insert(0, b["messages"][0]), "in a row"),
        (lambda b: b["messages"][0].update(role="system"), "role: found"),
        (lambda b: b["messages"][0].update(content=[]), "non-empty content"),
        (lambda b: b["messages"][0].update(content=""), "non-empty"),
        (lambda b: b["messages"][0].update(id="m"), "extra fields"),
        (lambda b: _set(b, messages=[]), "at least one message"),
        (lambda b: _set(b, max_tokens=0), "max_tokens"),
        (lambda b: _set(b, system=3), "system: must be"),
        (lambda b: _set(b, system=["x"]), "a text block"),
        (lambda b: _set(b, system=[text("")]), "non-empty"),
        (lambda b: b["tools"].append(b["tools"][0]), "must be unique"),
        (lambda b: b["tools"][0].update(name="näme"), "not allowed"),
        (lambda b: b["tools"][0].update(input_schema={}), "type object"),
        (lambda b: _said(b)[1].update(text="\ud83d"), "cannot be sent"),
    ],
)
def test_a_wrong_request_is_told(spoil: Callable[[Body], object], told: str) -> None:
    body = copy.deepcopy(BODY)
    spoil(body)

    assert told in shape_problem(body)


def test_an_unanswered_last_call_is_told() -> None:
    body = copy.deepcopy(BODY)
    body["messages"][2]["content"] = [text("no results")]

    assert "without `tool_result`" in shape_problem(body)
