"""What the lead has of memory beside its tools: as it starts, compacts and ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Final

import anyio
import anyio.to_thread

from orchestrator.agent.hooks import Words
from orchestrator.agent.looking_back import RECORD
from orchestrator.agent.memory import Ask
from orchestrator.agent.outside import Outside
from orchestrator.errors import OrchestratorError
from orchestrator.events import MemoryKept, MemoryRecalled
from orchestrator.ids import LEAD
from orchestrator.memory.answer import changes_in
from orchestrator.memory.keeping import Author, Drop, Put
from orchestrator.memory.memory import Known, Memory
from orchestrator.messages import clean_text, with_texts
from orchestrator.runtime.run_memory import Looked, RunMemory, compared
from orchestrator.spec.task import Task
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.base import ToolContext

__all__ = ["LeadMemory"]

MOST: Final = 5
"""Entries that are shown, as `recall` has them; two for each question of the task."""
MOST_AT_END: Final = 12
"""Most that are shown for many questions, and to the pass at the end, so that it can
bring them up to date."""
MOST_COMPARED: Final = 2_000
"""Entries that findings are compared with, so that they bring them up to date."""
SHOWN_TOKENS: Final = 2_000
"""Most that is shown at once; less where memory's share of the window is."""
ANSWER_TOKENS: Final = 2_000
LOOK_S: Final = 30.0
"""Longest time for one look, and for writing at the end; without it the run goes on."""
_CLAUSES: Final = re.compile(r"\n+|[.;:!?,](?=\s|$)|[。；：！？，、]")
_FOR_OBJECTIVE: Final = "Found for this objective:"
_FOR_OPEN_WORK: Final = "Found for what is still open:"
_WHOSE: Final = {"project": "on this workspace", "user": "for this person"}


