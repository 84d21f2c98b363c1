"""Read-only queries on a run folder; knows nothing of terminals or models."""

from __future__ import annotations
