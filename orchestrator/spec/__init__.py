"""What users write: tasks, profiles, limits, prompts."""

from __future__ import annotations
