"""The golden run: a whole run folder of each schema version, made once and kept.

`python tests/support/golden.py FOLDER` makes one with the program as it is. The kept
ones are never made again: they are what older programs have left on people's disks.
"""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.models.governor import Governor
from orchestrator.runtime.host import Host
from orchestrator.runtime.live import Live
from orchestrator.runtime.prepare import prepare
from orchestrator.runtime.resume import read_past
from orchestrator.runtime.start import resume_run, start
from orchestrator.spec.task import Task
from orchestrator.store.layout import RunFolder
from orchestrator.testing import (
    FakeClock,
    Script,
    ScriptedModel,
    Step,
    call,
    fail,
    hang,
    reply,
)

__all__ = ["GOLDEN", "HOME", "copied", "make", "policy"]

GOLDEN = Path(__file__).parent.parent / "golden"
HOME = "/home/somebody/papers"
"""Stands in the kept files for the folder that holds the workspace."""

MANUAL = "".join(
    f"Paragraph {number} of the manual says that form {number} is kept for "
    f"{number * 3} months in the archive.\n"
    for number in range(1, 260)
)
PAPERS = {
    "refunds.md": "# Refunds\n\nA refund takes 14 days.\nWithout a receipt it is 30.\n",
    "manual.md": MANUAL,
    "README.md": "Papers about refunds and forms.\n",
}
QUOTES = {
    "Refunds": ("It takes 14 days.", "refunds.md:3", "A refund takes 14 days."),
    "Forms": (
        "Form 7 is kept for 21 months.",
        "manual.md:7",
        "Paragraph 7 of the manual says that form 7 is kept for 21 months",
    ),
}
REPORT = "A refund takes 14 days [a1#1]; form 7 is kept for 21 months [a2#1]."


def brief(title: str, **fields: object) -> dict[str, object]:
    return {
        "title": title,
        "objective": f"Find out what the papers say about {title}, for a letter.",
        "questions": [f"How long does it take for {title}?"],
        **fields,
    }


BRIEFS = [
    brief("Refunds"),
    brief("Forms", limits={"turns": 3}),
    brief("Letters"),
    brief("Nothing", objective="As above."),
]


def policy(request: ModelRequest) -> Step:
    """What to say, told from the request alone; every later version can go on."""
    first = text_of(request.messages[0]["content"])
    said = sum(message["role"] == "assistant" for message in request.messages)
    newest = text_of(request.messages[-1]["content"])
    if "# Objective\n" in first:
        return _lead(said, newest)
    title = next(title for title in (*QUOTES, "Letters") if f"# {title}\n" in first)
    return _worker(title, said, newest)


def _lead(said: int, newest: str) -> Step:
    if said == 0:
        note = call("update_notes", section="Plan", mode="append", text="Ask three.")
        return [note, call("list_dir")]
    if said == 1:
        return call("delegate", briefs=BRIEFS)
    if said == 2:
        return call("finish", report="It takes 9 days [refunds.md:99].")
    if "not accepted yet" in newest:
        return reply("I have it all.")  # asked to hand in
    return call("finish", report=REPORT)


def _worker(title: str, said: int, newest: str) -> Step:
    if title == "Letters":
        return fail("invalid", "the request was refused")
    claim, source, quote = QUOTES[title]
    good = {"claim": claim, "confidence": 0.9}
    good["evidence"] = [{"source": source, "quote": quote}]
    if said == 0:
        return call("read_file", path=source.split(":")[0])
    if said == 1 and title == "Refunds":
        good["evidence"] = [{"source": source, "quote": "nobody wrote this anywhere"}]
        note = call("update_notes", section="Facts", mode="append", text=claim)
        return [note, _submit(good)]
    if said == 1:
        return call("grep", pattern="form 7 ")
    return _submit(good)


def _submit(item: dict[str, object]) -> dict[str, object]:
    return call(
        "submit_findings",
        status="complete",
        summary="The papers say how long it takes.",
        items=[item],
    )


def copied(version: str, to: Path) -> RunFolder:
    """Return a copy of the golden run that can be worked on, with its workspace."""
    shutil.copytree(GOLDEN / version, to / version)
    [run] = (to / version / "runs").iterdir()
    task = run / "task.yaml"
    task.write_text(task.read_text().replace(HOME, str(to / version)))
    return RunFolder(run)


def make(target: Path) -> None:
    """Make a golden run with the program as it is; `target` must not exist."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "work").mkdir()
        for name, text in PAPERS.items():
            (home / "work" / name).write_text(text)
        anyio.run(_play, home)
        [run] = (home / "runs").glob("2*")
        for path in run.rglob("*"):
            if path.is_file():
                path.write_bytes(
                    path.read_bytes().replace(folder.encode(), HOME.encode())
                )
        (run / "lock").unlink()
        # It would keep the golden run itself out of git.
        shutil.copytree(home, target, ignore=shutil.ignore_patterns(".gitignore"))


async def _play(home: Path) -> None:
    """One process is stopped, the next one dies between request and answer."""
    clock = FakeClock()
    live = Live()
    retried: list[int] = []

    def stopped(request: ModelRequest) -> Step:
        newest = text_of(request.messages[-1]["content"])
        if "# Refunds\n" in newest and not retried:
            retried.append(1)
            return fail("overloaded", "busy for a moment")
        is_lead = "# Objective\n" in text_of(request.messages[0]["content"])
        if is_lead and "not accepted yet" in newest:
            live.scope.cancel()
            return hang()
        return policy(request)

    task = Task.model_validate(
        {
            "name": "golden",
            "objective": "Say how long refunds and forms take, for a letter.",
            "workspace": home / "work",
            "model": "claude-haiku-5-5",
            "constraints": ("Do not guess.",),
            "context": ("README.md",),
        }
    )
    host = _host(home, stopped, clock)
    ready = prepare(
        task,
        settings=host.settings,
        env={},
        price_of=host.price,
        needs_credentials=False,
    )
    await start(ready, host, live)
    [run] = (home / "runs").glob("2*")
    host = _host(home, policy, clock)
    await clock.advance(3600)
    await resume_run(read_past(RunFolder(run), host), host)
    _die(run / "events.jsonl")


def _die(log: Path) -> None:
    """Cut the log behind its last request."""
    lines = log.read_bytes().splitlines(keepends=True)
    while b'"kind":"model.requested"' not in lines[-1]:
        lines.pop()
    log.write_bytes(b"".join(lines))
    for derived in ("report.md", "run.json"):
        (log.parent / derived).unlink(missing_ok=True)


def _host(home: Path, script: Script, clock: FakeClock) -> Host:
    model = Governor(ScriptedModel(script), clock, rng=random.Random(1))
    return Host.of_process(runs_dir=home / "runs", model=model, clock=clock)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
