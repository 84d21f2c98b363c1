from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import SpecError
from orchestrator.settings import Settings
from orchestrator.spec.loader import task_from_objective
from orchestrator.spec.resolve import Prepared, prepare, usd_limit


def prepared(folder: Path, *, key: bool = True, **overrides: str) -> Prepared:
    dotted = {name.replace("__", "."): value for name, value in overrides.items()}
    return prepare(
        task_from_objective("look", folder, dotted),
        task_folder=folder,
        cwd=folder,
        settings=Settings(),
        has_credentials=key,
    )


def test_a_task_is_prepared_with_all_it_needs(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("guide")

    ready = prepared(tmp_path, agents="[explorer, reviewer]")

    assert list(ready.selection.subagents) == ["explorer", "reviewer"]
    assert [file.text for file in ready.context_files] == ["guide"]
    assert ready.models_by_agent() == {
        "lead": "claude-sonnet-5-5",
        "explorer": "claude-haiku-5-5",
        "reviewer": "claude-haiku-5-5",
    }


def test_a_profile_cannot_make_an_offline_run_spend(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents/scout.md").write_text(
        "---\ndescription: d\nmodel: opus\n---\nx"
    )

    offline = prepared(tmp_path, key=False, agents="[scout]")
    online = prepared(tmp_path, agents="[scout]")

    assert offline.models_by_agent()["scout"] == "offline"
    assert online.models_by_agent()["scout"] == "claude-opus-5-5"


def test_a_broken_prompt_is_found_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/brief.md").write_text("no placeholders")

    with pytest.raises(SpecError, match=r"brief\.md"):
        prepared(tmp_path)


def test_a_missing_profile_is_found_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no profile `scout`"):
        prepared(tmp_path, agents="[scout]")


class TestUsdLimit:
    def test_known_prices_keep_the_limit(self, tmp_path: Path) -> None:
        assert usd_limit(prepared(tmp_path), lambda _model: True).usd == 2.0

    def test_the_default_is_dropped_with_a_notice(self, tmp_path: Path) -> None:
        limit = usd_limit(prepared(tmp_path, model="qwen"), lambda _model: False)
        assert limit.usd is None
        assert "`qwen`" in limit.notice

    def test_a_written_one_is_an_error(self, tmp_path: Path) -> None:
        ready = prepared(tmp_path, model="qwen", limits__usd="1")
        with pytest.raises(SpecError, match="price of `qwen` is not known"):
            usd_limit(ready, lambda _model: False)

    def test_offline_needs_no_price(self, tmp_path: Path) -> None:
        ready = prepared(tmp_path, key=False)
        assert usd_limit(ready, lambda _model: False).usd == 2.0
