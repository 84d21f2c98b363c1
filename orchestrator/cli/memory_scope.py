"""Which scope of memory a command means, and the store of it.

Imports stand where they are used, so that `memory --help` starts as fast as `--help`.
"""
# ruff: noqa: PLC0415 - see above

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from orchestrator.cli.output import print_json, safe
from orchestrator.errors import SpecError
from orchestrator.settings import Settings

if TYPE_CHECKING:
    from orchestrator.memory.memory import Memory

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

    @property
    def emptiness(self) -> str:
        """Return that there is nothing yet, and which other place may be meant."""
        other = "; `--workspace DIR` names another project"
        told = f"nothing is remembered yet: {safe(str(self.folder))}"
        return told + other if self.name == "project" else told

    def tell_empty(self, as_json: dict[str, Any] | None = None) -> None:
        """Say on stderr that there is nothing yet.

        Args:
            as_json: what is printed besides, on stdout; None: nothing.
        """
        if as_json is not None:
            self.print_json(**as_json)
        print(self.emptiness, file=sys.stderr)

    def text_of(self, topic: str) -> str:
        """Return a topic file as it is.

        Raises:
            StoreError: it cannot be read.
        """
        from orchestrator.memory.folder import Folder

        return Folder(self.folder).read(topic).text

    def print_json(self, **fields: Any) -> None:  # noqa: ANN401 - any JSON value
        """Print fields as JSON, behind which scope they are of."""
        told = {"v": 1, "scope": self.name, "folder": str(self.folder)}
        from orchestrator.cli.memory_data import legible

        print_json(legible({**told, **fields}))

    def memory(self, *, searches: bool = False, evidence: bool = True) -> Memory:
        """Return the store.

        Args:
            searches: an embedder is wanted too, if one is configured.
            evidence: what entries rest on is looked at; never of the user, whose
                entries may be about any workspace.

        Raises:
            SpecError: the settings name an embedder that there is not.
        """
        from orchestrator.memory.memory import Memory

        embedder = None
        if searches:
            from orchestrator.memory.embedding import embedder_of

            embedder = embedder_of(Settings.load(os.environ), os.environ)
        return Memory(
            self.folder,
            workspace=self.workspace if evidence and self.name == "project" else None,
            redact=_redacted,
            today=_today,
            embedder=embedder,
        )


def scope_options(command: F) -> F:
    """Add `--scope` and `--workspace`, given to the command as `scope: Scope`."""

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
    return click.option(
        "--workspace",
        type=click.Path(path_type=Path),
        default=Path(),
        is_eager=True,
        metavar="DIR",
        help="Whose project; default: this folder.",
    )(command)


def _scope(name: str, workspace: Path) -> Scope:
    from orchestrator.memory.places import scope_folder

    which: Literal["project", "user"] = "user" if name == "user" else "project"
    root = workspace.expanduser().absolute()
    if which == "project" and not root.is_dir():
        raise SpecError(f"there is no folder `{workspace}`", field="--workspace")
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
    from orchestrator.security.own import own_secrets
    from orchestrator.security.redaction import Redactor

    return Redactor(secrets.token_bytes(16), own_secrets(os.environ)).redact


def _redacted(text: str) -> str:
    return _redactor()(text)
