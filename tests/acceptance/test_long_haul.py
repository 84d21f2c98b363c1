"""A hundred and fifty files, one after the other: the context stays small and true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from haul_policy import FACT, PRICE_FILE, HaulPolicy, clear_at_100k_usd, lay_haul
from run_bench import Ended, RunBench
from serving import serving

CONSTRAINT = "Never write below vendor/. 不要打开 secrets 目录。"
THINKS = [
    pytest.param(False, marks=pytest.mark.slow, id="silent"),
    pytest.param(True, id="thinking"),
]
OBJECTIVE = "Read all parts one by one and report the release codeword."


@pytest.fixture
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(PRICE_FILE)
    monkeypatch.setenv("ORCHESTRATE_PRICES", str(path))


async def hauled(
    folder: Path, policy: HaulPolicy, *, tells: bool = True
) -> tuple[Ended, Any]:
    """Run it to its end; `tells` a window that is not the model's own."""
    bench = RunBench(folder)
    lay_haul(bench.root, policy.reads)
    is_told = tells and policy.window != 200_000
    told = {"window_tokens": policy.window} if is_told else {}
    async with serving(bench.runs, policy) as (endpoint, here):
        task = bench.task(
            objective=OBJECTIVE,
            constraints=(CONSTRAINT,),
            model="claude-sonnet-4-9",
            limits={"usd": 100, "tokens": 60_000_000, "turns": 1000, "minutes": 600},
            context_policy=told,
        )
        ended = Ended(await here.run(task), None)  # type: ignore[arg-type]
        return ended, endpoint


def is_clean(ended: Ended, policy: HaulPolicy, endpoint: Any) -> None:
    """It is done, and the endpoint had nothing to refuse."""
    assert ended.result.state == "done", ended.result
    assert FACT in ended.text("report.md")
    assert (policy.violations, endpoint.violations) == ([], [])
    assert policy.too_long == 0
    assert policy.peak < policy.window
    for each in endpoint.requests:
        first = str(each["messages"][0])
        assert OBJECTIVE in first
        assert CONSTRAINT in first


@pytest.mark.parametrize(("window", "thinks"), [(32_000, False), (8192, True)])
async def test_a_short_haul_in_a_small_window_ends_with_the_fact(
    tmp_path: Path, prices: None, window: int, thinks: bool
) -> None:
    policy = HaulPolicy(16, window=window, thinks=thinks)

    ended, endpoint = await hauled(tmp_path, policy)

    is_clean(ended, policy, endpoint)
    assert ended.events("context.")
    assert policy.turns == 17


@pytest.mark.parametrize("thinks", THINKS)
async def test_without_any_summary_the_fact_is_still_there_at_the_end(
    tmp_path: Path, prices: None, thinks: bool
) -> None:
    policy = HaulPolicy(36, window=8192, thinks=thinks, summarises=False)

    ended, endpoint = await hauled(tmp_path, policy)

    is_clean(ended, policy, endpoint)
    edits = ended.events("context.compacted")
    assert len(edits) >= 2
    assert {each.data["how"] for each in edits} == {"mechanical"}


@pytest.mark.parametrize("thinks", THINKS)
async def test_a_window_that_nobody_told_costs_one_request(
    tmp_path: Path, prices: None, thinks: bool
) -> None:
    policy = HaulPolicy(24, window=12_500, thinks=thinks)

    ended, _ = await hauled(tmp_path, policy, tells=False)

    assert ended.result.state == "done", ended.result
    assert FACT in ended.text("report.md")
    assert policy.violations == []
    assert policy.too_long == 1
    assert policy.turns == 25


@pytest.mark.slow
@pytest.mark.parametrize("thinks", [False, True], ids=["silent", "thinking"])
@pytest.mark.parametrize(
    ("window", "share"), [(200_000, 0.85), (32_000, 0.6), (8192, 0.3)]
)
async def test_a_long_haul_ends_with_the_fact_of_its_first_files(
    tmp_path: Path, prices: None, window: int, share: float, thinks: bool
) -> None:
    policy = HaulPolicy(150, window=window, thinks=thinks)

    ended, endpoint = await hauled(tmp_path, policy)

    is_clean(ended, policy, endpoint)
    assert policy.turns == 151
    assert policy.summaries <= 15
    other = clear_at_100k_usd(
        150, head_tokens=policy.first, step_tokens=3100, said_tokens=60
    )
    assert policy.usd <= share * other, (policy.usd, other)
