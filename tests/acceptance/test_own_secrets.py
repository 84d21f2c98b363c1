"""The keys of the process get nowhere, wherever an endpoint or a model repeats them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from fake_endpoint import (
    Answer,
    Block,
    FakeEndpoint,
    body,
    events_of,
    raw,
    refused,
    stream,
    stream_error,
    text,
    tool_use,
)
from fault_bench import FaultPolicy, left_by, place_of, right_reply
from faults import Fault
from run_bench import Ended, RunBench
from serving import serving

from orchestrator.api import Orchestrator
from orchestrator.cli.main import main
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.governor import Governor
from orchestrator.testing import FakeClock

pytestmark = pytest.mark.slow

# One of a form that is known, and one that only this process can know.
KEY = "sk-" + "ant-api03-AbCdEfGh1234567890ijklMNOPqrstUVWXyz_-0987654321abcdEFGH-QQ"
PLAIN = "corp-gateway-" + "token-zX81kfQ02mmA"
HEADER, PASSWORD = "h34d3r-" + "of-the-team-9", "p4ss-" + "of+the%2Fproxy"
SECRETS = (KEY, PLAIN, HEADER, PASSWORD)
SENT = f"{KEY} and {PLAIN} and Bearer {HEADER}"
BOTH = f"{SENT} and {PASSWORD}"
FILES = {
    "refunds.md": (
        f"A refund takes 14 days; ask with {PLAIN} in the header.\n"
        "Without a receipt a refund takes 30 days at the most.\n"
    )
}

Capture = pytest.CaptureFixture[str]
Whole = dict[str, Any]


@pytest.fixture(autouse=True)
def _keys(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = f"X-Team: research\nX-Proxy-Auth: Bearer {HEADER}"
    monkeypatch.setenv("ANTHROPIC_API_KEY", PLAIN)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", headers)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://user:{PASSWORD}@127.0.0.1:1")


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, FILES)


def leaks(where: str, shown: str) -> Iterator[str]:
    for secret in SECRETS:
        if secret[:20] in shown:
            yield f"{secret[:8]}… in {where}"


def pages(folder: Path, capsys: Capture) -> Iterator[str]:
    """What leaks out of all that people are shown of a run."""
    yield from leaks("output of the run", "".join(capsys.readouterr()))
    for command in ("show", "logs", "notes", "transcript"):
        agents = ["lead", "a1"] if command == "transcript" else [""]
        for agent in agents:
            for options in ([], ["--json"]):
                named = [name for name in (str(folder), agent) if name]
                main([command, *named, *options])
                shown = capsys.readouterr()
                yield from leaks(f"{command} {agent} {options}", shown.out + shown.err)


def files(ended: Ended) -> Iterator[str]:
    """What leaks into the files of a run; blocks of models in its log are apart."""
    for name, data in ended.everything():
        lines = data.split(b"\n")
        if name == "events.jsonl":
            lines = [_without_blocks(line) for line in lines if line]
        yield from leaks(name, b"\n".join(lines).decode(errors="replace"))


def _without_blocks(line: bytes) -> bytes:
    event = orjson.loads(line)
    if event["kind"] == "model.answered":
        del event["data"]["content"]
    return orjson.dumps(event)


def moved(location: str) -> Answer:
    return Answer(status=302, headers={"location": location}, body=b"")


def ends(whole: Whole, **delta: Any) -> Answer:
    """The right reply, with another end."""
    *head, end, stop = events_of(whole)
    return raw(*head, {**end, "delta": {**end["delta"], **delta}}, stop)


def headed(whole: Whole, **fields: Any) -> Answer:
    """The right reply, with another head."""
    return Answer(events=tuple(events_of({**whole, **fields})))


def missed(whole: Whole) -> Answer:
    told = {"cache_miss_reason": {"type": f"{'x' * 80} {BOTH}"}}
    return headed(whole, diagnostics=told)


LONG = "x" * 560
SAYS: dict[str, Callable[[Whole], Answer]] = {
    "400": lambda _: refused(400, "invalid_request_error", f"bad header: {BOTH}"),
    "401": lambda _: refused(401, "authentication_error", f"bad x-api-key: {BOTH}"),
    "429": lambda _: refused(429, "rate_limit_error", BOTH, code=PLAIN),
    "500": lambda _: refused(500, "api_error", f"upstream said {BOTH}"),
    "type": lambda _: refused(400, f"{KEY}{'x' * 60}{PLAIN}", "bad"),
    "code": lambda _: refused(400, "invalid_request_error", "bad", code=BOTH),
    "cut": lambda _: refused(400, "", f"{LONG} {KEY} {PLAIN}"),
    "cut, plain": lambda _: refused(400, "", f"{LONG} …… {PLAIN}"),
    "cut far off": lambda _: refused(400, "", f"{KEY} " * 40 + "x" * 3970 + PLAIN),
    "cut further": lambda _: refused(400, "", f"{pieces()}{PLAIN}"),
    "details": lambda _: body(
        orjson.dumps({"detail": [{"input": {"key": BOTH}}]}),
        "application/json",
        status=400,
    ),
    "page": lambda _: body(
        f"<html><title>bad {BOTH}</title></html>".encode(), "text/html", status=502
    ),
    "redirect": lambda _: moved(f"http://u:{PASSWORD}@x.invalid/{PLAIN}/{KEY}?k=1"),
    "query": lambda _: moved(f"http://x.invalid/v1?key={PLAIN}&other={KEY}"),
    "garbage": lambda _: body(f"hello {BOTH}".encode(), "text/plain"),
    "bad event": lambda _: body(f"data: {{bad {BOTH}\n\n".encode()),
    "long bad event": lambda _: body(f"data: {{{'y' * 180} {BOTH}\n\n".encode()),
    "error event": lambda _: stream_error("api_error", f"it said {BOTH}"),
    "refusal": lambda whole: ends(
        whole,
        stop_reason="refusal",
        stop_details={"category": f"{'c' * 70} {KEY}", "explanation": BOTH, KEY: 1},
    ),
    "stop reason": lambda whole: ends(whole, stop_reason=f"{PLAIN}{KEY}"),
    "model": lambda whole: headed(whole, model=KEY),
    "id": lambda whole: headed(whole, id=f"msg_{PLAIN}"),
    "cache miss": missed,
}
"""Where an endpoint may say it: name → what it answers in place of the right reply."""


def pieces() -> str:
    """So many words that a secret behind them falls on the bound of what is kept."""
    return "word " * 797


@pytest.mark.parametrize("place", [("lead", 0), ("First", 1)], ids=["lead", "subagent"])
@pytest.mark.parametrize("says", SAYS.values(), ids=SAYS)
async def test_no_key_that_an_endpoint_repeats_gets_anywhere(
    bench: RunBench,
    capsys: Capture,
    says: Callable[[Whole], Answer],
    place: tuple[str, int],
) -> None:
    policy = FaultPolicy(Fault(says), place)

    async with serving(bench.runs, policy) as (_, here):
        result = await here.run(bench.task(model="claude-haiku-5-5"))

    assert policy.met == 1
    assert [*leaks("result", repr(result)), *files(left_by(result))] == []
    assert list(pages(result.folder, capsys)) == []


def with_secrets(asked: Whole) -> list[Block]:
    """What agents say where they repeat the keys in whatever they write."""
    who, done = place_of(asked)
    blocks: list[Block] = [text(f"your key is {BOTH}")]
    blocks += [
        {**block, "input": told(block["name"], block["input"])}
        for block in right_reply(asked)
        if block["type"] == "tool_use"
    ]
    if who == "lead" and done == 1:
        note = {"section": "Facts", "mode": "append", "text": f"noted {BOTH}"}
        blocks.append(tool_use("toolu_note", "update_notes", **note))
        blocks.append(tool_use(KEY, "grep", pattern="refund", **{PLAIN: KEY}))
        blocks.append(tool_use("toolu_odd", f"t_{PLAIN}"))
        blocks.append(tool_use("toolu_grep", "grep", pattern=f"refund|{KEY}"))
    return blocks


def told(name: str, given: Whole) -> Whole:
    given = orjson.loads(orjson.dumps(given))
    if name == "delegate":
        for each in given["briefs"]:
            each["purpose" if "purpose" in each else "objective"] += f" Use {BOTH}."
    if name == "follow_up":
        given["question"] += f" With {BOTH}?"
    if name == "submit_findings":
        given["summary"] += f" With {BOTH}."
        given["items"][0]["claim"] += f" With {BOTH}."
        line = given["items"][0]["evidence"][0]["source"].rpartition(":")[2]
        quote = FILES["refunds.md"].split("\n")[int(line) - 1]
        given["items"][0]["evidence"][0]["quote"] = quote
    if name == "finish":
        given["report"] += f" Ask with {BOTH}."
    return given


async def test_no_key_that_a_model_repeats_gets_anywhere_and_quotes_hold(
    bench: RunBench, capsys: Capture
) -> None:
    def play(asked: Whole) -> Answer:
        return stream(*with_secrets(asked), piece=400)

    async with serving(bench.runs, play) as (endpoint, here):
        result = await here.run(bench.task(model="claude-haiku-5-5"))

    ended = left_by(result)
    assert result.state == "done", result
    assert [*leaks("result", repr(result)), *files(ended)] == []
    assert list(pages(result.folder, capsys)) == []
    found = ended.events("subagent.ended")
    assert [each.data["unsupported"] for each in found] == [0] * len(found)
    # Its own words go back to the endpoint as they came, and so they are in the log.
    [asked] = [asked for asked in endpoint.requests if place_of(asked) == ("lead", 1)]
    assert asked["messages"][1]["content"][0] == text(f"your key is {BOTH}")
    assert endpoint.violations == []


async def test_words_that_are_not_handed_in_are_reported_without_the_keys(
    bench: RunBench, capsys: Capture
) -> None:
    def play(_asked: Whole) -> Answer:
        return stream(text(f"It takes 14 days [refunds.md:1], says {BOTH}."))

    async with serving(bench.runs, play) as (_, here):
        result = await here.run(bench.task(model="claude-haiku-5-5"))

    assert "It takes 14 days" in result.report
    assert [*leaks("result", repr(result)), *files(left_by(result))] == []
    assert list(pages(result.folder, capsys)) == []


async def test_the_password_of_an_address_is_not_told(
    bench: RunBench, capsys: Capture
) -> None:
    clock = FakeClock()
    model = Governor(AnthropicModel(clock=clock), clock)
    async with Orchestrator(runs_dir=bench.runs, model=model, clock=clock) as here:
        result = await here.run(bench.task(model="claude-haiku-5-5"))
    await model.aclose()

    assert result.reason
    assert [*leaks("result", repr(result)), *files(left_by(result))] == []
    assert list(pages(result.folder, capsys)) == []


@pytest.mark.parametrize("view", ["--plain", "--json", "--quiet"])
def test_a_run_of_the_command_tells_no_key(
    bench: RunBench, capsys: Capture, monkeypatch: pytest.MonkeyPatch, view: str
) -> None:
    said = [
        stream(text(f"I look with {SENT}."), tool_use("toolu_1", "list_dir", path="")),
        refused(400, "invalid_request_error", f"bad header: {SENT}"),
    ]
    with FakeEndpoint(said) as endpoint:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", endpoint.url)
        options = ["--model", "claude-haiku-5-5", "--workspace", str(bench.root)]
        status = main(["run", "--objective", "Say how long.", *options, view])

    shown = capsys.readouterr()
    [folder] = [each for each in Path("runs").iterdir() if each.is_dir()]
    assert status == 1
    assert "[secret:" in shown.err + shown.out
    assert list(leaks("output", shown.err + shown.out)) == []
    assert list(pages(folder, capsys)) == []
