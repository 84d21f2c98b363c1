"""Events of a run, whole and as they may be shown, without parsing the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.errors import StoreError
from orchestrator.events import Event, RunStarted
from orchestrator.inspection.pages import Pages
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.heads import Head, Wants, head_of, read_chosen
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import DAMAGED, loaded

__all__ = ["shown_events"]


def shown_events(
    folder: RunFolder, wants: Wants, env: Mapping[str, str]
) -> Iterator[Event]:
    """Yield the events that are wanted, oldest first, with large fields in place.

    What models said is redacted. A record that is damaged, or a large field of which
    is gone, is announced as `read_events` does, as far as it is come upon.

    Args:
        folder: of the run.
        wants: asked for each event; the same answer each time.
        env: the environment, for credentials.

    Raises:
        StoreError: the log cannot be opened or read.
    """
    pages, artifacts = Pages(env), Artifacts(folder.artifacts)

    def takes(head: Head) -> bool:
        return head.kind == RunStarted.KIND or wants(head)

    for event in read_chosen(folder.events, takes):
        try:
            shown = pages.event(loaded(event, artifacts))
        except StoreError as error:
            why = {"line": event.seq, "why": str(error)}
            yield Event(0, event.at, event.run, "", DAMAGED, 0, why)
            continue
        if event.kind == DAMAGED or wants(head_of(event)):
            yield shown
