"""No secret gets anywhere, wherever it comes from; quotes around it still hold."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pytest
from made_up_secrets import FORMS, PASSWORD, pem
from run_bench import (
    Prints,
    RunBench,
    brief,
    delegate,
    finish,
    found,
    in_turn,
    item,
    last_results,
)

from orchestrator.cli.main import main
from orchestrator.errors import ToolError
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call

IN_FILE, IN_OBJECTIVE = FORMS["github"], FORMS["aws"]
IN_CONTEXT, IN_OUTPUT = FORMS["slack"], FORMS["stripe"]
IN_ERROR, IN_CONSTRAINT, IN_QUESTION = FORMS["npm"], FORMS["gitlab"], FORMS["google"]
SECRETS = {
    "file": IN_FILE,
    "password in the file": PASSWORD,
    "objective": IN_OBJECTIVE,
    "context file": IN_CONTEXT,
    "tool output": IN_OUTPUT,
    "tool error": IN_ERROR,
    "constraint": IN_CONSTRAINT,
    "question": IN_QUESTION,
    "key": pem().splitlines()[2],
}
PLACEHOLDER = re.compile(r"\[secret:[a-z0-9-]+:[0-9a-f]{8}\]")
DEPLOY = (
    "# Deploy\n\n"
    f"Use the token {IN_FILE} when you deploy the service.\n"
    f'password = "{PASSWORD}"\n'
    f"{pem()}\n"
    "The service is deployed every Monday at noon.\n"
)


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(
        tmp_path,
        {"deploy.md": DEPLOY, "AGENTS.md": f"Ask with {IN_CONTEXT} in the header.\n"},
    )


def prints(agent: str) -> str | ToolError:
    if agent == "lead":
        return ToolError(f"the service refused {IN_ERROR}")
    return f"The service answers with {IN_OUTPUT} in its header.\n" * 2000


def submits(request: ModelRequest) -> Step:
    """Quote the line of the token as it was shown."""
    lines = last_results(request).split("\n")
    [line] = [line for line in lines if "when you deploy" in line]
    number, _, words = line.strip().partition("\t")
    token = item("A token is needed to deploy.", f"deploy.md:{number}", words)
    return call("submit_findings", **found(token))


async def test_a_secret_gets_nowhere_and_quotes_around_it_hold(
    bench: RunBench, capsys: pytest.CaptureFixture[str]
) -> None:
    noted = call(
        "update_notes", section="Facts", mode="append", text="The token is redacted."
    )
    ended = await bench.play(
        in_turn(
            [call("prints"), noted],
            delegate(brief("Deploys", scope={"include": ["deploy.md"]})),
            finish("A token is needed [a1#1], [deploy.md:3]."),
        ),
        {
            "Deploys": in_turn(
                [call("prints"), call("grep", pattern="token|password|KEY"), noted],
                call("read_file", path="deploy.md"),
                submits,
            )
        },
        tools=[Prints(prints)],
        objective=f"Explain how to deploy; the old key was {IN_OBJECTIVE}, now gone.",
        constraints=(f"Never use {IN_CONSTRAINT} for anything.",),
        questions=(f"Is {IN_QUESTION} still in use?",),
        context=("AGENTS.md",),
    )

    assert ended.result.state == "done"
    assert ended.json("agents/a1/findings.json")["status"] == "complete"
    for name, secret in SECRETS.items():
        needle = secret.encode()
        sent = [r for r in ended.requests if needle in r.body]
        assert sent == [], f"the secret of the {name} was sent"
        kept = [file for file, data in ended.everything() if needle in data]
        assert kept == [], f"the secret of the {name} is on disk"
    [quote] = ended.json("agents/a1/findings.json")["items"][0]["evidence"]
    assert PLACEHOLDER.search(quote["quote"])
    run = str(ended.folder)
    for command in ("show", "notes", "logs", "transcript"):
        assert main([command, run, *(["a1"] if command == "transcript" else [])]) == 0
    shown = capsys.readouterr()
    for name, secret in SECRETS.items():
        assert secret not in shown.out + shown.err, name


async def test_the_same_secret_is_the_same_placeholder_for_every_agent(
    bench: RunBench,
) -> None:
    look = call("grep", pattern="when you deploy")
    nothing = call("submit_findings", **found(status="nothing_found"))
    ended = await bench.play(
        [look, delegate(brief("One"), brief("Two")), finish("Nothing more.")],
        {title: [look, nothing] for title in ("One", "Two")},
    )

    shown = [
        ended.results("grep", agent)[0].split("\n")[0] for agent in ("lead", "a1", "a2")
    ]
    assert PLACEHOLDER.search(shown[0])
    assert len(set(shown)) == 1


async def test_events_on_the_terminal_hold_no_secret(
    bench: RunBench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ORCHESTRATE_RUNS_DIR", str(bench.runs))
    look = call("read_file", path="deploy.md")
    ended = await bench.play([look, finish("Every Monday [deploy.md:10].")], {})

    assert main(["logs", "last", "--json"]) == 0
    out = capsys.readouterr().out
    assert [orjson.loads(line)["seq"] for line in out.splitlines()]
    assert all(secret not in out for secret in SECRETS.values())
    assert ended.result.state == "done"


async def test_a_quote_of_what_was_shown_before_its_value_was_known_still_holds(
    tmp_path: Path,
) -> None:
    value = "Tr0ub4" + "dor-3x"
    naked = f"Staging is reached with {value} as everywhere else.\n"
    bench = RunBench(tmp_path, {"notes.md": naked, ".env": f"DB_PASSWORD={value}\n"})

    def submits(request: ModelRequest) -> Step:
        quote = item("Staging has the usual password.", "notes.md:1", naked.strip())
        lines = last_results(request).split("\n")
        [line] = [line for line in lines if "DB_PASSWORD" in line]
        marked = line.strip().partition("\t")[2]
        again = item("It is in its settings, too.", ".env:1", marked)
        return call("submit_findings", **found(quote, again))

    ended = await bench.play(
        [delegate(brief("Staging")), finish("It has a password [a1#1].")],
        {
            "Staging": in_turn(
                call("read_file", path="notes.md"),
                call("read_file", path=".env"),
                submits,
            )
        },
    )

    assert ended.json("agents/a1/findings.json")["status"] == "complete"
    [done] = ended.events("subagent.ended")
    assert done.data["unsupported"] == 0
    quotes = [
        each["evidence"][0]["quote"]
        for each in ended.json("agents/a1/findings.json")["items"]
    ]
    marks = [PLACEHOLDER.findall(quote) for quote in quotes]
    assert marks[0] == marks[1] != []
    assert ended.results("read_file", "a1")[0].count(value) == 1


async def test_a_value_comes_back_as_its_placeholder_where_its_name_is_missing(
    tmp_path: Path,
) -> None:
    value = "Tr0ub4" + "dor-3x"
    bench = RunBench(tmp_path, {".env": f"DB_PASSWORD={value}\n"})
    outputs = iter([f"{value}\n", f"GET /?p={value}&x=1\n"])

    ended = await bench.play(
        [
            call("read_file", path=".env"),
            call("prints"),
            call("prints"),
            finish("It has a password [.env:1]."),
        ],
        {},
        tools=[Prints(lambda _agent: next(outputs))],
    )

    assert ended.result.state == "done"
    read, *printed = ended.results("read_file"), *ended.results("prints")
    marks = {PLACEHOLDER.findall(text)[0] for text in (*read, *printed)}
    assert len(printed) == 2
    assert len(marks) == 1
    assert [file for file, data in ended.everything() if value.encode() in data] == []
