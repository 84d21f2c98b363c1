"""What models said, as pages may show it.

The log keeps their blocks as they came, since they go back to the endpoint as they are.
Whatever else it holds was redacted on entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orchestrator.events import (
    ContextCleared,
    ContextCompacted,
    Event,
    MemoryKept,
    MemoryRecalled,
    ModelAnswered,
    RunStarted,
)
from orchestrator.extras import is_installed
from orchestrator.messages import with_texts
from orchestrator.security.own import own_secrets
from orchestrator.security.redaction import Redactor

__all__ = ["Pages"]

_OF_MODELS = {
    ModelAnswered.KIND: ("content",),
    ContextCleared.KIND: ("stubs",),
    ContextCompacted.KIND: (
        "text", "summary", "checks", "mended", "added", "own_rules", "failures",
    ),
    MemoryRecalled.KIND: ("text", "entries"),
    MemoryKept.KIND: ("outcomes",),
}  # fmt: skip
"""Kind → fields that hold, or are made of, what models said."""


class Pages:
    """Takes the secrets out of the events of one run, with its own placeholders."""

    def __init__(self, env: Mapping[str, str]) -> None:
        """Begin before the first event.

        Args:
            env: the environment, for credentials.
        """
        self._own = own_secrets(env)
        self._redact = Redactor(b"", self._own).redact

    def event(self, event: Event) -> Event:
        """Return the event as it may be shown; those of a run come in order."""
        if event.kind == RunStarted.KIND:
            self._begun(event.data)
        told = {
            name: with_texts(event.data[name], self._redact)
            for name in _OF_MODELS.get(event.kind, ())
            if name in event.data
        }
        return replace(event, data={**event.data, **told}) if told else event

    def _begun(self, data: Mapping[str, Any]) -> None:
        """Redact from here on as the run did, as far as this machine can."""
        try:
            key = bytes.fromhex(str(data.get("salt")))
        except ValueError:  # the record is damaged
            return
        wanted = data.get("redact")
        is_personal = isinstance(wanted, list) and "personal" in wanted
        self._redact = Redactor(
            key, self._own, personal=is_personal and is_installed("personal")
        ).redact
