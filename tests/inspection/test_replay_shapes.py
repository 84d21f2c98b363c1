"""The published schema of `replay` fits what it prints, field by field."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest
from golden import copied
from jsonschema import Draft202012Validator
from real_runs import offline_run

from orchestrator.cli.main import main
from orchestrator.inspection.shapes.of_replays import Replay, TwoPolicies

Capture = pytest.CaptureFixture[str]


def told(capsys: Capture, *argv: str) -> Any:
    main(["replay", *argv, "--json"])
    return orjson.loads(capsys.readouterr().out)


def same_fields(found: Any, shape: Any, at: str = "") -> list[str]:
    """Return where an object has other fields than its shape, at any depth."""
    schema = shape.model_json_schema(mode="serialization")
    wrong: list[str] = []

    def look(value: Any, here: Any, path: str) -> None:
        if "$ref" in here:
            here = schema["$defs"][here["$ref"].rpartition("/")[2]]
        if isinstance(value, list):
            for each in value:
                look(each, here.get("items", {}), path)
        elif isinstance(value, dict) and "properties" in here:
            wrong.extend(f"{path}.{n}" for n in value.keys() ^ here["properties"])
            for name in value.keys() & here["properties"].keys():
                look(value[name], here["properties"][name], f"{path}.{name}")

    Draft202012Validator(schema).validate(found)
    look(found, schema, at)
    return wrong


@pytest.mark.slow
def test_a_replay_has_the_fields_of_its_schema(tmp_path: Path, capsys: Capture) -> None:
    run = offline_run(tmp_path).path
    changed = tmp_path / "changed" / run.name
    shutil.copytree(run, changed)
    brief = changed / "inputs" / "prompts" / "brief.md"
    brief.write_text(f"Now: {brief.read_text()}")

    same, other = told(capsys, str(run)), told(capsys, str(changed))

    assert (same["v"], same["is_same"], other["is_same"]) == (1, True, False)
    assert other["differences"]
    assert same_fields(same, Replay) == same_fields(other, Replay) == []


def test_a_comparison_of_policies_has_the_fields_of_its_schema(
    tmp_path: Path, capsys: Capture
) -> None:
    run = str(copied("v1", tmp_path / "run").path)
    policy = tmp_path / "policy.yaml"
    policy.write_text("preset: dialogue\nlast_steps: 1\n")

    found = told(capsys, run, "--context", str(policy))

    assert found["v"] == 1
    assert found["changes"]
    assert found["agents"]
    assert same_fields(found, TwoPolicies) == []
