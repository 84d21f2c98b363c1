from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import SpecError
from orchestrator.spec.loader import dump_task, load_task, resolve_task
from orchestrator.spec.policy import PRESETS, ContextPolicy, policy_problems
from orchestrator.spec.task import Task


def load(folder: Path, line: str, **overrides: str) -> Task:
    path = folder / "t.yaml"
    path.write_text(f"objective: x\n{line}\n", encoding="utf-8")
    return load_task(path, {f"context_policy.{k}": v for k, v in overrides.items()})


@pytest.mark.parametrize(
    ("preset", "policy"),
    [("long", "ladder"), ("short", "budget"), ("dialogue", "window")],
)
def test_a_preset_names_the_policy_for_a_kind_of_work(
    tmp_path: Path, preset: str, policy: str
) -> None:
    from_file = load(tmp_path, f"context_policy: {{preset: {preset}}}")
    from_option = load(tmp_path, "", preset=preset)
    from_python = resolve_task(
        Task.model_validate({"objective": "x", "context_policy": {"preset": preset}})
    )

    for task in (from_file, from_option, from_python):
        assert task.context_policy.policy == policy
        for name, value in PRESETS[preset].items():
            assert getattr(task.context_policy, name) == value


def test_what_the_task_says_wins_over_the_preset(tmp_path: Path) -> None:
    task = load(
        tmp_path,
        "context_policy: {preset: dialogue, clip_tokens: 900}",
        policy="ladder",
    )

    policy = task.context_policy
    assert (policy.policy, policy.clip_tokens, policy.read_tokens) == (
        "ladder",
        900,
        PRESETS["dialogue"]["read_tokens"],
    )
    assert policy.model_fields_set == {"preset", "policy", "clip_tokens"}


def test_the_long_preset_is_the_defaults() -> None:
    assert ContextPolicy(preset="long") == ContextPolicy()
    assert ContextPolicy().policy == "ladder"


@pytest.mark.parametrize("preset", list(PRESETS))
def test_no_preset_is_nonsense(preset: str) -> None:
    policy = ContextPolicy.model_validate({"preset": preset})

    assert list(policy_problems(policy)) == []


@pytest.mark.parametrize(
    "written",
    [
        "{preset: short, hard: 0.95}",
        "{preset: dialogue, last_steps: 8, window_tokens: 16000}",
        "{every_turns: 12, judge: claude-haiku-5-5, shares: {recent: 0.2}}",
    ],
)
def test_the_task_of_a_run_folder_holds_every_number_and_loads_the_same(
    tmp_path: Path, written: str
) -> None:
    task = load(tmp_path, f"context_policy: {written}")

    text = dump_task(task)
    (tmp_path / "task.yaml").write_text(text, encoding="utf-8")
    again = load_task(tmp_path / "task.yaml", {})

    assert again == task
    assert again.context_policy.model_fields_set == set(ContextPolicy.model_fields)
    assert f"hard: {task.context_policy.hard}" in text


def test_one_number_can_be_set_from_outside(tmp_path: Path) -> None:
    task = load(tmp_path, "context_policy: {soft: 0.5}", hard="0.8")

    assert (task.context_policy.soft, task.context_policy.hard) == (0.5, 0.8)


BAD: list[tuple[str, str, str]] = [
    ("{soft: 0.8}", "soft", "`soft` 0.8 must be below `hard` 0.75"),
    ("{hard: 0.6}", "hard", "`soft` 0.6 must be below `hard` 0.6"),
    ("{preset: short, hard: 0.7}", "hard", "`soft` 0.8 must be below `hard` 0.7 (pre"),
    ("{soft: 1.2}", "soft", "less than 1"),
    ("{shares: {recent: 0.6}}", "shares", "sum to 1.34 (recent 0.6, state 0.19"),
    ("{shares: {recent: 0}}", "shares.recent", "more than 0"),
    ("{shares: {recnt: 0.1}}", "shares.recnt", "did you mean `recent`"),
    ("{judge: two words}", "judge", "`two words` is no model; allowed are `anth"),
    ("{judge: 'openai:gpt-5'}", "judge", "is of another provider"),
    ("{judge: offline}", "judge", "cannot judge"),
    ("{judge: a, policy: budget}", "judge", "is for policy `ladder`"),
    ("{every_turns: 5, policy: window}", "every_turns", "this is `window`: leave one"),
    ("{every_turns: 5, preset: short}", "every_turns", "`budget` (preset `short`)"),
    ("{every_turns: 0}", "every_turns", "1 or more"),
    ("{preset: shrt}", "preset", "did you mean `short`"),
    ("{preset: [short]}", "preset", "must be one of long, short, dialogue"),
    ("{tail_step: 2}", "tail_step", "did you mean `tail_steps`"),
    ("short", "", "must be a mapping"),
]


@pytest.mark.parametrize(("written", "field", "words"), BAD, ids=str)
def test_what_cannot_be_meant_is_one_message_with_its_field(
    tmp_path: Path, written: str, field: str, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, f"context_policy: {written}")

    error = caught.value
    assert error.field == f"context_policy.{field}".rstrip(".")
    assert error.line == 2
    assert words in error.message


def test_nonsense_from_an_option_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"`--set context_policy.hard=0.5`"):
        load(tmp_path, "", hard="0.5")


@pytest.mark.parametrize("policy", [{"soft": 0.9}, {"judge": "two words"}])
def test_nonsense_in_python_is_refused_before_a_run(policy: dict[str, Any]) -> None:
    task = Task.model_validate({"objective": "x", "context_policy": policy})

    with pytest.raises(SpecError):
        resolve_task(task)
