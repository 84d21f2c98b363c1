from __future__ import annotations

import pytest
from made_up_secrets import FORMS

from orchestrator.agent.notes import was_noted
from orchestrator.security.redaction import Redactor

KEY = FORMS["github"]
WRITTEN = f"The key is {KEY}.\nIt is `{KEY}` (old) in *.env.\x00"


@pytest.mark.parametrize(
    ("written", "is_it"),
    [
        (WRITTEN, True),
        (f"{WRITTEN} And more.", False),
        (WRITTEN.replace("old", "new"), False),
        ("", False),
    ],
)
def test_a_note_is_known_again_though_its_secrets_are_replaced(
    written: str, is_it: bool
) -> None:
    noted = Redactor(b"salt").redact(WRITTEN).replace("\x00", "\ufffd")

    assert KEY not in noted
    assert was_noted(written, noted) is is_it
