"""Diagnostics on stderr."""

from __future__ import annotations

from collections.abc import Iterator

import orjson
import pytest
import structlog

from orchestrator.logs import configure

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def test_lines_are_json_where_stderr_is_no_terminal(capsys: Capture) -> None:
    configure()
    structlog.contextvars.bind_contextvars(run="r1", agent="a1")

    structlog.get_logger().warning("model.slow", seconds=3)

    shown, told = capsys.readouterr()
    line = orjson.loads(told)
    assert shown == ""
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "agent": "a1",
        "event": "model.slow",
        "level": "warning",
        "run": "r1",
        "seconds": 3,
    }


def test_readable_lines_have_no_colour_off_a_terminal(capsys: Capture) -> None:
    configure(as_json=False)

    structlog.get_logger().error("disk.full", path="runs")

    told = capsys.readouterr().err
    assert "disk.full" in told
    assert "\x1b" not in told


@pytest.mark.parametrize(
    ("level", "count"), [("", 1), ("debug", 2), ("error", 0), ("nonsense", 1)]
)
def test_the_level_comes_from_the_environment(
    level: str, count: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATE_LOG", level)
    configure()

    structlog.get_logger().debug("x.y")
    structlog.get_logger().warning("x.z")

    assert len(capsys.readouterr().err.splitlines()) == count
