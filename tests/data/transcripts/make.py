"""Make `transcripts.jsonl.xz`: long runs with real tools over this repository.

Run by hand from the root, with `tests/support` on the path:

    PYTHONPATH=.:tests/support python tests/data/transcripts/make.py

Each line is one run: its name and its messages, in the API's own form. What the agents
do is scripted, since no model can be asked here; what they are shown is real.
"""

from __future__ import annotations

import lzma
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import orjson
from tool_bench import ToolBench

from orchestrator.messages import Block, Message, text_block, tool_result, user_message
from orchestrator.security.workspace import Workspace
from orchestrator.tools.calls import CallSpec

ROOT = Path(__file__).parents[3]
STEPS = 110
Calls = list[tuple[str, dict[str, Any]]]


def files(*patterns: str) -> list[str]:
    found = [path for each in patterns for path in ROOT.glob(each)]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def reader(draw: random.Random) -> Iterator[Calls]:
    """Read one module after the other, page by page."""
    for path in draw.sample(files("orchestrator/context/*.py"), 20):
        for line in range(1, 240, 40):
            yield [("read_file", {"path": path, "first_line": line, "max_lines": 40})]


def searcher(draw: random.Random) -> Iterator[Calls]:
    """Search for a name, then read around a hit."""
    while True:
        path = draw.choice(files("orchestrator/agent/*.py"))
        names = re.findall(r"def (\w{6,})", (ROOT / path).read_text())
        if not names:
            continue
        where = "orchestrator/agent"
        yield [("grep", {"pattern": f"{draw.choice(names)}\\(", "path": where})]
        line = draw.randrange(1, 200, 20)
        yield [("read_file", {"path": path, "first_line": line, "max_lines": 30})]


def several(draw: random.Random) -> Iterator[Calls]:
    """Three calls at once, some of which fail."""
    paths = [*files("docs/*.md", "prompts/*.md"), "docs/gone.md"]
    while True:
        some = draw.sample(paths, 2)
        page = {"first_line": draw.randrange(1, 60, 10), "max_lines": 15}
        reads: Calls = [("read_file", {"path": each, **page}) for each in some]
        yield [*reads, ("grep", {"pattern": draw.choice(["must", "never", "("])})]


def editor(draw: random.Random) -> Iterator[Calls]:
    """Read a file, list its folder, and read the same file again."""
    paths = files("orchestrator/cli/*.py")
    while True:
        path = draw.choice(paths[:12])
        page = {"path": path, "first_line": 1, "max_lines": 50}
        yield [("read_file", page)]
        yield [("list_dir", {"path": "orchestrator/cli"})]
        yield [("read_file", page), ("glob", {"pattern": "orchestrator/cli/r*.py"})]


def thinker(draw: random.Random) -> Iterator[Calls]:
    """Read tests, thinking all the while."""
    paths = files("tests/context/*.py")
    while True:
        line = draw.randrange(1, 120, 30)
        path = draw.choice(paths)
        yield [("read_file", {"path": path, "first_line": line, "max_lines": 30})]


SCRIPTS = (reader, searcher, several, editor, thinker)


async def played(script: Any, folder: Path, seed: int) -> list[Message]:
    """Return the conversation of one agent."""
    bench = ToolBench(folder, read_tokens=900, clip_tokens=500)
    bench.workspace = Workspace(ROOT)
    draw = random.Random(seed)
    doc = " ".join(str(script.__doc__).split())
    task = f"# Objective\n\nLearn how it works. 写下重要的数字。\n\n# How\n\n{doc}"
    messages = [user_message([text_block(task)])]
    plan = script(draw)
    for number in range(1, STEPS + 1):
        said: list[Block] = []
        if script is thinker:
            thought = f"Step {number}: what follows from it, and where do I look next?"
            said.append(
                {"type": "thinking", "thinking": thought, "signature": "s" * 80}
            )
        if number % 3 == 0:
            said.append(
                text_block(f"Noted, step {number}: 数字 {draw.randrange(9999)}.")
            )
        calls = [(f"toolu_{number:03}_{n}", *each) for n, each in enumerate(next(plan))]
        said += [
            {"type": "tool_use", "id": call, "name": name, "input": given}
            for call, name, given in calls
        ]
        specs = [CallSpec(*each) for each in calls]
        results = await bench.run(*specs)
        blocks = [
            tool_result(each.call, each.content, is_error=each.is_error)
            for each in results
        ]
        if number % 20 == 0:
            blocks.append(text_block("As a reminder: still binding: change nothing."))
        messages += [{"role": "assistant", "content": said}, user_message(blocks)]
    return [*messages, {"role": "assistant", "content": [text_block("That is all.")]}]


async def main() -> None:
    lines = []
    for seed, script in enumerate(SCRIPTS):
        with tempfile.TemporaryDirectory() as folder:
            messages = await played(script, Path(folder), seed)
        lines.append(orjson.dumps({"name": script.__name__, "messages": messages}))
    packed = lzma.compress(b"\n".join(lines), preset=9 | lzma.PRESET_EXTREME)
    (Path(__file__).parent / "transcripts.jsonl.xz").write_bytes(packed)


if __name__ == "__main__":
    anyio.run(main)
