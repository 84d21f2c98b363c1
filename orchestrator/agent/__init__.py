"""The loop of one agent, its stops and its budget."""

from __future__ import annotations
