"""The gate before every request of a run: once it is parked, nothing more is sent.

A quota that is used up, a key that is refused in mid run and an endpoint that is down
are nobody's failure. Who meets one waits here, as do all that would send something
after it, until the process lets go of the run; later ones go on from the log. A person
who pauses a run closes the same gate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import NoReturn

import anyio

from orchestrator.agent.pulse import Pulse
from orchestrator.errors import ModelError, NotSent

__all__ = ["Asked", "Parking", "Sending"]

NOT_THE_API = "http_403"
"""Detail of a 403 that is not in the API's words: something on the way refuses what
one request holds; the key is good."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of an agent, whichever process makes it: the turn that it is for."""

    agent: str = ""
    turn: int = 0


NOBODY = Asked()


class Parking:
    """Whether a run may send; one for all of its agents.

    Attributes:
        why: the error that parked it, or None.
        is_paused: a person closed the gate.
        cause: `seq` of the event that told of that error, or 0.
        asked: the request that met it.
        noticed_at: when the process took note of it, or None; told times count from
            then on.
    """

    def __init__(
        self, *, was_answered: bool = False, hopeless: Collection[Asked] = ()
    ) -> None:
        """Let all pass.

        Args:
            was_answered: the run had an answer in an earlier process: its key was good.
            hopeless: requests that have parked the run often enough: where the endpoint
                fails at one of them again, that is the request's own fault.
        """
        self.why: ModelError | None = None
        self.is_paused = False
        self.cause = 0
        self.asked = NOBODY
        self.noticed_at: datetime | None = None
        self._was_answered = was_answered
        self._hopeless = frozenset(hopeless)
        self._closed = anyio.Event()
        self._calls: set[Sending] = set()

    @property
    def is_closed(self) -> bool:
        """Return whether nothing more may be sent."""
        return self.is_paused or self.why is not None

    def pause(self) -> None:
        """Close the gate for a person; a run that is parked stays as it is."""
        if self.why is None:
            self.is_paused = True
            self._closed.set()

    @property
    def under_way(self) -> int:
        """Return how many requests are out whose answers may still come."""
        return sum(each.is_out for each in self._calls)

    def answered(self) -> None:
        """Take note of an answer to this run."""
        self._was_answered = True

    def takes(
        self, error: ModelError | NotSent, cause: int = 0, *, asked: Asked = NOBODY
    ) -> bool:
        """Park the run where `error` is a reason to, and return whether it is.

        If so, who met it waits at the gate; else the error is its own. In a run that is
        parked already, what may pass by itself is one, too. In one that is paused the
        reason is met again when it goes on.

        Args:
            error: of a request of this run, or of another one with the same key.
            cause: `seq` of the event that tells of it; 0: it is not written yet.
            asked: the request that met it.
        """
        if isinstance(error, NotSent):
            return True
        if self.is_closed and error.is_retryable:
            return True
        if not self._is_reason(error):
            return False
        if self.is_paused:
            return True
        if self.why is None and error.kind == "transient" and asked in self._hopeless:
            return False
        if self.why is None:
            self.why, self.asked = error, asked
            self._closed.set()
        if self.why is error:
            self.cause = self.cause or cause
        return True

    def _is_reason(self, error: ModelError) -> bool:
        if error.kind == "auth":
            # Refused from the start, the key is wrong: that is told at once.
            return self._was_answered and error.detail != NOT_THE_API
        return error.kind == "quota_exhausted" or error.is_down

    async def passed(self, pulse: Pulse | None = None) -> None:
        """Pass, or wait until cancelled if the gate is closed.

        Args:
            pulse: of the call that waits; its limits strike no more.
        """
        if self.is_closed:
            await self.waits(pulse)

    async def waits(self, pulse: Pulse | None = None) -> NoReturn:
        """Wait until cancelled; the call's limits strike no more."""
        if pulse is not None:
            pulse.stand_still()
        while True:
            await anyio.sleep_forever()

    async def closed(self) -> ModelError | None:
        """Wait until the gate is closed; return the error that parked the run."""
        await self._closed.wait()
        return self.why

    @contextmanager
    def sending(self) -> Iterator[Sending]:
        """Count what is inside as a request that is under way.

        Raises:
            NotSent: the gate is closed.
        """
        call = Sending(self)
        call.check()
        self._calls.add(call)
        try:
            yield call
        finally:
            self._calls.discard(call)


@dataclass(slots=True, eq=False)
class Sending:
    """One request, tries included.

    Attributes:
        is_out: an answer to it may come.
    """

    parking: Parking
    is_out: bool = True

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wait, inside, for a try to leave; it does not where the gate is closed.

        Raises:
            NotSent: it is.
        """
        self.is_out = False
        yield
        self.check()
        self.is_out = True

    def check(self) -> None:
        """Make sure that a try may leave.

        Raises:
            NotSent: the gate is closed.
        """
        if self.parking.is_paused:
            raise NotSent("the run is being paused")
        if self.parking.is_closed:
            raise NotSent("the run is being parked")
