"""Events that are chosen by the heads of their lines are those of the whole log."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from sample_runs import finished_run

from orchestrator.errors import StoreError
from orchestrator.store.heads import (
    Head,
    Wants,
    head_of,
    last_chosen,
    last_event,
    read_chosen,
    whole_end,
)
from orchestrator.store.reading import DAMAGED, read_events

WANTS: dict[str, Wants] = {
    "one agent": lambda head: head.agent == "a1",
    "one kind": lambda head: head.kind == "model.answered",
    "numbers": lambda head: 10 < head.seq < 30,
    "nothing": lambda head: False,
    "all of an agent but damage": lambda head: bool(head.agent),
}
Lines = list[bytes]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    folder = finished_run(tmp_path_factory.mktemp("runs"))
    return folder.events.read_bytes().splitlines(keepends=True)


def written(path: Path, lines: Lines) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def torn(lines: Lines, at: int, rng: random.Random) -> None:
    lines[at] = lines[at][: rng.randrange(len(lines[at]))] + b"\n"


def glued(lines: Lines, at: int, rng: random.Random) -> None:
    lines[at] = lines[at][: rng.randrange(1, len(lines[at]))]


def flipped(lines: Lines, at: int, rng: random.Random) -> None:
    line = bytearray(lines[at])
    line[rng.randrange(len(line) - 1)] = rng.randrange(256)
    lines[at] = bytes(line)


def lost(lines: Lines, at: int, rng: random.Random) -> None:
    del lines[at]


def twice(lines: Lines, at: int, rng: random.Random) -> None:
    lines.insert(rng.randrange(len(lines)), lines[at])


def swapped(lines: Lines, at: int, rng: random.Random) -> None:
    other = rng.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]


def numbered(lines: Lines, at: int, rng: random.Random) -> None:
    old = b'"seq":%d,' % (at + 1)
    lines[at] = lines[at].replace(old, b'"seq":%d,' % rng.randrange(200), 1)


def nulled(lines: Lines, at: int, rng: random.Random) -> None:
    lines[at] = b"\0" * rng.randrange(5) + lines[at]


def spaced(lines: Lines, at: int, rng: random.Random) -> None:
    lines[at] = lines[at].replace(b'"agent":', b'"agent": ', 1)


def unfinished(lines: Lines, at: int, rng: random.Random) -> None:
    lines[-1] = lines[-1][: rng.randrange(len(lines[-1]) or 1)]


DAMAGES: tuple[Callable[[Lines, int, random.Random], None], ...] = (
    torn, glued, flipped, lost, twice, swapped, numbered, nulled, spaced, unfinished,
)  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("wants", WANTS.values(), ids=WANTS)
def test_whatever_is_damaged_the_same_events_are_chosen(
    lines: Lines,
    tmp_path: Path,
    damage: Callable[[Lines, int, random.Random], None],
    wants: Wants,
) -> None:
    rng = random.Random(damage.__name__)
    for _ in range(8):
        worse = list(lines)
        for _ in range(rng.randrange(1, 3)):
            damage(worse, rng.randrange(len(worse)), rng)
        path = written(tmp_path / "log", worse)
        whole = [each for each in read_events(path) if wants(head_of(each))]

        chosen = [each for each in read_chosen(path, wants) if each.kind != DAMAGED]

        assert chosen == whole
        for most in (1, 7):
            assert last_chosen(path, wants, most) == whole[-most:]


def test_who_wants_damage_is_told_of_all(lines: Lines, tmp_path: Path) -> None:
    path = written(tmp_path / "log", [*lines[:9], lines[9][:40] + b"\n", *lines[10:]])

    def wants(head: Head) -> bool:
        return head.kind in (DAMAGED, "run.ended")

    [damage, end] = read_chosen(path, wants)

    assert (damage.kind, damage.data["line"]) == (DAMAGED, 10)
    assert end == list(read_events(path))[-1]
    assert last_chosen(path, wants, 5) == [damage, end]


def test_lines_of_others_are_not_parsed(lines: Lines, tmp_path: Path) -> None:
    """Else it would be no faster: the head of this one is all that is right in it."""
    at = next(n for n, line in enumerate(lines) if b'"agent":"a3"' in line)
    head = lines[at][: lines[at].index(b'"data":')]
    path = written(
        tmp_path / "log", [*lines[:at], head + b'"data":{oops}}\n', *lines[at + 1 :]]
    )

    chosen = list(read_chosen(path, WANTS["one agent"]))

    assert chosen == [each for each in read_events(path) if each.agent == "a1"]


def test_the_newest_are_read_from_the_end(lines: Lines, tmp_path: Path) -> None:
    """So many bytes of others would take long to parse."""
    many = [line for number in range(40) for line in renumbered(lines, number)]
    path = written(tmp_path / "log", many)
    whole = list(read_events(path))

    assert last_chosen(path, lambda head: True, 5) == whole[-5:]
    assert last_chosen(path, lambda head: True, 10**6) == whole


def renumbered(lines: Lines, times: int) -> Lines:
    return [
        line.replace(b'"seq":%d,' % at, b'"seq":%d,' % (at + times * len(lines)), 1)
        for at, line in enumerate(lines, 1)
    ]


@pytest.mark.parametrize("data", [b"", b"\n", b"{", b"\n\n\n"])
def test_a_log_without_a_record_has_nothing(tmp_path: Path, data: bytes) -> None:
    path = written(tmp_path / "log", [data])

    assert [e for e in read_chosen(path, lambda h: True) if e.kind != DAMAGED] == []
    assert last_event(path) is None


def test_the_last_record_counts_only_where_it_is_whole(
    lines: Lines, tmp_path: Path
) -> None:
    last = last_event(written(tmp_path / "whole", lines))
    assert last is not None
    assert last.kind == "run.ended"
    assert last_event(written(tmp_path / "torn", [*lines, b'{"v":1,'])) is None
    assert last_event(written(tmp_path / "glued", [lines[0][:-1], lines[1]])) is None


def test_a_live_log_ends_behind_its_last_whole_line(
    lines: Lines, tmp_path: Path
) -> None:
    path = written(tmp_path / "log", [*lines[:4], lines[4][:-10]])
    end = sum(map(len, lines[:4]))

    assert whole_end(path) == end
    assert [e.seq for e in read_chosen(path, lambda h: True, stop=end)] == [1, 2, 3, 4]
    assert [e.seq for e in last_chosen(path, lambda h: True, 2, stop=end)] == [3, 4]


@pytest.mark.parametrize(
    "read",
    [
        lambda path: list(read_chosen(path, lambda h: False)),
        lambda path: last_chosen(path, lambda h: True, 1),
        last_event,
        whole_end,
    ],
)
def test_a_log_that_is_not_there_is_one_error(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    with pytest.raises(StoreError):
        read(tmp_path / "none")
