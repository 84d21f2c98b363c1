"""Pages of the web: fetched within limits, and read as text."""

from __future__ import annotations
