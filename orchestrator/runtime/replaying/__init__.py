"""A run again, from what is on record of it: no model is asked and no tool runs."""

from __future__ import annotations
