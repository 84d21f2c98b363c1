"""Many tasks as one job."""

from __future__ import annotations
