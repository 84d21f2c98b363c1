"""What a request should find in the cache, and the cause where it does not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from agent_bench import DONE, AgentBench, Echo, use

from orchestrator.agent.cache_watch import CacheUse, CacheWatch, Missed, start_of
from orchestrator.context.view import Head, make_head
from orchestrator.events import Event, ResultReplaced
from orchestrator.messages import text_block
from orchestrator.models.base import CacheMiss, Usage
from orchestrator.testing import ScriptedModel

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SHORTEST = 1024


def used(read: int = 0, written: int = 0, fresh: int = 10, **more: Any) -> Usage:
    return Usage(
        input_tokens=fresh,
        cache_write_5m_tokens=written,
        cache_read_tokens=read,
        output_tokens=5,
        **more,
    )


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def head(model: str = "m", *, marks: bool = True) -> Head:
    return make_head(
        model=model,
        system=[text_block("s")],
        tools=[],
        settings={},
        tokens=9,
        marks=marks,
    )


def warm(expected: int = 9000) -> CacheWatch:
    """A watch whose newest request left at noon, and had so much in the cache."""
    watch = CacheWatch()
    watch.sent(0, head=head())
    watch.answered(NOON, used(written=expected))
    return watch


def next_one(
    watch: CacheWatch,
    usage: Usage,
    at: datetime = NOON,
    *,
    rewritten: int = 0,
    begins: Head | None = None,
    told: CacheMiss | None = None,
) -> Missed | None:
    watch.sent(rewritten, head=begins)
    return watch.answered(at, usage, told)


def test_all_that_the_request_before_had_read_or_written_is_expected() -> None:
    watch = warm(3000)

    missed = [
        next_one(watch, used(3000, 1000)),
        next_one(watch, used(4000, 1000)),
        next_one(watch, used(0, 6000)),
    ]

    assert missed == [None, None, Missed(5000, 0, "unknown")]
    assert watch.expected == 6000


@pytest.mark.parametrize(
    ("expected", "read", "is_missed"),
    [
        pytest.param(9000, 9000, False, id="all of it"),
        pytest.param(9000, 8200, False, id="a tenth is no fall"),
        pytest.param(9000, 8000, True, id="more is"),
        pytest.param(400, 0, False, id="nor is little"),
        pytest.param(0, 0, False, id="nothing was cached"),
    ],
)
def test_only_what_is_clearly_less_is_told(
    expected: int, read: int, is_missed: bool
) -> None:
    assert bool(next_one(warm(expected), used(read, 10_000))) is is_missed


@pytest.mark.parametrize(
    ("change", "given", "cause", "detail"),
    [
        pytest.param({}, {"at": after(301)}, "expired", "", id="too late"),
        pytest.param({}, {"at": after(299)}, "unknown", "", id="just in time"),
        pytest.param(
            {},
            {"rewritten": 1, "at": after(301)},
            "prefix_changed",
            "thinking is left out",
            id="thinking dropped",
        ),
        pytest.param(
            {},
            {"begins": head("other")},
            "prefix_changed",
            "another model, or other fields",
            id="another model",
        ),
        pytest.param(
            {"changed": "a result is replaced"},
            {},
            "prefix_changed",
            "a result is replaced",
            id="a result replaced",
        ),
        pytest.param(
            {"changed": "a result is replaced"},
            {"rewritten": 1},
            "prefix_changed",
            "a result is replaced",
            id="that is the cause, not thinking",
        ),
        pytest.param({"is_resumed": True}, {}, "resumed", "", id="resumed"),
        pytest.param(
            {"is_resumed": True},
            {"at": after(400)},
            "expired",
            "",
            id="resumed much later",
        ),
    ],
)
def test_the_cause_is_told(
    change: dict[str, Any], given: dict[str, Any], cause: str, detail: str
) -> None:
    watch = warm()
    for name, value in change.items():
        setattr(watch, name, value)

    missed = next_one(watch, used(0, 9500), **given)

    assert missed == Missed(9000, 0, cause, detail)
    # It is told once: the next one finds what this one wrote.
    assert next_one(watch, used(9500, 10), given.get("at", NOON)) is None


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("messages_changed", "prefix_changed"),
        ("tools_changed", "prefix_changed"),
        ("previous_message_not_found", "unknown"),
        ("a_word_of_later", "unknown"),
    ],
)
def test_the_service_s_own_word_is_kept(reason: str, cause: str) -> None:
    missed = next_one(warm(), used(0, 9500), told=CacheMiss(reason))

    assert missed == Missed(9000, 0, cause, "", reason)


def test_what_the_service_alone_knows_is_told_too() -> None:
    watch = CacheWatch()
    watch.sent(0)

    missed = watch.answered(NOON, used(0, 9000), CacheMiss("system_changed", 4000))

    assert missed == Missed(4000, 0, "prefix_changed", "", "system_changed")


def test_a_head_that_others_wrote_is_expected_of_a_first_request() -> None:
    found, lost = CacheWatch(), CacheWatch()
    found.sent(0, head=head(), shared_tokens=3000)
    lost.sent(0, head=head(), shared_tokens=3000)

    assert found.answered(NOON, used(2200, 500)) is None
    assert lost.answered(NOON, used(0, 2700)) == Missed(1500, 0, "unknown")


def test_without_marks_nothing_is_expected() -> None:
    assert next_one(warm(), used(0), begins=head(marks=False)) is None


def test_an_answer_that_does_not_count_tells_nothing() -> None:
    watch = warm()

    assert next_one(watch, used(0, known=False)) is None
    assert next_one(watch, used(0, 9000)) is None


def test_what_can_be_read_depends_on_the_time_and_on_changes() -> None:
    watch = warm(5000)
    watch.sent(0)

    assert watch.readable(after(10)) == 5000
    assert watch.readable(after(301)) == 0

    watch.sent(1)
    assert watch.readable(after(10)) == 0


def test_that_there_is_no_cache_is_found_once_for_each_model() -> None:
    known = CacheUse()
    long, short = used(fresh=5000), used(fresh=1500)

    found = [
        known.is_found_without(model, usage, SHORTEST)
        for model, usage in [
            ("m", short),
            ("m", short),
            ("m", long),
            ("n", used(0, 4000)),
            ("m", long),
            ("m", long),
            ("n", long),
            ("n", long),
        ]
    ]

    assert [place for place, each in enumerate(found) if each] == [4]
    assert known.without == {"m"}


async def test_a_result_that_is_left_out_is_what_has_changed(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    agent = bench.agent(ScriptedModel([use("t1"), DONE]), bench.spec())
    await agent.run()

    agent.state.replace_result(ResultReplaced("t1", "It is left out.", is_error=False))

    assert agent.state.cache.changed == "a result is replaced"


def test_a_request_began_before_its_answer_was_whole() -> None:
    event = Event(1, "2026-11-30T12:01:00.000Z", "r", "a", "k", 0, {"seconds": 60})
    odd = Event(1, "noon", "r", "a", "k", 0, {"seconds": 60})

    assert start_of(event) == NOON
    assert start_of(odd) is None
