"""Conversations in the API's form, made up of planted documents: what policies are
tried on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planted_documents import KINDS, Planted, planted

from orchestrator.context.recorded import (
    Conversation,
    StubOf,
    conversation_of,
    stub_like_live,
)
from orchestrator.context.tokens import estimate
from orchestrator.messages import Message, text_block, tool_result

__all__ = ["WORKLOADS", "Work", "work"]

HEAD_TOKENS: Final = 3500
OBJECTIVE: Final = (
    "Find out what these files say about limits, errors and amounts, for a review. "
    "Never write below vendor/. 不要打开 secrets 目录。"
)


@dataclass(frozen=True)
class Work:
    """A conversation that a run could have had.

    Attributes:
        messages: the whole transcript.
        facts: planted in its results, each once.
        breaks: steps after which work comes to a natural break.
    """

    messages: list[Message]
    facts: tuple[str, ...]
    breaks: frozenset[int] = frozenset()

    def conversation(self, stub_of: StubOf = stub_like_live) -> Conversation:
        """Return it by size."""
        found = conversation_of(self.messages, head_tokens=HEAD_TOKENS, stub_of=stub_of)
        turns = [
            replace(turn, at_break=at in self.breaks)
            for at, turn in enumerate(found.turns, 1)
        ]
        return replace(found, turns=tuple(turns))


class _Writer:
    """Writes one, step after step."""

    def __init__(self, name: str) -> None:
        self.rng = random.Random(name)
        self.messages: list[Message] = [
            {"role": "user", "content": [text_block(OBJECTIVE)]}
        ]
        self.facts: list[str] = []
        self.breaks: set[int] = set()
        self.steps = self.count = 0

    def document(self, forms: Sequence[str], limit_tokens: int) -> str:
        """Return a new text with a fact in it, of about `limit_tokens` at most."""
        self.count += 1
        kind = KINDS[self.count % len(KINDS)]
        form = forms[self.count % len(forms)]
        made = planted(self.count, kind=kind, form=form)
        while made.fact not in made.text:  # it stands on two lines
            self.count += len(KINDS) * len(forms)
            made = planted(self.count, kind=kind, form=form)
        self.facts.append(made.fact)
        return _around(made, limit_tokens)

    def step(
        self, said: str, *calls: tuple[str, dict[str, Any], str], is_break: bool = False
    ) -> None:
        """Add an answer with its calls and their results."""
        self.steps += 1
        ids = [f"t{self.steps}_{at}" for at in range(len(calls))]
        uses = [
            {"type": "tool_use", "id": each, "name": name, "input": given}
            for each, (name, given, _) in zip(ids, calls, strict=True)
        ]
        results = [
            tool_result(each, text) for each, (*_, text) in zip(ids, calls, strict=True)
        ]
        self.messages.append(
            {"role": "assistant", "content": [text_block(said), *uses]}
        )
        if results:
            self.messages.append({"role": "user", "content": results})
        if is_break:
            self.breaks.add(self.steps)

    def work(self) -> Work:
        self.step("That is all: the report is below.")
        return Work(self.messages, tuple(self.facts), frozenset(self.breaks))


def _around(document: Planted, limit_tokens: int) -> str:
    """Return the lines around the fact, as many as fit."""
    text, fact = document.text, document.fact
    while estimate(text) > limit_tokens:
        # A quarter goes, from the side that is farther from the fact.
        lines = text.split("\n")
        quarter = len(lines) // 4
        at = text[: text.index(fact)].count("\n")
        is_late = at + at > len(lines)
        left = lines[quarter:] if is_late else lines[: len(lines) - quarter]
        if not quarter or fact not in "\n".join(left):
            break
        text = "\n".join(left)
    return text


def _reads(name: str, turns: int, forms: Sequence[str], limit: int) -> Work:
    writer = _Writer(name)
    for at in range(1, turns):
        text = writer.document(forms, limit)
        path = f"docs/{forms[at % len(forms)]}_{at:03d}.txt"
        said = f"Part {at} next; what I have so far fits the second question."
        writer.step(said, ("read_file", {"path": path}, text))
    return writer.work()


def _long_reads(turns: int) -> Work:
    forms = ("code", "prose", "table", "paragraphs", "config", "tickets")
    return _reads("long reads", turns, forms, 8000)


def _han_documents(turns: int) -> Work:
    return _reads("Chinese", turns, ("han_prose", "han_paragraphs", "han_log"), 8000)


def _small_calls(turns: int) -> Work:
    writer = _Writer("small calls")
    forms = ("code", "config", "json", "tickets", "table")
    for at in range(1, turns):
        calls = [
            (
                "grep",
                {"pattern": f"limit_{at}", "path": f"src/part_{n}"},
                writer.document(forms, writer.rng.choice([80, 200, 500])),
            )
            for n in range(writer.rng.choice([1, 1, 2, 3]))
        ]
        writer.step(f"Search {at}.", *calls)
    return writer.work()


def _lead(turns: int) -> Work:
    """Every sixth step is a fan-out; the rest are own looks at what came back."""
    writer = _Writer("lead")
    for at in range(1, turns):
        if at % 6 == 1:
            findings = [
                f"a{at + n}: complete\n{writer.document(('prose', 'tickets'), 700)}"
                for n in range(8)
            ]
            given = {"briefs": [{"title": f"area {n}"} for n in range(8)]}
            text = "\n\n".join(findings)
            writer.step("Eight areas.", ("delegate", given, text), is_break=True)
        else:
            path = f"src/m_{at:03d}.py"
            text = writer.document(("code", "config"), 4000)
            writer.step("A look of my own.", ("read_file", {"path": path}, text))
    return writer.work()


def _logs(turns: int) -> Work:
    writer = _Writer("logs")
    for at in range(1, turns):
        text = writer.document(("log", "han_log"), 4000)
        command = {"command": f"journalctl -u service_{at} --since today"}
        writer.step(f"Service {at}.", ("bash", command, text))
    return writer.work()


WORKLOADS: Final[dict[str, tuple[Callable[[int], Work], int]]] = {
    "long reads": (_long_reads, 100),
    "many small calls": (_small_calls, 200),
    "a lead with fan-outs": (_lead, 60),
    "Chinese documents": (_han_documents, 60),
    "logs": (_logs, 60),
}
"""Name → how it is made, and of how many turns."""


def work(name: str, turns: int | None = None) -> Work:
    """Return a workload, of its usual length or another."""
    make, usual = WORKLOADS[name]
    return make(turns or usual)
