"""What people change in `progress.md` while the program writes it, and nobody loses."""

from __future__ import annotations

import errno
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import notes_editor
import pytest
from notes_bench import ACTS, CRASHES, Killed, NotesBench, Person, cannot_exchange
from structlog.testing import capture_logs

from orchestrator.clock import SystemClock
from orchestrator.errors import StoreError, ToolError
from orchestrator.runtime.notes_file import BUSY_S, SETTLE_S
from orchestrator.store.notes_page import PERSON
from orchestrator.store.swapping import MAX_READ_BYTES, MOST_KEPT, Exchange

EDITOR = notes_editor.__file__
EDITS = 150
PATIENCE_S = 120
BATCH = 100
MOVES = 40
ORDERS = 1000


NOTHING = "_Nothing yet._"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[NotesBench]:
    """The notes of a run that has just begun."""
    bench = NotesBench(tmp_path)
    bench.put()
    yield bench
    bench.log.close()


def changed(bench: NotesBench, text: str = "Only Q3.") -> str:
    """The file with words of a person in its first section."""
    return bench.path.read_text().replace(NOTHING, text, 1)


async def test_a_change_is_on_disk_in_the_log_before_the_file_is_written_anew(
    bench: NotesBench,
) -> None:
    bench.path.write_text(changed(bench))
    written = bench.path.read_bytes()

    assert not bench.put()  # it is read first
    assert bench.path.read_bytes() == written
    assert await bench.look() == {"Goal": "Only Q3."}
    assert bench.path.read_bytes() == written
    assert bench.put()
    assert "Only Q3." in bench.path.read_text()
    assert await bench.look() == {}


async def test_the_lead_writes_over_a_change_only_once_it_was_told(
    bench: NotesBench,
) -> None:
    bench.path.write_text(changed(bench, "Only Q3.\n## Constraints"))

    for mode in ("append", "replace"):
        with pytest.raises(ToolError, match="a person has changed `Goal`") as refused:
            await bench.writer.update("goal", mode, "All of it.", pin=False)
        assert "Only Q3.\n###" in str(refused.value)
    assert bench.notes.text_of("Goal") == "Only Q3.\n### Constraints"
    await bench.writer.update("Next", "append", "Read.", pin=False)

    bench.tell()
    await bench.writer.update("Goal", "append", "As asked.", pin=False)
    assert bench.notes.text_of("Goal") == "Only Q3.\n### Constraints\nAs asked."


async def test_a_long_change_is_shown_in_part_where_it_refuses_a_write(
    bench: NotesBench,
) -> None:
    bench.path.write_text(changed(bench, "x" * 3000))

    with pytest.raises(ToolError) as refused:
        await bench.writer.update("Goal", "append", "All of it.", pin=False)

    assert len(str(refused.value)) < 2300


async def test_nothing_is_read_as_long_as_nothing_has_changed(
    bench: NotesBench,
) -> None:
    seen: list[str] = []
    bench.step = lambda: seen.append("step")

    for _ in range(3):
        await bench.clock.advance(0.5)
        await bench.file.look()

    assert len(seen) == 6  # before and after a look at its stamp


