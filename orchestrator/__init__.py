"""A multi-agent orchestrator with subagent context isolation."""

from __future__ import annotations
