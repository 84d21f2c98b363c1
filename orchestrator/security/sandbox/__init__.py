"""Run commands where they see little and can harm less: bubblewrap, and limits."""

from __future__ import annotations

from orchestrator.security.sandbox.description import SYSTEM_PATH, Limits, Sandbox
from orchestrator.security.sandbox.groups import Group, make_group
from orchestrator.security.sandbox.mounts import outermost
from orchestrator.security.sandbox.reports import Report, read_report
from orchestrator.security.sandbox.repository import watch_repository
from orchestrator.security.sandbox.trying import available

__all__ = [
    "SYSTEM_PATH",
    "Group",
    "Limits",
    "Report",
    "Sandbox",
    "available",
    "make_group",
    "outermost",
    "read_report",
    "watch_repository",
]
