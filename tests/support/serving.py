"""Tasks that are run over an endpoint of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fake_endpoint import FakeEndpoint, Script

from orchestrator.api import Orchestrator
from orchestrator.clock import Clock
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.governor import Governor
from orchestrator.testing import FakeClock

__all__ = ["serving"]


@asynccontextmanager
async def serving(
    runs: Path, policy: Script, clock: Clock | None = None
) -> AsyncIterator[tuple[FakeEndpoint, Orchestrator]]:
    """An endpoint that plays `policy`, and what runs tasks over it."""
    clock = clock or FakeClock()
    async with FakeEndpoint(policy) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url, clock=clock)
        governor = Governor(model, clock)
        try:
            async with Orchestrator(runs_dir=runs, model=governor, clock=clock) as here:
                yield endpoint, here
        finally:
            await governor.aclose()
