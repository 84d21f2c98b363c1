"""Draw the live view of a recorded run as `docs/live-view.svg`.

    python docs/picture.py RUN_FOLDER [SHARE]

SHARE is how far into the run the picture is taken, 0 to 1; default 0.75.
"""

from __future__ import annotations

import io
import sys
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from orchestrator.cli.live import LiveView
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events

COLUMNS, ROWS = 92, 30
TARGET = Path(__file__).with_name("live-view.svg")


class _Terminal(io.StringIO):
    """Takes colours, as a terminal does."""

    def isatty(self) -> bool:
        """Return True."""
        return True


def main(run: str, share: str = "0.75") -> None:
    """Draw the run as it stood at `share` of its events."""
    folder = RunFolder(Path(run))
    events = list(read_events(folder.events, Artifacts(folder.artifacts)))
    shown = events[: max(int(len(events) * float(share)), 1)]
    view = LiveView(_Terminal(), now=lambda: datetime.fromisoformat(shown[-1].at))
    for event in shown:
        view.on_event(event)
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for line in view.lines(COLUMNS, ROWS):
        console.print(Text.from_ansi(line, no_wrap=True))
    console.save_svg(str(TARGET), title="orchestrate run examples/quickstart.yaml")


if __name__ == "__main__":
    main(*sys.argv[1:])
