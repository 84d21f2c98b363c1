"""What outlives a run."""

from __future__ import annotations
