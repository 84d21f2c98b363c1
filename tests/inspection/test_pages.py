from __future__ import annotations

import pytest

from orchestrator.events import Event
from orchestrator.inspection.pages import Pages

SAID = {"content": [{"type": "text", "text": "Call +49 30 901820 about it."}]}


def event(kind: str, **data: object) -> Event:
    return Event(seq=1, at="", run="r", agent="lead", kind=kind, cause=0, data=data)


@pytest.mark.parametrize(
    ("redact", "shown"),
    [([], "+49 30 901820"), (["personal"], "[secret:phone:"), ("odd", "+49 30")],
)
def test_what_a_model_said_is_shown_as_the_run_redacts(
    redact: object, shown: str
) -> None:
    pages = Pages({})
    pages.event(event("run.started", salt="00" * 16, redact=redact))

    told = pages.event(event("model.answered", **SAID))

    assert shown in told.data["content"][0]["text"]
