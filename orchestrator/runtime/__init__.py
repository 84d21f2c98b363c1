"""One run from task to report: wiring, the lead, finishing, resuming."""

from __future__ import annotations
