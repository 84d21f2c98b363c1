"""Briefs written for the linter, and the small workspace that they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from orchestrator.brief import Brief, lint
from orchestrator.security.workspace import Workspace

__all__ = ["Sample", "lay_workspace", "problems", "samples"]

DATA = Path(__file__).parents[1] / "data" / "briefs"
PROFILES = ("explorer", "reviewer")


@dataclass(frozen=True, slots=True)
class Sample:
    """One brief of a set, the briefs beside it, and why it is in the set."""

    why: str
    brief: Brief
    others: tuple[Brief, ...]


def samples(name: str) -> list[Sample]:
    """Return the set `name`; a sample is a brief, or has `why`, `brief`, `others`."""
    text = (DATA / f"{name}.yaml").read_text(encoding="utf-8")
    return [_sample(entry) for entry in yaml.safe_load(text)]


def _sample(entry: dict[str, Any]) -> Sample:
    brief = Brief.model_validate(entry.get("brief", entry))
    others = tuple(Brief.model_validate(other) for other in entry.get("others", ()))
    return Sample(str(entry.get("why", brief.title)), brief, others)


def lay_workspace(root: Path) -> Workspace:
    """Make the files that the good briefs are about, and return the workspace."""
    for name in (DATA / "workspace.txt").read_text(encoding="utf-8").split():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n", encoding="utf-8")
    return Workspace(root)


def problems(
    brief: Brief, workspace: Workspace, others: Sequence[Brief] = ()
) -> list[str]:
    """Return what the linter says about `brief`."""
    return lint(brief, workspace=workspace, profiles=PROFILES, others=others)
