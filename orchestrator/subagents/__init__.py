"""Dispatching subagents and taking in their findings."""

from __future__ import annotations
