"""The run folder: log, artifacts, notes, lock."""

from __future__ import annotations
