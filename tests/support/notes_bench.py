"""A person and the program at one `progress.md`, step by step, in any order.

Each step of the program on the disk or in the log is a point at which the person may do
the next step of what they are at: open, read, write half, rename. Which comes when is
drawn from a seed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TextIO

from orchestrator.agent.notes import NotesWriter
from orchestrator.clock import Clock
from orchestrator.errors import ToolError
from orchestrator.events import Event, Payload, TextAdded
from orchestrator.ids import LEAD
from orchestrator.runtime.notes_file import EditLog, NotesFile
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.store.notes import SECTIONS, Notes, RunHeader
from orchestrator.store.reading import read_events
from orchestrator.store.swapping import Content, Exchange, Stamp, SwappedFile
from orchestrator.testing import FakeClock

Step = Callable[[], None]
RUN = "20261129-201500-notes-7f3a"
PLACES = (*SECTIONS[1:4], "heading", "header", "top", "end")
CRASHES = 0.004
"""Of the points of the program, those at which it dies."""
ACTS = 0.35
"""Of the points of the program, those at which the person does a step."""


class Killed(BaseException):
    """The process is gone."""


def header(minutes: int = 0) -> RunHeader:
    """What stands on top; it is another one each minute."""
    return RunHeader(
        RUN, "Find out.", "running", "now", 60.0 * minutes, minutes, 9, 0.0, 2.0, 30
    )


def cannot_exchange(one: Path, other: Path) -> bool:
    """A system without the call."""
    del one, other
    return False


class SteppedFile(SwappedFile):
    """The real one, with a point before and after each thing that it does."""

    def __init__(self, path: Path, step: Step, exchange: Exchange | None) -> None:
        super().__init__(path, exchange=exchange)
        self.step = step

    def stamp(self, path: Path | None = None) -> Stamp | None:
        self.step()
        found = super().stamp(path)
        self.step()
        return found

    def read(self, path: Path | None = None) -> Content | None:
        self.step()
        found = super().read(path)
        self.step()
        return found

    def write_beside(self, data: bytes) -> tuple[Path, Stamp]:
        self.step()
        found = super().write_beside(data)
        self.step()
        return found

    def swap(self, beside: Path) -> list[Path]:
        self.step()
        found = super().swap(beside)
        self.step()
        return found

    def drop(self, path: Path, seen: Stamp | None, *, age_s: float) -> bool:
        self.step()
        is_gone = super().drop(path, seen, age_s=age_s)
        self.step()
        return is_gone

    def _moved_away(self) -> list[Path]:
        self.step()
        found = super()._moved_away()
        self.step()
        return found


class SteppedLog(EventLog):
    """The real one, with a point before and after each thing that it does."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.step: Step = lambda: None

    def append(
        self, payload: Payload, *, agent: str = "", cause: int | None = None
    ) -> Event:
        self.step()
        event = super().append(payload, agent=agent, cause=cause)
        self.step()
        return event

    async def sync(self) -> None:
        self.step()
        await super().sync()
        self.step()


class Person:
    """Does one thing after another to the file, each in steps.

    Attributes:
        tries: so often a file is looked for, a millisecond apart. Where names cannot be
            exchanged it is missing for a moment, and who saved what was there then
            would have deleted all else.
    """

    def __init__(
        self, path: Path, rng: random.Random, times: int, *, tries: int = 1
    ) -> None:
        self.path, self.rng, self.tries = path, rng, tries
        self.said: list[str] = []
        self._steps = self._at_work(times)
        self.is_done = False

    def step(self) -> None:
        """Do the next step, if any is left."""
        self.is_done = self.is_done or next(self._steps, "done") == "done"

    def _at_work(self, times: int) -> Iterator[None]:
        ways = (
            self._append,
            self._append_slowly,
            self._rename,
            self._write_in_place,
            self._write_over,
        )
        for _ in range(times):
            yield from self.rng.choice(ways)()
            yield None

    def _words(self) -> str:
        self.said.append(f"person-{len(self.said):04d}.")
        return f"- [ ] words of {self.said[-1]}"

    def _opened(self, mode: Literal["r", "r+"]) -> TextIO | None:
        for left in reversed(range(self.tries)):
            try:
                return self.path.open(mode)
            except FileNotFoundError:
                if left:
                    time.sleep(0.001)
        return None

    def _read(self) -> str:
        file = self._opened("r")
        if file is None:
            return ""
        with file:
            return file.read()

    def _append(self) -> Iterator[None]:
        with self.path.open("a") as file:
            file.write(f"{self._words()}\n")
        yield

    def _append_slowly(self) -> Iterator[None]:
        with self.path.open("a") as file:
            yield
            words = self._words()
            file.write(words[:5])
            file.flush()
            yield
            file.write(f"{words[5:]}\n")
            file.flush()
            yield

    def _rename(self) -> Iterator[None]:
        text = self._read()
        yield
        beside = self.path.with_name("edited~")
        beside.write_text(self._changed(text))
        yield
        beside.replace(self.path)

    def _write_in_place(self) -> Iterator[None]:
        text = self._changed(self._read())
        yield
        with self.path.open("w") as file:
            half = self.rng.randrange(len(text))
            yield
            file.write(text[:half])
            file.flush()
            yield
            file.write(text[half:])

    def _write_over(self) -> Iterator[None]:
        file = self._opened("r+")
        if file is None:
            return
        with file:
            text = self._changed(file.read())
            yield
            file.seek(0)
            file.write(text)
            file.truncate()
            file.flush()
            yield

    def _changed(self, text: str) -> str:
        """Write some words somewhere, and leave all else as it is."""
        words, place = self._words(), self.rng.choice(PLACES)
        if place in SECTIONS and f"<!-- section: {place} " in text:
            before, mark, rest = text.partition(f"<!-- section: {place} ")
            version, behind, rest = rest.partition("-->\n")
            return f"{before}{mark}{version}{behind}{words}\n{rest}"
        if place == "heading":
            return text.replace("## Facts\n", f"## Facts\n\n{words}\n", 1) or words
        if place == "header":
            return text.replace("- **State:**", f"{words}\n- **State:**", 1) or words
        return f"{words}\n{text}" if place == "top" else f"{text}{words}\n"


