from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import SpecError
from orchestrator.settings import (
    Settings,
    bare_model,
    choose_models,
)
from orchestrator.spec.task import Task


def task(model: object = None) -> Task:
    return Task.model_validate({"objective": "x", "model": model})


def test_the_environment_overrides_settings() -> None:
    settings = Settings.load(
        {
            "ORCHESTRATE_LEAD_MODEL": "big",
            "ORCHESTRATE_SUBAGENT_MODEL": " ",
            "ORCHESTRATE_RUNS_DIR": "/data/runs",
            "ORCHESTRATE_PRICES": "~/prices.yaml",
            "ORCHESTRATE_MEMORY_DIR": "~/memory",
        }
    )
    assert settings.prices == Path("~/prices.yaml").expanduser()
    assert settings.memory_dir == Path("~/memory").expanduser()
    assert Settings.load({"ORCHESTRATE_MEMORY_DIR": ""}).memory_dir is None
    assert Settings.load({"ORCHESTRATE_PRICES": " "}).prices is None
    assert settings.lead_model == "big"
    assert settings.subagent_model == "claude-haiku-5-5"
    assert settings.runs_dir == Path("/data/runs")


def test_how_many_requests_are_under_way_is_a_whole_number() -> None:
    assert Settings.load({}).max_connections == 500
    assert Settings.load({"ORCHESTRATE_MAX_CONNECTIONS": "8"}).max_connections == 8
    for wrong in ("0", "-1", "2.5", "many", "²"):
        with pytest.raises(SpecError, match="a whole number from 1 up, got"):
            Settings.load({"ORCHESTRATE_MAX_CONNECTIONS": wrong})


def test_what_an_endpoint_lacks_is_a_list_of_known_names() -> None:
    found = Settings.load({"ORCHESTRATE_ENDPOINT_LACKS": "thinking, cache_control"})

    assert found.endpoint_lacks == ("cache_control", "thinking")
    assert Settings.load({}).endpoint_lacks == ()
    with pytest.raises(SpecError, match="`thinkin`; allowed are `cache_control`"):
        Settings.load({"ORCHESTRATE_ENDPOINT_LACKS": "thinkin"})


class TestChooseModels:
    def test_credentials_without_a_model_give_the_defaults(self) -> None:
        chosen = choose_models(task(), Settings(), True)
        assert (chosen.lead, chosen.subagents) == (
            "claude-sonnet-5-5",
            "claude-haiku-5-5",
        )
        assert "credentials were found" in chosen.reason

    def test_neither_gives_offline_and_says_why(self) -> None:
        chosen = choose_models(task(), Settings(), False)
        assert chosen.lead == chosen.subagents == "offline"
        assert "no credentials" in chosen.reason
        assert "\n" not in chosen.reason

    def test_an_address_without_a_key_is_said_to_be_of_no_use(self) -> None:
        chosen = choose_models(task(), Settings(), False, has_endpoint=True)
        assert chosen.is_offline
        assert "ANTHROPIC_BASE_URL is not used without a key" in chosen.reason
        assert "any value, for a server that asks for none" in chosen.reason

    @pytest.mark.parametrize(
        ("model", "lead", "subagents"),
        [
            ("anthropic:claude-opus-5-5", "claude-opus-5-5", "claude-opus-5-5"),
            ("qwen3:8b", "qwen3:8b", "qwen3:8b"),
            ("offline", "offline", "offline"),
            ({"lead": "a"}, "a", "claude-haiku-5-5"),
            ({"subagents": "b"}, "claude-sonnet-5-5", "b"),
            ({"lead": "offline"}, "offline", "offline"),
            ({"lead": "a", "subagents": "offline"}, "a", "offline"),
        ],
    )
    def test_the_task_decides(self, model: object, lead: str, subagents: str) -> None:
        chosen = choose_models(task(model), Settings(), True)
        assert (chosen.lead, chosen.subagents) == (lead, subagents)

    def test_a_model_without_a_key_says_how_to_set_one(self) -> None:
        with pytest.raises(SpecError) as caught:
            choose_models(task("claude-opus-5-5"), Settings(), False)
        assert "ANTHROPIC_API_KEY" in str(caught.value)
        assert "offline" in str(caught.value)

    def test_offline_needs_no_key(self) -> None:
        assert choose_models(task("offline"), Settings(), False).lead == "offline"

    def test_a_blank_model_is_refused(self) -> None:
        with pytest.raises(SpecError, match="is empty"):
            choose_models(task(" "), Settings(), True)

    @pytest.mark.parametrize(
        ("model", "summaries"),
        [
            pytest.param({"lead": "a"}, "", id="own model"),
            pytest.param(
                {"lead": "a", "subagents": "b", "summaries": "anthropic:c"},
                "c",
                id="another one for both",
            ),
            pytest.param({"summaries": "c"}, "c", id="beside the defaults"),
            pytest.param(
                {"lead": "a", "subagents": "offline", "summaries": "c"},
                "c",
                id="beside one that is offline",
            ),
            pytest.param(
                {"lead": "offline", "summaries": "c"},
                "",
                id="an offline run asks nobody",
            ),
            pytest.param(
                {"lead": "offline", "summaries": "offline"}, "", id="offline altogether"
            ),
        ],
    )
    def test_summaries_are_written_by_whom_the_task_names(
        self, model: object, summaries: str
    ) -> None:
        assert choose_models(task(model), Settings(), True).summaries == summaries

    def test_without_credentials_a_model_for_summaries_makes_no_run_spend(self) -> None:
        chosen = choose_models(task({"summaries": "c"}), Settings(), False)

        assert chosen.is_offline
        assert chosen.summaries == ""

    def test_the_offline_model_summarises_no_language_model(self) -> None:
        with pytest.raises(SpecError, match="cannot summarise") as caught:
            choose_models(task({"lead": "a", "summaries": "offline"}), Settings(), True)

        assert caught.value.field == "model.summaries"

    @pytest.mark.parametrize(
        ("model", "field"),
        [
            ("openai:gpt-5", "model.lead"),
            ({"lead": "a", "subagents": "two words"}, "model.subagents"),
            ({"summaries": "two words"}, "model.summaries"),
            ({"lead": "offline", "summaries": " "}, "model.summaries"),
        ],
    )
    def test_what_is_no_model_is_refused_before_a_run(
        self, model: object, field: str
    ) -> None:
        with pytest.raises(SpecError, match="allowed are") as caught:
            choose_models(task(model), Settings(), True)
        assert caught.value.field == field


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("anthropic:claude-opus-5-5", "claude-opus-5-5"),
        ("claude-opus-5-5", "claude-opus-5-5"),
        (" claude-opus-5-5 ", "claude-opus-5-5"),
        ("offline", "offline"),
        ("qwen3:8b", "qwen3:8b"),
        ("anthropic:openai/gpt-oss-20b", "openai/gpt-oss-20b"),
    ],
)
def test_a_name_with_and_without_its_prefix_is_one_model(name: str, bare: str) -> None:
    assert bare_model(name) == bare


def test_settings_load_neither_the_sdk_nor_pydantic() -> None:
    code = (
        "import sys, orchestrator.settings;"
        "sys.exit(bool({'anthropic', 'pydantic', 'yaml'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
