"""The files of an agent, for people: all of them can be made again from the log."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from orchestrator.errors import StoreError
from orchestrator.messages import Message
from orchestrator.store.disk import write_derived
from orchestrator.store.layout import RunFolder
from orchestrator.store.transcript import as_jsonl

__all__ = ["keep_file", "keep_transcript"]

logger = structlog.get_logger(__name__)


def keep_file(folder: RunFolder, agent: str, name: str, data: bytes) -> None:
    """Write a file into the folder of an agent.

    One that cannot be written is told and ends nothing: how the agent ends matters
    more, and if the disk is in trouble, the log will tell.
    """
    path = folder.agent(agent) / name
    try:
        write_derived(path, data, within=folder.path)
    except StoreError as error:
        logger.warning("file.lost", agent=agent, file=name, error=str(error))


def keep_transcript(folder: RunFolder, agent: str, messages: Sequence[Message]) -> None:
    """Write the conversation of an agent, as `keep_file` does."""
    keep_file(folder, agent, "transcript.jsonl", as_jsonl(messages))
