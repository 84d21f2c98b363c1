"""What the tests that kill runs share: one endpoint, and the run that nobody kills."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kill_bench import KillBench, Whole, kill_bench
from kill_policy import KillPolicy, Slow


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillBench]:
    with kill_bench(tmp_path_factory.mktemp("plain"), Slow(KillPolicy())) as bench:
        yield bench


@pytest.fixture(scope="module")
def whole(plain: KillBench) -> Whole:
    return plain.whole()
