"""What a run was started with, kept beside it: the task, profiles and prompts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson

from orchestrator.ids import safe_name, sha256
from orchestrator.messages import encode
from orchestrator.runtime.session import Session
from orchestrator.spec.loader import dump_task
from orchestrator.spec.profiles import LEAD
from orchestrator.spec.prompts import PROMPTS
from orchestrator.store.disk import store_error, write_atomic, write_derived
from orchestrator.store.layout import RunFolder

__all__ = ["changed_inputs", "write_inputs"]

_HASHES = "hashes.json"


def write_inputs(session: Session) -> None:
    """Write copies of the profiles and prompts in use, and then `task.yaml`.

    Where the task is, everything else is too: such a run can begin.

    Raises:
        StoreError: the disk refuses.
    """
    prepared, folder = session.prepared, session.folder
    used = {LEAD, *prepared.profiles.subagents}
    files = {
        f"agents/{safe_name(name)}.md": path
        for name, path in prepared.found.files.items()
        if name in used
    }
    files |= {f"prompts/{name}.md": prepared.book.used[name] for name in PROMPTS}
    hashes: dict[str, str] = {}
    for name, path in sorted(files.items()):
        data = _copied(path, folder, name)
        hashes[name] = sha256(data)
    write_atomic(folder.inputs / _HASHES, encode(hashes) + b"\n")
    task = dump_task(prepared.task, redact=session.services.redact)
    write_atomic(folder.task, task.encode())


def _copied(path: Path, folder: RunFolder, name: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise store_error("read the input", path, error) from error
    # Not waited for: after a power cut the hash tells whether it is whole.
    write_derived(folder.inputs / name, data, within=folder.path)
    return data


def changed_inputs(folder: RunFolder) -> Iterator[str]:
    """Yield what is not as the run began with it, a line each.

    Agents that have started keep what they started with, so that only those that
    start later are concerned.
    """
    try:
        hashes = orjson.loads((folder.inputs / _HASHES).read_bytes())
    except (OSError, ValueError):
        yield f"`{folder.inputs / _HASHES}` cannot be read: inputs are not checked"
        return
    for name, expected in sorted(hashes.items()):
        path = folder.inputs / name
        try:
            is_same = sha256(path.read_bytes()) == expected
        except OSError:
            yield f"`{path}` is gone: new agents get the file of that name in force now"
            continue
        if not is_same:
            yield f"`{path}` has changed: new agents start with the text it has now"