async def test_an_editor_in_the_middle_of_its_work_is_waited_for(
    bench: NotesBench,
) -> None:
    text = changed(bench)
    with bench.path.open("w") as editor:
        editor.write(text[: len(text) // 2])
        editor.flush()
        await bench.clock.advance(BUSY_S - 0.1)
        assert await bench.look() == {}
        assert not bench.put()
        editor.write(text[len(text) // 2 :])

    assert await bench.look() == {"Goal": "Only Q3."}
    assert bench.put()


async def test_who_never_closes_the_file_is_heard_all_the_same(
    bench: NotesBench,
) -> None:
    with bench.path.open("a") as shell:
        for words in ("one", "two"):
            shell.write(f"{words}\n")
            shell.flush()
            assert await bench.look() == {}
            await bench.clock.advance(BUSY_S)
            [(section, text)] = (await bench.look()).items()
            assert (section, text.split("\n")[-1]) == (PERSON, words)
            assert bench.put()
    assert "one\ntwo\n<!-- /section -->" in bench.path.read_text()


@pytest.mark.parametrize("left", ["", "half", "gone"])
async def test_a_file_that_only_lacks_something_is_made_whole(
    bench: NotesBench, left: str
) -> None:
    await bench.writer.update("Goal", "append", "All of it.", pin=False)
    bench.put()
    whole = bench.path.read_text()
    if left == "gone":
        bench.path.unlink()
    else:
        bench.path.write_text(whole[: len(whole) // 2] if left else "")

    await bench.look()
    await bench.clock.advance(SETTLE_S)

    assert await bench.look() == {}
    assert bench.put()
    assert "All of it." in bench.path.read_text()
    assert bench.path.read_text().count("\n") == whole.count("\n")


async def test_a_half_that_has_something_new_is_taken_when_it_stays_so(
    bench: NotesBench,
) -> None:
    bench.path.write_text("Stop all of it.\n")

    assert await bench.look() == {}
    await bench.clock.advance(SETTLE_S)
    assert await bench.look() == {PERSON: "Stop all of it."}


@pytest.mark.parametrize(
    "encoding", ["utf-8-sig", "utf-16", "cp1252", "gb18030", "utf-8"]
)
async def test_editors_may_write_in_their_own_way(
    bench: NotesBench, encoding: str
) -> None:
    words = "只看第三季度的退款,不看别的。" if encoding == "gb18030" else "Für Käufer"
    text = changed(bench, words).replace("\n", "\r\n")
    bench.path.write_bytes(text.encode(encoding, "replace"))

    assert await bench.look() == {"Goal": words}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x7fELF\x02\x01\x01\x00" * 90, id="no text"),
        pytest.param(b"word " * (MAX_READ_BYTES // 4), id="too long"),
    ],
)
async def test_what_is_no_notes_is_kept_under_another_name(
    bench: NotesBench, data: bytes
) -> None:
    bench.path.write_bytes(data)

    assert await bench.look() == {}
    await bench.clock.advance(SETTLE_S)
    told = await bench.look()

    kept = bench.path.with_name("progress.kept-1.md")
    assert kept.read_bytes() == data
    assert told == {
        PERSON: f"_A file of {len(data):,} bytes that is no notes: kept as "
        "`progress.kept-1.md`._"
    }
    assert bench.put()
    assert kept.read_bytes() == data
    assert "kept-1" in bench.path.read_text()


async def test_what_cannot_be_kept_beside_stays_where_it_is(
    bench: NotesBench, tmp_path: Path
) -> None:
    for number in range(1, MOST_KEPT):
        (tmp_path / f"progress.kept-{number}.md").touch()
    data = b"\x7fELF\x02\x01\x01\x00" * 90
    bench.path.write_bytes(data)

    with capture_logs() as told:
        for _ in range(3):
            assert await bench.look() == {}
            await bench.clock.advance(SETTLE_S)
            assert not bench.put()

    assert bench.path.read_bytes() == data
    assert [each["event"] for each in told] == ["notes.not_kept"]


async def test_a_swap_that_fails_is_made_another_time(bench: NotesBench) -> None:
    def fails(_one: Path, _other: Path) -> bool:
        raise OSError(errno.EIO, "input/output error")

    written = bench.path.read_bytes()
    bench.exchange = fails
    bench.begin_again()
    await bench.file.look()
    with pytest.raises(StoreError, match="the disk reports an error"):
        bench.put()
    assert bench.path.read_bytes() == written

    bench.exchange = None
    bench.begin_again()
    await bench.file.look()
    assert bench.put()
    assert bench.path.read_bytes() != written


async def test_zeros_that_a_power_cut_left_are_nobodys_words(bench: NotesBench) -> None:
    bench.path.write_bytes(b"\0" * 700)

    await bench.look()
    await bench.clock.advance(SETTLE_S)

    assert await bench.look() == {}
    assert bench.put()
    assert [each.name for each in bench.path.parent.glob("progress*")] == [
        "progress.md"
    ]


async def test_a_folder_in_its_place_is_told_and_nothing_lost(
    bench: NotesBench,
) -> None:
    bench.path.unlink()
    bench.path.mkdir()

    assert await bench.look() == {}
    with pytest.raises(StoreError, match="it is not a file; move it away"):
        bench.put()
    await bench.writer.update("Goal", "append", "All of it.", pin=False)
    bench.path.rmdir()
    assert bench.put()
    assert "All of it." in bench.path.read_text()


async def test_a_link_in_its_place_leads_to_nothing_of_the_run(
    bench: NotesBench, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text(changed(bench, "Not for you."))
    bench.path.unlink()
    bench.path.symlink_to(secret)

    assert await bench.look() == {}
    assert bench.put()
    assert not bench.path.is_symlink()
    assert "Not for you." in secret.read_text()


async def test_a_change_is_redacted_before_it_is_anywhere_but_in_the_file(
    bench: NotesBench, tmp_path: Path
) -> None:
    bench.redact = lambda text: text.replace("hunter2", "[secret]")
    bench.begin_again()
    bench.path.write_text(changed(bench, "The key is hunter2."))

    assert await bench.look() == {"Goal": "The key is [secret]."}
    assert bench.put()
    await bench.clock.advance(1)
    await bench.file.look(is_last=True)
    there = [path.read_bytes() for path in tmp_path.glob("*")]  # noqa: ASYNC240
    assert len(there) >= 2
    assert not any(b"hunter2" in data for data in there)


async def test_a_change_too_long_for_the_lead_is_kept_as_a_whole(
    bench: NotesBench, tmp_path: Path
) -> None:
    text = "a line of a long text\n" * 900
    bench.path.write_text(changed(bench, text))

    await bench.look()
    bench.put()

    [event] = bench.events("notes.edited")
    assert text.strip() in bench.path.read_text()
    assert (tmp_path / f"{event.data['whole']}.md").read_text() == text.strip()


async def test_what_was_changed_while_nobody_was_at_work_is_found(
    bench: NotesBench,
) -> None:
    bench.path.write_text(changed(bench))

    bench.begin_again()

    assert not bench.put()
    assert await bench.look() == {"Goal": "Only Q3."}
    bench.begin_again()  # it died before the file was written anew
    assert await bench.look() == {}
    assert bench.put()


async def played(folder: Path, seed: int) -> tuple[NotesBench, Person]:
    """One order of what a person, the lead and the program do, drawn from a seed."""
    rng = random.Random(seed)
    person = Person(folder / "progress.md", rng, times=rng.randint(1, 4))
    exchange = cannot_exchange if seed % 4 == 3 else None
    bench = NotesBench(folder, exchange=exchange)
    bench.put()
    is_killed = seed % 5 == 0

    def step() -> None:
        if rng.random() < ACTS:
            person.step()
        if is_killed and rng.random() < CRASHES:
            raise Killed

    bench.step = step
    for _ in range(MOVES):
        await bench.clock.advance(rng.choice((0.0, 0.1, 0.6, 2.0)))
        try:
            await bench.move(rng)
        except Killed:
            bench.begin_again()
    while not person.is_done:
        person.step()
    bench.step = lambda: None
    bench.begin_again()
    await bench.file.look(is_last=True)
    bench.put()
    await bench.file.look(is_last=True)
    bench.log.close()
    return bench, person


@pytest.mark.parametrize(
    "seeds",
    [
        range(3),
        *(
            pytest.param(range(start, start + BATCH), marks=pytest.mark.slow)
            for start in range(0, ORDERS, BATCH)
        ),
    ],
    ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}",
)
async def test_nobodys_text_is_lost_in_any_order(tmp_path: Path, seeds: range) -> None:
    for seed in seeds:
        folder = tmp_path / f"{seed}"
        folder.mkdir()

        bench, person = await played(folder, seed)

        text = bench.path.read_text()
        logged = "".join(e.data["text"] for e in bench.events("notes.edited"))
        counts = {word: text.count(word) for word in [*person.said, *bench.said]}
        assert counts == dict.fromkeys(counts, 1), seed
        assert all(word in logged for word in person.said), seed
        assert len(list(folder.glob(".*.old"))) == 0, seed


@pytest.mark.slow
@pytest.mark.parametrize("exchange", [None, cannot_exchange])
async def test_another_process_that_edits_all_the_time_loses_nothing(
    tmp_path: Path, exchange: Exchange | None
) -> None:
    bench = NotesBench(tmp_path, exchange=exchange, clock=SystemClock())
    bench.put()
    rng = random.Random(1)
    editor = [sys.executable, EDITOR, str(bench.path), "1", f"{EDITS}"]

    async with await anyio.open_process(editor, stderr=None) as process:
        assert process.stdout is not None
        with anyio.fail_after(PATIENCE_S):
            while process.returncode is None:
                await bench.look()
                bench.put()
                if rng.random() < 0.2 and len(bench.said) < EDITS:
                    await bench.lead(rng)
                await anyio.sleep(0.002)
            said = json.loads(await process.stdout.receive())
    for _ in range(2):
        await bench.file.look(is_last=True)
        bench.put()
    bench.log.close()

    text = bench.path.read_text()
    counts = {word: text.count(word) for word in [*said, *bench.said]}
    assert len(said) == EDITS
    assert counts == dict.fromkeys(counts, 1)