@dataclass(slots=True)
class LeadMemory:
    """Shows the lead what memory holds, and keeps what the run has learned.

    Attributes:
        memory: of the run.
        task: as agents see it.
        log: where each look is written down.
        outside: looks, or knows what was found.
        words: the program's prompts.
        context: whose workspace and artifacts evidence is compared in.
        limit_tokens: of what is shown at once.
        question: a further one that the lead is at work on.
        extract: entries that memory has on the subject → what the program itself would
            keep of what this run found.
        may_cite: whether lines of a path were seen in this run.
    """

    memory: RunMemory
    task: Task
    log: EventLog
    outside: Outside
    words: Words
    context: ToolContext
    limit_tokens: int
    question: str
    extract: Callable[[Sequence[Known]], Sequence[Put]]
    may_cite: Callable[[str, int], bool]
    _in_sight: set[tuple[str, str]] = field(default_factory=set)

    async def for_objective(self) -> str:
        """Return the section of the lead's first message, or ""."""
        asked = [*self.task.questions, self.question or self.task.objective]
        most = min(max(MOST, 2 * len(self.task.questions)), MOST_AT_END)
        text = await self._recalled(
            "objective", asked, heading=_FOR_OBJECTIVE, most=most
        )
        return self.words("sections/memory", text=text) if text else ""

    async def again(self, open_work: str) -> str:
        """Return what memory holds for the open work and is not in sight, or ""."""
        asked = [open_work, self.question or self.task.objective]
        return await self._recalled("compaction", asked, heading=_FOR_OPEN_WORK)

    async def at_end(self, ask: Ask | None) -> None:
        """Keep what will be useful again, as the model says, else from the findings."""
        memory = self.memory.memory
        if memory is None:
            return
        changes = await self._by_model(ask) if ask is not None else None
        by = "extractor" if changes is None else "model"

        async def keep() -> MemoryKept:
            return await self._kept(memory, by, changes)

        told = await self.outside.remembered(LEAD, MemoryKept, keep)
        if told is not None:
            self.log.append(told, agent=LEAD)

    async def _by_model(self, ask: Ask) -> Sequence[Put | Drop] | None:
        """Return what the model wants to keep; None: it does not say."""
        asked = [self.question or self.task.objective, *self.task.questions]
        known = await self._recalled(
            "end", asked, heading=_FOR_OBJECTIVE, most=MOST_AT_END
        )
        text = self.words(
            "remember",
            record=RECORD,
            whose=_WHOSE[self.task.memory.scope],
            known=known or "Nothing yet.",
        )
        changes = changes_in(await ask(text, output_tokens=ANSWER_TOKENS))
        return None if changes is None else [self._checked(each) for each in changes]

    def _checked(self, change: Put | Drop) -> Put | Drop:
        """Return a change with the evidence alone that this run has seen."""
        if isinstance(change, Drop):
            return change
        seen = [p for p in change.evidence if self.may_cite(p.path, p.last or p.first)]
        return replace(change, evidence=tuple(seen))

    async def _recalled(
        self, why: str, asked: Sequence[str], *, heading: str, most: int = MOST
    ) -> str:
        """Look, write down what was found, and return it as text."""

        async def look() -> MemoryRecalled:
            return await self._look(why, asked, heading=heading, most=most)

        told = await self.outside.remembered(LEAD, MemoryRecalled, look)
        if told is None:
            return ""
        self.log.append(told, agent=LEAD)
        if why == "objective":  # what compactions show goes with the next one
            self._in_sight.update(map(_shown_as, told.entries))
        return told.text

    async def _look(
        self, why: str, asked: Sequence[str], *, heading: str, most: int
    ) -> MemoryRecalled:
        look = partial(self._looked, why, asked, heading=heading, most=most)
        try:
            with anyio.fail_after(LOOK_S):
                return await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
        except TimeoutError:
            return MemoryRecalled(why, "", failure=f"it took over {LOOK_S:g} s")

    def _looked(
        self, why: str, asked: Sequence[str], *, heading: str, most: int
    ) -> MemoryRecalled:
        looked = self.memory.look(
            list(_parts(asked)), most=most, agent=LEAD, is_subject=True
        )
        if why == "compaction":
            looked = self._out_of_sight(looked)
        shown = self.memory.shown(
            looked,
            limit_tokens=min(self.limit_tokens, SHOWN_TOKENS),
            count=self.context.count,
            heading=heading,
        )
        return MemoryRecalled(
            why,
            shown.text,
            entries=[_told(known) for known in shown.found],
            files=list(compared(shown, self.context)),
            failure=looked.failure,
        )

    def _out_of_sight(self, looked: Looked) -> Looked:
        """Return what the first message does not show, or not as it is now."""
        found = [k for k in looked.found if _shown_as(_told(k)) not in self._in_sight]
        return Looked(found=tuple(found), failure=looked.failure)

    async def _kept(
        self, memory: Memory, by: str, changes: Sequence[Put | Drop] | None
    ) -> MemoryKept:
        keep = partial(self._keep, memory, by, changes)
        try:
            with anyio.fail_after(LOOK_S):
                return await anyio.to_thread.run_sync(keep, abandon_on_cancel=True)
        except TimeoutError:
            return MemoryKept(by, failure=f"it took over {LOOK_S:g} s")

    def _keep(
        self, memory: Memory, by: str, changes: Sequence[Put | Drop] | None
    ) -> MemoryKept:
        try:
            if changes is None:
                changes = self.extract(memory.entries()[-MOST_COMPARED:])
            outcomes = memory.keep(changes, Author(self.memory.run, LEAD))
            memory.tidy_if_due()
        except (OSError, OrchestratorError) as error:
            return MemoryKept(by, failure=self.memory.redact(str(error)))
        told = [with_texts(asdict(each), clean_text) for each in outcomes]
        return MemoryKept(by, told)


def _parts(texts: Sequence[str]) -> Iterator[str]:
    """Yield the clauses of texts: each may be about something of its own."""
    for text in texts:
        for part in _CLAUSES.split(text):
            if clause := part.strip(" \t-*[]()"):
                yield clause


def _told(known: Known) -> dict[str, str]:
    key = clean_text(known.entry.key)
    return {"topic": clean_text(known.topic), "key": key, "state": known.state}


def _shown_as(told: dict[str, str]) -> tuple[str, str]:
    return told["key"], told["state"]
