"""Where the memory of a scope lies."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from orchestrator.errors import SpecError

__all__ = ["OWN_FOLDER", "scope_folder"]

OWN_FOLDER: Final = ".orchestrate"
"""Of a workspace: what the program itself keeps there; hidden from agents."""
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_NAME: Final = 60


def scope_folder(
    scope: Literal["project", "user"],
    *,
    workspace: Path,
    memory_dir: Path | None,
    env: Mapping[str, str],
) -> Path:
    """Return the folder of a scope, which need not be there yet.

    Args:
        scope: of a project, or of this user in all projects.
        workspace: the project's.
        memory_dir: holds all scopes, where it is set.
        env: for the user's data folder.

    Raises:
        SpecError: a link in the way leads elsewhere, or there is no home.
    """
    if scope == "user":
        if memory_dir is not None:
            return _without_links(memory_dir.absolute(), ("user",))
        return _without_links(_data_home(env), ("orchestrate", "memory"))
    real = Path(os.path.realpath(workspace))
    if memory_dir is None:
        return _without_links(real, (OWN_FOLDER, "memory"))
    mark = hashlib.sha256(os.fsencode(real)).hexdigest()[:8]
    name = _ODD.sub("-", real.name).strip("-.")[:_MOST_NAME] or "root"
    base = memory_dir.absolute()
    return _without_links(base, ("projects", f"{name}-{mark}"))


def _data_home(env: Mapping[str, str]) -> Path:
    # The standard wants relative paths in it to be ignored.
    named = Path(env.get("XDG_DATA_HOME", ""))
    if named.is_absolute():
        return named
    home = Path(env.get("HOME", ""))
    if not home.is_absolute():
        raise SpecError(
            "there is no home folder for the memory of this user; set "
            "`ORCHESTRATE_MEMORY_DIR`",
            field="memory.scope",
        )
    return home / ".local" / "share"


def _without_links(base: Path, names: tuple[str, ...]) -> Path:
    """Return the folder of these names below `base`, if no link is among them."""
    folder = base
    for name in names:
        folder /= name
        if folder.is_symlink():
            raise SpecError(
                f"memory cannot lie at `{base.joinpath(*names)}`: `{folder}` is a "
                "link, which could lead into another scope; make it a folder",
                field="memory.scope",
            )
    return folder
