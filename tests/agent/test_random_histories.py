"""Whatever befalls an agent, no request of it is one that the service would refuse."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from random_agents import play
from random_histories import Plan, plans

EXAMPLES = 2000 if os.environ.get("HYPOTHESIS_PROFILE") == "search" else 60


def check(plan: Plan) -> None:
    """Each request: its shape and size, thinking, what was seen, what the log says."""
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(play, plan, Path(folder))


@settings(max_examples=5)
@given(plan=plans(longest=8))
def test_some_histories_stay_ones_that_are_taken(plan: Plan) -> None:
    check(plan)


@pytest.mark.slow
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(plan=plans())
def test_any_history_under_any_policy_stays_one_that_is_taken(plan: Plan) -> None:
    check(plan)
