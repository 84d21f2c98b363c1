"""What findings an event delivers, in logs of every age."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.events import Event
from orchestrator.events.arrivals import Arrivals, arrivals


@pytest.mark.parametrize(
    ("kind", "data", "came"),
    [
        pytest.param(
            "text.added",
            {"delivers": ["a1", "a2/1"]},
            Arrivals(("a1", "a2/1")),
            id="named",
        ),
        pytest.param(
            "tool.ended",
            {"name": "delegate", "call": "c1"},
            Arrivals(call="c1"),
            id="older log",
        ),
        pytest.param(
            "tool.ended",
            {"name": "delegate", "call": "c1", "delivers": []},
            Arrivals(),
            id="sent without waiting",
        ),
        pytest.param(
            "tool.ended", {"name": "grep", "call": "c1"}, Arrivals(), id="another tool"
        ),
        pytest.param(
            "subagent.ended", {"delivers": ["a1"]}, Arrivals(), id="another kind"
        ),
        pytest.param("text.added", {"delivers": 7}, Arrivals(), id="a wrong type"),
    ],
)
def test_findings_arrive_by_name_or_in_older_logs_by_call(
    kind: str, data: dict[str, Any], came: Arrivals
) -> None:
    assert arrivals(Event(1, "", "run", "lead", kind, 0, data)) == came
