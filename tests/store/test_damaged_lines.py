"""Logs that no process of ours writes: however odd, reading them costs little."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from store_parts import new_log, reopened, started

from orchestrator.store.reading import DAMAGED, read_events, read_lines, read_spans
from orchestrator.store.records import records_of


def written(folder: Path, count: int) -> Path:
    """A log of so many events."""
    log = new_log(folder)
    for number in range(1, count + 1):
        log.append(started(number))
    log.close()
    return log.path


def seconds(work: Callable[[], object]) -> float:
    """CPU time; the machine may be busy with other things."""
    before = time.process_time()
    work()
    return time.process_time() - before


@pytest.mark.parametrize("part", [b"\0", b"x"], ids=["NULs", "text"])
def test_a_long_unfinished_line_is_cut_off_in_time_linear_in_its_length(
    tmp_path: Path, part: bytes
) -> None:
    path = written(tmp_path, 3)
    whole = path.read_bytes()
    path.write_bytes(whole + part * (32 << 20))

    took = seconds(lambda: reopened(tmp_path).close())

    assert path.read_bytes() == whole
    assert took < 1.5, took


@pytest.mark.parametrize(
    "line",
    [
        lambda size: b'{"v":' * (8 * size),
        lambda size: b'{"v":[' * (8 * size),
        lambda size: b'{"v":1,"x":"' * (4 * size),
        lambda size: b'{"v":1,"x":"' + b'{"v":1 ' * (6 * size),
        lambda size: b'{"v":' * 500 + b"[" + b"1," * (20 * size),
        lambda size: b'{"v":' * 500 + b'"' + b"x" * (40 * size),
        lambda size: b'{"v":' * 500 + b'"' + b"x" * (40 * size) + b'"' + b"}" * 500,
    ],
    ids=["nested", "lists", "torn", "string", "values", "open", "whole"],
)
def test_no_line_takes_longer_than_its_length_deserves(
    line: Callable[[int], bytes],
) -> None:
    def took(size: int) -> float:
        text = line(size)
        return min(seconds(lambda: records_of(text)) for _ in range(3))

    # Eight times as long: four times the share of a linear one, half of a square one.
    assert took(6_000) < 8 * 4 * max(took(750), 0.001)


def test_a_record_behind_junk_that_looks_like_many_is_still_found(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, 2)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b'{"v":' * 100 + second)

    told, *found = sorted(read_events(path), key=lambda event: event.seq)

    assert [event.seq for event in found] == [1, 2]
    assert told.data == {"line": 2, "why": "not a whole record: 500 bytes"}


def test_lines_of_any_length_are_told_apart_from_the_end(tmp_path: Path) -> None:
    path = written(tmp_path, 1)
    junk = b"".join(b"y" * (9_973 * size) + b"\n" for size in range(1, 20))
    with path.open("ab") as file:
        file.write(junk + b"z" * 70_000)

    again = reopened(tmp_path)

    assert again.seq == 1 + 19  # each of them may have been a record
    assert path.read_bytes().endswith(junk)


@pytest.mark.parametrize(
    ("order", "kept", "lines"),
    [
        ([1, 2, 2, 3], [1, 2, 3], [3]),
        ([1, 2, 3, 4, 2, 3, 4, 5], [1, 2, 3, 4, 5], [5, 6, 7]),
        ([1, 2, 3, 4, 1], [1, 2, 3, 4], [5]),
        ([1, 3, 2, 4], [1, 2, 4], [2]),
        ([1, 2, 4, 3], [1, 2, 3], [3]),
        ([1, 5, 2, 3, 4], [1, 2, 3, 4], [2]),
        ([5, 1, 2, 3, 4], [1, 2, 3, 4], [1]),
        ([1, 3, 4, 2, 5], [1, 3, 4, 5], [4]),
        ([1, 2, 5], [1, 2, 5], []),
    ],
)
def test_a_record_that_is_not_in_its_place_is_passed_over_and_announced(
    tmp_path: Path, order: list[int], kept: list[int], lines: list[int]
) -> None:
    path = written(tmp_path, 5)
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[seq - 1] for seq in order))

    found = list(read_events(path))

    assert [each.seq for each in found if each.seq] == kept
    told = [each.data for each in found if each.kind == DAMAGED]
    assert [each["line"] for each in told] == lines
    for each in told:
        seq = order[each["line"] - 1]
        assert each["why"] == f"`tool.started`, seq {seq}: not in its place"


def test_reading_may_start_anywhere_and_finds_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, 6)
    whole = path.read_bytes().splitlines(keepends=True)
    order = [1, 2, 2, 4, 3, 5, 1, 6, 6]
    path.write_bytes(b"".join(whole[seq - 1] for seq in order))
    lines = list(read_lines(path))

    seen = 0
    for line in lines:
        rest = read_lines(path, start=line.offset, after=line.number - 1, seen=seen)
        assert list(rest) == lines[line.number - 1 :]
        seen = max([seen, *(event.seq for event in line.events)])


def test_of_records_on_one_line_each_is_judged_alone(tmp_path: Path) -> None:
    path = written(tmp_path, 4)
    one, two, three, four = path.read_bytes().splitlines()
    path.write_bytes(one + b"\n" + three + two + b"\n" + two + four + b"\n")

    lines = list(read_lines(path))

    assert [[event.seq for event in each.events] for each in lines] == [[1], [2], [4]]
    spans = [each.span for each in lines]
    assert [event.seq for event in read_spans(path, spans)] == [1, 2, 4]


def test_a_log_goes_on_behind_its_newest_record_wherever_that_stands(
    tmp_path: Path,
) -> None:
    path = written(tmp_path, 4)
    with path.open("ab") as file:
        file.write(path.read_bytes().splitlines(keepends=True)[1])
    log = reopened(tmp_path)
    for event in read_events(path):
        log.link(event.agent, event.seq)

    log.append(started(9))

    assert [each.seq for each in read_events(path) if each.seq] == [1, 2, 3, 4, 5]
