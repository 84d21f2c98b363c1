"""Signals as exceptions, where a command waits and has something to close."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["interruptible"]


@contextmanager
def interruptible(*numbers: signal.Signals) -> Iterator[None]:
    """Let these signals raise `KeyboardInterrupt` meanwhile.

    Outside of the main thread, which alone hears signals, nothing is changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[signal.Signals, Any] = {
        each: signal.signal(each, signal.default_int_handler) for each in numbers
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
