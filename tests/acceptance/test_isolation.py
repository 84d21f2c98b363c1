"""What a subagent reads stays with it; what the lead thinks stays with the lead."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import anyio
import pytest
from explore_policy import (
    FILES_PER_PART,
    PLAN,
    ExplorePolicy,
    canary,
    lay_parts,
    marker,
)
from fake_endpoint import FakeEndpoint
from run_bench import (
    OBJECTIVE,
    Ended,
    RunBench,
    brief,
    delegate,
    finish,
    in_turn,
    item,
    submit,
)

from orchestrator.clock import SystemClock
from orchestrator.messages import encode, text_of, tool_calls
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.base import ModelRequest
from orchestrator.models.governor import Governor
from orchestrator.testing import Step, call

QUOTED = re.compile(r"^  > .*$", re.MULTILINE)
CACHE_MARK = b',"cache_control":{"type":"ephemeral"}'
BEFORE_MESSAGES = re.compile(rb'^(\{.*?),"messages":\[', re.DOTALL)


async def explore(folder: Path, policy: ExplorePolicy) -> tuple[FakeEndpoint, Ended]:
    bench = RunBench(folder)
    lay_parts(bench.root, policy.parts)
    async with FakeEndpoint(policy) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url)
        try:
            ended = await bench.run(
                Governor(model, SystemClock()), clock=SystemClock(), model="claude-x"
            )
        finally:
            await model.aclose()
    return endpoint, ended


def is_lead(asked: dict[str, Any]) -> bool:
    return any(tool["name"] == "delegate" for tool in asked["tools"])


def everything(asked: dict[str, Any]) -> str:
    """All that a request holds, its texts with their line ends."""
    said = [text_of(message["content"]) for message in asked["messages"]]
    calls = [tool_calls(message["content"]) for message in asked["messages"]]
    rest = encode([calls, asked["system"], asked["tools"]]).decode()
    return "\n".join([*said, rest])


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> tuple[FakeEndpoint, Ended]:
    """Eight subagents of twelve calls each; looked at by several tests."""
    folder = tmp_path_factory.mktemp("explore")
    # One file of the third part is quoted where its canary stands.
    wanted = rf"(?:Fact \d+-\d+ says |{canary(3, 2)} line 3 )"
    policy = ExplorePolicy(parts=8, calls=12, wanted=wanted)
    endpoint, ended = anyio.run(explore, folder, policy)
    assert policy.violations == []
    return endpoint, ended


def test_no_request_of_an_exploring_run_is_refused(
    explored: tuple[FakeEndpoint, Ended],
) -> None:
    endpoint, ended = explored

    assert endpoint.violations == []
    assert len(endpoint.requests) == 8 * 12 + 2
    assert ended.result.state == "done"
    assert ended.events("model.retried") == []


def test_what_subagents_read_reaches_the_lead_in_quotes_alone(
    explored: tuple[FakeEndpoint, Ended],
) -> None:
    endpoint, _ = explored
    canaries = [canary(part, n) for part in range(1, 9) for n in range(FILES_PER_PART)]
    quoted = f"{canary(3, 2)} line 3 is of no use to anybody."
    read = b"".join(
        body
        for asked, body in zip(endpoint.requests, endpoint.bodies, strict=True)
        if not is_lead(asked)
    )

    first, second = filter(is_lead, endpoint.requests)
    assert "canary-" not in everything(first)
    assert QUOTED.findall(everything(second)).count(f"  > {quoted}") == 1
    assert "canary-" not in QUOTED.sub("", everything(second))
    assert all(word.encode() in read for word in canaries)


def test_the_quotes_of_all_subagents_arrive(
    explored: tuple[FakeEndpoint, Ended],
) -> None:
    _, ended = explored

    [told] = ended.results("delegate")
    for part in range(1, 9):
        assert f"  > Fact {part}-4 says that the limit is {part * 7} days." in told
    assert 'unsupported="1"' not in told


def test_no_subagent_sees_another_or_its_parent(
    explored: tuple[FakeEndpoint, Ended],
) -> None:
    endpoint, _ = explored
    seen: defaultdict[int, int] = defaultdict(int)

    for asked in endpoint.requests:
        if is_lead(asked):
            continue
        first = text_of(asked["messages"][0]["content"])
        own = next(part for part in range(1, 9) if f"# Part {part}\n" in first)
        said = encode(asked).decode()
        assert [part for part in range(1, 9) if marker(part) in said] == [own]
        assert PLAN not in said
        assert OBJECTIVE not in said
        seen[own] += 1
    assert dict(seen) == dict.fromkeys(range(1, 9), 12)


def test_subagents_of_a_profile_share_the_bytes_before_their_brief(
    explored: tuple[FakeEndpoint, Ended],
) -> None:
    endpoint, _ = explored
    prefixes = set()

    for asked, body in zip(endpoint.requests, endpoint.bodies, strict=True):
        match = BEFORE_MESSAGES.match(body)
        assert match is not None
        if not is_lead(asked):
            prefixes.add(match[1].replace(CACHE_MARK, b""))
    assert len(prefixes) == 1
    assert b'"system":' in next(iter(prefixes))


async def test_twenty_subagents_see_their_own_brief_and_no_other(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path, {"a.md": "The whole of it is one line of text.\n"})
    marks = {f"Case {number}": f"mark-{number:02d}-only" for number in range(20)}
    briefs = [
        brief(title, background=f"The mark of this case is {mark}.")
        for title, mark in marks.items()
    ]
    quote = item("It is one line of text.", "a.md:1", "The whole of it is one line")
    work: list[Step] = [call("read_file", path="a.md"), submit(quote)]
    ended = await bench.play(
        [
            [call("list_dir"), call("grep", pattern="whole")],
            delegate(*briefs),
            finish("One line [a20#1]."),
        ],
        dict.fromkeys(marks, work),
        limits={"subagents": 20},
    )

    assert ended.result.state == "done"
    for number, (title, mark) in enumerate(marks.items(), 1):
        requests = ended.requests_of(f"a{number}")
        assert len(requests) == 2, title
        for request in requests:
            said = request.body.decode()
            assert [each for each in marks.values() if each in said] == [mark]
            assert "tool_use" not in encode(request.messages[0]).decode()
    tools = {encode(request.tools) for request in ended.requests[2:-1]}
    assert len(tools) == 1


async def test_a_narrowed_brief_keeps_the_shared_bytes_and_is_held_to_its_tools(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path, {"a.md": "The whole of it is one line of text.\n"})
    quote = item("It is one line of text.", "a.md:1", "The whole of it is one line")
    ended = await bench.play(
        [
            delegate(brief("Free"), brief("Narrow", tools=["read_file"])),
            finish("One line [a1#1]."),
        ],
        {
            "Free": [call("read_file", path="a.md"), submit(quote)],
            "Narrow": [
                [call("grep", pattern="whole"), call("read_file", path="a.md")],
                submit(quote),
            ],
        },
    )

    [refusal] = ended.results("grep", "a2")
    assert "`grep` exists but is not allowed here" in refusal
    [free, *_], [narrow, *_] = ended.requests_of("a1"), ended.requests_of("a2")
    assert encode(free.tools) == encode(narrow.tools)
    assert free.system == narrow.system
    assert ended.result.state == "done"


async def test_a_scope_holds_for_every_tool(tmp_path: Path) -> None:
    bench = RunBench(
        tmp_path,
        {"in/a.md": "Inside there is one line.\n", "out/b.md": "canary-out-of-scope\n"},
    )
    ended = await bench.play(
        [
            delegate(brief("Inside", scope={"include": ["in"]})),
            finish("Nothing to say."),
        ],
        {
            "Inside": [
                [
                    call("read_file", path="out/b.md"),
                    call("grep", pattern="canary"),
                    call("glob", pattern="**/*"),
                    call("list_dir"),
                ],
                submit(status="nothing_found", summary="There is nothing inside it."),
            ]
        },
    )

    said = b"".join(request.body for request in ended.requests_of("a1"))
    assert b"canary-out" not in said
    assert b"b.md" not in said.replace(b"out/b.md", b"")


async def test_what_a_subagent_saw_cannot_be_read_from_the_runs_folder(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path, {"a.md": "canary-in-the-paper is all there is.\n"})
    bench.runs = bench.root / "runs"

    def peeks(request: ModelRequest) -> Step:
        [folder] = bench.runs.glob("2*")
        name = folder.relative_to(bench.root)
        paths = ["agents/a1/transcript.jsonl", "events.jsonl", "agents/a1/brief.md"]
        return [
            *(call("read_file", path=f"{name}/{path}") for path in paths),
            call("grep", pattern="canary", path=str(name)),
            call("grep", pattern="canary", path="runs", output="files"),
            call("glob", pattern="**/*.jsonl", path="runs"),
            call("list_dir", path=str(name)),
        ]

    ended = await bench.play(
        in_turn(delegate(brief("Papers")), peeks, finish("Nothing is known.")),
        {
            "Papers": [
                call("read_file", path="a.md"),
                submit(status="nothing_found", summary="There is nothing to say."),
            ]
        },
    )

    lead = b"".join(request.body for request in ended.requests_of("lead"))
    assert b"canary-in" not in lead
    assert b"You answer the questions of one brief" not in lead
    for told in ended.results("read_file"):
        assert "canary" not in told
    assert ended.result.state == "done"
