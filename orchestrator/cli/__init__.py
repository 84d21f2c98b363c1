"""The commands: arguments in, text and exit status out."""

from __future__ import annotations
