"""Logs that no process of ours writes: however odd, reading them costs little."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from store_parts import new_log, reopened, started

from orchestrator.store.reading import read_events
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
        b'{"v":' * 100_000,
        b'{"v":[' * 100_000,
        b'{"v":1,"x":"' * 50_000,
        b'{"v":1,"x":"' + b'{"v":1 ' * 80_000,
        b'{"v":' * 500 + b"[" + b"1," * 250_000,
        b'{"v":' * 500 + b'"' + b"x" * 500_000,
        b'{"v":' * 500 + b'"' + b"x" * 500_000 + b'"' + b"}" * 500,
    ],
    ids=["nested", "lists", "torn", "string", "values", "open", "whole"],
)
def test_no_line_takes_longer_than_its_length_deserves(line: bytes) -> None:
    assert seconds(lambda: records_of(line)) < 0.5


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
