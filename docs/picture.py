"""Draw the pictures of the README from a run of the first example.

    python docs/picture.py [FOLDER]

The offline model does it, in a small window, so that contexts fill up and are made
small again: no key is needed, and nothing is spent. FOLDER is where `live-view.svg` and
`context-plot.png` go; default: here.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import anyio
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from orchestrator import Orchestrator
from orchestrator.cli.context_picture import save_picture
from orchestrator.cli.live_text import live_lines
from orchestrator.cli.output import Style
from orchestrator.events import Event
from orchestrator.inspection.context import AgentContext, contexts_of
from orchestrator.inspection.run import RunView
from orchestrator.spec.loader import load_task

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "quickstart.yaml"
WINDOW = 9000
COLUMNS, ROWS = 116, 24
COMMAND = f"orchestrate run {EXAMPLE.name} --set context_policy.window_tokens={WINDOW}"
# The fonts are looked for on the machine that shows it, and nowhere else.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


async def recorded() -> list[Event]:
    """Run the example and return all that happened."""
    events: list[Event] = []
    settings = {
        "context_policy.window_tokens": str(WINDOW),
        "workspace": str(EXAMPLE.parent.parent),
        "model": "offline",
    }
    with tempfile.TemporaryDirectory() as folder:
        async with Orchestrator(runs_dir=Path(folder)) as here:
            await here.run(load_task(EXAMPLE, settings), on_event=events.append)
    return events


def draw_live_view(events: Sequence[Event], path: Path) -> None:
    """Draw the run as a person sees it at the moment that shows most."""
    view = RunView()
    best, lines = -1, [""]
    for event in events:
        view.apply(event)
        telling = _telling(view)
        if telling >= best and view.is_running:
            best, now = telling, datetime.fromisoformat(event.at)
            lines = live_lines(
                view, now=now, columns=COLUMNS, rows=ROWS, style=Style(is_on=True)
            )
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    for line in lines:
        console.print(Text.from_ansi(line, no_wrap=True))
    console.save_svg(
        str(path), title=COMMAND, code_format=FORMAT, theme=MONOKAI, unique_id="live"
    )


def _telling(view: RunView) -> int:
    """Return how much there is to see: agents at work, agents done, full contexts."""
    agents = view.subagents
    over = sum(agent.is_over for agent in agents)
    busy = [agent for agent in agents if agent.tools or agent.asking]
    at_tools = sum(bool(agent.tools) for agent in busy)
    passed = sum(bool(agent.fill.passed) for agent in busy)
    compacted = sum(agent.compactions > 0 for agent in agents)
    at_work = min(over, 2) + min(len(busy), 3) + min(at_tools, 2)
    return 3 * at_work + min(passed, 2) + 3 * min(compacted, 2)


def draw_context(events: Sequence[Event], path: Path) -> None:
    """Draw what filled the context of the agent that was made small most often."""

    def edits(agent: AgentContext) -> tuple[int, int]:
        return len(agent.compactions), len(agent.turns)

    agents = contexts_of(events)
    fullest = max((each for each in agents.values() if each.id != "lead"), key=edits)
    command = f"orchestrate context last --agent {fullest.id} --png {path.name}"
    save_picture(fullest, path, title=command)


def main(folder: str = str(HERE)) -> None:
    """Run the example once and draw both."""
    events = anyio.run(recorded)
    draw_live_view(events, Path(folder) / "live-view.svg")
    draw_context(events, Path(folder) / "context-plot.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
