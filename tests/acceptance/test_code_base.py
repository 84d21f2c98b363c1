"""A lead over a real code base: who is right is decided by opening the places.

The workspace is the installed source of `anyio`. All that is scripted is what to look
for; places, line numbers and quotes come from what the tools return.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from run_bench import Ended, RunBench, finish, found, item, last_results, played

from orchestrator.cli.main import main
from orchestrator.messages import Block
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call, hang

CORE = "anyio/_core/_synchronization.py"
BACKEND = "anyio/_backends/_asyncio.py"
OBJECTIVE = "Say what the waiting parts of `anyio` do by default, for its new users."
HIT = re.compile(r"^(\S+?):(\d+):(.*)$", re.MULTILINE)
SHOWN = re.compile(r"^ *(\d+)\t(.*)$", re.MULTILINE)
FOUND = re.compile(r"^\[(a\d+#\d+)\] .*\n  (\S+):(\d+)\S*\n  > (.*)$", re.MULTILINE)
WHY = "The page is about the default backend, and that is answered."


@dataclass(frozen=True)
class Quest:
    """A brief, and how its subagent looks for the answer.

    Attributes:
        question: as the brief asks it.
        pattern: what it greps for.
        path: where.
        wanted: what the line matches, from the hit on, that it quotes.
        claim: what it says of that line; holds its groups.
    """

    question: str
    pattern: str
    path: str
    wanted: str
    claim: str


QUESTS = {
    "Locks, as they are offered": Quest(
        "What does `acquire` of a lock do?",
        r"^class Lock\b",
        CORE,
        r"raise NotImplementedError",
        "To acquire a lock is not implemented.",
    ),
    "Locks, as they work": Quest(
        "What does `acquire` of a lock do where the lock is taken?",
        r"^class Lock\b",
        BACKEND,
        r"\bawait\b.*",
        "To acquire a lock waits until it is free.",
    ),
    "Threads": Quest(
        "How many worker threads are there by default?",
        r"CapacityLimiter\(\d+\)",
        "anyio/_backends",
        r"CapacityLimiter\((\d+)\)",
        "By default {0} threads work at once.",
    ),
    "Streams": Quest(
        "How many items does a memory stream hold by default?",
        r"max_buffer_size: float = ",
        "anyio",
        r"max_buffer_size: float = (\d+)",
        "A memory stream holds {0} items that nobody has taken.",
    ),
    "Connections": Quest(
        "How long is the next address waited with?",
        r"happy_eyeballs_delay: float = \d",
        "anyio",
        r"happy_eyeballs_delay: float = ([\d.]+)",
        "The next address is tried after {0} seconds.",
    ),
    "Locks on trio": Quest(
        "Who waits for a lock of the trio backend, and in which order?",
        r"^class Lock\b",
        "anyio/_backends/_trio.py",
        r"\bawait\b.*",
        "It waits there as well.",
    ),
}
TITLES = list(QUESTS)
OFFERED, BEHIND, THREADS, STREAMS, CONNECTIONS, NEEDLESS = (
    f"a{number}" for number in range(1, 7)
)


def briefs() -> list[dict[str, Any]]:
    return [
        {
            "title": title,
            "objective": f"{quest.question} It is for a page that tells new users of "
            "the library what to expect.",
            "questions": [quest.question],
        }
        for title, quest in QUESTS.items()
    ]


# ---- subagents that look -------------------------------------------------------------


def turns(request: ModelRequest) -> int:
    return sum(each["role"] == "assistant" for each in request.messages)


def texts_of(request: ModelRequest) -> str:
    """All texts that a request holds, of calls and results too, in lines."""

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                yield from texts(each)

    return "\n".join(texts(orjson.loads(request.body)))


def around(path: str, line: int) -> Block:
    return call("read_file", path=path, first_line=max(line - 25, 1), max_lines=80)


def hit_of(request: ModelRequest) -> tuple[str, int]:
    """The first place that a `grep` has just found."""
    match = HIT.search(last_results(request))
    assert match, last_results(request)
    return match[1], int(match[2])


def line_of(request: ModelRequest, wanted: str, *, after: int = 0) -> tuple[int, Any]:
    """The first line of the file just read that matches, from one line on."""
    for number, text in SHOWN.findall(last_results(request)):
        if int(number) >= after and (match := re.search(wanted, text)):
            return int(number), match
    raise AssertionError(last_results(request))


def looks(quest: Quest) -> Callable[[ModelRequest], Step]:
    """Greps, opens the place that came back, and quotes what it was shown."""
    places: list[tuple[str, int]] = []

    def play(request: ModelRequest) -> Step:
        match turns(request):
            case 0:
                return call("grep", pattern=quest.pattern, path=quest.path)
            case 1:
                places.append(hit_of(request))
                return around(*places[0])
        path, hit = places[0]
        line, match_ = line_of(request, quest.wanted, after=hit)
        claim = quest.claim.format(*match_.groups())
        quote = item(claim, f"{path}:{line}", match_.string.strip())
        return call("submit_findings", **found(quote, summary=claim))

    return play


def asked_further(quest: Quest) -> Callable[[ModelRequest], Step]:
    """As before; asked further, it opens the place that was named, and its own."""
    first = looks(quest)

    def play(request: ModelRequest) -> Step:
        done = turns(request)
        if done < 3:
            return first(request)
        [question] = re.findall(r"# Further question\n\n(.*)", texts_of(request))
        [(path, line)] = re.findall(r"`(\S+):(\d+)`", question)
        if done == 3:
            made = call("grep", pattern=r"\.create_lock\(", path=quest.path)
            return [around(path, int(line)), made]
        _, there = line_of(request, ".", after=int(line))
        hits = HIT.findall(last_results(request))
        made_at = next(hit for hit in hits if hit[0] == quest.path)
        claim = "What one gets is the lock of the backend, and that one waits."
        both = {
            "claim": claim,
            "evidence": [
                {"source": f"{quest.path}:{made_at[1]}", "quote": made_at[2].strip()},
                {"source": f"{path}:{line}", "quote": there.string.strip()},
            ],
            "confidence": 0.95,
        }
        return call("submit_findings", **found(both, summary=claim))

    return play


def never_done(quest: Quest) -> Callable[[ModelRequest], Step]:
    """Looks at one place, and then says nothing any more."""
    first = looks(quest)
    return lambda request: first(request) if turns(request) < 2 else hang()


# ---- the lead ------------------------------------------------------------------------


class Lead:
    """Directs the six by what it is told, and opens what they disagree about."""

    def __init__(self) -> None:
        self.places: dict[str, tuple[str, int, str]] = {}
        self.report = ""

    def __call__(self, request: ModelRequest) -> Step:
        told = last_results(request)
        for name, path, line, quote in FOUND.findall(told):
            self.places[name] = (path, int(line), quote)
        match turns(request):
            case 0:
                return call("delegate", briefs=briefs(), wait="none")
            case 1:
                five = [f"a{number}" for number in range(1, 6)]
                return call("wait_for", agents=five, mode="all")
            case 2:  # one says that it waits, the other that nothing is there
                return [around(*self.place(OFFERED)), around(*self.place(BEHIND))]
            case 3:
                return self.asks()
            case 4:
                return self.reports(told)
        return self.mends(told)

    def place(self, agent: str, number: int = 1) -> tuple[str, int]:
        return self.places[f"{agent}#{number}"][:2]

    def asks(self) -> Step:
        path, line = self.place(BEHIND)
        question = f"At `{path}:{line}` a lock waits. Which of both does a user get?"
        return [
            call("follow_up", agent=OFFERED, question=question),
            call("cancel", agent=NEEDLESS, reason=WHY),
        ]

    def reports(self, told: str) -> Step:
        assert f"[{OFFERED}#2]" in told
        core, offered = self.place(OFFERED)
        backend, behind = self.place(BEHIND)
        streams, line = self.place(STREAMS)
        self.report = (
            f"- A lock waits until it is free [{backend}:{behind}]. The class that is "
            f"offered says it is not implemented [{core}:{offered}] [{OFFERED}#1]; "
            f"but one gets that of the backend [{OFFERED}#2].\n"
            f"- Threads: [{THREADS}#1]. Connections: [{CONNECTIONS}#1].\n"
            f"- Streams hold nothing by default [{streams}:{line // 4}]."
        )
        return finish(self.report)

    def mends(self, told: str) -> Step:
        """Cites the lines that it is told the evidence is at."""
        [(path, line)] = re.findall(r"evidence for `(\S+)` is at lines (\d+)", told)
        mended = re.sub(rf"\[{re.escape(path)}:\d+\]", f"[{path}:{line}]", self.report)
        assert mended != self.report
        return finish(mended)


# ---- the run, and what it left -------------------------------------------------------


@dataclass(frozen=True)
class Played:
    """The run, and where its agents worked."""

    ended: Ended
    root: Path

    def line(self, path: str, number: str) -> str:
        """One line of a file as it is now, without its indent."""
        text = (self.root / path).read_text(encoding="utf-8")
        return text.split("\n")[int(number) - 1].strip()

    def findings(self, agent: str) -> list[dict[str, Any]]:
        """All items of a subagent, in the numbers that are cited."""
        kept = self.ended.json(f"agents/{agent}/findings.json")
        answers = [kept, *kept.get("follow_ups", ())]
        return [each for answer in answers for each in answer["items"]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """One run; looked at by all tests."""
    spec = importlib.util.find_spec("anyio")
    assert spec is not None
    assert spec.origin is not None
    bench = RunBench(tmp_path_factory.mktemp("code"))
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(spec.origin).parent, bench.root / "anyio", ignore=without)
    workers = {title: looks(quest) for title, quest in QUESTS.items()}
    workers[TITLES[0]] = asked_further(QUESTS[TITLES[0]])
    workers[TITLES[5]] = never_done(QUESTS[TITLES[5]])
    ended = anyio.run(
        lambda: bench.run(played(Lead(), workers), objective=OBJECTIVE),
    )
    return Played(ended, bench.root)


def test_it_is_done_and_says_what_was_left_out(run: Played) -> None:
    result = run.ended.result

    assert (result.state, result.exit_code, result.missing) == ("done", 0, [])
    left_out = f"{NEEDLESS} ({TITLES[5]}): lead cancelled it: {WHY}"
    assert f"- Withdrawn by the lead: {left_out}" in run.ended.text("report.md")


def test_two_contradict_each_other_and_the_report_says_which_holds(
    run: Played,
) -> None:
    offered, mended = run.findings(OFFERED)
    [behind] = run.findings(BEHIND)
    sources = [each["evidence"][0]["source"] for each in (offered, behind)]
    assert [each.split(":")[0] for each in sources] == [CORE, BACKEND]
    assert [each["source"].split(":")[0] for each in mended["evidence"]] == [
        CORE,
        BACKEND,
    ]

    first, *_ = run.ended.text("report.md").split("\n")
    assert first.startswith(f"- A lock waits until it is free [{sources[1]}].")
    assert f"says it is not implemented [{sources[0]}] [{OFFERED}#1]" in first
    assert f"one gets that of the backend [{OFFERED}#2]" in first


def test_the_lead_opened_both_places_before_it_asked_further(run: Played) -> None:
    for path, told in zip((CORE, BACKEND), run.ended.results("read_file"), strict=True):
        agent = OFFERED if path == CORE else BEHIND
        source = run.findings(agent)[0]["evidence"][0]
        line = source["source"].split(":")[1]
        assert re.search(rf"^ *{line}\t.*{re.escape(source['quote'])}$", told, re.M)
    started = [each.data["name"] for each in run.ended.events("tool.started", "lead")]
    assert started == [
        "delegate",
        "wait_for",
        *["read_file"] * 2,
        "follow_up",
        "cancel",
        *["finish"] * 2,
    ]


def test_every_citation_of_the_report_is_of_text_that_is_there(run: Played) -> None:
    report = run.ended.text("report.md")
    assert "not confirmed" not in report
    places = re.findall(r"\[(anyio/\S+?):(\d+)\]", report)
    items = re.findall(r"\[(a\d+)#(\d+)\]", report)
    assert (len(places), len(items)) == (3, 4)

    quoted = set()
    for agent, number in items:
        for evidence in run.findings(agent)[int(number) - 1]["evidence"]:
            path, line = evidence["source"].split(":")
            assert run.line(path, line) == evidence["quote"]
            quoted.add((path, line))
    assert len(quoted) == 5
    shown = {path: run.line(path, line) for path, line in places}
    assert "raise NotImplementedError" in shown[CORE]
    assert "await" in shown[BACKEND]
    [streams] = [text for path, text in shown.items() if path not in (CORE, BACKEND)]
    assert "max_buffer_size" in streams


def test_the_numbers_that_were_claimed_are_those_of_the_code(run: Played) -> None:
    for agent in (THREADS, STREAMS, CONNECTIONS):
        [each] = run.findings(agent)
        path, line = each["evidence"][0]["source"].split(":")
        [number] = re.findall(r"\d[\d.]*", each["claim"])
        assert re.search(rf"\b{re.escape(number)}\b", run.line(path, line))


def test_a_wrong_citation_came_back_once_with_what_is_right(run: Played) -> None:
    sent_back, accepted = run.ended.results("finish")

    [evidence] = run.findings(STREAMS)[0]["evidence"]
    path, line = evidence["source"].split(":")
    assert f"the evidence for `{path}` is at lines {line}-{line}" in sent_back
    assert sent_back.count("\n- ") == 1
    assert accepted == "Accepted."
    first, second = run.ended.events("report.submitted", "lead")
    assert [len(each.data["wrong"]) for each in (first, second)] == [1, 0]


def test_what_subagents_read_and_did_not_quote_is_in_no_request_of_the_lead(
    run: Played,
) -> None:
    own = "\n".join(run.ended.results("read_file"))
    quoted = "\n".join(
        evidence["quote"]
        for number in range(1, 6)
        for each in run.findings(f"a{number}")
        for evidence in each["evidence"]
    )
    read: set[str] = set()
    for number in range(1, 7):
        results = run.ended.results("read_file", f"a{number}")
        assert results
        read |= {text.strip() for each in results for _, text in SHOWN.findall(each)}
    kept = {line for line in read if len(line) > 25 and line not in own + quoted}
    assert len(kept) > 80

    said = "\n".join(map(texts_of, run.ended.requests_of("lead")))
    assert [line for line in kept if line in said] == []
    others = "\n".join(
        texts_of(request)
        for number in range(1, 7)
        for request in run.ended.requests_of(f"a{number}")
    )
    assert [line for line in kept if line not in others] == []


def test_show_tells_the_truth_about_each_of_the_six(
    run: Played, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(run.ended.folder), "--json"]) == 0

    data = orjson.loads(capsys.readouterr().out)
    agents = {each["id"]: each for each in data["agents"]}
    for number, title in enumerate(TITLES, 1):
        agent = agents[f"a{number}"]
        assert (agent["title"], agent["delivered"]) == (title, True)
        assert [each["delivered"] for each in agent["answers"]] == [True] * (
            2 if number == 1 else 1
        )
        is_needed = number < 6
        assert agent["outcome"] == ("submitted" if is_needed else "cancelled")
        assert agent["status"] == ("complete" if is_needed else "failed")
    path, line = run.findings(BEHIND)[0]["evidence"][0]["source"].split(":")
    [asked] = agents[OFFERED]["asked"]
    assert f"`{path}:{line}`" in asked
    assert agents[OFFERED]["turns"] == 5
    [given_up] = agents[NEEDLESS]["answers"]
    assert (given_up["cancelled_by"], given_up["items"]) == ("lead", 0)
    assert data["report"]["attempts"] == 2


def test_the_notes_tell_the_truth_about_each_of_the_six(run: Played) -> None:
    rows = {
        cells[1]: cells
        for line in run.ended.text("progress.md").split("\n")
        if re.match(r"\| a\d+ \|", line)
        for cells in [[cell.strip() for cell in line.split("|")]]
    }

    assert [rows[f"a{n}"][2] for n in range(1, 7)] == TITLES
    assert [rows[f"a{n}"][3] for n in range(1, 7)] == ["complete"] * 5 + ["cancelled"]
    fates = [rows[f"a{n}"][4] for n in range(1, 7)]
    assert fates == [
        "handed in 1 item; asked 1 further question: complete",
        *["handed in 1 item"] * 4,
        f"cancelled by lead: {WHY}",
    ]
    for agent, cells in rows.items():
        read = sum(
            each.data["tokens"]
            for each in run.ended.events("tool.ended", agent)
            if each.data["name"] in ("grep", "read_file")
        )
        assert int(cells[6].replace(",", "")) == read > 0
