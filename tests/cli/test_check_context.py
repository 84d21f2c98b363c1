from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ORCHESTRATE_PRICES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("HOME", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def check(here: Path, text: str, *options: str) -> int:
    (here / "t.yaml").write_text(f"objective: x\n{text}\n", encoding="utf-8")
    return main(["check", "t.yaml", *options])


def report(here: Path, text: str, capsys: Capture) -> Any:
    assert check(here, text, "--json") == 0
    return json.loads(capsys.readouterr().out)


def test_the_numbers_of_the_lead_and_of_each_profile_are_shown(
    here: Path, capsys: Capture
) -> None:
    assert check(here, "model: offline\nagents: [explorer, reviewer]") == 0

    out = capsys.readouterr().out
    assert "context: policy ladder (preset long)" in out
    for name in ("lead", "explorer", "reviewer"):
        assert f"  {name}: window 200,000, about " in out
    assert "old results are cleared from 115,084 tokens on\n" in out
    assert "as soon as" not in out  # what is free is cleared by its size alone
    assert "earlier steps are compacted from 143,856 tokens on\n" in out
    assert "replies up to 8,192, pages 8,000, other results 4,000, tail 3 steps" in out
    assert "shrunk" not in out


def test_what_shrinks_in_a_small_window_is_told_with_the_reason(
    here: Path, capsys: Capture
) -> None:
    policy = "context_policy: {window_tokens: 8192}"
    assert check(here, f"model: offline\n{policy}") == 0

    text = capsys.readouterr().out
    assert max(map(len, text.partition("context: policy")[2].splitlines())) <= 80
    out = " ".join(text.split())
    assert " lead: window 8,192, about " in out
    assert " shrunk: read_tokens 8,000 to " in out
    assert "(share of recent steps); max_output_tokens 8,192 to " in out
    assert "(share of output)" in out
    rows = report(here, f"model: offline\n{policy}", capsys)["numbers"]
    assert [row["profile"] for row in rows] == ["lead", "explorer"]
    names = {each["name"]: each for each in rows[0]["shrunk"]}
    assert names["read_tokens"]["got"] == rows[0]["read_tokens"] >= 500


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ("dialogue", "the last 20 steps at most are shown\n    from 143,856 tokens on"),
        ("short", "from 172,627 tokens on the oldest steps go, down to 153,446\n"),
    ],
)
def test_the_plain_policies_say_what_is_shown(
    here: Path, capsys: Capture, preset: str, words: str
) -> None:
    assert check(here, f"model: offline\ncontext_policy: {{preset: {preset}}}") == 0

    out = capsys.readouterr().out
    assert words in out
    assert "tail" not in out.partition("context: policy")[2]


def test_an_unknown_window_is_said_to_be_unknown(here: Path, capsys: Capture) -> None:
    assert check(here, "model: qwen3:8b") == 0

    out = " ".join(capsys.readouterr().out.split())
    assert " lead: window unknown, about " in out
    assert "no marks, numbers as written: set `context_policy.window_tokens`" in out
    assert "cleared as soon as carrying them has cost as much as clearing them " in out


def test_clears_by_price_and_compactions_by_turns_are_told(
    here: Path, capsys: Capture
) -> None:
    policy = "context_policy: {every_turns: 8, window_tokens: 200000}"
    assert check(here, f"model: claude-haiku-5-5\n{policy}") == 0

    out = " ".join(capsys.readouterr().out.split())
    assert (
        "old results are cleared as soon as carrying them has cost as much as clearing "
        "them; at the latest from 115,084 tokens on claude-haiku-5-5 costs more above "
        "100,000 tokens: results are cleared before, where that keeps a request below "
        "earlier steps are compacted from 143,856 tokens on, and every 8 turns "
    ) in out


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (
            "{window_tokens: 300000}",
            "`context_policy.window_tokens: 300000` is more than `offline` has: its "
            "200,000 hold",
        ),
        (
            "{preset: short, tail_steps: 5, summary_share: 0.1, last_steps: 9}",
            "`tail_steps`, `summary_share`, `last_steps` of `context_policy` have no "
            "effect: policy `budget` (preset `short`) clears and summarises nothing, "
            "and takes the steps that fit",
        ),
        (
            "{preset: dialogue, keep_results: 9, last_steps: 9}",
            "`keep_results` of `context_policy` has no effect: policy `window` (preset "
            "`dialogue`) clears and summarises nothing",
        ),
        (
            "{last_steps: 9}",
            "`last_steps` of `context_policy` has no effect: policy `ladder` does not "
            "count the steps that it shows",
        ),
        # As a stored task has them.
        ("{preset: short, tail_steps: 3, last_steps: 20, window_tokens: 200000}", ""),
    ],
)
def test_what_changes_nothing_is_told(
    here: Path, capsys: Capture, policy: str, words: str
) -> None:
    told = report(here, f"model: offline\ncontext_policy: {policy}", capsys)

    assert told["notices"] == ([words] if words else [])


