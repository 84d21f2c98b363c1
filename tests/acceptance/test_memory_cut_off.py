"""A run cut off while it looks back goes on there: its report is not made again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from refund_runs import FILES, READ
from run_bench import Ended, RunBench, finish

from orchestrator.messages import tool_calls
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step

REPORT = "A refund takes 14 days [refunds.md:1]."
MEMORY: dict[str, Any] = {
    "memory": {"scope": "project"},
    "model": "claude-sonnet-5-5",
}
LEARNED = """\
# refunds.md: How long refunds take

## Refund after arrival

A refund takes 14 days from the day the goods arrive.

- evidence: refunds.md:1
"""


def lead(request: ModelRequest) -> Step:
    """Reads, reports, and says what it learned."""
    said = [m for m in request.messages if m["role"] == "assistant"]
    used = sum(bool(tool_calls(message["content"])) for message in said)
    steps: list[Step] = [READ, finish(REPORT), LEARNED]
    return steps[used]


async def cut_off(bench: RunBench, whole: Ended, lines: list[str]) -> Ended:
    """Go on with what `lines` of the log hold of a run."""
    folder = bench.runs / f"{whole.result.id}-{len(lines)}"
    shutil.copytree(whole.folder, folder)
    text = "".join(lines).replace(whole.result.id, folder.name)
    (folder / "events.jsonl").write_text(text)
    return await bench.resume(folder, lead, {})


async def test_what_is_cut_off_looking_back_is_neither_asked_nor_kept_twice(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path, FILES)
    whole = await bench.play(lead, {}, **MEMORY)
    lines = whole.text("events.jsonl").splitlines(keepends=True)
    kinds = [event.kind for event in whole.events()]
    answered = [n for n, kind in enumerate(kinds) if kind == "model.answered"]

    assert whole.result.state == "done"
    assert len(answered) == 3
    for cut in range(kinds.index("report.submitted") + 1, len(lines)):
        ended = await cut_off(bench, whole, lines[:cut])

        assert ended.result.state == "done", kinds[cut - 1]
        assert len(ended.requests) == (cut <= answered[-1]), kinds[cut - 1]
        assert ended.text("report.md") == whole.text("report.md")
        (entry,) = (bench.root / ".orchestrate/memory").glob("refunds.md")
        assert entry.read_text().count("## Refund after arrival") == 1
