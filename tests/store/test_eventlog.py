from __future__ import annotations

import os
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import anyio
import orjson
import pytest
from store_parts import RUN, SteadyClock, full_disk, new_log, reopened, started

from orchestrator.errors import StoreError
from orchestrator.events import (
    Event,
    FileSeen,
    ModelAnswered,
    NotesUpdated,
    Payload,
    ToolEnded,
    ToolStarted,
    parse,
)
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.store.reading import read_events
from orchestrator.store.records import dump

BIG = "line of text\n" * 2000


def events(folder: Path, *, loaded: bool = False) -> list[Event]:
    artifacts = Artifacts(folder / "artifacts") if loaded else None
    return list(read_events(folder / "events.jsonl", artifacts))


def ended(content: str, **fields: Any) -> ToolEnded:
    return ToolEnded(
        call="t1",
        name="grep",
        content=content,
        is_error=False,
        seconds=0.5,
        tokens=1,
        full_tokens=1,
        **fields,
    )


def test_an_event_comes_of_what_last_happened_to_its_agent(tmp_path: Path) -> None:
    log = new_log(tmp_path)

    first = log.append(started(1), agent="a1")
    other = log.append(started(1), agent="a2")
    second = log.append(started(2), agent="a1")
    log.link("a3", other.seq)
    linked = log.append(started(1), agent="a3")

    causes = [each.cause for each in (first, other, second, linked)]
    assert causes == [0, 0, first.seq, other.seq]
    assert log.newest("a1") == second.seq


def test_a_line_has_the_fields_of_the_contract_and_is_there_at_once(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path)

    event = log.append(started(1), agent="a1", cause=7)

    line = (tmp_path / "events.jsonl").read_bytes()
    assert orjson.loads(line) == {
        "v": 1,
        "seq": 1,
        "at": "2026-11-29T20:15:00.001Z",
        "run": RUN,
        "agent": "a1",
        "kind": "tool.started",
        "cause": 7,
        "worked_s": 0.001,
        "data": {
            "call": "t1",
            "name": "grep",
            "input": {"pattern": "x"},
            "effects": "reads",
        },
    }
    assert events(tmp_path) == [event]
    assert log.seq == 1
    assert dump(event.to_dict()) + b"\n" == line


