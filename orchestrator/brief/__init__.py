"""Briefs: what a subagent is asked, and the check that each stands alone."""

from __future__ import annotations

from orchestrator.brief.linter import MAX_BRIEF_CHARS, lint, normalised
from orchestrator.brief.model import Brief, BriefDeliverable, Scope

__all__ = [
    "MAX_BRIEF_CHARS",
    "Brief",
    "BriefDeliverable",
    "Scope",
    "lint",
    "normalised",
]
