"""Exit statuses of commands, beside those that runs have."""

from __future__ import annotations

__all__ = [
    "EXIT_BUG",
    "EXIT_FAILED",
    "EXIT_INTERRUPTED",
    "EXIT_PIPE",
    "EXIT_TIMEOUT",
    "EXIT_USAGE",
]

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUG = 70
EXIT_TIMEOUT = 124
"""As `timeout` has it."""
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141
