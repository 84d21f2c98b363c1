"""What filled the context of an agent, as a picture, by the optional extra `plots`.

The library is loaded when a picture is asked for, never before.
"""

from __future__ import annotations

from pathlib import Path

from orchestrator.errors import SpecError
from orchestrator.inspection.context import AgentContext
from orchestrator.inspection.layers import in_order

__all__ = ["save_picture"]

HOW_TO_INSTALL = (
    "a picture needs matplotlib, which is not installed; in the folder of "
    "orchestrator: pip install -e '.[plots]'"
)
_INCHES = (10, 5.5)
_DOTS_PER_INCH = 120
_COLORS = (
    "#1f77b4", "#aec7e8", "#17becf", "#2ca02c", "#98df8a", "#bcbd22", "#dbdb8d",
    "#8c564b", "#c49c94", "#ff7f0e", "#ffbb78", "#d62728", "#ff9896", "#e377c2",
    "#f7b6d2", "#9467bd", "#c5b0d5", "#7f7f7f", "#c7c7c7", "#393b79",
)  # fmt: skip


def save_picture(context: AgentContext, path: Path) -> None:
    """Write a PNG: what each request of an agent held, layer upon layer.

    Args:
        context: of the agent, with at least one turn.
        path: where to; a file that is there is replaced.

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
        raise SpecError(HOW_TO_INSTALL, field="--png") from error
    figure = Figure(figsize=_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    turns = list(context.turns.values())
    at = [turn.turn for turn in turns]
    names = in_order({name for turn in turns for name in turn.composition})
    if names:
        heights = [[turn.composition.get(name, 0) for turn in turns] for name in names]
        axes.stackplot(at, heights, labels=names, colors=_COLORS, step="mid")
    reported = [(turn.turn, turn.reported) for turn in turns if turn.reported]
    if reported:
        where, counted = zip(*reported, strict=True)
        axes.plot(where, counted, "k.-", linewidth=1, markersize=3, label="reported")
    for name, size in (
        ("window", context.window_tokens),
        ("soft mark", context.soft_tokens),
        ("hard mark", context.hard_tokens),
    ):
        if size:
            axes.axhline(size, linestyle="--", linewidth=0.8, color="grey")
            axes.annotate(name, (at[0], size), fontsize=7, color="grey")
    for edit in context.edits:
        color = "crimson" if edit.is_compaction else "darkorange"
        axes.axvline(edit.turn - 0.5, linestyle=":", linewidth=0.9, color=color)
    axes.set_xlabel("turn (dotted: orange a clear, red a compaction)")
    axes.set_ylabel("tokens of the request")
    # Dollar signs would be read as formulas, and not every script has a font.
    axes.set_title(f"{context.id} ({context.model})".replace("$", r"\$"))
    axes.margins(x=0.01)
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7)
    try:
        canvas.print_png(str(path))
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError(f"cannot write `{path}`: {reason}", field="--png") from error
