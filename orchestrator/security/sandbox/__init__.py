"""Run commands where they see little and can harm less: bubblewrap, and limits."""

from __future__ import annotations

from orchestrator.security.sandbox.description import Limits, Sandbox
from orchestrator.security.sandbox.reports import Report, read_report
from orchestrator.security.sandbox.trying import available

__all__ = ["Limits", "Report", "Sandbox", "available", "read_report"]
