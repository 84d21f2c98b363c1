"""What people change in `progress.md` while the program writes it, and nobody loses."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from notes_bench import ACTS, CRASHES, Killed, NotesBench, Person, cannot_exchange

BATCH = 50
MOVES = 40
ORDERS = 1000


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


@pytest.mark.parametrize("batch", range(ORDERS // BATCH))
async def test_nobodys_text_is_lost_in_any_order(tmp_path: Path, batch: int) -> None:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        folder = tmp_path / f"{seed}"
        folder.mkdir()

        bench, person = await played(folder, seed)

        text = bench.path.read_text()
        logged = "".join(e.data["text"] for e in bench.events("notes.edited"))
        counts = {word: text.count(word) for word in [*person.said, *bench.said]}
        assert counts == dict.fromkeys(counts, 1), seed
        assert all(word in logged for word in person.said), seed
        assert len(list(folder.glob(".*.old"))) == 0, seed
