"""The offline model: no key, no network, no weights, and no understanding."""

from __future__ import annotations

from orchestrator.models.offline.model import OfflineModel

__all__ = ["OfflineModel"]
