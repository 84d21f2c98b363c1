"""Folders of runs that have ended, with the files that memory reads of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from orchestrator.spec.document import dump

__all__ = ["item", "past_run", "run_name"]


def run_name(day: int, name: str = "auth") -> str:
    """Return the id of a run that ended on a day of November 2026, or later."""
    month, date = 11 + (day - 1) // 28, (day - 1) % 28 + 1
    year, month = 2026 + (month - 1) // 12, (month - 1) % 12 + 1
    return f"{year}{month:02}{date:02}-201500-{name}-7f3a"


def item(claim: str, *evidence: tuple[str, str], unsupported: bool = False) -> Any:
    """Return an item of findings as it stands in `findings.json`."""
    record: dict[str, Any] = {
        "claim": claim,
        "evidence": [{"source": source, "quote": quote} for source, quote in evidence],
        "confidence": 0.8,
    }
    return record | ({"unsupported": True} if unsupported else {})


def past_run(
    runs_dir: Path,
    run: str,
    *,
    workspace: Path,
    state: str = "done",
    objective: str = "Explain how requests are authenticated",
    report: str | None = "",
    findings: Sequence[Any] = (),
    more: Any = None,
) -> Path:
    """Write the folder of a run and return it.

    Args:
        runs_dir: where runs lie.
        run: its id.
        workspace: as recorded.
        state: in which it ended.
        objective: what it was to do.
        report: None: it has none.
        findings: items of its one subagent.
        more: what `findings.json` has besides.
    """
    folder = runs_dir / run
    agent = folder / "agents" / "a1"
    agent.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(b"")
    task = {"name": "auth", "objective": objective, "workspace": str(workspace)}
    (folder / "task.yaml").write_text(f"# The task as resolved.\n{dump(task)}")
    (agent / "brief.md").write_text("# Where tokens are checked\n\nFind it.\n")
    record = {"status": "complete", "summary": "Found.", "items": list(findings)}
    (agent / "findings.json").write_bytes(orjson.dumps(record | (more or {})))
    if report is not None:
        (folder / "report.md").write_text(report, encoding="utf-8")
    ended = f"{run[:4]}-{run[4:6]}-{run[6:8]}T20:25:00.000Z"
    (folder / "run.json").write_bytes(
        orjson.dumps({"id": run, "state": state, "started": ended, "ended": ended})
    )
    return folder