class NotesBench:
    """The program and a person, in a folder of their own.

    Attributes:
        log: of the run.
        notes: of the lead, as the log has them.
        file: the notes on disk.
        said: what the lead noted, a word for each.
    """

    def __init__(
        self,
        folder: Path,
        *,
        exchange: Exchange | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.path = folder / "progress.md"
        self.clock = FakeClock()
        self._clock = clock or self.clock
        self.said: list[str] = []
        self.step: Step = lambda: None
        self.redact: Callable[[str], str] = lambda text: text
        self._folder, self.exchange = folder, exchange
        self._minutes = 0
        self.begin()

    def begin(self) -> None:
        """Start a process, with what the log of earlier ones holds."""
        events, artifacts = self._folder / "events.jsonl", Artifacts(self._folder)
        opened = SteppedLog.reopen if events.exists() else SteppedLog.create
        self.notes = Notes()
        if events.exists():
            for event in read_events(events, artifacts):
                self.notes.apply(event)
        log = opened(events, RUN, artifacts, self._clock)
        assert isinstance(log, SteppedLog)
        log.step = self._point
        self.log = log
        self.log.subscribe(self.notes.apply)
        self.file = NotesFile(
            SteppedFile(self.path, self._point, self.exchange),
            self.notes,
            self._clock,
            render=lambda: self.notes.render(header(self._minutes), [], []),
            edits=EditLog(self.log, artifacts, self.redact),
        )
        self.writer = NotesWriter(LEAD, self.notes, self.log, self.file.look)

    def put(self) -> bool:
        """Write the file; something on top of it is new."""
        self._minutes += 1
        return self.file.put()

    async def look(self) -> dict[str, str]:
        """Let the program look, and return section → text of what it took in."""
        known = len(self.events("notes.edited"))
        await self.file.look()
        new = self.events("notes.edited")[known:]
        return {event.data["section"]: event.data["text"] for event in new}

    async def lead(self, rng: random.Random) -> None:
        """Note something down, with all in mind that the lead was told."""
        section = rng.choice(SECTIONS[1:4])
        mode = rng.choice(("append", "replace"))
        text = f"- [ ] note lead-{len(self.said):04d}."
        if mode == "replace":
            text = f"{self.notes.text_of(section)}\n{text}"
        self.said.append(f"lead-{len(self.said):04d}.")
        try:
            await self.writer.update(section, mode, text, pin=False)
        except ToolError:
            self.said.pop()
            self.tell()
        except Killed:
            if self.said[-1] not in (self._folder / "events.jsonl").read_text():
                self.said.pop()
            raise

    def tell(self) -> None:
        """Tell the lead of all that people changed."""
        for seq, section in sorted(self.notes.waiting.items()):
            text = TextAdded("steer", f"{section}: {self.notes.text_of(section)}")
            self.log.append(text, agent=LEAD, cause=seq)

    def events(self, kind: str) -> list[Event]:
        """Return the events of a kind."""
        return [
            event
            for event in read_events(self._folder / "events.jsonl")
            if event.kind == kind
        ]

    def begin_again(self) -> None:
        """Let the process be gone as if it was killed, and start another one."""
        self.log.close()  # all of it is with the system already
        self.begin()

    async def move(self, rng: random.Random) -> None:
        """Let the program do one of the things that it does."""
        match rng.choice(("lead", "look", "put", "tell")):
            case "lead":
                await self.lead(rng)
            case "look":
                await self.file.look()
            case "put":
                self.put()
            case "tell":
                self.tell()

    def _point(self) -> None:
        self.step()