def test_what_is_read_equals_what_subscribers_were_told(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    told: list[Event] = []
    log.subscribe(told.append)
    seen = FileSeen(path="a.py", sha256="0" * 64, artifact="", lines=3)

    log.append(ended(BIG, files=[seen]), agent="a1")
    log.append(started(2, "日本 \U0001f600"), agent="lead", cause=1)

    assert events(tmp_path, loaded=True) == told
    assert parse(told[0], ToolEnded).content == BIG
    assert [event.seq for event in told] == [1, 2]


def test_a_subscriber_may_append_and_order_is_kept_for_all(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    told: list[int] = []

    def echo(event: Event) -> None:
        if event.seq < 3:
            log.append(started(event.seq + 1))

    log.subscribe(echo)
    log.subscribe(lambda event: told.append(event.seq))
    log.append(started(1))

    assert told == [1, 2, 3]


def test_a_failing_subscriber_does_not_block_later_events(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    told: list[int] = []

    def fail_first(event: Event) -> None:
        told.append(event.seq)
        if event.seq == 1:
            raise KeyError("bug")

    log.subscribe(fail_first)
    with pytest.raises(KeyError):
        log.append(started(1))
    log.append(started(2))

    assert told == [1, 2]
    assert len(events(tmp_path)) == 2


def test_threads_may_append_at_once(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    told: list[int] = []
    log.subscribe(lambda event: told.append(event.seq))

    def work() -> None:
        for number in range(100):
            log.append(started(number))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert told == list(range(1, 401))
    assert [event.seq for event in events(tmp_path)] == told


def test_a_large_field_is_an_artifact_that_is_there_before_its_line(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path)

    log.append(ended(BIG))

    (event,) = events(tmp_path)
    stored = event.data["content"]
    ref = stored["$artifact"]
    assert stored == {"$artifact": ref, "bytes": len(orjson.dumps(BIG))}
    assert event.data["name"] == "grep"
    assert events(tmp_path, loaded=True)[0].data["content"] == BIG
    assert (tmp_path / "events.jsonl").stat().st_size < 1000


@pytest.mark.parametrize("size", [16 * 1024 - 2, 16 * 1024 - 1])
def test_16_kilobytes_are_the_limit_of_a_field(tmp_path: Path, size: int) -> None:
    new_log(tmp_path).append(ended("x" * size))

    content = events(tmp_path)[0].data["content"]
    assert isinstance(content, str) == (size + 2 <= 16 * 1024)


def test_many_small_fields_stay_in_the_line(tmp_path: Path) -> None:
    fields = [f"{n}" * 6000 for n in range(3)]
    log = new_log(tmp_path)
    log.append(NotesUpdated(section=fields[0], mode=fields[1], text=fields[2]))

    assert list((tmp_path / "artifacts").iterdir()) == []


def test_input_that_looks_like_a_reference_is_not_followed(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(ended(BIG))
    ref = events(tmp_path)[0].data["content"]["$artifact"]
    forged = {"$artifact": ref, "bytes": 3}

    log.append(ToolStarted(call="t", name="x", input=forged, effects="reads"))

    assert events(tmp_path, loaded=True)[1].data["input"] == forged


@pytest.mark.parametrize(
    ("value", "read"),
    [
        pytest.param("a\ud83dz", "a\ufffdz", id="half a character"),
        pytest.param("\ud83d\ude00", "\U0001f600", id="two halves make one"),
        pytest.param({"a\ud83d": 1, 2: 3}, {"a\ufffd": 1, "2": 3}, id="keys"),
        pytest.param(["\ud83d", float("nan"), 1.5], ["\ufffd", None, 1.5], id="nan"),
        pytest.param({"\x7f": (1, "\ud83d")}, {"\x7f": [1, "\ufffd"]}, id="DEL stays"),
    ],
)
def test_text_that_is_no_utf8_reaches_the_log_as_valid_utf8(
    tmp_path: Path, value: Any, read: Any
) -> None:
    new_log(tmp_path).append(
        ToolStarted(call="t", name="x", input={"value": value}, effects="reads")
    )

    assert events(tmp_path)[0].data["input"] == {"value": read}


def test_long_integers_and_deep_nesting_are_written(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    log = new_log(tmp_path)

    log.append(started(1))
    log.append(
        ToolStarted(call="t", name="x", input={"d": deep, "n": 2**70}, effects="reads")
    )

    assert events(tmp_path)[1].data["input"]["d"] == deep
    assert str(2**70).encode() in (tmp_path / "events.jsonl").read_bytes()


def test_nesting_beyond_all_bounds_is_an_error_and_no_event(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    log = new_log(tmp_path)

    with pytest.raises(StoreError, match="nested too deeply"):
        log.append(ToolStarted(call="t", name="x", input={"d": deep}, effects="reads"))

    assert events(tmp_path) == []
    while deep:  # taken apart by hand: freeing it at once would recurse
        deep = deep[0]


def test_what_json_cannot_hold_is_a_bug_and_leaves_no_line(tmp_path: Path) -> None:
    log = new_log(tmp_path)

    with pytest.raises(TypeError):
        log.append(ToolStarted(call="t", name="x", input={"d": {1}}, effects="reads"))

    assert events(tmp_path) == []


def test_unknown_kinds_and_fields_survive_reading_and_rewriting(
    tmp_path: Path,
) -> None:
    @dataclass(frozen=True, slots=True)
    class Later(Payload):
        KIND: ClassVar[str] = "later.happened"
        new_field: dict[str, int]

    log = new_log(tmp_path)
    log.append(Later(new_field={"a": 1}))
    path = tmp_path / "events.jsonl"
    line = path.read_bytes()

    (event,) = events(tmp_path)
    path.write_bytes(dump(event.to_dict()) + b"\n")

    assert event.kind == "later.happened"
    assert event.data == {"new_field": {"a": 1}}
    assert path.read_bytes() == line


def test_a_second_log_in_one_place_is_refused(tmp_path: Path) -> None:
    new_log(tmp_path).close()

    with pytest.raises(StoreError, match="exists already"):
        new_log(tmp_path)


def test_a_log_needs_its_folder(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    path = tmp_path / "none" / "events.jsonl"

    with pytest.raises(StoreError, match="cannot make the log"):
        EventLog.create(path, RUN, artifacts, SteadyClock())
    with pytest.raises(StoreError, match="cannot reopen the log"):
        EventLog.reopen(path, RUN, artifacts, SteadyClock())
    with pytest.raises(StoreError, match="cannot read the log"):
        list(read_events(path))


def test_a_folder_in_the_place_of_the_log_cannot_be_reopened(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").mkdir()

    with pytest.raises(StoreError, match="cannot reopen the log"):
        reopened(tmp_path)


def test_a_closed_log_takes_nothing_and_closes_twice(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(started(1))
    log.close()
    log.close()

    with pytest.raises(StoreError, match="is closed"):
        log.append(started(2))
    assert len(events(tmp_path)) == 1


async def test_sync_covers_what_was_written_and_shares_the_work(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    await log.sync()
    ends: list[int] = []

    async def work(number: int) -> None:
        log.append(started(number))
        await log.sync()
        ends.append(number)

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(work, number)

    assert sorted(ends) == list(range(20))
    log.close()
    assert len(events(tmp_path)) == 20


async def test_a_cancelled_sync_leaves_the_others_their_own(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(started(1))

    async with anyio.create_task_group() as group:
        group.start_soon(log.sync)
        group.cancel_scope.cancel()
    await log.sync()

    log.close()


async def test_a_deleted_log_is_noticed_at_the_next_event_and_at_sync(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path / "run")
    log.append(started(1))
    shutil.rmtree(tmp_path / "run")

    with pytest.raises(StoreError, match="the file or its folder is gone"):
        log.append(started(2))
    with pytest.raises(StoreError, match="cannot sync the log"):
        await log.sync()
    with pytest.raises(StoreError, match="cannot sync the log"):
        await log.sync()
    with pytest.raises(StoreError, match="cannot sync the log"):
        log.append(started(2))
    log.close()


def test_a_full_disk_leaves_whole_lines_and_the_log_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path)
    log.append(started(1))
    path = tmp_path / "events.jsonl"
    size = path.stat().st_size

    with full_disk(size + 20), pytest.raises(StoreError, match="cannot write the log"):
        log.append(started(2))
    assert path.stat().st_size == size
    log.append(started(2))

    assert [event.seq for event in events(tmp_path)] == [1, 2]


def test_an_unfinished_line_that_cannot_be_taken_back_stops_the_log(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path)
    log.append(started(1))
    # A handle that may only read fails at the line and at taking it back.
    log._drop()
    log._handle = os.open(tmp_path / "events.jsonl", os.O_RDONLY)

    with pytest.raises(StoreError, match="cannot write the log"):
        log.append(started(2))
    with pytest.raises(StoreError, match="ends in half a line"):
        log.append(started(2))
    log.close()


def test_reopening_goes_on_behind_the_last_event(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for number in range(3):
        log.append(started(number))
    log.close()

    again = reopened(tmp_path)

    assert again.seq == 3
    assert again.append(started(4)).seq == 4
    assert [event.seq for event in events(tmp_path)] == [1, 2, 3, 4]


def test_an_empty_log_can_be_reopened(tmp_path: Path) -> None:
    new_log(tmp_path).close()

    assert reopened(tmp_path).append(started(1)).seq == 1


def test_cut_at_any_byte_every_whole_record_stays_and_new_ones_are_readable(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path / "whole")
    for number in range(3):
        log.append(started(number, '日本 {"v":1} 中文'))
    log.close()
    whole = (tmp_path / "whole" / "events.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    start = len(lines[0]) + len(lines[1])
    folder = tmp_path / "cut"
    (folder / "artifacts").mkdir(parents=True)

    for cut in range(start, len(whole) + 1):
        (folder / "events.jsonl").write_bytes(whole[:cut])
        kept = 3 if cut >= len(whole) - 1 else 2

        before = events(folder)
        again = reopened(folder)
        again.append(started(9))
        again._drop()

        assert [event.seq for event in before] == [1, 2, 3][:kept]
        assert [event.seq for event in events(folder)] == list(range(1, kept + 2))


def test_long_lines_at_the_end_do_not_hide_the_last_number(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    log.append(started(1))
    log.close()
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(b"\0" * 200_000 + b"\n\n" + b'{"v":1,' + b"x" * 100_000)

    again = reopened(tmp_path)

    assert again.seq == 2  # what the damaged line was may have had this number
    assert (tmp_path / "events.jsonl").read_bytes().endswith(b"\0\n\n")


def line(number: int) -> bytes:
    event = Event(
        seq=number,
        at="2026-11-29T20:15:00.000Z",
        run=RUN,
        agent="",
        kind="tool.started",
        cause=0,
        data={"text": "中文"},
    )
    return dump(event.to_dict()) + b"\n"


@pytest.mark.parametrize(
    ("content", "seqs", "why"),
    [
        pytest.param(
            line(1) + b"\0" * 512 + b"\n" + line(2), [1, 0, 2], "512 NUL bytes",
            id="block of NULs",
        ),
        pytest.param(
            line(1)[:-1] + b"\0" * 9 + line(2), [0, 1, 2], "9 NUL bytes",
            id="NULs in place of a newline",
        ),
        pytest.param(
            line(1) + line(2)[:40] + b"\0" * 4 + line(3), [1, 0, 3],
            "not a whole record: 44 bytes, 4 of them NUL", id="stub, NULs, record",
        ),
        pytest.param(line(1)[:-1] + line(2), [1, 2], "", id="glued"),
        pytest.param(
            line(1)[:50] + line(2) + line(3), [0, 2, 3],
            "not a whole record: 50 bytes", id="stub glued to a record",
        ),
        pytest.param(
            line(1) + line(2)[:-6] + b"\n" + line(3), [1, 0, 3],
            f"not a whole record: {len(line(2)) - 6} bytes",
            id="cut within a character",
        ),
        pytest.param(
            line(1).replace("文".encode(), b"\xe6\x96") + line(2), [0, 2],
            f"not a whole record: {len(line(1)) - 2} bytes",
            id="half a character in a whole line",
        ),
        pytest.param(
            b'{"v":1,"seq":"x"}\n' + line(2), [0, 2], "not a whole record: 17 bytes",
            id="JSON, but no event",
        ),
        pytest.param(
            b"[1]\n" + line(2), [0, 2], "not a whole record: 3 bytes", id="no object"
        ),
        pytest.param(
            b'{"v":' + b"[" * 100_000 + b"\n" + line(2), [0, 2],
            "not a whole record: 100005 bytes", id="nested without end",
        ),
        pytest.param(b"\n  \n" + line(2), [2], "", id="blank lines"),
        pytest.param(line(1) + line(2)[:30], [1], "", id="torn tail"),
        pytest.param(line(1) + line(2)[:-1], [1, 2], "", id="whole but for newline"),
        pytest.param(line(1) + b"\0\0\0", [1], "", id="NULs at the end"),
        pytest.param(b"", [], "", id="empty"),
    ],
)  # fmt: skip
def test_damage_costs_the_damaged_record_and_is_announced(
    tmp_path: Path, content: bytes, seqs: list[int], why: str
) -> None:
    (tmp_path / "events.jsonl").write_bytes(content)

    found = events(tmp_path)

    assert [event.seq for event in found] == seqs
    announced = [event.data for event in found if event.kind == "log.damaged"]
    assert [each["why"] for each in announced] == ([why] if why else [])


def test_an_announced_damage_names_its_line_and_the_time_before(
    tmp_path: Path,
) -> None:
    (tmp_path / "events.jsonl").write_bytes(line(1) + b"junk\n" + line(2))

    damage = events(tmp_path)[1]

    assert damage == Event(
        seq=0,
        at="2026-11-29T20:15:00.000Z",
        run=RUN,
        agent="",
        kind="log.damaged",
        cause=0,
        data={"line": 2, "why": "not a whole record: 4 bytes"},
    )


def test_fields_of_an_odd_type_get_their_defaults(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(
        b'{"v":"2","seq":1,"kind":"a.b","cause":null,"data":{}}\n'
    )

    (event,) = events(tmp_path)

    assert (event.v, event.cause, event.at, event.agent) == (1, 0, "", "")


@pytest.mark.parametrize(
    ("written", "read"),
    [(b"7", 7.0), (b"7.25", 7.25), (b"true", None), (b'"7"', None), (b"null", None)],
)
def test_seconds_at_work_are_a_number_or_unknown(
    tmp_path: Path, written: bytes, read: float | None
) -> None:
    (tmp_path / "events.jsonl").write_bytes(
        line(1).replace(b'"data"', b'"worked_s":%b,"data"' % written)
    )

    (event,) = events(tmp_path)

    assert event.worked_s == read
    assert type(event.worked_s) is type(read)
    assert ("worked_s" in event.to_dict()) == (read is not None)


@pytest.mark.parametrize("torn", [b"", b'{"v":1,"seq":3,"worked_s":99'])
def test_seconds_at_work_go_on_behind_those_of_the_last_whole_record(
    tmp_path: Path, torn: bytes
) -> None:
    path = tmp_path / "events.jsonl"
    carried = line(2).replace(b'"data"', b'"worked_s":7.25,"data"')
    path.write_bytes(line(1) + carried + torn)

    event = reopened(tmp_path).append(started(3))

    assert event.worked_s == pytest.approx(7.251)  # the clock's step
    assert events(tmp_path)[-1] == event


def test_an_older_log_is_gone_on_with_by_its_times_of_day(tmp_path: Path) -> None:
    later = line(2).replace(b"20:15:00", b"20:16:10")
    (tmp_path / "events.jsonl").write_bytes(line(1) + later)

    event = reopened(tmp_path).append(started(3))

    assert event.worked_s == pytest.approx(70.001)


def test_a_later_schema_version_is_kept(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(line(1).replace(b'"v":1', b'"v":7'))

    assert events(tmp_path)[0].v == 7


@pytest.mark.parametrize("content", [None, b"other"])
def test_a_lost_or_damaged_artifact_costs_its_event_only(
    tmp_path: Path, content: bytes | None
) -> None:
    log = new_log(tmp_path)
    log.append(started(1))
    log.append(ended(BIG))
    log.append(started(3))
    (artifact,) = (tmp_path / "artifacts").iterdir()
    if content is None:
        artifact.unlink()
    else:
        artifact.write_bytes(content)

    found = events(tmp_path, loaded=True)

    assert [event.kind for event in found] == [
        "tool.started",
        "log.damaged",
        "tool.started",
    ]
    assert "`tool.ended`, seq 2: " in found[1].data["why"]
    assert found[1].data["line"] == 2
    assert [event.seq for event in events(tmp_path)] == [1, 2, 3]


def test_an_artifact_that_is_no_json_costs_its_event_only(tmp_path: Path) -> None:
    (tmp_path / "artifacts").mkdir()
    ref = Artifacts(tmp_path / "artifacts").put(b"no json", "json")
    (event,) = [Event(1, "", RUN, "", "a.b", 0, {"x": {"$artifact": ref, "bytes": 7}})]
    (tmp_path / "events.jsonl").write_bytes(dump(event.to_dict()) + b"\n")

    (found,) = events(tmp_path, loaded=True)

    assert found.kind == "log.damaged"


def test_a_model_answer_with_signed_blocks_comes_back_unchanged(
    tmp_path: Path,
) -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "…", "signature": "a+/=" * 50},
        {"type": "from_the_future", "x": [1, None, True, 0.1, "\u2028"]},
    ]
    answer = ModelAnswered(
        turn=1,
        content=blocks,
        stop_reason="end_turn",
        usage={},
        usd=None,
        message_id="m",
        model="m",
        seconds=0.1,
        first_token_s=None,
    )

    new_log(tmp_path).append(answer)

    assert parse(events(tmp_path)[0], ModelAnswered) == answer


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_a_log_that_was_moved_away_takes_nothing_more(
    tmp_path: Path, is_replaced: bool
) -> None:
    log = new_log(tmp_path)
    log.append(started(1))
    moved = log.path.rename(tmp_path / "moved.jsonl")
    if is_replaced:
        log.path.write_bytes(b"")

    with pytest.raises(StoreError, match="the file or its folder is gone"):
        await log.sync()
    with pytest.raises(StoreError, match="cannot sync"):
        log.append(started(2))

    log.close()
    assert moved.read_bytes().count(b"\n") == 1


def test_the_folder_of_large_contents_is_made_anew(tmp_path: Path) -> None:
    new_log(tmp_path).close()
    (tmp_path / "artifacts").rmdir()

    log = reopened(tmp_path)
    log.append(started(1, "x" * 20_000))
    log.close()

    assert len(list((tmp_path / "artifacts").iterdir())) == 1
