"""`context` and `diff`, and what other readers say of clears and compactions."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from context_runs import (
    STANDS_IN,
    STUB,
    ContextScript,
    cleared,
    compacted,
    context_run,
)
from made_up_secrets import FORMS
from sample_runs import open_script, use

from orchestrator.cli.context_picture import color_of, label_of
from orchestrator.cli.main import main
from orchestrator.cli.output import Style, width
from orchestrator.cli.stacked_chart import Column, chart_lines
from orchestrator.events import TextAdded
from orchestrator.messages import text_block, text_of
from orchestrator.store.layout import RunFolder

Capture = pytest.CaptureFixture[str]
GITHUB_TOKEN = next(each for each in FORMS.values() if each.startswith("gh"))


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ORCHESTRATE_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


@pytest.fixture
def folder(runs: Path) -> RunFolder:
    return context_run(runs)


def out(capsys: Capture, *argv: str, status: int = 0) -> str:
    assert main(argv) == status
    shown, told = capsys.readouterr()
    return told if status else shown


def out_json(capsys: Capture, *argv: str) -> Any:
    return orjson.loads(out(capsys, *argv, "--json"))


def test_the_table_has_a_line_a_turn_and_what_came_between(
    folder: RunFolder, capsys: Capture
) -> None:
    lines = out(capsys, "context", "last").splitlines()

    heading = next(at for at, line in enumerate(lines) if line.startswith("turn"))
    table = lines[heading + 1 : lines.index("", heading)]
    assert [line.split()[0] for line in table if line[3].isdigit()] == list("1234567")
    assert table[3].startswith("   - c 1 result and 1 block of thinking no longer sent")
    assert table[7].startswith("   - C a summary stands in place of steps 1 to 4")
    assert table[2].split() == [
        "3", "6.5k", "+1%", "50%", "0.4s", "550", "-", "6k", "-", "90", "-", "33%",
    ]  # fmt: skip


def test_everything_fits_eighty_columns(folder: RunFolder, capsys: Capture) -> None:
    for command in (
        ["context", "last"],
        ["diff", "last", "lead", "1"],
        ["show", "last"],
    ):
        lines = out(capsys, *command).splitlines()
        assert [line for line in lines if width(line) > 80 and "/" not in line] == []


def test_offenders_and_what_was_missed_are_named(
    folder: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, "context", "last")

    assert "read_file            4 calls, 12k, carried 24k" in text
    assert "3k × 3 requests  h2 reads src/mod_2.py, gone from turn 6 on" in text
    assert "opened at turn 5: h5 opens h1" in text
    assert "called again at turn 6: h6 reads src/mod_2.py" in text
    assert "errors 0 of 3 → 2 of 4 calls" in text


def test_edits_after_which_nothing_was_missed_are_only_counted(
    runs: Path, capsys: Capture
) -> None:
    with open_script(runs) as (_, script):
        script.start_run()
        lead = ContextScript(script)
        lead.start()
        for n in (1, 2, 3):
            lead.step("read_file", {"path": f"m{n}.py"}, size=900 * n)
            script.put(cleared(n + 1, f"lead.c{n}"), "lead")
        lead.step("read_file", {"path": "m9.py"}, size=900)

    text = out(capsys, "context", "last")

    assert "  3 edits: nothing missed, and no more errors than before\n" in text
    assert "called again" not in text


def test_the_lead_is_shown_in_full_and_a_subagent_in_one_line(
    folder: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, "context", "last")

    assert text.startswith(
        "lead: limits (claude-sonnet-5-5)\nwindow 20k, soft mark 12k"
    )
    assert text.splitlines()[-1].split() == [
        "a1", "limits", "2", "1.2k", "1.2k", "1.8k", "0%", "0", "0",
    ]  # fmt: skip


def test_another_agent_is_shown_in_full_where_it_is_asked_for(
    folder: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, "context", "last", "--agent", "a1")

    assert text.startswith("a1: limits")
    assert "lead" not in text


def test_an_agent_that_is_not_there_is_named_with_those_that_are(
    folder: RunFolder, capsys: Capture
) -> None:
    for command in (["context", "last", "--agent", "a9"], ["diff", "last", "a9", "1"]):
        told = out(capsys, *command, status=2)
        assert "no agent `a9` in this run; there are: lead, a1" in told


def test_json_has_every_turn_by_layer(folder: RunFolder, capsys: Capture) -> None:
    found = out_json(capsys, "context", "last")

    lead, child = found["agents"]
    assert (lead["id"], child["id"]) == ("lead", "a1")
    assert lead["turns"][1]["composition"]["results:read_file"] == 3000
    assert lead["edits"][0]["opened_again"][0]["id"] == "lead.c5"
    assert lead["edits"][1]["steps"] == [1, 4]
    assert lead["asides"][0]["purpose"] == "summary"
    assert [each["id"] for each in out_json(
        capsys, "context", "last", "--agent", "a1")["agents"]] == ["a1"]  # fmt: skip


def test_clears_that_are_alike_share_a_line(runs: Path, capsys: Capture) -> None:
    with open_script(runs) as (_, script):
        script.start_run()
        lead = ContextScript(script)
        lead.start()
        for n in range(1, 9):
            lead.step("read_file", {"path": f"m{n}.py"}, size=900)
            why = "soft" if n < 5 else "rent"
            script.put(cleared(n + 1, f"lead.c{n}", why=why), "lead")

    text = out(capsys, "context", "last")

    assert (
        "   - c 4 clears in turns 2–5, 4 results no longer sent: the soft mark is "
        "reached\n" in text
    )
    assert text.count("   - c ") == 2
    assert len(out_json(capsys, "context", "last")["agents"][0]["edits"]) == 8


def test_a_run_that_sent_nothing_says_so(runs: Path, capsys: Capture) -> None:
    with open_script(runs) as (_, script):
        script.start_run()

    assert main(["context", "last", "--png", "x.png"]) == 0
    assert capsys.readouterr().err == (
        "nothing was sent to a model in this run\nthere is nothing to draw\n"
    )


@pytest.mark.slow
def test_a_picture_is_drawn(folder: RunFolder, capsys: Capture, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "context.png"

    assert main(["context", "last", "--png", str(picture)]) == 0

    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in capsys.readouterr().err


@pytest.mark.slow
def test_a_picture_that_cannot_be_written_says_why(
    folder: RunFolder, capsys: Capture, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    nowhere = str(tmp_path / "none" / "x.png")

    told = out(capsys, "context", "last", "--png", nowhere, status=2)

    assert "No such file or directory" in told


def test_without_the_extra_a_picture_says_how_to_install_it(
    folder: RunFolder, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    told = out(capsys, "context", "last", "--png", "x.png", status=2)

    assert "pip install -e '.[plots]'" in told


def test_diff_tells_everything_about_a_compaction(
    folder: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, "diff", "last", "lead", "1")

    for words in (
        "lead: compaction 1 of 1, before turn 6",
        "why         the hard mark is reached; claude-sonnet-5-5 wrote a summary",
        "size        13k → 7.2k tokens",
        "price       $0.031, 4.2s; 13.1k in, 200 out in 2 requests",
        "failures    1. empty",
        "checks      mended 3 places, put back 1 line, marked 1 rule as its own",
        "kept        the task, and step 5 whole (2 messages)",
        "dropped     steps 1 to 4: 4 calls, results of 9k tokens",
        "  h2            3k  reads src/mod_2.py",
        "  Work done: src/mod_1.py is read. 上限是 30 天。",
        "  names      3 mended: src/mod_2.py; and 2 more",
        "  numbers    all there",
        "  names       summary  Limit: see mod_3.py",
        "              source   src/mod_2.py holds the limit",
        "              now      Limit: see mod_3.py (source: mod_2.py)",
        "  - src/mod_2.py holds the limit of 30 days",
        "  - Never read src/mod_9.py.",
    ):
        assert f"{words}\n" in text
    lists = ("\nchecks: ", "\nput back", "\nrules", "\nin their", "\ndropped: ")
    places = [text.index(title) for title in lists]
    assert places == sorted(places)
    assert "judge" not in text


def test_long_lists_are_folded_unless_all_is_asked_for(
    runs: Path, capsys: Capture
) -> None:
    with open_script(runs) as (_, script):
        script.start_run()
        lead = ContextScript(script)
        lead.start()
        for n in range(1, 41):
            lead.step("read_file", {"path": f"m{n}.py"}, size=900)
        many = [use(f"q{n}", "grep", {"pattern": "a"}) for n in range(30)]
        lead.asked(many, size=900)
        text = "\n".join(f"Line {n}." for n in range(200))
        rules = [f"Rule {n}." for n in range(40)]
        event = compacted(42, 1, 41, kept=0, text=text, added=rules, own_rules=rules)
        script.put(event, "lead")

    short = out(capsys, "diff", "last", "lead", "1")
    full = out(capsys, "diff", "last", "lead", "1", "--full")

    assert len(short.splitlines()) < 140 < 300 < len(full.splitlines())
    assert short.count("  … and 31 more; --full shows them\n") == 2
    assert "  … and 32 more; --full shows them\n" in short
    assert "    … and 21 more; --full shows them\n" in short
    assert "  … and 128 more lines; --full shows them\n" in short
    assert "  Line 199.\n" in short
    assert "h41.30" in short
    assert "more; --full" not in full
    steps = out_json(capsys, "diff", "last", "lead", "1")["dropped"]
    assert len(steps) == 41


def test_who_wrote_and_who_judged_a_summary_is_named(
    runs: Path, capsys: Capture
) -> None:
    with open_script(runs) as (_, script):
        script.start_run()
        lead = ContextScript(script)
        lead.start()
        lead.step("read_file", {"path": "m1.py"}, size=900)
        lead.step("read_file", {"path": "m2.py"}, size=900)
        said, found = text_block("Done: m1."), text_block("- m1 is not done\n- 30 days")
        lead.asked([said], size=900, purpose="summary", model="small-1")
        lead.asked([found], size=600, purpose="judge", model="big-1")
        script.put(compacted(3, 1, 1, kept=2), "lead")

    text = out(capsys, "diff", "last", "lead", "1")

    assert "; small-1 wrote a summary\n" in text
    assert "judge       big-1 named 2 things that the summary lacked; $0.004" in text
    assert "in 1 request\n" in text
    asides = out_json(capsys, "diff", "last", "lead", "1")["asides"]
    assert asides[1]["found"] == ["m1 is not done", "30 days"]
    table = " ".join(out(capsys, "context", "last").split())
    assert (
        "besides, 1 request for summaries to small-1: 900 in, 120 out; 1 request for "
        "judgements of summaries to big-1: 600 in, 120 out "
    ) in table
    lines = out(capsys, "logs", "last", "--kind", "model")
    assert "small-1 is asked for a summary and writes text" in lines


def test_diff_of_a_compaction_without_a_summary(runs: Path, capsys: Capture) -> None:
    with open_script(runs) as (_, script):
        script.start_run()
        lead = ContextScript(script)
        lead.start()
        calls = [use("p1", "grep", {"pattern": "a"}), use("p2", "odd", {"b": 2})]
        lead.asked([text_block("Two at once."), *calls], size=900)
        for call, name in (("p1", "grep"), ("p2", "odd")):
            script.call("lead", call, name, {}, "hit " * 40)
        event = compacted(
            2, 1, 1, kept=0, how="none", why="window", text="", thinking=2, parts={},
            checks=[], added=[], own_rules=[], failures=[],
        )  # fmt: skip
        script.put(event, "lead")

    text = out(capsys, "diff", "last", "lead", "1")

    for words in (
        "why         only the last steps are kept; without a summary",
        "size        13k → 7.2k tokens, 2 blocks of thinking left out",
        "kept        the task, and the last 0 messages",
        "dropped     step 1: 2 calls, results of 80 tokens",
        "  h1            80  “Two at once.”",
        "    h1.2        40  odd()",
        "  (nothing)",
    ):
        assert f"{words}\n" in text
    assert "price" not in text
    assert "checks" not in text
    whole = out(capsys, "context", "last")
    assert whole.index("   1 ") < whole.index("- C no longer sent: step 1")


def test_many_tools_are_summed_up(runs: Path, capsys: Capture) -> None:
    with open_script(runs) as (_, script):
        script.start_run()
        lead = ContextScript(script)
        lead.start()
        assert main(["context", "last"]) == 0
        assert capsys.readouterr().out.endswith("nothing was sent yet\n")
        for n in range(8):
            lead.step(f"tool_{n}", {}, size=900)

    text = out(capsys, "context", "last")

    assert "  tool_5 " in text
    assert "  and 2 more tools\n" in text


def test_diff_as_json_has_the_text_and_the_steps(
    folder: RunFolder, capsys: Capture
) -> None:
    found = out_json(capsys, "diff", "last", "lead", "1")

    assert (found["n"], found["of"], found["text"]) == (1, 1, STANDS_IN)
    assert [step["ref"] for step in found["dropped"]] == ["h1", "h2", "h3", "h4"]
    assert found["dropped"][0]["calls"][0]["input"] == {"path": "src/mod_1.py"}
    assert found["checks"][0]["lost"] == ["src/mod_2.py"]
    assert found["mended"][0]["now"] == "Limit: see mod_3.py (source: mod_2.py)"


@pytest.mark.parametrize(
    ("agent", "n", "words"),
    [
        ("lead", "2", "no compaction 2 of `lead`; there is one: 1"),
        ("a1", "1", "no compaction 1 of `a1`; nothing of it was ever compacted"),
    ],
)
def test_a_compaction_that_is_not_there_says_how_many_there_are(
    folder: RunFolder, capsys: Capture, agent: str, n: str, words: str
) -> None:
    assert words in out(capsys, "diff", "last", agent, n, status=2)


def test_a_secret_that_a_summary_repeats_is_not_shown(
    runs: Path, capsys: Capture
) -> None:
    text = f"The token is {GITHUB_TOKEN}."
    with open_script(runs) as (_, script):
        script.start_run()
        lead = ContextScript(script)
        lead.start()
        for _ in range(2):
            lead.step("grep", {"pattern": "x"}, size=900)
        event = compacted(
            3,
            1,
            1,
            kept=2,
            text=text,
            summary=text,
            added=[text],
            mended=[{"check": "names", "said": text, "now": text}],
        )
        script.put(event, "lead")
        lead.step("grep", {"pattern": "x"}, size=900)

    for command in (
        ["diff", "last", "lead", "1"], ["diff", "last", "lead", "1", "--json"],
        ["transcript", "last", "lead", "--view", "3"], ["logs", "last", "--json"],
    ):  # fmt: skip
        shown = out(capsys, *command)
        assert GITHUB_TOKEN not in shown
        assert "The token is" in shown


def test_a_transcript_is_whole_and_says_what_was_no_longer_sent(
    folder: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, "transcript", "last", "lead")

    assert STUB not in text
    assert "In place" not in text
    assert text.count("result of read_file") == 4
    clear = text.index("── before turn 4: 1 result and 1 block of thinking")
    compaction = text.index("── before turn 6: a summary stands in place of steps 1")
    assert text.index("assistant, turn 3") < clear < text.index("assistant, turn 4")
    assert text.index("assistant, turn 5") < compaction < text.index("turn 6 (h6) ──")
    edits = out_json(capsys, "transcript", "last", "lead")["edits"]
    assert [(each["turn"], each["messages_before"]) for each in edits] == [
        (4, 7), (6, 11),
    ]  # fmt: skip


def test_a_view_is_what_was_sent_at_that_turn(
    folder: RunFolder, capsys: Capture
) -> None:
    def sent(turn: int) -> list[Any]:
        shown = out_json(capsys, "transcript", "last", "lead", "--view", str(turn))
        messages: list[Any] = shown["messages"]
        return messages

    assert STUB not in str(sent(3))
    assert text_of(sent(5)[2]["content"]) == STUB
    after = sent(6)
    assert [each["role"] for each in after] == ["user", "assistant", "user"]
    assert text_of(after[0]["content"]) == f"Find the limits.\n{STANDS_IN}"
    assert text_of(after[2]["content"]).endswith("Budget: 12 % used.")
    shown = out(capsys, "transcript", "last", "lead", "--view", "6")
    assert "assistant, turn 5 (h5)" in shown
    assert "Find the limits.\n• the program says:\n# State\n" in shown
    assert "\n• the program says:\nBudget: 12 % used.\n" in shown
    assert "there are: 1 to 7" in out(
        capsys, "transcript", "last", "lead", "--view", "8", status=2
    )


def test_a_reference_opens_its_step_or_its_call(runs: Path, capsys: Capture) -> None:
    with open_script(runs) as (_, script):
        script.start_run()
        lead = ContextScript(script)
        lead.start()
        lead.step("read_file", {"path": "m1.py"}, size=900, result="first\n" * 40)
        calls = [use(f"p{n}", "grep", {"pattern": f"a{n}"}) for n in (1, 2)]
        lead.asked([text_block("Two at once."), *calls], size=900)
        for n in (1, 2):
            script.call(
                "lead", f"p{n}", "grep", {"pattern": f"a{n}"}, f"hit {n}\n" * 40
            )
        script.put(TextAdded("reminder", "As a reminder: 12 % used."), "lead")
        lead.step("read_file", {"path": "m3.py"}, size=900)

    whole = out(capsys, "transcript", "last", "lead")
    step = out(capsys, "transcript", "last", "lead", "--step", "h2")
    call = out(capsys, "transcript", "last", "lead", "--step", "h2.2")

    assert "── user: the task (h0) ──" in whole
    assert "── assistant, turn 2 (h2) ──" in whole
    assert "\nh2.2 → grep: searches for “a2”\n" in whole
    assert "\nh2.2 ← result of grep:\n" in whole
    assert "\n→ read_file: reads m1.py\n" in whole
    assert "\n• the program says:\nAs a reminder: 12 % used.\n" in whole
    assert step.startswith("── assistant, turn 2 (h2) ──")
    assert step.count("hit 1\n") == step.count("hit 2\n") == 40
    assert "As a reminder" in step
    assert "first" not in step
    assert "m3.py" not in step
    assert (call.count("hit 1\n"), call.count("hit 2\n")) == (0, 40)
    assert "a1" not in call
    shown = out_json(capsys, "transcript", "last", "lead", "--step", "h2.2")
    assert (shown["ref"], len(shown["messages"])) == ("h2.2", 2)
    assert out_json(capsys, "transcript", "last", "lead", "--step", "0")[
        "messages"
    ] == [{"role": "user", "content": [text_block("Find the limits.")]}]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--step", "h99"], "found `h99`; steps are `h1` to `h7`"),
        (["--step", "art_1"], "found `art_1`; steps are `h1` to `h7`"),
        (["--step", "h2.4"], "step 2 has 1 call, not 4"),
        (["--step", "h2", "--view", "2"], "does not go with `--view`"),
    ],
)
def test_a_reference_to_nothing_says_what_there_is(
    folder: RunFolder, capsys: Capture, argv: list[str], words: str
) -> None:
    assert words in out(capsys, "transcript", "last", "lead", *argv, status=2)


def test_show_counts_clears_and_compactions(folder: RunFolder, capsys: Capture) -> None:
    text = out(capsys, "show", "last")

    assert re.search(
        r"lead limits .*\n│ +context: 1 clear, 1 compaction; what went:", text
    )
    lead, child = out_json(capsys, "show", "last")["agents"]
    assert (lead["clears"], lead["compactions"]) == (1, 1)
    assert (child["clears"], child["compactions"]) == (0, 0)


def test_a_legend_is_as_wide_in_colour() -> None:
    layers = dict.fromkeys(("fixed", "kept", "results", "stubs", "said", "told"), 9)
    columns = [Column("1", layers)]

    def legend(is_on: bool) -> str:
        style = Style(is_on=is_on)
        return list(chart_lines(columns, marks={}, style=style))[-1]

    plain = re.sub(r"\x1b\[\d*m", "", legend(True))
    assert plain == legend(False)
    assert plain.split()[1::2] == list(layers)


def test_a_layer_has_the_same_colour_and_the_tables_words_in_every_picture() -> None:
    layers = [
        "prompt", "tools", "task", "state", "notes", "summary", "subagents", "memory",
        "findings", "results:read_file", "results:grep", "stubs", "assistant",
        "thinking", "text",
    ]  # fmt: skip

    assert len({color_of(layer) for layer in layers}) == len(layers)
    assert color_of("results:own_tool") == color_of("results:other_tool")
    assert [label_of(each) for each in ("state", "results:grep", "stubs", "new")] == [
        "kept: state", "results: grep", "stubs", "told: new",
    ]  # fmt: skip


def chart(count: int, **marks: int) -> list[str]:
    columns = [
        Column(str(n), {"fixed": 100, "results": 10 * n}, "C" if n == 3 else "")
        for n in range(1, count + 1)
    ]
    return list(chart_lines(columns, marks=marks, style=Style(is_on=False)))


@pytest.mark.parametrize("count", [1, 2, 40, 71, 72, 500, 5000])
def test_a_chart_fits_whatever_there_is_to_draw(count: int) -> None:
    lines = chart(count, hard=1000)

    assert max(map(len, lines)) <= 80
    assert "█ fixed  ▓ results" in lines[-1]
    assert lines[-2].split()[-1] <= str(count)
    assert ("C" in "".join(lines[:-2])) is (count > 2)


def test_a_chart_draws_a_mark_where_it_is_near() -> None:
    assert "┄" in "".join(chart(40, hard=550))
    assert "┄" not in "".join(chart(40, hard=55_000))


def test_a_chart_of_nothing_is_nothing() -> None:
    assert list(chart_lines([], marks={}, style=Style(is_on=False))) == []
