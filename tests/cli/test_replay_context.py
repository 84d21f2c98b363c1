"""`replay --context`: what another policy would have made of a run."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from golden import copied

from orchestrator.cli.main import main

Capture = pytest.CaptureFixture[str]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_another_policy_is_compared_and_nothing_is_written(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    run = str(copied("v1", tmp_path / "run").path)
    policy = tmp_path / "policy.yaml"
    policy.write_text("preset: dialogue\nlast_steps: 1\n")
    before = files_of(tmp_path)

    assert main(["replay", run, "--context", str(policy)]) == 0
    text, told = capsys.readouterr()
    assert main(["replay", run, "--context", str(policy), "--json"]) == 0
    data = orjson.loads(capsys.readouterr().out)

    assert files_of(tmp_path) == before
    assert told == ""
    assert text.startswith("policy      preset long → dialogue, policy ladder →")
    assert "\nrun's, computed" in text
    assert max(map(len, text.splitlines())) <= 80
    assert data["total"]["other"]["compactions"] > 0
    assert {each["field"] for each in data["changes"]} >= {"preset", "last_steps"}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("sofft: 1\n", ":1: `sofft`: unknown key; did you mean `soft`?"),
        ("window_tokens: 4000\n", ":1: `window_tokens`: profile `lead` on"),
    ],
)
def test_a_policy_that_is_wrong_or_does_not_fit_exits_2(
    tmp_path: Path, capsys: Capture, written: str, said: str
) -> None:
    run = str(copied("v1", tmp_path / "run").path)
    policy = tmp_path / "policy.yaml"
    policy.write_text(written)

    assert main(["replay", run, "--context", str(policy)]) == 2

    text, told = capsys.readouterr()
    assert text == ""
    assert f"error: {policy}{said}" in told


def test_context_and_inputs_do_not_go_together(tmp_path: Path, capsys: Capture) -> None:
    run = str(copied("v1", tmp_path / "run").path)
    argv = ["replay", run, "--context", "p.yaml", "--inputs", str(tmp_path)]

    assert main(argv) == 2

    assert "do not go together" in capsys.readouterr().err
