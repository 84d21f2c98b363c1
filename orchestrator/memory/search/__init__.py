"""The derived index of a memory: found by words, and by meaning where one can."""

from __future__ import annotations
