"""Every exception that this package raises on purpose.

OrchestratorError
    SpecError               a task, profile, prompt or option is wrong
        NotYet              the field exists, its feature does not
    ModelError              the model service gave no usable reply; `kind` says why
    NotSent                 a request was held back: its run is parked or paused
    ToolError               told to the model as a result; the run goes on
        OutsideWorkspace    a path leads out of the workspace, or is excluded
    LimitReached            a limit of the run or of an agent was reached
    StoreError              the run folder cannot be read or written
        RunBusy             another process writes this run
    UnknownRun              no run, or more than one, answers to a name
    EmbedderError           texts have no vectors at the moment; words do without
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "RAISABLE",
    "EmbedderError",
    "LimitReached",
    "ModelError",
    "ModelErrorKind",
    "NotSent",
    "NotYet",
    "OrchestratorError",
    "OutsideWorkspace",
    "RunBusy",
    "SpecError",
    "StoreError",
    "ToolError",
    "UnknownRun",
]

RESERVED = frozenset({"usd", "tokens"})
"""Limits that are set aside before a call, and count as used until it is settled."""
RAISABLE = ("turns", "minutes", "usd", "tokens")
"""Limits that a task names; a loop may also end by one of its own."""
_WHOLE_FROM = 1000  # amounts below are written with four digits
_MOST_DECIMALS = 8

ModelErrorKind = Literal[
    "transient",
    "rate_limited",
    "overloaded",
    "quota_exhausted",
    "too_long",
    "refused",
    "thinking_bound",
    "invalid",
    "auth",
    "cut",
]


class OrchestratorError(Exception):
    """Base of all errors that are raised on purpose."""


class SpecError(OrchestratorError):
    """Something the user wrote is wrong, and nothing was spent.

    Attributes:
        message: what is wrong: what was found and what is allowed.
        file: the file as the user named it, or "" for an option or argument.
        line: 1-based line in `file`, or 0 where there is none.
        field: dotted name of the field (`limits.usd`), or "".
    """

    def __init__(
        self, message: str, file: str = "", line: int = 0, field: str = ""
    ) -> None:
        super().__init__(message, file, line, field)
        self.message, self.file, self.line, self.field = message, file, line, field

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.file and self.line else self.file
        parts = [part for part in (where, self.field and f"`{self.field}`") if part]
        return ": ".join([*parts, self.message])


class NotYet(SpecError):
    """A field of the task file whose feature is not there yet."""


class ModelError(OrchestratorError):
    """The model service gave no usable reply.

    Attributes:
        kind: who must act: `transient`, `rate_limited` and `overloaded` are worth
            another try; the others are not.
        message: the service's own words, bounded.
        retry_after_s: seconds the service asked to wait, or None.
        detail: a short code: an error type, a status, a refusal category.
        begun: the service may have begun to answer, so that the try may be billed.
        is_down: nobody had a usable answer for as long as an outage may last.
        half: digest of what had arrived of an answer that broke, or "": where it is
            the same again and again, another try brings no more.
    """

    def __init__(
        self,
        kind: ModelErrorKind,
        message: str,
        retry_after_s: float | None = None,
        detail: str = "",
        begun: bool = False,
        is_down: bool = False,
        half: str = "",
    ) -> None:
        super().__init__(kind, message, retry_after_s, detail, begun, is_down, half)
        self.kind, self.message = kind, message
        self.retry_after_s, self.detail = retry_after_s, detail
        self.begun, self.is_down, self.half = begun, is_down, half

    @property
    def is_retryable(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in ("transient", "rate_limited", "overloaded")

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


class NotSent(OrchestratorError):
    """A request was held back before it left: its run is parked or paused."""


class ToolError(OrchestratorError):
    """A call failed in a way that the model can mend; the text is its result."""


class OutsideWorkspace(ToolError):
    """A path leads out of the workspace, or the task or brief excludes it."""


class LimitReached(OrchestratorError):
    """A limit was reached, so that the next call may not be made.

    Attributes:
        limit: name of the limit, as in the task file (`usd`, `tokens`, `turns`, …).
        used: amount used or set aside, in the limit's own unit.
        allowed: amount allowed, in the same unit; 0 where there is no figure.
        set_aside: of `used`, what was not spent; None: nobody knows.
    """

    def __init__(
        self, limit: str, used: float, allowed: float, set_aside: float | None = None
    ) -> None:
        super().__init__(limit, used, allowed, set_aside)
        self.limit, self.used, self.allowed = limit, used, allowed
        self.set_aside = set_aside

    def __str__(self) -> str:
        if not self.allowed:
            return f"`{self.limit}` reached"
        # What a person wrote is never rounded; the rest of a limit is no such figure.
        allowed = f"{self.allowed:,.10g}"
        if len(allowed.partition(".")[2]) > _MOST_DECIMALS:
            allowed = _figure(self.allowed)
        if self.set_aside:
            spent, kept = _figure(self.used - self.set_aside), _figure(self.set_aside)
            told = f"{spent} used and {kept} set aside, of {allowed}"
        else:
            told = f"used {_figure(self.used)} of {allowed}"
        is_mixed = self.set_aside is None and self.limit in RESERVED
        also = " (set aside for calls included)" if is_mixed else ""
        return f"`{self.limit}` reached: {told}{also}"


def _figure(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= _WHOLE_FROM else f"{amount:.4g}"


class StoreError(OrchestratorError):
    """The run folder cannot be read or written."""


class RunBusy(StoreError):
    """Another process holds the lock of this run folder."""


class UnknownRun(OrchestratorError):
    """No run answers to a name, or more than one does."""


class EmbedderError(OrchestratorError):
    """Texts cannot be turned into vectors at the moment."""
