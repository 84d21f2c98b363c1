"""Run folders with realistic logs, written by the real `EventLog`, for readers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from orchestrator.events import (
    AgentEnded,
    AgentStarted,
    BriefRefused,
    FindingsSubmitted,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    ModelRetried,
    NotesUpdated,
    Payload,
    ReportSubmitted,
    RunEnded,
    RunStarted,
    SubagentAccepted,
    SubagentEnded,
    TextAdded,
    ToolEnded,
    ToolStarted,
)
from orchestrator.messages import Block, text_block
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder, create

START = datetime(2026, 11, 29, 20, 15, tzinfo=UTC)
RUN_ID = "20261129-201500-auth-survey-7f3a"
LEAD_MODEL, CHILD_MODEL = "claude-sonnet-5-5", "claude-haiku-5-5"
TITLES = ("Where tokens are checked", "Session storage", "Password hashing")
SECRET_ESCAPE = "\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202egnp.exe"


class StepClock:
    """A clock that goes on only when it is told to."""

    def __init__(self, start: datetime = START) -> None:
        self.time = start

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return (self.time - START).total_seconds()

    async def sleep(self, seconds: float) -> None:
        self.tick(seconds)

    def tick(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class Script:
    """Writes the events of a run step by step."""

    def __init__(self, log: EventLog, clock: StepClock) -> None:
        self.log, self.clock = log, clock
        self.turns: dict[str, int] = {}

    def put(self, payload: Payload, agent: str = "", *, after_s: float = 0.05) -> None:
        self.clock.tick(after_s)
        self.log.append(payload, agent=agent)

    def start_run(self) -> None:
        self.put(
            RunStarted(
                task="auth-survey",
                objective="Explain how requests are authenticated in this code base, "
                "for a security review.",
                versions={"orchestrator": "0.1.0", "python": "3.11.7"},
                salt="00" * 16,
                models={"lead": LEAD_MODEL, "subagents": CHILD_MODEL},
                limits={
                    "usd": 2.0,
                    "tokens": 3_000_000,
                    "minutes": 30,
                    "turns": 200,
                    "subagents": 24,
                    "concurrency": 8,
                },
                model_reason="the task names it",
            )
        )

    def start_agent(self, agent: str, title: str, first: str) -> None:
        is_lead = agent == "lead"
        self.put(
            AgentStarted(
                role="lead" if is_lead else "subagent",
                profile="lead" if is_lead else "explorer",
                title=title,
                model=LEAD_MODEL if is_lead else CHILD_MODEL,
                parent="" if is_lead else "lead",
                system=[
                    text_block("\n".join(f"Rule {n} of the prompt." for n in range(40)))
                ],
                tools=[{"name": "grep"}, {"name": "read_file"}],
                first=[text_block(first)],
                settings={
                    "max_output_tokens": 8192,
                    "call_s": 600,
                    "silence_s": 120,
                    "request": {},
                },
                limits={"turns": 200},
                allowed=["grep", "read_file"],
            ),
            agent,
        )

    def answer(
        self,
        agent: str,
        content: list[Block],
        *,
        sent: int = 4000,
        cached: int = 3000,
        usd: float | None = 0.004,
        kept: bool = True,
    ) -> None:
        turn = self.turns[agent] = self.turns.get(agent, 0) + 1
        self.put(ModelRequested(turn, "ab" * 32, sent * 4, 8192, sent, 0.1), agent)
        self.put(
            ModelAnswered(
                turn=turn,
                content=content,
                stop_reason="tool_use",
                usage={
                    "input_tokens": sent - cached,
                    "cache_write_5m_tokens": 0,
                    "cache_write_1h_tokens": 0,
                    "cache_read_tokens": cached,
                    "output_tokens": 180,
                    "thinking_tokens": 20,
                },
                usd=usd,
                message_id=f"msg_{agent}_{turn}",
                model=LEAD_MODEL,
                seconds=1.8,
                first_token_s=0.4,
                kept=kept,
            ),
            agent,
            after_s=1.8,
        )

    def call(
        self,
        agent: str,
        call: str,
        name: str,
        given: dict[str, Any],
        result: str | None,
        *,
        is_error: bool = False,
        full_tokens: int = 0,
        ends: bool = False,
    ) -> None:
        """Write a call; `result` None: it does not end."""
        self.put(ToolStarted(call, name, given, "reads"), agent)
        if result is not None:
            size = len(result) // 4
            self.put(
                ToolEnded(
                    call, name, result, is_error, 0.2, size, full_tokens or size,
                    ends=ends,
                ),
                agent,
                after_s=0.2,
            )  # fmt: skip


def use(call: str, name: str, given: dict[str, Any]) -> Block:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def _explore(script: Script, agent: str, title: str, rounds: int) -> None:
    script.start_agent(agent, title, f"Find out: {title}. Quote what you find.")
    for turn in range(1, rounds + 1):
        grep, read = f"{agent}g{turn}", f"{agent}r{turn}"
        search = {"pattern": "verify_token", "path": "src"}
        page = {"path": f"src/auth_{turn}.py", "first_line": 40}
        script.answer(
            agent,
            [
                text_block("I look where tokens are verified."),
                use(grep, "grep", search),
                use(read, "read_file", page),
            ],
            sent=4000 * turn,
            cached=3000 * turn,
        )
        # The second call ends first: the conversation has them in call order.
        script.put(ToolStarted(grep, "grep", search, "reads"), agent)
        script.call(
            agent, read, "read_file", page, "40\tdef verify_token(raw):\n" * 30,
            full_tokens=6200,
        )  # fmt: skip
        script.put(
            ToolEnded(grep, "grep", "src/auth_1.py:41: verify_token", False, 0.1, 9, 9),
            agent,
        )


def _findings(script: Script, agent: str, status: str, *, unsupported: int) -> None:
    findings: dict[str, Any] = {
        "status": status,
        "summary": "Tokens are checked in one middleware, before any route runs.",
        "items": [
            {
                "claim": "The middleware rejects expired tokens.",
                "evidence": [
                    {
                        "source": "src/auth_1.py:41-44",
                        "quote": "raise TokenExpired(raw)",
                    }
                ],
                "confidence": 0.9,
            },
            {
                "claim": "Refresh tokens are never rotated.",
                "evidence": [
                    {"source": "src/auth_1.py:90", "quote": "not in the file"}
                ],
                "confidence": 0.4,
            },
        ],
    }
    call = f"{agent}s"
    script.answer(agent, [use(call, "submit_findings", findings)], sent=9000)
    script.put(FindingsSubmitted(1, True, [], findings), agent)
    script.call(agent, call, "submit_findings", findings, "accepted", ends=True)
    script.put(AgentEnded("submitted", "", script.turns[agent]), agent)
    script.put(
        SubagentEnded(
            id=agent,
            status=status,
            outcome="submitted",
            reason="",
            findings=findings,
            explored_tokens=12_430,
            returned_tokens=410,
            unsupported=unsupported,
            unsupported_items=[2] if unsupported else [],
        ),
        "lead",
    )


def survey(script: Script, *, until: str = "end") -> None:
    """Write a run with three subagents, the second of which fails.

    Args:
        script: where to write.
        until: `fan-out` stops while the subagents are at work; `end` is the whole run.
    """
    script.start_run()
    script.start_agent("lead", "auth-survey", "Explain how requests are authenticated.")
    briefs = [{"title": title, "objective": f"Find out: {title}."} for title in TITLES]
    script.answer("lead", [use("d1", "delegate", {"briefs": briefs})])
    script.put(ToolStarted("d1", "delegate", {"briefs": briefs}, "repeatable"), "lead")
    script.put(
        BriefRefused("d1", 3, "The rest", ["“as above” refers to what it cannot see"]),
        "lead",
    )
    for index, title in enumerate(TITLES):
        accepted = SubagentAccepted(
            f"a{index + 1}", "d1", index, title, "explorer", briefs[index]
        )
        script.put(accepted, "lead")
    _explore(script, "a1", TITLES[0], 3)
    script.start_agent("a2", TITLES[1], "Find out: Session storage.")
    script.put(ModelRequested(1, "cd" * 32, 900, 8192, 4100, 0.1), "a2")
    script.put(ModelRetried(1, 1, "overloaded", "529 Overloaded", 2.0), "a2")
    if until == "fan-out":
        script.call("a1", "a1x", "grep", {"pattern": "token"}, None)
        return
    script.put(ModelFailed(1, "invalid", "400: prompt is empty"), "a2", after_s=2)
    script.put(AgentEnded("failed", "invalid: 400: prompt is empty", 1), "a2")
    reason = "invalid: 400: prompt is empty"
    nothing = {"status": "failed", "summary": reason}
    failed = SubagentEnded("a2", "failed", "failed", reason, nothing, 0, 35)
    script.put(failed, "lead")
    _findings(script, "a1", "complete", unsupported=0)
    _explore(script, "a3", TITLES[2], 2)
    _findings(script, "a3", "partial", unsupported=1)
    script.put(
        ToolEnded(
            "d1", "delegate", "a1: complete …\na3: partial …", False, 30, 800, 800
        ),
        "lead",
    )
    script.put(TextAdded("reminder", "Budget: 12 % used. Nothing is running."), "lead")
    script.put(
        NotesUpdated("Facts", "append", "Tokens are checked in one middleware."), "lead"
    )
    _finish(script)


def _finish(script: Script) -> None:
    report = "# Authentication\n\nOne middleware checks tokens [src/auth_1.py:41-44]."
    given = {"report": report}
    script.answer("lead", [use("f1", "finish", given)], sent=6000, cached=5000)
    script.put(
        ReportSubmitted(2, True, 5, ["[src/auth_9.py:3] no such file"], report), "lead"
    )
    script.call("lead", "f1", "finish", given, "accepted", ends=True)
    script.put(AgentEnded("submitted", "", script.turns["lead"]), "lead")
    script.put(
        RunEnded(
            "partial",
            3,
            "1 of 3 subagents failed",
            [
                "a2 “Session storage”: invalid: 400: prompt is empty",
                "1 wrong citation in the report",
            ],
            42.0,
        )
    )


@contextmanager
def open_script(
    runs_dir: Path, run_id: str = RUN_ID
) -> Iterator[tuple[RunFolder, Script]]:
    """Make a run folder and hand out the writer of its log."""
    folder = create(runs_dir, run_id)
    clock = StepClock()
    log = EventLog.create(folder.events, run_id, Artifacts(folder.artifacts), clock)
    try:
        yield folder, Script(log, clock)
    finally:
        log.close()


def finished_run(runs_dir: Path, run_id: str = RUN_ID) -> RunFolder:
    """Make the whole example: state `partial`, with report and notes."""
    with open_script(runs_dir, run_id) as (folder, script):
        survey(script)
    folder.report.write_text("# Authentication\n\nOne middleware …\n", encoding="utf-8")
    folder.progress.write_text(NOTES, encoding="utf-8")
    return folder


def halfway_run(runs_dir: Path, run_id: str = RUN_ID) -> RunFolder:
    """Make the example up to the middle of its fan-out; nobody holds the lock."""
    with open_script(runs_dir, run_id) as (folder, script):
        survey(script, until="fan-out")
    return folder


NOTES = """\
# auth-survey

<!-- program:header -->
State: partial · 0.06 of 2.00 usd
<!-- /program:header -->

| agent | title | state | tokens | findings |
| --- | --- | --- | --- | --- |
| a1 | Where tokens are checked | complete | 12.4k | agents/a1/findings.md |
| a2 | Session storage | failed | 0 | |

## Plan

- [x] Survey the middleware
- [ ] Check password hashing, which is a longer item that goes over the edge of a line
"""
