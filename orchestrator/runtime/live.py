"""The handle on a run while it works: by it a program stops, pauses and steers it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import anyio

from orchestrator.errors import SpecError
from orchestrator.events import Event
from orchestrator.messages import clean_text
from orchestrator.store.control import GO_ON, MAX_TEXT_BYTES, PAUSE, STEER, Request
from orchestrator.store.layout import RunFolder

__all__ = ["Live"]

OnEvent = Callable[[Event], None]


@dataclass(slots=True)
class Live:
    """A handle on a run while it works; for one run.

    Attributes:
        scope: cancel it to interrupt the run: results are recorded, and it can be
            resumed. After a pause it is another one.
        on_event: told of each event.
        on_begun: told once, as soon as the run is in its log.
        has_begun: the run is in its log; before that nothing is spent or left behind.
        keeps_paused: a run that is paused is waited for; else it ends for this process
            as `paused`, and another one may go on with it.
        asked: what is asked by this handle and not taken yet, oldest first.
        taken: names of the requests that are in the log.
        redact: as the run does it.
    """

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    on_event: OnEvent | None = None
    on_begun: Callable[[RunFolder], None] | None = None
    has_begun: bool = False
    keeps_paused: bool = True
    asked: deque[Request] = field(default_factory=deque)
    taken: set[str] = field(default_factory=set)
    redact: Callable[[str], str] = clean_text

    def stop(self) -> None:
        """Interrupt the run: what is finished is recorded, `resume` goes on."""
        self.scope.cancel()

    def pause(self) -> None:
        """Send nothing more, let come in what is under way, then wait for `go_on`."""
        self.asked.append(Request(PAUSE, None))

    def go_on(self, limits: Mapping[str, float] | None = None) -> None:
        """Go on after a pause.

        Args:
            limits: those that change, by name: `{"usd": 5}`.
        """
        changed = {f"limits.{name}": str(each) for name, each in (limits or {}).items()}
        self.asked.append(Request(GO_ON, None, limits=changed))

    def steer(self, text: str) -> None:
        """Tell the lead something, at its next step.

        Raises:
            SpecError: the text is empty, or has more than 12,000 bytes.
        """
        if not text.strip():
            raise SpecError("the text is empty")
        if (size := len(text.encode(errors="replace"))) > MAX_TEXT_BYTES:
            raise SpecError(
                f"the text has {size:,} bytes, at most {MAX_TEXT_BYTES:,} are allowed; "
                "write it into a file of the workspace and name that"
            )
        self.asked.append(Request(STEER, None, text=text))

    def begun(self, folder: RunFolder) -> None:
        """Take note that the run is in its log."""
        self.has_begun = True
        if self.on_begun is not None:
            self.on_begun(folder)
            self.on_begun = None

    def renew(self) -> None:
        """Make a scope for what comes next; one that was cancelled stays so."""
        was_stopped, self.scope = self.scope.cancel_called, anyio.CancelScope()
        if was_stopped:
            self.scope.cancel()
