"""Which scope of memory a command means, and the store of it."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from orchestrator.cli.options import json_option
from orchestrator.cli.output import safe
from orchestrator.memory.memory import Memory
from orchestrator.memory.places import scope_folder
from orchestrator.settings import Settings

__all__ = ["Scope", "scope_options"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope of memory, as the options name it.

    Attributes:
        name: of the scope.
        workspace: whose project it is, and where evidence is compared.
        folder: of the scope; it may not be there yet.
    """

    name: Literal["project", "user"]
    workspace: Path
    folder: Path

    @property
    def is_there(self) -> bool:
        """Return whether anything was ever remembered in it."""
        return self.folder.is_dir()

    def told(self) -> dict[str, Any]:
        """Return what everything that is printed as JSON begins with."""
        return {"v": 1, "scope": self.name, "folder": str(self.folder)}

    def tell_empty(self) -> None:
        """Say on stderr that there is nothing yet."""
        where = safe(str(self.folder))
        print(f"nothing is remembered yet: {where}", file=sys.stderr)

    def memory(self, *, searches: bool = False) -> Memory:
        """Return the store.

        Args:
            searches: an embedder is wanted too, if one is configured.

        Raises:
            SpecError: the settings name an embedder that there is not.
        """
        embedder = None
        if searches:
            from orchestrator.memory.embedding import embedder_of  # noqa: PLC0415 - slow

            embedder = embedder_of(Settings.load(os.environ), os.environ)
        return Memory(
            self.folder,
            workspace=self.workspace if self.workspace.is_dir() else None,
            redact=_redacted,
            today=_today,
            embedder=embedder,
        )


def scope_options(command: F) -> F:
    """Add `--scope`, `--workspace` and `--json`, given as `scope` and `as_json`."""

    def named(ctx: click.Context, _param: click.Parameter, name: str) -> Scope:
        # `--workspace` is eager: it is there by now.
        return _scope(name, ctx.params.pop("workspace"))

    command = click.option(
        "--scope",
        type=click.Choice(("project", "user")),
        default="project",
        callback=named,
        help="Of a project (default), or of this user in all projects.",
    )(command)
    command = click.option(
        "--workspace",
        type=click.Path(path_type=Path),
        default=Path(),
        is_eager=True,
        metavar="DIR",
        help="Whose project; default: this folder.",
    )(command)
    return json_option(command)


def _scope(name: str, workspace: Path) -> Scope:
    which: Literal["project", "user"] = "user" if name == "user" else "project"
    root = workspace.expanduser().absolute()
    settings = Settings.load(os.environ)
    folder = scope_folder(
        which, workspace=root, memory_dir=settings.memory_dir, env=os.environ
    )
    return Scope(which, root, folder)


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


@cache
def _redactor() -> Callable[[str], str]:
    # Only what is written is redacted, and its patterns take a while to load.
    from orchestrator.security.own import own_secrets  # noqa: PLC0415
    from orchestrator.security.redaction import Redactor  # noqa: PLC0415

    return Redactor(secrets.token_bytes(16), own_secrets(os.environ)).redact


def _redacted(text: str) -> str:
    return _redactor()(text)
