"""An endpoint for a wide fan-out, in a process of its own: its work is not measured.

It imports little, so that it is soon there. Answers come after a short while, and tell
tokens as a service with a cache would: limits count what is told.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import anyio
import orjson
from explore_policy import ExplorePolicy, part_of, replies_in
from fake_endpoint import Answer, FakeEndpoint, stream

from orchestrator.messages import Block

__all__ = ["Arrived", "Endpoint", "served"]

LATENCY_S = 0.02
CHARS_PER_TOKEN = 4


@dataclass
class Arrived:
    """What came since the endpoint was asked the last time.

    Attributes:
        of_lead: requests of leads.
        of_subagents: the others, those of a bare loop as well.
        size: of the others in bytes, all together.
        violations: what was refused, in the words it was refused with.
        sample: the newest request that begins a conversation of a subagent.
    """

    of_lead: int = 0
    of_subagents: int = 0
    size: int = 0
    violations: list[str] = field(default_factory=list)
    sample: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Answers(ExplorePolicy):
    """Without thinking, so that nothing has to be remembered."""

    arrived: Arrived = field(default_factory=Arrived)

    async def answer(self, asked: dict[str, Any]) -> Answer:
        await anyio.sleep(LATENCY_S)
        done = replies_in(asked)
        if part_of(asked) == 0:
            self.arrived.of_lead += 1
            return _told(asked, self._lead(asked, done))
        if done == 0:
            self.arrived.sample = asked
        self.arrived.of_subagents += 1
        self.arrived.size += _size(asked)
        return _told(asked, self._worker(asked, done))


def _told(asked: dict[str, Any], content: list[Block]) -> Answer:
    """Stream a reply; all but the newest two messages was in the cache before."""
    new = asked["messages"][-2:]
    usage = {
        "input_tokens": 0,
        "cache_creation_input_tokens": _size(new) // CHARS_PER_TOKEN,
        "cache_read_input_tokens": (_size(asked) - _size(new)) // CHARS_PER_TOKEN,
        "output_tokens": _size(content) // CHARS_PER_TOKEN,
    }
    return stream(*content, usage=usage, piece=200)


def _size(value: Any) -> int:
    return len(orjson.dumps(value))


class Endpoint:
    """The other process, as it is seen from here."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._to, self._from = process.stdin, process.stdout
        self.url = self._from.readline().strip()

    def expects(self, parts: int) -> Arrived:
        """Return what came, and let the next lead send out so many."""
        self._to.write(f"{parts}\n")
        self._to.flush()
        return Arrived(**orjson.loads(self._from.readline()))


@contextlib.contextmanager
def served(calls: int) -> Iterator[Endpoint]:
    """Keep an endpoint that is gone when this is left.

    Args:
        calls: of each subagent, the hand-in included.
    """
    process = subprocess.Popen(
        [sys.executable, __file__, str(calls)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Endpoint(process)
    finally:
        process.communicate()


def _serve(calls: int) -> None:
    """Answer until the input ends."""
    policy = _Answers(calls=calls)
    with FakeEndpoint(policy.answer) as endpoint:
        _tell(endpoint.url)
        for line in sys.stdin:
            policy.arrived.violations = [*endpoint.violations]
            _tell(orjson.dumps(asdict(policy.arrived)).decode())
            policy.parts, policy.arrived = int(line), Arrived()
            for kept in (endpoint.requests, endpoint.bodies, endpoint.headers):
                kept.clear()
            endpoint.violations.clear()


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
