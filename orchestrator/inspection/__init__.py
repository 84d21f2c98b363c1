"""Read-only questions about a run folder; knows nothing of terminals."""

from __future__ import annotations
