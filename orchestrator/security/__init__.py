"""The workspace's borders, and redaction."""

from __future__ import annotations
