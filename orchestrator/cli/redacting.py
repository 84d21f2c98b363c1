"""The redaction of a run, for what a command writes into its folder."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from orchestrator.events import RunStarted, parse
from orchestrator.security.own import own_secrets
from orchestrator.security.redaction import Redactor
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events

__all__ = ["redactor_for"]


def redactor_for(folder: RunFolder, env: Mapping[str, str]) -> Redactor:
    """Return a redactor like the run's own; of another salt if its log lacks one.

    Args:
        folder: the run's.
        env: the environment, for the values in it.
    """
    for event in read_events(folder.events):
        if event.kind == RunStarted.KIND:
            begun = parse(event, RunStarted)
            salt, personal = bytes.fromhex(begun.salt), "personal" in begun.redact
            return Redactor(salt, own_secrets(env), personal=personal)
    return Redactor(secrets.token_bytes(16), own_secrets(env))
