"""What an agent is sent: pure functions from transcript to view."""

from __future__ import annotations
