"""What filled the context of an agent, as a picture, by the optional extra `plots`.

The library is loaded when a picture is asked for, never before.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.errors import SpecError
from orchestrator.extras import how_to_install
from orchestrator.ids import LEAD
from orchestrator.inspection.context import AgentContext
from orchestrator.inspection.layers import GROUPS, group_of, in_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["color_of", "label_of", "save_picture"]

_INCHES = (10, 5.5)
_DOTS_PER_INCH = 120
_COLORS = {
    "fixed": ("#1f4e9c", "#2f6fd0", "#7fa8e8"),
    "kept": ("#0b6b6b", "#149494", "#1fb9b9", "#6fd3d3", "#a8e6e6", "#cdf3f0"),
    "results": (
        "#e07b00", "#f2a33c", "#c99700", "#e6c229", "#b5651d", "#d98c4f", "#f7c98b",
        "#a67c00", "#ffd97a", "#8c4a00",
    ),
    "stubs": ("#8a8a8a",),
    "said": ("#2b8a3e", "#8fd19e"),
    "told": ("#8e44ad", "#c39bd3"),
}  # fmt: skip
"""Of the layers of each group, in the order of the group; the same in all pictures."""
_TOOLS = (
    "read_file", "grep", "read_ref", "recall", "delegate", "wait_for", "list_dir",
    "glob", "update_notes",
)  # fmt: skip
"""Tools with a colour of their own; the others take the last one."""
_NEAR = 1.5
"""A line above so many times the largest request is only told of."""


def save_picture(context: AgentContext, path: Path, *, title: str) -> None:
    """Write a PNG: what each request of an agent held, layer upon layer.

    Args:
        context: of the agent, with at least one turn.
        path: where to; a file that is there is replaced.
        title: what stands above it, besides the agent.

    Raises:
        SpecError: the extra is not installed, or the file cannot be written.
    """
    try:
        # An extra, and slow to load.
        from matplotlib.backends.backend_agg import (  # noqa: PLC0415 - see above
            FigureCanvasAgg,
        )
        from matplotlib.figure import Figure  # noqa: PLC0415 - see above
    except ImportError as error:
        raise SpecError(
            "a picture needs matplotlib, which is not installed; "
            f"{how_to_install('plots')}",
            field="--png",
        ) from error
    figure = Figure(figsize=_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    turns = list(context.turns.values())
    at = [turn.turn for turn in turns]
    names = in_order({name for turn in turns for name in turn.composition})
    if names:
        heights = [[turn.composition.get(name, 0) for turn in turns] for name in names]
        colors = [color_of(name) for name in names]
        labels = [label_of(name) for name in names]
        axes.stackplot(at, heights, labels=labels, colors=colors, step="mid")
    reported = [(turn.turn, turn.reported) for turn in turns if turn.reported]
    if reported:
        where, counted = zip(*reported, strict=True)
        axes.plot(where, counted, "k.-", linewidth=1, markersize=3, label="reported")
    near, far = _marks(context)
    for name, size in near.items():
        _draw_mark(axes, name, size)
    for edit in context.edits:
        color = "crimson" if edit.is_compaction else "darkorange"
        axes.axvline(edit.turn - 0.5, linestyle=":", linewidth=0.9, color=color)
    above = f"; further up: {', '.join(far)}" if far else ""
    axes.set_xlabel(f"turn (dotted: orange a clear, red a compaction{above})")
    axes.set_ylabel("tokens of the request")
    # Dollar signs would be read as formulas, and not every script has a font.
    named = context.id if context.id == LEAD else f"{context.id} {context.title}"
    agent = f"{named} ({context.model})"
    axes.set_title(f"{title}\n{agent}".replace("$", r"\$"), fontsize=10)
    axes.margins(x=0.01)
    drawn = (sum(turn.composition.values()) for turn in turns)
    axes.set_ylim(0, 1.06 * max(context.peak, *drawn, *near.values()))
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7)
    try:
        canvas.print_png(str(path))
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError(f"cannot write `{path}`: {reason}", field="--png") from error


def _marks(context: AgentContext) -> tuple[dict[str, int], list[str]]:
    """Return the marks that can be drawn, and those further up in words."""
    lines = (
        ("soft mark", context.soft_tokens),
        ("hard mark", context.hard_tokens),
        ("window", context.window_tokens),
    )
    near = {n: size for n, size in lines if size and size <= _NEAR * context.peak}
    far = [f"{n} {size:,}" for n, size in lines if size and n not in near]
    return near, far


def _draw_mark(axes: Axes, name: str, size: int) -> None:
    """Draw a line across, with its name above it, where nothing crosses that."""
    axes.axhline(size, linestyle="--", linewidth=0.8, color="black")
    axes.annotate(
        f"{name} {size:,}",
        (1, size),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 3),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=7,
        zorder=10,
        bbox={"boxstyle": "square,pad=0.15", "fc": "white", "ec": "none"},
    )


def label_of(layer: str) -> str:
    """Return a layer in the words of the table: `kept: state`, `results: grep`."""
    group, name = group_of(layer), layer.partition(":")[2] or layer
    return group if name == group else f"{group}: {name}"


def color_of(layer: str) -> str:
    """Return the colour of a layer, whatever else a picture shows."""
    group, (name, _, tool) = group_of(layer), layer.partition(":")
    colors, members = _COLORS[group], GROUPS[group]
    if group == "results":
        members, name = _TOOLS, tool
    place = members.index(name) if name in members else len(colors) - 1
    return colors[place]
