"""Runs that are parked: what is kept, what is sent again, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel
from refund_runs import SPLITTER, sent
from run_bench import (
    Ended,
    NoArgs,
    RunBench,
    brief,
    delegate,
    finish,
    in_turn,
    item,
    submit,
)

from orchestrator.agent.parking import Parking
from orchestrator.errors import ModelError
from orchestrator.events import Event
from orchestrator.models.base import ModelRequest, OnRetry, Reply, Retry
from orchestrator.runtime.host import Host
from orchestrator.runtime.live import Live
from orchestrator.runtime.parked import (
    MAX_AHEAD,
    Parked,
    Underway,
    all_is_in,
    goes_on_at,
    when,
)
from orchestrator.runtime.prepare import prepare
from orchestrator.runtime.start import start
from orchestrator.testing import (
    FakeClock,
    Script,
    ScriptedModel,
    Step,
    call,
    conversations,
    fail,
    hang,
    reply,
)
from orchestrator.tools.base import Effects, ToolContext

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
NEXT_MONTH = datetime(2026, 12, 1, tzinfo=UTC)
REGAIN = (
    "You have reached your specified API usage limits. You will regain access on "
    "2026-12-01 at 00:00 UTC."
)
LINE = "A refund takes 14 days."
READ = call("read_file", path="refunds.md")
FOUND = submit(item("It takes 14 days.", "refunds.md:1", LINE))
WORK: list[Step] = [READ, FOUND]
REPORT = finish("It takes 14 days [refunds.md:1].")
NO_CREDIT = fail("quota_exhausted", "Your credit balance is too low.")
DOWN = ModelError("transient", "cannot reach it", is_down=True)
REFUSED = fail("auth", "the key is not valid")


def parked(ended: Ended) -> bool:
    """Whether a run is parked as it should be: nobody failed, no report."""
    over = [each.data["state"] for each in ended.events("run.ended")]
    assert not (ended.folder / "report.md").exists()
    return (ended.result.state, ended.result.exit_code, over[-1]) == (
        "parked",
        75,
        "parked",
    )


class Parks:
    """Follows the events of a run: it is being parked."""

    def __init__(self) -> None:
        self._parked = anyio.Event()

    def __call__(self, event: Event) -> None:
        if event.kind == "run.parked":
            self._parked.set()

    async def wait(self) -> None:
        await self._parked.wait()


def script_of(lead: Script, workers: Mapping[str, Script]) -> Script:
    """What the lead says, and each worker by the title of its brief."""
    by_title = {f"# {title}\n": script for title, script in workers.items()}
    return conversations({"# Objective\n": lead, **by_title})


def bodies(ended: Ended) -> list[bytes]:
    return [request.body for request in ended.requests]


@pytest.mark.parametrize(
    ("error", "at"),
    [
        pytest.param(ModelError("quota_exhausted", REGAIN), NEXT_MONTH, id="a date"),
        pytest.param(
            ModelError("quota_exhausted", "Back on 2026-12-02."),
            datetime(2026, 12, 2, tzinfo=UTC),
            id="a day",
        ),
        pytest.param(
            ModelError("quota_exhausted", REGAIN, 86_400.0),
            NOW + timedelta(days=1),
            id="the later of two",
        ),
        pytest.param(
            ModelError("rate_limited", "slow down", 3600.0, is_down=True),
            NOW + timedelta(hours=1),
            id="seconds",
        ),
        pytest.param(ModelError("quota_exhausted", "no credit"), None, id="none"),
        pytest.param(
            ModelError("quota_exhausted", "since 2026-11-01 at 00:00 UTC"),
            None,
            id="past",
        ),
        pytest.param(
            ModelError("quota_exhausted", "on 2026-13-41 at 99:99"), None, id="no date"
        ),
        pytest.param(
            ModelError("transient", "build 2026-12-24 is broken"), None, id="another"
        ),
        *(
            pytest.param(ModelError("rate_limited", "no", told), None, id=f"{told}")
            for told in (0.0, 1e300, MAX_AHEAD.total_seconds() + 1)
        ),
    ],
)
def test_the_time_to_go_on_is_what_the_endpoint_told(
    error: ModelError, at: datetime | None
) -> None:
    assert goes_on_at(error, NOW) == at


def test_a_time_is_never_told_too_early() -> None:
    assert when(NEXT_MONTH) == "2026-12-01 00:00 UTC"
    assert when(NEXT_MONTH + timedelta(seconds=1)) == "2026-12-01 00:01 UTC"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            ModelError("quota_exhausted", REGAIN),
            f"the quota is used up: {REGAIN[:-1]}; from 2026-12-01 00:00 UTC on, "
            "`orchestrate resume 7f3a` goes on",
        ),
        (
            REFUSED,
            "the key is refused: the key is not valid; with a key that is good, "
            "`orchestrate resume 7f3a` goes on",
        ),
        (
            DOWN,
            "the endpoint is down: cannot reach it; once it answers, `orchestrate "
            "resume 7f3a` goes on",
        ),
    ],
)
def test_one_line_says_what_was_told_and_how_it_goes_on(
    error: ModelError, words: str
) -> None:
    assert Parked.by(error, NOW, handle="7f3a").reason == words


async def test_a_used_up_quota_parks_the_run_and_a_resume_sends_that_request_again(
    bench: RunBench,
) -> None:
    first = await bench.play(
        [delegate(brief("Refunds")), fail("quota_exhausted", REGAIN)],
        {"Refunds": WORK},
    )

    assert parked(first)
    assert REGAIN[:-1] in first.result.reason
    assert first.result.missing == []
    assert first.events("agent.ended", "lead") == []
    second = await bench.resume(first.folder, [REPORT], {})
    assert second.result.state == "done"
    assert bodies(second) == bodies(first)[-1:]


async def test_at_the_very_first_request_there_is_nothing_to_lose(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([NO_CREDIT]))
    assert parked(first)
    assert first.result.totals.calls == 0

    second = await bench.resume(first.folder, [READ, REPORT], {})

    assert second.result.state == "done"
    assert bodies(second)[:1] == bodies(first)


async def test_a_key_that_is_refused_from_the_start_fails_at_once(
    bench: RunBench,
) -> None:
    ended = await bench.run(ScriptedModel([REFUSED]))

    assert (ended.result.state, ended.result.exit_code) == ("failed", 1)
    assert ended.result.reason == "auth: the key is not valid"


async def test_a_key_that_is_refused_in_mid_run_parks_it(bench: RunBench) -> None:
    first = await bench.run(ScriptedModel([READ, REFUSED]))
    assert parked(first)

    # The answer of an earlier process counts.
    second = await bench.resume(first.folder, [REFUSED], {})
    assert parked(second)
    third = await bench.resume(first.folder, [REPORT], {})

    assert third.result.state == "done"
    assert bodies(first)[-1:] == bodies(second) == bodies(third)


async def test_parked_again_nothing_is_lost(bench: RunBench) -> None:
    briefs = delegate(brief("One"), brief("Two"))
    workers: dict[str, Script] = {"One": WORK, "Two": [READ, NO_CREDIT]}
    first = await bench.play([briefs], workers, limits={"concurrency": 1})
    second = await bench.resume(first.folder, [], {"Two": [NO_CREDIT]})
    third = await bench.resume(first.folder, [], {"Two": [DOWN]})

    assert parked(first)
    assert parked(second)
    assert parked(third)
    [refused] = bodies(second)
    assert refused == first.requests_of("a2")[-1].body
    assert bodies(third) == [refused]
    last = await bench.resume(first.folder, [REPORT], {"Two": [FOUND]})
    assert last.result.state == "done"
    assert [each.agent for each in last.events("findings.submitted")] == ["a1", "a2"]
    assert len(last.events("run.parked")) == 3


async def test_queued_subagents_stay_queued(bench: RunBench) -> None:
    titles = ["One", "Two", "Three", "Four"]
    first = await bench.play(
        [delegate(*map(brief, titles))],
        {"One": WORK, "Two": [READ, NO_CREDIT]},
        limits={"concurrency": 1},
    )

    assert parked(first)
    assert [each.agent for each in first.events("agent.started")] == [
        "lead",
        "a1",
        "a2",
    ]
    left: dict[str, Script] = {"Two": [FOUND], "Three": WORK, "Four": WORK}
    second = await bench.resume(first.folder, [REPORT], left)
    assert second.result.state == "done"
    assert len(second.requests) == 6


async def test_what_is_under_way_comes_in_and_is_not_asked_again(
    bench: RunBench,
) -> None:
    asked, parks = anyio.Event(), Parks()

    async def late(_request: ModelRequest) -> Step:
        asked.set()
        await parks.wait()
        return FOUND

    async def soon(_request: ModelRequest) -> Step:
        await asked.wait()
        return NO_CREDIT

    first = await bench.play(
        [delegate(brief("Late"), brief("Soon"))],
        {"Late": in_turn(READ, late), "Soon": in_turn(READ, soon)},
        on_event=parks,
    )

    assert parked(first)
    [told] = first.events("run.parked")
    assert told.data["under_way"] == 1
    [failed] = first.events("model.failed")
    assert told.cause == failed.seq
    assert [each.data["id"] for each in first.events("subagent.ended")] == ["a1"]
    second = await bench.resume(first.folder, [REPORT], {"Soon": [FOUND]})
    assert second.result.state == "done"


async def test_the_time_to_go_on_is_the_same_everywhere(bench: RunBench) -> None:
    clock, asked, parks = FakeClock(), anyio.Event(), Parks()

    async def late(_request: ModelRequest) -> Step:
        asked.set()
        await parks.wait()
        await clock.sleep(90)
        return FOUND

    async def soon(_request: ModelRequest) -> Step:
        await asked.wait()
        return fail("quota_exhausted", "Come back later.", retry_after_s=3600)

    ended = await bench.play(
        [delegate(brief("Late"), brief("Soon"))],
        {"Late": in_turn(READ, late), "Soon": in_turn(READ, soon)},
        on_event=parks,
        clock=clock,
    )

    assert parked(ended)
    [told] = ended.events("run.parked")
    assert ended.result.resume_at is not None
    assert told.data["resume_at"] == ended.result.resume_at.isoformat()
    assert ended.events("run.ended")[0].at > told.at


async def test_an_answer_that_never_comes_is_not_waited_for_without_end(
    bench: RunBench,
) -> None:
    asked = anyio.Event()

    def never(_request: ModelRequest) -> Step:
        asked.set()
        return hang()

    async def soon(_request: ModelRequest) -> Step:
        await asked.wait()
        return NO_CREDIT

    first = await bench.play(
        [delegate(brief("Never"), brief("Soon"))],
        {"Never": in_turn(never), "Soon": in_turn(soon)},
        limits={"call_s": 0.3},
    )

    assert parked(first)
    # What it may have cost counts.
    assert first.json("run.json")["set_aside"]["tokens"] > 0
    second = await bench.resume(first.folder, [REPORT], {"Never": WORK, "Soon": WORK})
    assert second.result.state == "done"


async def test_the_errors_of_many_at_once_park_the_run_once(bench: RunBench) -> None:
    titles = ["One", "Two", "Three"]
    out = 0
    all_out = anyio.Event()

    async def refused(_request: ModelRequest) -> Step:
        nonlocal out
        out += 1
        if out == len(titles):
            all_out.set()
        await all_out.wait()
        return NO_CREDIT

    first = await bench.play(
        [delegate(*map(brief, titles))],
        {title: in_turn(refused) for title in titles},
    )

    assert parked(first)
    assert len(first.events("model.failed")) == 3
    assert len(first.events("run.parked")) == 1
    second = await bench.resume(first.folder, [REPORT], dict.fromkeys(titles, WORK))
    assert second.result.state == "done"


@pytest.mark.parametrize("error", [NO_CREDIT, DOWN], ids=["quota", "down"])
async def test_the_last_call_of_a_subagent_is_made_later(
    bench: RunBench, error: ModelError
) -> None:
    first = await bench.play(
        [delegate(brief("One", limits={"turns": 2}))], {"One": [READ, error]}
    )

    assert parked(first)
    second = await bench.resume(first.folder, [REPORT], {"One": [FOUND]})
    assert bodies(second)[:1] == bodies(first)[-1:]
    assert len(second.events("limit.reached", "a1")) == 1
    [over] = second.events("subagent.ended")
    assert over.data["outcome"] == "submitted"


async def test_the_last_call_of_the_lead_is_made_later(bench: RunBench) -> None:
    first = await bench.run(ScriptedModel([READ, NO_CREDIT]), limits={"turns": 2})

    assert parked(first)
    second = await bench.resume(first.folder, [REPORT], {})
    assert bodies(second) == bodies(first)[-1:]
    assert second.result.state == "partial"  # for its limit
    assert second.result.report.startswith("It takes 14 days")


async def test_a_further_question_is_answered_later(bench: RunBench) -> None:
    ask = call("follow_up", agent="a1", question="And without a receipt?")
    first = await bench.play([delegate(brief("One")), ask], {"One": [*WORK, NO_CREDIT]})

    assert parked(first)
    second = await bench.resume(first.folder, [REPORT], {"One": [FOUND]})
    assert second.result.state == "done"
    assert bodies(second)[:1] == bodies(first)[-1:]
    assert len(second.events("subagent.asked")) == 1


async def test_a_subagent_of_a_subagent_parks_them_all(bench: RunBench) -> None:
    bench.write("agents/splitter.md", SPLITTER)
    first = await bench.play(
        [sent("One", agent="splitter")],
        {"One": [sent("Two")], "Two": [READ, NO_CREDIT]},
        agents=["splitter", "explorer"],
        limits={"depth": 2},
    )

    assert parked(first)
    assert first.events("agent.ended") == []
    second = await bench.resume(
        first.folder, [REPORT], {"One": [FOUND], "Two": [FOUND]}
    )
    assert [each.data["id"] for each in second.events("subagent.ended")] == ["a2", "a1"]


async def test_a_subagent_that_is_cancelled_meanwhile_is_ended(
    bench: RunBench,
) -> None:
    asked, parks = anyio.Event(), Parks()

    async def soon(_request: ModelRequest) -> Step:
        await asked.wait()
        return NO_CREDIT

    async def later(_request: ModelRequest) -> Step:
        await parks.wait()
        return NO_CREDIT

    async def cancels(_request: ModelRequest) -> Step:
        asked.set()
        await parks.wait()  # `a1` waits at the gate by now
        return call("cancel", agent="a1", reason="not needed")

    sent = delegate(brief("One"), brief("Two"), wait="none")
    first = await bench.play(
        in_turn(sent, cancels),
        {"One": in_turn(soon), "Two": in_turn(later)},
        on_event=parks,
    )

    assert parked(first)
    [over] = first.events("subagent.ended")
    assert (over.data["id"], over.data["outcome"]) == ("a1", "cancelled")
    second = await bench.resume(first.folder, [call("wait_for"), REPORT], {"Two": WORK})
    assert second.result.state == "done"


async def test_a_run_that_is_stopped_while_it_is_parked_is_interrupted(
    bench: RunBench,
) -> None:
    live = Live()

    def stops(event: Event) -> None:
        if event.kind == "run.parked":
            live.scope.cancel()

    live.on_event = stops
    briefs = delegate(brief("Slow"), brief("Soon"))
    workers: dict[str, Script] = {
        "Slow": [READ, hang()],
        "Soon": [READ, READ, NO_CREDIT],
    }
    model = ScriptedModel(script_of([briefs], workers))
    host = Host.of_process(runs_dir=bench.runs, model=model, clock=FakeClock())
    ready = prepare(
        bench.task(),
        settings=host.settings,
        env=host.env,
        price_of=host.price,
        needs_credentials=False,
    )

    result = await start(ready, host, live)

    assert (result.state, result.exit_code) == ("interrupted", 130)
    second = await bench.resume(
        result.folder, [REPORT], {"Slow": [FOUND], "Soon": [FOUND]}
    )
    assert second.result.state == "done"


async def test_the_request_that_goes_ahead_of_alike_ones_is_the_only_one_refused(
    bench: RunBench,
) -> None:
    class Caching(ScriptedModel):
        caches_prompts = True

    long = "A sentence that makes the prompt of all subagents long. " * 600
    profile = f"---\nname: explorer\ndescription: Reads.\n---\n{long}\n"
    bench.write("agents/explorer.md", profile)
    titles = ["One", "Two", "Three"]
    refused = {title: [NO_CREDIT] for title in titles}
    model = Caching(script_of([delegate(*map(brief, titles))], refused))

    first = await bench.run(model, model="claude-haiku-5-5")

    assert parked(first)
    assert len(first.requests) == 2
    second = await bench.resume(first.folder, [REPORT], dict.fromkeys(titles, WORK))
    assert second.result.state == "done"


async def test_a_try_that_failed_is_not_made_again_in_a_parked_run(
    bench: RunBench,
) -> None:
    retrying, parks = anyio.Event(), Parks()

    class Retries(ScriptedModel):
        async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
            answer = await super().complete(request, on_retry=on_retry)
            if answer.stop_reason == "again":
                on_retry(Retry(1, "overloaded", "Overloaded", 30.0))
                with request.while_waiting():
                    retrying.set()
                    await parks.wait()
                raise AssertionError("it is sent again")
            return answer

    async def soon(_request: ModelRequest) -> Step:
        await retrying.wait()
        return NO_CREDIT

    briefs = delegate(brief("One"), brief("Two"))
    workers: dict[str, Script] = {
        "One": [reply(READ, stop_reason="again")],
        "Two": in_turn(soon),
    }

    model = Retries(script_of([briefs], workers))
    first = await bench.run(model, on_event=parks)

    assert parked(first)
    failed = {each.agent: each.data for each in first.events("model.failed")}
    assert failed["a1"]["error"] == "not_sent"
    assert not failed["a1"]["begun"]
    second = await bench.resume(first.folder, [REPORT], {"One": WORK, "Two": WORK})
    assert second.result.state == "done"


async def test_what_is_under_way_is_waited_for_however_quiet_it_is() -> None:
    parking, underway, came_in = Parking(), Underway(), anyio.Event()
    started, ended = (
        Event(seq, "", "", "a1", kind, 0, {"call": "c1", "name": "slow"})
        for seq, kind in enumerate(("tool.started", "tool.ended"), 1)
    )

    async def waits() -> None:
        await all_is_in(parking, underway, quiet_s=0)
        came_in.set()

    async def is_in() -> bool:
        for _ in range(10):
            await anyio.lowlevel.checkpoint()
        return came_in.is_set()

    async with anyio.create_task_group() as group:
        with parking.sending():
            group.start_soon(waits)
            assert not await is_in()
            underway.apply(started)
        assert not await is_in()
        underway.apply(ended)
        assert await is_in()


async def test_a_tool_at_work_ends_before_the_process_lets_go(
    bench: RunBench,
) -> None:
    at_work, parks = anyio.Event(), Parks()

    class Slow:
        """A tool that ends once the run is being parked."""

        name: ClassVar[str] = "slow"
        description: ClassVar[str] = "Takes long."
        Args: ClassVar[type[BaseModel]] = NoArgs
        effects: ClassVar[Effects] = "reads"
        timeout_s: ClassVar[float] = 5

        async def run(self, args: NoArgs, context: ToolContext) -> str:
            at_work.set()
            await parks.wait()
            return "done at last"

    async def soon(_request: ModelRequest) -> Step:
        await at_work.wait()
        return NO_CREDIT

    first = await bench.play(
        [delegate(brief("One"), brief("Two"))],
        {"One": [call("slow")], "Two": in_turn(soon)},
        tools=[Slow()],
        on_event=parks,
    )

    assert parked(first)
    assert first.results("slow", "a1") == ["done at last"]
