"""One scope of memory in a folder, on a day that the test decides."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.memory.keeping import Author, Drop, Outcome, Put
from orchestrator.memory.memory import Memory

AUTHOR = Author("20261129-201500-auth-survey-7f3a", "a2")


@dataclass
class Desk:
    """A scope, its workspace and its day."""

    work: Path
    folder: Path
    day: str = "2026-11-29"
    redacted: dict[str, str] = field(default_factory=dict)

    def memory(self) -> Memory:
        """Return the scope as another process would open it."""
        return Memory(
            self.folder, workspace=self.work, redact=self.redact, today=lambda: self.day
        )

    def redact(self, text: str) -> str:
        for secret, mark in self.redacted.items():
            text = text.replace(secret, mark)
        return text

    def keep(self, *changes: Put | Drop) -> list[Outcome]:
        return self.memory().keep(changes, AUTHOR)

    def put(self, key: str, value: str, topic: str = "auth.md") -> Outcome:
        (outcome,) = self.keep(Put(topic, key, value))
        return outcome

    def read(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(text.encode())

    def keys(self) -> list[str]:
        return [known.entry.key for known in self.memory().entries()]