def test_a_preset_in_the_place_of_the_policy_is_refused_with_how_to_write_it(
    here: Path, capsys: Capture
) -> None:
    assert check(here, "context_policy: short") == 2

    assert "did you mean `{preset: short}`?" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_lead_that_does_not_fit_is_refused_before_anything_is_spent(
    here: Path, capsys: Capture, command: str
) -> None:
    (here / "t.yaml").write_text(
        "objective: x\nmodel: claude-opus-5-5\ncontext_policy:\n  window_tokens: 4000\n"
    )

    assert main([command, "t.yaml"]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: t.yaml:4: `context_policy.window_tokens`: ")
    assert "profile `lead` on `claude-opus-5-5`: the window has 4,000" in captured.err
    assert "at most 2,788 are allowed" in captured.err
    assert not (here / "runs").exists()


def test_a_subagent_that_does_not_fit_is_refused_likewise(
    here: Path, capsys: Capture
) -> None:
    (here / "agents").mkdir()
    prompt = "Look at each word of it twice. " * 1500
    (here / "agents/wordy.md").write_text(f"---\ndescription: Long.\n---\n{prompt}")
    policy = "context_policy: {window_tokens: 8192}"

    assert check(here, f"model: offline\nagents: [wordy]\n{policy}") == 2

    assert (
        "profile `wordy` on `offline`: the window has 8,192" in capsys.readouterr().err
    )


def test_who_helps_with_summaries_is_shown_and_has_a_price(
    here: Path, capsys: Capture
) -> None:
    helpers = "model: {summaries: claude-haiku-5-5, subagents: claude-sonnet-5-5}\n"
    helpers += "context_policy: {judge: 'anthropic:claude-opus-5-5'}"
    assert check(here, helpers) == 0

    out = capsys.readouterr().out
    assert "summaries by: claude-haiku-5-5 (the estimate leaves it out)" in out
    assert "summaries judged by: claude-opus-5-5 (the estimate leaves it out)" in out
    assert "price of claude-haiku-5-5: $" in out
    assert "price of claude-opus-5-5: $" in out
    models = report(here, helpers, capsys)["models"]
    assert (models["summaries"], models["judge"]) == (
        "claude-haiku-5-5",
        "claude-opus-5-5",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model: {summaries: own}", "`own` (`model.summaries`) is unknown"),
        ("context_policy: {judge: own}", "`own` (`context_policy.judge`) is unknown"),
        (
            "model: {summaries: own}\nfallback_model: other",
            "`other` (`fallback_model`), `own` (`model.summaries`) is unknown",
        ),
        ("model: {lead: own, summaries: own}", "the price of `own` is unknown"),
    ],
)
def test_a_limit_in_dollars_needs_the_price_of_every_model_that_helps(
    here: Path, capsys: Capture, text: str, words: str
) -> None:
    assert check(here, f"limits: {{usd: 1}}\n{text}") == 2

    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model: {lead: offline, summaries: own}", "`model.summaries: own` is not"),
        ("model: offline\ncontext_policy: {judge: own}", "`context_policy.judge: own`"),
        (
            "model: {summaries: own}\ncontext_policy: {preset: dialogue}",
            "is not used: policy `window` summarises nothing",
        ),
    ],
)
def test_who_is_never_asked_for_a_summary_is_told_and_needs_no_price(
    here: Path, capsys: Capture, text: str, words: str
) -> None:
    told = report(here, f"limits: {{usd: 1}}\n{text}", capsys)

    assert [each for each in told["notices"] if words in each]
    assert "own" not in told["prices"]
    assert told["models"]["summaries"] is told["models"]["judge"] is None
