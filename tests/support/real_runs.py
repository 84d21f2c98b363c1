"""Runs of the whole program with the offline model, on a small workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orchestrator import Task, run_task
from orchestrator.store.layout import RunFolder

__all__ = ["offline_run"]

OBJECTIVE = "1. How long do refunds take?\n2. Who signs a refund above the limit?\n"
PAPERS = {
    "refunds.md": "# Refunds\n\nA refund takes 14 days.\nWithout a receipt, 30 days.\n",
    "limits.md": "# Limits\n\nAbove the limit of 500 a manager signs a refund.\n",
}


def offline_run(folder: Path, **fields: Any) -> RunFolder:
    """Make a run.

    Args:
        folder: where its workspace and its runs folder are made.
        fields: of its task.
    """
    work = folder / "work"
    work.mkdir(exist_ok=True)
    for name, text in PAPERS.items():
        (work / name).write_text(text, encoding="utf-8")
    task = Task.model_validate(
        {
            "name": "offline",
            "objective": OBJECTIVE,
            "workspace": work,
            "model": "offline",
            **fields,
        }
    )
    result = run_task(task, runs_dir=folder / "runs")
    assert result.state == "done", result
    return RunFolder(result.folder)
