from __future__ import annotations

import pytest
from tool_bench import ToolBench

RUN = "runs/20261129-120000-old-1a2b"


@pytest.fixture
def used(bench: ToolBench) -> ToolBench:
    for name in ("events.jsonl", "run.json", "agents/a1/transcript.jsonl"):
        bench.write(f"sub/{RUN}/{name}", "refund\n")
    bench.write(f"sub/{RUN}/artifacts/art_000000000000.txt", "refund\n")
    bench.write("sub/runs/notes.md", "refund\n")
    bench.write("papers.md", "refund\n")
    return bench


async def test_searches_and_lists_leave_out_runs_made_earlier(used: ToolBench) -> None:
    for path in (".", "sub"):
        found = await used.text("grep", pattern="refund", output="files", path=path)
        assert found.split("\n")[-1] == "sub/runs/notes.md"
        assert RUN not in found
    assert await used.text("glob", pattern="*") == "papers.md\nsub/runs/notes.md"
    assert await used.text("list_dir", path="sub/runs") == (
        "sub/runs: 0 folders, 1 files\n"
        "notes.md (7 bytes)\n"
        "[1 folders of earlier runs of this program: left out]"
    )


async def test_a_run_that_is_asked_for_is_searched_though_git_ignores_it(
    used: ToolBench,
) -> None:
    used.write("sub/runs/.gitignore", "*\n")

    assert await used.text("grep", pattern="refund", output="files") == "papers.md"
    for path in (f"sub/{RUN}", f"sub/{RUN}/agents"):
        found = await used.text("grep", pattern="refund", output="files", path=path)
        assert f"sub/{RUN}/agents/a1/transcript.jsonl" in found
        assert "transcript.jsonl" in await used.text("glob", pattern="*", path=path)
