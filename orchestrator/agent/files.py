"""The files of agents, for people: all of them can be made again from the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orchestrator.errors import StoreError
from orchestrator.messages import Message, with_texts
from orchestrator.store.disk import write_derived
from orchestrator.store.layout import RunFolder
from orchestrator.store.transcript import as_jsonl

__all__ = ["AgentFiles"]


class AgentFiles:
    """Writes files into the folders of a run's agents.

    One that cannot be written ends nothing: how the agent ends matters more, and if
    the disk is in trouble, the log tells.

    Attributes:
        lost: file, relative to the run's folder → why it could not be written.
    """

    def __init__(self, folder: RunFolder, redact: Callable[[str], str]) -> None:
        """Write nothing yet.

        Args:
            folder: the run's.
            redact: replaces secrets in a text.
        """
        self.lost: dict[str, str] = {}
        self._folder, self._redact = folder, redact

    def keep(self, agent: str, name: str, data: bytes) -> None:
        """Write a file into the folder of an agent."""
        path = self._folder.agent(agent) / name
        shown = path.relative_to(self._folder.path).as_posix()
        try:
            write_derived(path, data, within=self._folder.path)
        except StoreError as error:
            self.lost[shown] = str(error)
        else:
            self.lost.pop(shown, None)

    def keep_transcript(self, agent: str, messages: Sequence[Message]) -> None:
        """Write the conversation of an agent; what the model said is redacted, too."""
        fit = [
            with_texts(each, self._redact) if each["role"] == "assistant" else each
            for each in messages
        ]
        self.keep(agent, "transcript.jsonl", as_jsonl(fit))
