"""Run folders whose agents were cleared and compacted: made up, for readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sample_runs import RUN_ID, Script, open_script, use

from orchestrator.events import (
    AgentEnded,
    AgentStarted,
    ContextCleared,
    ContextCompacted,
    ModelAnswered,
    ModelRequested,
    RunEnded,
    TextAdded,
)
from orchestrator.messages import Block, text_block
from orchestrator.store.layout import RunFolder

SUMMARY = "Work done: src/mod_1.py is read. 上限是 30 天。"
STANDS_IN = f"# State\nObjective: find the limits.\n\n# Summary\n{SUMMARY}"
STUB = "[cleared: read_file src/mod_1.py, 3000 tokens, open it with h1]"
READ_TOKENS = 3000


def read(n: int) -> dict[str, Any]:
    return {"path": f"src/mod_{n}.py"}


class ContextScript:
    """Writes the turns of one agent."""

    def __init__(self, script: Script, agent: str = "lead") -> None:
        self.script, self.agent = script, agent
        self.turn = 0

    def start(self, **context: int) -> None:
        self.script.put(
            AgentStarted(
                role="lead" if self.agent == "lead" else "subagent",
                profile="lead",
                title="limits",
                model="claude-sonnet-5-5",
                parent="" if self.agent == "lead" else "lead",
                system=[text_block("Be brief.")],
                tools=[{"name": "read_file"}],
                first=[text_block("Find the limits.")],
                settings={"max_output_tokens": 8000, "request": {}, "context": context},
                limits={},
                allowed=["read_file"],
            ),
            self.agent,
        )

    def asked(
        self,
        content: list[Block],
        *,
        size: int,
        cached: int = 0,
        purpose: str = "",
        model: str = "claude-sonnet-5-5",
        layers: dict[str, int] | None = None,
    ) -> None:
        """Write a request and its answer; with a purpose it is no turn."""
        self.turn += not purpose
        turn = self.turn + bool(purpose)
        composition = {"prompt": 400, "tools": 100, "task": 50} | (layers or {})
        estimated = sum(composition.values()) if layers else size
        request = ModelRequested(
            turn, "ab" * 32, 4 * size, 8000, estimated, 0.1, composition,
            purpose=purpose,
        )  # fmt: skip
        self.script.put(request, self.agent)
        answer = ModelAnswered(
            turn=turn,
            content=content,
            stop_reason="tool_use",
            usage={
                "input_tokens": size - cached,
                "cache_read_tokens": cached,
                "output_tokens": 120,
            },
            usd=0.004,
            message_id=f"msg_{turn}{purpose}",
            model=model,
            seconds=1.5,
            first_token_s=0.4,
            purpose=purpose,
        )
        self.script.put(answer, self.agent, after_s=1.5)

    def step(
        self,
        name: str,
        given: dict[str, Any],
        *,
        size: int,
        result: str = "x = 1\n" * (READ_TOKENS * 4 // 6),
        is_error: bool = False,
        **more: Any,
    ) -> None:
        """Write one whole step with one call: the n-th has the call `c<n>`."""
        call = f"{self.agent}.c{self.turn + 1}"
        said = text_block(f"I go on, {self.turn + 1}.")
        self.asked([said, use(call, name, given)], size=size, **more)
        self.script.call(self.agent, call, name, given, result, is_error=is_error)


def cleared(turn: int, *calls: str, why: str = "rent", thinking: int = 0) -> Any:
    return ContextCleared(
        turn=turn,
        why=why,
        stubs=dict.fromkeys(calls, STUB),
        tokens_before=9600,
        tokens_after=6700,
        cleared=[
            {
                "call": call,
                "name": "read_file",
                "ref": f"h{call.rpartition('c')[2]}",
                "tokens": READ_TOKENS,
                "stub_tokens": 40,
                "superseded": False,
            }
            for call in calls
        ],
        thinking=thinking,
    )


def compacted(turn: int, first: int, last: int, *, kept: int, **more: Any) -> Any:
    return ContextCompacted(
        turn=turn,
        kept_messages=kept,
        first_dropped=first,
        last_dropped=last,
        tokens_before=13_000,
        tokens_after=7200,
        **{
            "why": "hard",
            "how": "model",
            "text": STANDS_IN,
            "summary": SUMMARY,
            "parts": {"state": 20, "summary": 30},
            "checks": [
                {"check": "names", "found": 3, "lost": ["src/mod_2.py"]},
                {"check": "numbers", "found": 0, "lost": []},
            ],
            "mended": [
                {
                    "check": "names",
                    "said": "Limit: see mod_3.py",
                    "source": "src/mod_2.py holds the limit",
                    "now": "Limit: see mod_3.py (source: mod_2.py)",
                }
            ],
            "added": ["src/mod_2.py holds the limit of 30 days"],
            "own_rules": ["Never read src/mod_9.py."],
            "failures": ["empty"],
            "usd": 0.031,
            "seconds": 4.2,
            "tokens_in": 13_100,
            "tokens_out": 200,
            **more,
        },
    )


def context_run(runs_dir: Path, run_id: str = RUN_ID) -> RunFolder:
    """Make a run whose lead was cleared before turn 4 and compacted before turn 6.

    At turn 5 it opens what was cleared, at turn 6 it reads again what was dropped, and
    two calls fail. Its subagent takes two turns.
    """
    with open_script(runs_dir, run_id) as (folder, script):
        script.start_run()
        lead = ContextScript(script)
        lead.start(window_tokens=20_000, soft_tokens=12_000, hard_tokens=15_000)
        child = ContextScript(script, "a1")
        child.start()
        for n in (1, 2):
            child.step("grep", {"pattern": "limit"}, size=600 * n, result="hit\n" * 9)
        for n in (1, 2, 3):
            held = {"results:read_file": READ_TOKENS * (n - 1), "assistant": 30 * n}
            at = 550 + READ_TOKENS * (n - 1)
            lead.step("read_file", read(n), size=at, cached=at // 2, layers=held)
        script.put(cleared(4, "lead.c1", thinking=1), "lead")
        held = {"results:read_file": 2 * READ_TOKENS, "stubs": 40, "assistant": 120}
        lead.step("grep", {"pattern": "("}, size=6700, result="no regex", is_error=True,
                  layers=held)  # fmt: skip
        lead.step("read_ref", {"ref": "h1"}, size=6800, cached=6000, layers=held)
        lead.asked([text_block(" ")], size=13_000, cached=9000, purpose="summary")
        lead.asked([text_block(SUMMARY)], size=13_100, cached=9900, purpose="summary")
        script.put(compacted(6, 1, 4, kept=2), "lead")
        script.put(TextAdded("reminder", "Budget: 12 % used."), "lead")
        held = {"state": 20, "summary": 30, "results:read_ref": 3000, "text": 10}
        lead.step("read_file", read(2), size=3700, cached=500, layers=held)
        lead.step("grep", {"pattern": "["}, size=6800, result="no regex", is_error=True)
        script.put(AgentEnded("submitted", "", 7), "lead")
        script.put(RunEnded("done", 0, "", [], 42.0))
    return folder
