"""The port to a model, its implementations, prices."""

from __future__ import annotations
