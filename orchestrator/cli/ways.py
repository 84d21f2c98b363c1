"""How a command shows a run, and whether it works on it here or in the background."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestrator.cli.ending import say
from orchestrator.cli.options import view_options
from orchestrator.cli.output import safe

if TYPE_CHECKING:
    from orchestrator.cli.live import Mode
    from orchestrator.store.layout import RunFolder

__all__ = ["Way", "way_options"]


@dataclass(frozen=True, slots=True)
class Way:
    """How a run is shown, and where it runs.

    Attributes:
        mode: of the view, as asked for; None: what fits.
        detach: it is to run in the background.
        background: it does, and this is where to tell that it has begun.
    """

    mode: Mode | None
    detach: bool
    background: int | None

    @property
    def can_ask(self) -> bool:
        """Return whether a person at the terminal may be asked something."""
        return not (self.detach or self.background) and self.mode != "quiet"

    @property
    def shown(self) -> Mode | None:
        """Return the view of the run in this process."""
        return "plain" if self.background else self.mode

    def tell(self, notices: Iterable[str]) -> None:
        """Print notices; in the background they were told already."""
        if self.mode != "quiet" and not self.background:
            for notice in notices:
                say(notice)

    def begun(self, folder: RunFolder) -> None:
        """Take note that the run is in its log."""
        if self.background:
            from orchestrator.cli.detaching import Background  # noqa: PLC0415
            from orchestrator.cli.redacting import redactor_for  # noqa: PLC0415

            redact = redactor_for(folder, os.environ).redact
            Background(self.background).begun(folder, redact)

    def detached(
        self,
        command: str,
        runs_dir: Path,
        settings: tuple[str, ...],
        *texts: str,
        **given: object,
    ) -> int:
        """Start a command in the background and return the exit status."""
        from orchestrator.cli.detaching import start_detached  # noqa: PLC0415

        options = [f"--set={each}" for each in settings]
        options += [f"--{name}={value}" for name, value in given.items() if value]
        arguments = [command, f"--runs-dir={runs_dir}", *options, "--", *texts]
        is_json, is_quiet = self.mode == "json", self.mode == "quiet"
        return start_detached(arguments, is_json=is_json, is_quiet=is_quiet)

    def follow(self, folder: RunFolder, after: int) -> int:
        """Show a run that another process works on; return the exit status."""
        from orchestrator.cli.following import follow  # noqa: PLC0415

        if self.detach:
            print(safe(folder.handle))
            return 0
        return follow(folder, self.mode, after=after)


def way_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--plain`, `--json`, `--quiet` and `--detach`, given as `way`."""

    @wraps(command)
    def with_way(
        *given: Any,  # noqa: ANN401 - those of the command
        mode: Mode | None,
        detach: bool,
        background: int | None,
        **named: Any,  # noqa: ANN401 - those of the command
    ) -> int:
        return command(*given, way=Way(mode, detach, background), **named)

    background = click.option("--background", type=int, hidden=True)
    detach = click.option(
        "--detach",
        is_flag=True,
        help="Run in the background: print what the run is called once it has begun.",
    )
    return view_options(detach(background(with_way)))
