from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from orchestrator.cli.main import main
from orchestrator.cli.output import dollars
from orchestrator.cli.starter import STARTER
from orchestrator.spec.loader import load_task

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("API_KEY", "AUTH_TOKEN", "PROFILE", "CONFIG_DIR", "BASE_URL"):
        monkeypatch.delenv(f"ANTHROPIC_{name}", raising=False)
    for name in ("LEAD_MODEL", "SUBAGENT_MODEL", "RUNS_DIR"):
        monkeypatch.delenv(f"ORCHESTRATE_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def task(here: Path) -> Path:
    path = here / "survey.yaml"
    path.write_text("objective: look\nquestions: [one, two]\n")
    return path


def as_json(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


class TestInit:
    def test_the_starter_is_a_task_that_loads(
        self, here: Path, capsys: Capture
    ) -> None:
        assert main(["init"]) == 0
        assert (here / "task.yaml").read_text() == STARTER
        assert load_task(here / "task.yaml", {}).agents == ("explorer",)
        assert "orchestrate check task.yaml" in capsys.readouterr().err

    def test_a_file_is_never_overwritten(self, here: Path, capsys: Capture) -> None:
        (here / "mine.yaml").write_text("precious")
        assert main(["init", "mine.yaml"]) == 2
        assert (here / "mine.yaml").read_text() == "precious"
        assert capsys.readouterr().err.startswith("error: mine.yaml: is there already")

    def test_a_folder_that_is_not_there_is_one_line(self, capsys: Capture) -> None:
        assert main(["init", "gone/task.yaml"]) == 2
        assert capsys.readouterr().err.count("\n") == 1


class TestCheck:
    def test_everything_that_matters_is_shown(
        self, task: Path, here: Path, capsys: Capture
    ) -> None:
        assert main(["check", str(task)]) == 0

        out = capsys.readouterr().out
        for words in (
            "objective: look",
            f"workspace: {here}",
            "model: offline (the task names no model and no credentials",
            "agents/lead.md",
            "agents/explorer.md",
            "submit_findings",
            "estimate: 30 model calls",
            "at most 3,000,000 tokens",
            "2 subagents (one a question)",
        ):
            assert words in out, words

    @pytest.mark.parametrize(
        ("depth", "has_it", "words"),
        [
            pytest.param(1, False, "with 1 it works alone", id="one level"),
            pytest.param(2, True, "may send its own kind again; only", id="two levels"),
        ],
    )
    def test_what_depth_means_for_a_profile_that_delegates_is_said_once(
        self, task: Path, capsys: Capture, depth: int, has_it: bool, words: str
    ) -> None:
        chosen = ["--set", "agents=[explorer, summarizer]"]
        chosen += ["--set", f"limits.depth={depth}"]
        assert main(["check", str(task), *chosen, "--json"]) == 0

        report = as_json(capsys)
        [notice] = [each for each in report["notices"] if "summarizer" in each]
        assert words in notice
        tools = {each["name"]: each["tools"] for each in report["profiles"]}
        assert ("delegate" in tools["summarizer"]) is has_it
        assert "delegate" not in tools["explorer"]
        assumed = " ".join(report["estimate"]["assumptions"])
        assert ("subagents of subagents are not counted" in assumed) is has_it

    def test_a_lead_without_subagents_is_not_charged_for_directing_them(
        self, task: Path, capsys: Capture
    ) -> None:
        def tokens(*chosen: str) -> int:
            assert main(["check", str(task), *chosen, "--json"]) == 0
            return int(as_json(capsys)["estimate"]["tokens"])

        alone = tokens("--set", "limits.subagents=0")
        assert alone < tokens("--set", "limits.subagents=1") / 2
        assert alone == tokens("--set", "limits.depth=0")

    def test_the_estimate_is_a_range_by_role_with_and_without_a_cache(
        self, task: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        assert main(["check", str(task), "--json"]) == 0

        found = as_json(capsys)["estimate"]
        for name in ("calls", "tokens", "usd"):
            assert found["from"][name] < found[name] < found["to"][name], name
        bare = found["without_cache"]
        assert bare["cache_read_tokens"] == 0
        assert bare["tokens"] == found["tokens"] + found["cache_read_tokens"]
        assert bare["usd"] > found["usd"] > found["lead_usd"] > 0

    def test_the_estimate_takes_the_band_of_each_prompt_and_not_of_their_sum(
        self, task: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ORCHESTRATE_PRICES", "prices.yaml")

        def usd(prices: str) -> float:
            (here / "prices.yaml").write_text(prices)
            assert main(["check", str(task), "--json", "--set", "model=m"]) == 0
            return float(as_json(capsys)["estimate"]["usd"])

        plain = "m: {input: 1, output: 2"
        dear = "bands: [{over_tokens: 90000, input: 100, output: 200}]"
        assert usd(plain + "}") == usd(f"{plain}, {dear}}}")

    def test_prices_and_where_they_are_from_are_shown(
        self, task: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ORCHESTRATE_PRICES", "prices.yaml")
        text = "claude-haiku-5-5: {input: 3, output: 4, date: 2026-11-01, source: deal}"
        (here / "prices.yaml").write_text(text)

        assert main(["check", str(task)]) == 0

        out = capsys.readouterr().out
        assert (
            "price of claude-haiku-5-5: $3 in, $4 out, $3.75 written, $3 read "
            "(deal (prices.yaml), 2026-11-01)"
        ) in out
        assert "price of claude-sonnet-5-5: $2 in, $10 out" in out
        assert "(genai-prices " in out

    def test_a_fault_in_the_price_file_is_one_line_and_exit_2(
        self, task: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ORCHESTRATE_PRICES", "prices.yaml")
        (here / "prices.yaml").write_text("m:\n  input: 1\n  output: -1\n")

        for command in (["check", str(task)], ["run", str(task)]):
            assert main(command) == 2
            captured = capsys.readouterr()
            assert captured.out == ""
            assert captured.err.startswith("error: prices.yaml:3: `m.output`: must be")
        assert not (here / "runs").exists()

    def test_a_limit_in_dollars_holds_with_a_price_of_ones_own(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("ORCHESTRATE_PRICES", "prices.yaml")
        (here / "prices.yaml").write_text('"qwen*": {input: 0, output: 0}')
        (here / "t.yaml").write_text(
            "objective: x\nmodel: qwen3-unknown\nlimits: {usd: 1}\n"
        )

        assert main(["check", "t.yaml", "--json"]) == 0

        found = as_json(capsys)["estimate"]
        assert (found["usd"], found["limit_usd"]) == (0, 1)

    def test_nothing_is_written(self, task: Path, here: Path) -> None:
        assert main(["check", str(task)]) == 0
        assert list(here.iterdir()) == [task]

    def test_json_holds_the_same(
        self, task: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-that-never-shows")
        assert main(["check", str(task), "--json", "--set", "limits.usd=1"]) == 0

        text = capsys.readouterr().out
        report = json.loads(text)
        assert report["models"]["lead"] == "claude-sonnet-5-5"
        assert [row["name"] for row in report["profiles"]] == ["lead", "explorer"]
        assert report["profiles"][1]["model"] == "claude-haiku-5-5"
        assert report["task"]["limits"]["usd"] == 1
        assert report["estimate"]["limit_usd"] == 1
        assert 0 < report["estimate"]["usd"] < 1
        assert 10_000 < report["estimate"]["tokens"] < 500_000
        assert "key-that-never-shows" not in text

    @pytest.mark.parametrize(
        ("text", "arguments", "words"),
        [
            ("objektive: x", [], "bad.yaml:1: `objektive`: unknown key; did you mean"),
            ("objective: a: b", [], "bad.yaml:1: `objective`: found an unquoted colon"),
            ("objective: x\nagents: [scout]", [], "bad.yaml:2: `agents`: no profile"),
            ("objective: x", ["--set", "limits.usd=a"], "(from `--set limits.usd=a`)"),
            ("objective: x", ["--set", "limits"], "expected `--set key=value`"),
            (
                "objective: x\nredact: []",
                [],
                "bad.yaml:2: `redact`: not yet",
            ),
            ("objective: x\nagents: [mine]", [], "agents/mine.md:2: `description`"),
            ("", [], "bad.yaml: is empty"),
        ],
    )
    def test_a_fault_is_one_line_and_exit_2(
        self, here: Path, capsys: Capture, text: str, arguments: list[str], words: str
    ) -> None:
        (here / "agents").mkdir()
        (here / "agents/mine.md").write_text("---\ndescription: a: b\n---\nx")
        (here / "bad.yaml").write_text(text)

        assert main(["check", "bad.yaml", *arguments]) == 2

        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("error: ")
        assert words in captured.err
        assert captured.err.count("\n") == 1

    def test_a_missing_file_is_exit_2(self, capsys: Capture) -> None:
        assert main(["check", "gone.yaml"]) == 2
        assert capsys.readouterr().err == "error: gone.yaml: no such task file\n"

    def test_a_written_limit_in_dollars_needs_a_price(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        path = here / "t.yaml"
        path.write_text("objective: x\nmodel: qwen3-unknown\nlimits: {usd: 1}\n")
        assert main(["check", "t.yaml"]) == 2
        assert "t.yaml:3: `limits.usd`: " in capsys.readouterr().err

        path.write_text("objective: x\nmodel: qwen3-unknown\n")
        assert main(["check", "t.yaml"]) == 0
        out = capsys.readouterr().out
        assert "dollars unknown" in out
        assert "note: the price of `qwen3-unknown` is unknown" in out

    def test_the_model_after_a_refusal_is_shown_and_must_have_a_price_too(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        path = here / "t.yaml"
        path.write_text("objective: x\nfallback_model: claude-opus-5-5\n")
        assert main(["check", "t.yaml"]) == 0
        out = capsys.readouterr().out
        assert "after a refusal: claude-opus-5-5 (the estimate leaves it out)" in out
        assert "price of claude-opus-5-5: $" in out
        assert main(["check", "t.yaml", "--json"]) == 0
        assert as_json(capsys)["models"]["fallback"] == "claude-opus-5-5"

        path.write_text("objective: x\nfallback_model: own\nlimits: {usd: 1}\n")
        assert main(["check", "t.yaml"]) == 2
        told = capsys.readouterr().err
        assert "the price of `own` (`fallback_model`) is unknown" in told
        # An offline run asks nobody else.
        assert main(["check", "t.yaml", "--set", "model=offline"]) == 0

    @pytest.mark.parametrize(
        ("model", "words"),
        [
            ("claude-opus-5-5", "is the model of all agents"),
            ("{subagents: claude-opus-5-5}", "is the model of some agents already"),
            ("offline", "is not used: this run is offline"),
            ("claude-haiku-5-5", ""),
        ],
    )
    def test_a_model_that_will_never_go_on_after_a_refusal_is_told(
        self,
        here: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: Capture,
        model: str,
        words: str,
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        text = f"objective: x\nmodel: {model}\nfallback_model: claude-opus-5-5\n"
        (here / "t.yaml").write_text(text)

        assert main(["check", "t.yaml", "--json"]) == 0
        notices = [n for n in as_json(capsys)["notices"] if "`fallback_model" in n]

        assert len(notices) == bool(words)
        assert all(words in each for each in notices)

    def test_no_credentials_are_needed_to_check_and_that_run_will_is_told(
        self, task: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        command = ["check", str(task), "--model", "claude-haiku-5-5"]

        assert main(command) == 0
        out = capsys.readouterr().out
        assert "model: claude-haiku-5-5 (as the task says)" in out
        assert "): lead $" in out
        assert "note: no credentials: `run` will need ANTHROPIC_API_KEY" in out

        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        assert main(command) == 0
        assert "no credentials" not in capsys.readouterr().out

        monkeypatch.setenv("ANTHROPIC_API_KEY", "k\n1")
        assert main(command) == 2
        assert "`ANTHROPIC_API_KEY` holds a line end" in capsys.readouterr().err

    def test_a_limit_below_the_least_that_it_will_take_is_told(
        self, task: Path, capsys: Capture
    ) -> None:
        command = ["check", str(task), "--model", "claude-haiku-5-5", "--json"]
        limits = ["--set", "limits.usd=0.002", "--set", "limits.tokens=9000"]
        assert main([*command, *limits]) == 0
        report = as_json(capsys)
        told = [each for each in report["notices"] if "is below the least" in each]
        least = report["estimate"]["from"]
        assert told == [
            "`limits.usd` 0.002 is below the least that this will probably cost, "
            f"${dollars(least['usd'])}",
            "`limits.tokens` 9,000 is below the least that this will probably take, "
            f"{least['tokens']:,}",
        ]

        assert main(command) == 0
        assert "is below the least" not in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("model", "asks"),
        [
            ("claude-haiku-55", True),
            ("claude-sonet-5-5", True),
            ("claude-a", False),
            ("mine", False),
        ],
    )
    def test_an_id_that_is_nearly_a_known_one_is_asked_about(
        self, task: Path, capsys: Capture, model: str, asks: bool
    ) -> None:
        assert main(["check", str(task), "--model", model]) == 0

        out = capsys.readouterr().out
        assert f"the price of `{model}`" in out
        assert ("(did you mean `claude-" in out) == asks

    def test_entries_of_the_price_file_that_no_model_takes_are_told(
        self, task: Path, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ORCHESTRATE_PRICES", "prices.yaml")
        rates = "{input: 1, output: 2}"

        def notices(prices: str) -> list[str]:
            (here / "prices.yaml").write_text(prices)
            assert main(["check", str(task), "--model", "mine", "--json"]) == 0
            return [n for n in as_json(capsys)["notices"] if "price file" in n]

        assert notices(f"'mi*': {rates}\n") == []
        assert notices(f"mine: {rates}\nmime: {rates}\n") == [
            "of the price file, no model of this run takes `mime`"
        ]
        assert notices(f"mime: {rates}\n") == [
            "the price file has no entry for `mine`, only for `mime`"
        ]

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("openai:gpt-5", "is of another provider"),
            ("two words", "is no model"),
            ("offline", "cannot go on with the conversation of a language model"),
        ],
    )
    def test_what_cannot_go_on_after_a_refusal_is_refused(
        self,
        here: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: Capture,
        name: str,
        words: str,
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        (here / "t.yaml").write_text(f"objective: x\nfallback_model: {name}\n")

        assert main(["check", "t.yaml"]) == 2

        told = capsys.readouterr().err
        assert "t.yaml:2: `fallback_model`: " in told
        assert words in told

    def test_the_window_of_ones_own_model_can_be_told(
        self, here: Path, capsys: Capture
    ) -> None:
        policy = "context_policy: {window_tokens: 16000}"
        (here / "t.yaml").write_text(f"objective: x\n{policy}\n")

        assert main(["check", "t.yaml"]) == 0
        assert "window_tokens: 16000" in capsys.readouterr().out

    def test_a_profile_beside_the_task_wins_and_says_so(
        self, task: Path, here: Path, capsys: Capture
    ) -> None:
        (here / "agents").mkdir()
        (here / "agents/explorer.md").write_text(
            "---\ndescription: Mine.\ntools: Read, Bash\nmaxTurns: 7\ncolor: red\n"
            "---\nx"
        )
        assert main(["check", str(task), "--json"]) == 0
        report = as_json(capsys)

        mine = report["profiles"][1]
        assert mine["source"] == "agents/explorer.md"
        assert mine["not_available"] == ["bash"]
        assert mine["limits"] == {"turns": 7}
        assert any("color" in notice for notice in report["notices"])

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("ANTHROPIC_API_KEY", "sk-x\n", "holds a line end"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:abc", "from 1 to 65535"),
            ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8/v1", "leave out `/v1`"),
        ],
    )
    def test_what_a_run_could_not_send_with_is_told(
        self,
        task: Path,
        capsys: Capture,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        value: str,
        words: str,
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        monkeypatch.setenv(name, value)

        for chosen in ([], ["--set", "model=claude-haiku-5-5"]):
            assert main(["check", str(task), *chosen]) == 2
            error = capsys.readouterr().err
            assert error.startswith(f"error: `{name}`")
            assert words in error
        assert main(["check", str(task), "--set", "model=offline"]) == 0


class TestAgents:
    def test_profiles_in_force_are_listed_with_what_they_hide(
        self, here: Path, capsys: Capture
    ) -> None:
        (here / ".claude/agents").mkdir(parents=True)
        (here / ".claude/agents/explorer.md").write_text(
            "---\ndescription: Mine.\n---\nx"
        )
        (here / ".claude/agents/bad.md").write_text(
            "---\ndescription: d\nmodel: a: b\n---\nx"
        )

        assert main(["agents"]) == 0
        captured = capsys.readouterr()
        assert ".claude/agents/explorer.md" in captured.out
        assert "not used: " in captured.out
        assert "problem: .claude/agents/bad.md:3: `model`" in captured.err

        assert main(["agents", "--json"]) == 0
        report = as_json(capsys)
        assert report["profiles"][0]["name"] == "lead"
        assert len(report["problems"]) == len(report["shadowed"]) == 1


class TestTools:
    def test_every_tool_is_listed_with_its_cost(self, capsys: Capture) -> None:
        assert main(["tools", "--json"]) == 0
        rows = {row["name"]: row for row in as_json(capsys)}
        assert set(rows) == {
            "delegate", "wait_for", "follow_up", "cancel", "finish", "submit_findings",
            "update_notes", "read_ref", "recall", "read_file", "grep", "glob",
            "list_dir", "write_file", "edit_file", "bash", "fetch_url", "memory",
        }  # fmt: skip
        assert rows["bash"]["who"] == "with allow: shell"
        assert rows["delegate"]["who"] == "lead, subagents by depth"
        assert rows["finish"]["who"] == "lead"
        assert rows["memory"]["who"] == "with memory: lead, subagents by name"
        assert rows["submit_findings"]["who"] == "subagents"
        assert all(row["tokens"] > 20 and row["description"] for row in rows.values())

    def test_the_lead_carries_less_than_3000_tokens_of_tools(
        self, capsys: Capture
    ) -> None:
        assert main(["tools", "--json"]) == 0
        rows = as_json(capsys)
        assert sum(row["tokens"] for row in rows if row["who"] != "subagents") < 3000

    def test_text_has_a_line_per_tool_and_says_what_by_depth_means(
        self, capsys: Capture
    ) -> None:
        assert main(["tools"]) == 0
        head, *lines, note = capsys.readouterr().out.splitlines()
        assert head.startswith("tool ")
        assert len(lines) == 18
        assert note.startswith("By depth: from `limits.depth: 2` on")


class TestSchema:
    def test_it_is_json_for_editors(self, capsys: Capture) -> None:
        assert main(["schema"]) == 0
        assert as_json(capsys)["required"] == ["objective"]


@contextmanager
def answers(status: int, body: bytes) -> Iterator[tuple[str, list[str]]]:
    """A server that answers one POST so; GET it has only a page for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(f"{self.path} {self.headers}")
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("location", "http://127.0.0.1:9/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.handle_request, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked


NO_KEY = b'{"type": "error", "error": {"type": "authentication_error", "message": "k"}}'
NO_PATH = b'{"type": "error", "error": {"type": "not_found_error", "message": "no"}}'


class TestDoctor:
    def run(self, capsys: Capture, *arguments: str) -> tuple[int, dict[str, Any]]:
        status = main(["doctor", "--json", *arguments])
        return status, {check["name"]: check for check in as_json(capsys)}

    def test_all_is_well_where_the_endpoint_answers(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key-that-never-shows")
        monkeypatch.setenv("no_proxy", "*")
        with answers(401, NO_KEY) as (url, asked):
            monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{url}/some/prefix")
            status, checks = self.run(capsys)

        assert status == 0
        assert checks["endpoint"]["state"] == "ok"
        assert "/some/prefix answers as a Messages API" in checks["endpoint"]["found"]
        assert checks["credentials"]["found"] == "ANTHROPIC_API_KEY"
        assert checks["ripgrep"]["state"] == "ok"
        assert checks["sandbox"]["state"] == "ok"
        assert "key-that-never-shows" not in f"{checks} {asked}"
        assert asked[0].startswith("/some/prefix/v1/messages ")
        assert not (here / "runs").exists()

    def test_the_embedder_is_asked_for_a_vector(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("no_proxy", "*")
        monkeypatch.setenv("ORCHESTRATE_EMBEDDER", "openai:tiny")
        vector = b'{"data": [{"index": 0, "embedding": [0.5, 1.0, 2.0]}]}'
        with answers(200, vector) as (url, _asked):
            monkeypatch.setenv("ORCHESTRATE_EMBEDDER_URL", url)
            _, checks = self.run(capsys)
        status, gone = self.run(capsys)

        assert checks["embedder"]["found"] == "openai:tiny: vectors of 3 numbers"
        assert gone["embedder"]["state"] == "problem"
        assert "cannot be reached" in gone["embedder"]["found"]
        assert status == 1

    @pytest.mark.parametrize(
        ("status", "body", "state"),
        [
            pytest.param(400, b'{"error": {"message": "m"}}', "ok", id="llama.cpp"),
            pytest.param(422, b'{"detail": [{"msg": "x"}]}', "ok", id="FastAPI"),
            pytest.param(404, NO_PATH, "ok", id="the API's own 404"),
            pytest.param(529, b"busy", "note", id="overloaded"),
            pytest.param(404, b'{"detail": "Not Found"}', "problem", id="no such path"),
            pytest.param(404, b"<h1>Not found</h1>", "problem", id="a page"),
            pytest.param(405, b"", "problem", id="takes no POST"),
            pytest.param(501, b"<h1>Unsupported</h1>", "problem", id="a file server"),
            pytest.param(400, b"<h1>Bad</h1>", "problem", id="a page of another kind"),
            pytest.param(200, b"{}", "problem", id="takes anything"),
            pytest.param(307, b"", "problem", id="sends it on"),
        ],
    )
    def test_what_is_no_messages_api_is_told(
        self,
        monkeypatch: pytest.MonkeyPatch,
        capsys: Capture,
        status: int,
        body: bytes,
        state: str,
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        monkeypatch.setenv("no_proxy", "*")
        with answers(status, body) as (url, _):
            monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
            exit_code, checks = self.run(capsys)

        assert checks["endpoint"]["state"] == state
        assert exit_code == int(state == "problem")
        if state == "problem":
            assert "answers, but not as a Messages API" in checks["endpoint"]["found"]
            assert f"status {status}" in checks["endpoint"]["found"]

    def test_a_key_that_no_header_can_carry_is_a_problem(
        self, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x\n")
        _, checks = self.run(capsys)

        assert checks["credentials"]["state"] == "problem"
        assert "`ANTHROPIC_API_KEY` holds a line end" in checks["credentials"]["found"]
        assert "sk-x" not in str(checks)

    def test_a_silent_endpoint_is_a_problem_only_with_credentials(
        self, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://u:pw4you@127.0.0.1:9")
        monkeypatch.setenv("no_proxy", "*")
        status, checks = self.run(capsys)
        assert (status, checks["endpoint"]["state"]) == (0, "note")
        assert "pw4you" not in str(checks)

        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        status, checks = self.run(capsys)
        assert (status, checks["endpoint"]["state"]) == (1, "problem")

    @pytest.mark.parametrize(
        "url", ["file:///etc/passwd", "http://h:port", "nothing", "", "http://h/v1"]
    )
    def test_an_address_that_is_none_is_named(
        self, monkeypatch: pytest.MonkeyPatch, capsys: Capture, url: str
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        status, checks = self.run(capsys)
        assert (status, checks["endpoint"]["state"]) == (1, "problem")

    def test_prices_of_ones_own_and_fields_left_out_are_named(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        _, checks = self.run(capsys)
        assert not {"prices", "endpoint lacks"} & set(checks)

        monkeypatch.setenv("ORCHESTRATE_ENDPOINT_LACKS", "thinking")
        monkeypatch.setenv("ORCHESTRATE_PRICES", "mine.yaml")
        (here / "mine.yaml").write_text(
            '"qwen*": {input: 0, output: 0}\n'
            "one: {input: 1, output: 2, date: 2026-10-01}\n"
        )
        _, checks = self.run(capsys)
        assert checks["endpoint lacks"]["found"].startswith("`thinking`")
        assert checks["prices"]["state"] == "ok"
        assert checks["prices"]["found"] == "mine.yaml: 2 entries, newest of 2026-10-01"

    @pytest.mark.parametrize("text", [None, "[1]", "one: {input: -1, output: 2}"])
    def test_a_price_file_that_will_not_do_is_a_problem(
        self,
        here: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: Capture,
        text: str | None,
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        monkeypatch.setenv("ORCHESTRATE_PRICES", "mine.yaml")
        if text is not None:
            (here / "mine.yaml").write_text(text)
        status, checks = self.run(capsys)
        assert (status, checks["prices"]["state"]) == (1, "problem")
        assert "mine.yaml" in checks["prices"]["found"]

    def test_a_file_in_place_of_the_runs_folder_is_a_problem(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
        (here / "runs").write_text("x")
        status, checks = self.run(capsys)
        assert (status, checks["runs folder"]["state"]) == (1, "problem")


def test_the_module_of_the_commands_loads_nothing_heavy() -> None:
    code = (
        "import sys, orchestrator.cli.spec_commands;"
        "heavy = {'pydantic', 'yaml', 'rich', 'anthropic', 'jsonschema'};"
        "sys.exit(bool(heavy & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
