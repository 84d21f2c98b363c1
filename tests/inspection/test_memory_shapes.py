"""The published schema of `memory` fits what its commands print, field by field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator
from shown_shapes import closed, fields_of, filled_in

from orchestrator.cli.main import main
from orchestrator.inspection.shapes import schema_of
from orchestrator.memory.entries import Place
from orchestrator.memory.keeping import Author, Put
from orchestrator.memory.memory import Memory


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main(["memory", *argv, "--json"]) == 0, argv
    return orjson.loads(capsys.readouterr().out)


def test_what_is_printed_fits_its_schema_and_fills_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ORCHESTRATE_MEMORY_DIR", str(tmp_path / "kept"))
    monkeypatch.delenv("ORCHESTRATE_EMBEDDER", raising=False)
    monkeypatch.chdir(tmp_path)
    memory = Memory(
        tmp_path / "kept/user",
        workspace=tmp_path,
        redact=str,
        today=lambda: "2026-11-29",
    )
    (tmp_path / "a.py").write_text("x = 1\n")
    for value in ("Ten minutes it is.", "Fifteen minutes it is."):
        put = Put("auth.md", "Token lifetime", value, (Place("a.py", 1),), 0.9, "How.")
        memory.keep([put], Author("run-1", "a2"))
    user = ("--scope", "user")
    assert main(["memory", "export", "all.jsonl", *user]) == 0

    found = [
        told(capsys, "list"),
        told(capsys, "search", "tokens"),
        told(capsys, "import", "all.jsonl"),
        told(capsys, "list", *user),
        told(capsys, "list", "auth", *user),
        told(capsys, "show", "token lifetime", *user),
        told(capsys, "show", "auth.md", *user),
        told(capsys, "search", "lifetime of a token", *user),
        told(capsys, "forget", "token lifetime", "--yes", *user),
    ]

    schema = schema_of("memory")
    validator = Draft202012Validator(closed(schema))
    for each in found:
        assert [error.message[:300] for error in validator.iter_errors(each)] == []
    names = set(fields_of(schema, schema))
    seen = {path for each in found for path in filled_in(each, names)}
    assert names - seen == set()
