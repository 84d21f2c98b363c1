"""What a model can call, and the executor that runs the calls."""

from __future__ import annotations
