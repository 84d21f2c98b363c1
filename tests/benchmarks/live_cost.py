"""What the live view takes of the processor, beside the same run without it.

    python tests/benchmarks/live_cost.py [SUBAGENTS] [CALLS] [TIMES] [MORE_SUBAGENTS]

The view is on a terminal of 200 columns and 60 rows that another process empties, as a
terminal does. Its part of a run is taken inside the run: the time of the thread that
draws, and that of taking in each event. Beside it stands the whole process, with and
without a view, which is less sure: two runs are never the same.
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import anyio
from explore_policy import lay_parts
from fan_out_endpoint import Endpoint, served
from fan_out_run import MODEL, fan_out
from stopwatch import Watch, print_table

from orchestrator.cli.live_view import LiveView
from orchestrator.events import Event
from orchestrator.models.pricing import price_of

SUBAGENTS, MORE_SUBAGENTS = 8, 50
CALLS = 12
TIMES = 3
COLUMNS, ROWS = 200, 60


@dataclass
class Taken:
    """What one run took; of the view: 0 without one."""

    wall_s: float
    cpu_s: float
    drawing_s: float = 0.0
    events_s: float = 0.0
    drawings: int = 0
    events: int = 0

    @property
    def view_s(self) -> float:
        """CPU seconds of the view."""
        return self.drawing_s + self.events_s


class Measured(LiveView):
    """A view that knows what it takes."""

    drawing_s = events_s = 0.0
    drawings = events = 0

    def show(self) -> None:
        super().show()
        self.drawings += 1

    def _draw(self) -> None:
        super()._draw()
        self.drawing_s = time.thread_time()  # of all that the thread did

    def on_event(self, event: Event) -> None:
        began = time.thread_time()
        super().on_event(event)
        self.events_s += time.thread_time() - began
        self.events += 1


@contextmanager
def terminal() -> Iterator[LiveView]:
    """Keep a view on a terminal that another process empties."""
    hand, seat = os.openpty()
    fcntl.ioctl(seat, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    command = [sys.executable, "-c", "import os\nwhile os.read(0, 65536): pass"]
    reader = subprocess.Popen(command, stdin=hand, stderr=subprocess.DEVNULL)
    os.close(hand)
    with os.fdopen(seat, "w", encoding="utf-8") as stream, Measured(stream) as view:
        yield view
    reader.wait(10)


def measures(root: Path, endpoint: Endpoint, subagents: int) -> tuple[Taken, Taken]:
    """Return what a run takes without a view and with one."""

    def once(on_event: Callable[[Event], None] | None) -> Taken:
        endpoint.expects(subagents)
        watch = Watch()
        anyio.run(
            partial(
                fan_out,
                root,
                endpoint.url,
                subagents=subagents,
                at_once=subagents,
                on_event=on_event,
            )
        )
        cost = watch.cost()
        return Taken(cost.wall_s, cost.cpu_s)

    quiet = once(None)
    with terminal() as view:
        seen = once(view.on_event)
    assert isinstance(view, Measured)
    assert view.drawings
    for name in ("drawing_s", "events_s", "drawings", "events"):
        setattr(seen, name, getattr(view, name))
    return quiet, seen


def main(
    subagents: int = SUBAGENTS,
    calls: int = CALLS,
    times: int = TIMES,
    more_subagents: int = MORE_SUBAGENTS,
) -> None:
    """Print the table."""
    price_of(MODEL)  # loads the table of prices
    os.environ.setdefault("TERM", "xterm-256color")
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as name, served(calls) as endpoint:
        root = Path(name)
        lay_parts(root / "work", max(subagents, more_subagents))
        measures(root, endpoint, 2)  # late imports are done
        for count in (subagents, more_subagents):
            found = [measures(root, endpoint, count) for _ in range(times)]
            quiet, seen = ([pair[at] for pair in found] for at in (0, 1))
            view_s = median(each.view_s for each in seen)
            wall_s = median(each.wall_s for each in seen)
            cpu_s = median(each.cpu_s for each in seen)
            drawings = median(each.drawings for each in seen)
            per_drawing = median(each.drawing_s / each.drawings for each in seen)
            per_event = median(each.events_s / each.events for each in seen)
            rows.append(
                (
                    f"{count} subagents",
                    f"{wall_s:.2f}",
                    f"{median(each.cpu_s for each in quiet):.3f}",
                    f"{cpu_s:.3f}",
                    f"{view_s:.3f}",
                    f"{view_s / cpu_s:.1%}",
                    f"{view_s / wall_s:.1%}",
                    f"{drawings / wall_s:.1f}",
                    f"{per_drawing * 1e3:.2f}",
                    f"{per_event * 1e6:.0f}",
                )
            )
    print_table(
        f"The live view: runs of {calls} calls per subagent, medians of {times}",
        (
            *("", "s", "CPU quiet", "CPU live", "of the view", "of CPU", "of time"),
            *("drawn/s", "ms/drawing", "us/event"),
        ),
        rows,
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
