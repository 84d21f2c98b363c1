"""Every kind of event comes back from the log as it went in."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from orchestrator import events
from orchestrator.clock import SystemClock
from orchestrator.events import KINDS, FileSeen, Payload, parse
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import MAX_INLINE_BYTES, EventLog
from orchestrator.store.reading import read_events

LONG = "0123456789 中文 \n" * (MAX_INLINE_BYTES // 10)
SCALARS: dict[Any, Any] = {str: 'a "text" 中文\n', int: 7, float: 0.25, bool: True}


def sample(hint: Any, text: str) -> Any:
    """Return a value of type `hint` that is not empty."""
    if hint in SCALARS:
        return text if hint is str else SCALARS[hint]
    if hint is Any:
        return {"nested": [text, None, 1]}
    if is_dataclass(hint) and isinstance(hint, type):
        return hint(**samples(hint, text))
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return sample(args[0], text)
    if origin is list:
        return [sample(args[0], text), sample(args[0], text)]
    assert origin is dict, hint
    return {"key": sample(args[1], text)}


def samples(kind: type, text: str = SCALARS[str]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {each.name: sample(hints[each.name], text) for each in fields(kind)}


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    return Artifacts(folder)


@pytest.fixture
def written(tmp_path: Path, artifacts: Artifacts) -> Callable[[Payload], Path]:
    def write(payload: Payload) -> Path:
        path = tmp_path / "events.jsonl"
        log = EventLog.create(path, "a-run", artifacts, SystemClock())
        log.append(payload, agent="a1", cause=4)
        log.close()
        return path

    return write


@pytest.mark.parametrize("text", [SCALARS[str], LONG], ids=["small", "large"])
@pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
def test_kind_comes_back_from_the_log(
    kind: type[Payload],
    text: str,
    artifacts: Artifacts,
    written: Callable[[Payload], Path],
) -> None:
    payload = kind(**samples(kind, text))

    [event] = read_events(written(payload), artifacts)

    assert (event.kind, event.agent, event.cause) == (kind.KIND, "a1", 4)
    assert event.data == asdict(payload)
    assert asdict(parse(event, kind)) == asdict(payload)


def test_every_payload_has_a_kind_of_its_own() -> None:
    declared = [
        each
        for each in vars(events).values()
        if isinstance(each, type) and issubclass(each, Payload) and each is not Payload
    ]

    assert set(KINDS.values()) == set(declared)
    assert len(KINDS) == len(declared)
    assert all(name.count(".") == 1 and name == name.lower() for name in KINDS)


def test_a_record_inside_an_event_is_frozen_as_well() -> None:
    with pytest.raises(AttributeError):
        FileSeen("a.py", "0" * 64, "", 1).lines = 2  # type: ignore[misc]
