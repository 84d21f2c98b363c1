"""The live view on a terminal: what a person sees, at every size and whatever comes."""

from __future__ import annotations

import io
import os
import re
import select
import signal
import sys
import termios
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from deep_runs import ended_run, live_run
from live_process import wait_until
from terminal import Terminal, strange_sequences
from watched_runs import RUN, Events, Watcher

from orchestrator.cli.live import open_view
from orchestrator.cli.live_view import LiveView, can_draw
from orchestrator.cli.output import width
from orchestrator.cli.screen import Screen, breaks_lines

LOOKS = re.compile(r"\x1b\[[0-9;]*m")
SIZES = [(80, 24), (200, 60)]
HOSTILE = {
    "ansi": "\x1b[2J\x1b[H\x1b[31mred\x1b[5A",
    "c1": "\x9b2J\x9d0;owned\x9c",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "query": "\x1b[6n\x1b[c\x1bP$qm\x1b\\",
    "bidi": "\u202egnp.exe\u2066 \u200f",
    "html": "<img src=x onerror=alert(1)>",
    "long": "x" * 10_000,
    "lines": "a\nb\r\nc\u2028d\u0085e\x0bf",
    "wide": "认证令牌在哪里检查" * 40,
    "family": "👨‍👩‍👧‍👦👍🏽❤️🏳️‍🌈1️⃣" * 20,
    "zero": "a\u200bb\u200dc\ufeffd\u00ade\u2060f",
    "marks": "Z" + "\u0301" * 5000 + "y",
    "half": "\ud800x\udfff",
    "nul": "a\x00b\x08\x08\x7f",
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "TMUX", "VTE_VERSION", "STY", "XTERM_VERSION"):
        monkeypatch.delenv(name, raising=False)


def deep(columns: int, rows: int) -> Watcher:
    watcher = Watcher(columns, rows)
    watcher.terminal.write("$ orchestrate run deep.yaml\na notice\n")
    watcher.plays(live_run())
    return watcher


@pytest.fixture
def at_work() -> Watcher:
    """A lead that waits for two, of which one is full and the other waits."""
    watcher = Watcher()
    write = watcher.events
    write.begins()
    write.turn("lead")
    write.sends("a1", "a2")
    write.starts("a1", "Part a1")
    write.turn("a1", sent=43_000)
    return watcher


def test_at_80_columns_the_essential_is_there() -> None:
    lines = deep(80, 24).looks()

    assert lines[:2] == ["$ orchestrate run deep.yaml", "a notice"]
    assert lines[2].split() == ["20261129-201500-deep-7f3a", "running", "57s"]
    assert lines[3].split() == ["agent", "step", "ctx", "tokens", "usd", "time"]
    assert "◌ waits for a5, asked" in lines[4]
    assert "● searches for “refund”" in lines[8]
    assert lines[4].split()[-4:] == ["4k", "12.4k", "0.030", "55s"]
    assert lines[-1] == "0.10 usd  ━─────────────── 5% of 2 usd"
    assert all(width(line) < 80 for line in lines)


def test_at_200_columns_everything_is_there() -> None:
    watcher = deep(200, 60)

    lines = watcher.looks()

    heads = "agent step state turns retried context cleared compacted tokens usd time"
    assert lines[3].split() == heads.split()
    told = (
        "a5 Password hashing and its settings",
        "asked further “Which of them are rot",
    )
    assert all(each in lines[9] for each in told)
    assert all(width(line) < 200 for line in lines)


@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_how_full_a_context_is_is_told_with_the_marks_it_has_passed(
    columns: int, rows: int
) -> None:
    watcher = Watcher(columns, rows)
    write = watcher.events
    write.begins()
    told = []
    for sent in (43_000, 63_000, 81_000):
        write.turn("lead", sent=sent)
        told.append(watcher.row("lead"))
    write("context.cleared", "lead", tokens_after=30_000)
    write("context.compacted", "lead", tokens_after=20_000)
    told.append(watcher.row("lead"))

    for line, share in zip(told, ("43%", "63%!", "81%!!", "20%"), strict=True):
        assert share in line.split()
    if columns == 200:
        assert "━━━━──┊┊──   43%" in told[0]
        assert told[-1].split()[-5:-3] == ["1", "1"]
    assert "1 clear · 1 compaction" in watcher.looks()[-2]


def test_the_context_of_an_unknown_window_is_told_in_tokens() -> None:
    watcher = Watcher()
    watcher.events("agent.started", "lead", role="lead", title="t", settings={})
    watcher.events.turn("lead", sent=12_345)

    assert "12.3k" in watcher.row("lead").split()


def test_who_waits_for_whom_and_for_what_is_told(at_work: Watcher) -> None:
    write = at_work.events

    assert "◌ waits for a1, a2" in at_work.row("lead")
    assert "◌ waits for a place" in at_work.row("a2")
    write("model.requested", "a1", turn=2, estimated_tokens=44_000)
    assert "● asks the model" in at_work.row("a1")
    write("model.retried", "a1", error="rate_limited", wait_s=30)
    assert "◌ waits for the rate limit" in at_work.row("a1")
    write("model.retried", "a1", error="overloaded", wait_s=5)
    assert "◌ waits to try again" in at_work.row("a1")
    write.passes(6)
    assert "● asks the model" in at_work.row("a1")
    write("model.answered", "a1", turn=2, usage={}, content=[])
    write.calls("a1", "bash", command="make")
    assert "● runs “make” " in at_work.row("a1")
    write.passes(75)
    assert "● runs “make” (1m15s)" in at_work.row("a1")
    write("permission.asked", "a1", call="a1c", tool="bash", permissions=["shell"])
    assert "◌ waits for a person to" in at_work.row("a1")
    write("permission.answered", "a1", call="a1c", tool="bash", answer="no")
    write("tool.ended", "a1", call="a1c", name="bash", content="", seconds=1)
    write("model.requested", "a1", turn=2, estimated_tokens=44_000, purpose="summary")
    assert "● sums up its context" in at_work.row("a1")
    write.ends("a1")
    assert "◌ waits for a2" in at_work.row("lead")
    assert "✓ complete" in at_work.row("a1")


def test_how_agents_ended_is_told_with_the_reason(at_work: Watcher) -> None:
    write = at_work.events
    write.ends("a1", "failed", outcome="failed", reason="quota")
    write.ends("a2", "partial", outcome="cancelled", reason="too dear")

    assert "✗ failed: quota" in at_work.row("a1")
    assert "– cancelled: too dear" in at_work.row("a2")


def test_what_a_person_said_stays_until_the_lead_has_heard_it(at_work: Watcher) -> None:
    write = at_work.events
    steer = write(
        "control.received", action="steer", to="", text="Look at tests first."
    )
    write("notes.edited", "lead", section="Plan", text="- [ ] look\n- [x] rest")

    before = at_work.looks()[1:3]
    write("text.added", "lead", reason="steer", text="…", cause=steer.seq)
    after = at_work.looks()[1]

    assert before[0] == "the lead hears at its next step: “Look at tests first.”"
    assert before[1].startswith(
        "the lead hears at its next step: your edit of “Plan”, “- "
    )
    assert "your edit of" in after


def test_what_the_lead_was_never_told_is_said_at_the_end(at_work: Watcher) -> None:
    write = at_work.events
    write("control.received", action="steer", to="", text="Tests first.")
    write("run.ended", state="done", missing=[])

    assert at_work.looks()[1] == "not told to the lead: “Tests first.”"


def test_that_the_lead_was_told_is_said_for_a_while(at_work: Watcher) -> None:
    write = at_work.events
    steer = write("control.received", action="steer", to="", text="Tests first.")
    write("text.added", "lead", reason="steer", text="…", cause=steer.seq)

    assert at_work.looks()[1] == "the lead was told: “Tests first.”"
    write.passes(30)
    assert at_work.looks()[1].startswith("agent ")


def test_pausing_and_parking_are_told_and_then_the_state(at_work: Watcher) -> None:
    write = at_work.events

    write("control.received", action="pause", to="")
    assert at_work.looks()[0].split()[1] == "pausing"
    write("run.ended", state="paused", reason="a person paused it", missing=[])
    lines = at_work.looks()
    assert lines[0].split()[1] == "paused"
    assert lines[1] == "paused: a person paused it"
    assert "– paused" in at_work.row("a1")
    assert "– waiting" in at_work.row("a2")
    write("run.resumed", after=1)
    assert at_work.looks()[0].split()[1] == "running"
    write("run.parked", error="quota", message="used up")
    assert at_work.looks()[:2][1] == "parking: is being parked: quota: used up"
    write("run.ended", state="parked", reason="quota", missing=[])
    assert "– parked" in at_work.row("a1")


def test_kinds_of_later_versions_do_no_harm(at_work: Watcher) -> None:
    before = [line[:60] for line in at_work.looks()]
    at_work.events("run.paused", by="\x1b[2J", data={"x": [1]})
    at_work.events("agent.\x1b[31mpainted", "a1", colour="\x9b2J")

    assert [line[:60] for line in at_work.looks()][1:] == before[1:]
    assert at_work.terminal.text.count(RUN) == 1


@pytest.mark.parametrize("breaks", [True, False], ids=["breaks", "cuts"])
def test_after_a_resize_there_is_one_picture_and_it_fits(breaks: bool) -> None:
    watcher = deep(200, 60)
    watcher.looks()

    for columns, rows in ((80, 60), (200, 60), (80, 24), (200, 60), (20, 5), (80, 24)):
        watcher.terminal.resize(columns, rows, breaks=breaks)
        watcher.looks()

        text = watcher.terminal.text
        if columns == 20:
            assert text.split("\n")[-1].startswith("running 57s 0.1")
            continue
        assert text.count("20261129-201500-deep-7f3a") == 1
        assert text.count("0.10 usd") == 1
        assert text.count("a4 C") == 1
        assert all(width(row) < columns for row in text.split("\n")[-11:])


@pytest.mark.parametrize("breaks", [True, False], ids=["breaks", "cuts"])
def test_a_resize_leaves_nothing_of_the_old_picture_where_that_fits(
    breaks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm" if breaks else "linux")
    watcher = Watcher(200, 60)
    watcher.terminal.write("a notice\n" * 30)
    watcher.plays(live_run())
    watcher.looks()

    for columns in (100, 80, 140, 60, 200):
        watcher.terminal.resize(columns, 60, breaks=breaks)
        watcher.looks()

        assert watcher.terminal.whole.count("a5 Pass") == 1
        assert watcher.terminal.whole.count("a notice") == 30


@pytest.mark.parametrize(
    ("env", "breaks"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "linux"}, False),
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"}, False),
        ({"TERM": "tmux-256color", "XTERM_VERSION": "XTerm(390)", "TMUX": "x"}, True),
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)", "VTE_VERSION": "7"}, True),
        ({"TERM": "screen", "STY": "1.tty"}, False),
    ],
)
def test_terminals_that_cut_lines_off_are_known(
    env: dict[str, str], breaks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "TMUX", "VTE_VERSION", "STY", "XTERM_VERSION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    assert breaks_lines() is breaks


def test_a_window_that_shrinks_while_it_is_drawn_is_drawn_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watcher = deep(200, 60)
    terminal, sent = watcher.terminal, Terminal.write

    def shrinks(self: Terminal, text: str) -> int:
        monkeypatch.setattr(Terminal, "write", sent)
        terminal.resize(80, 24)
        return sent(self, text)

    monkeypatch.setattr(Terminal, "write", shrinks)
    watcher.looks()
    lines = watcher.looks()

    assert terminal.text.count("20261129-201500-deep-7f3a") == 1
    assert lines[-1] == "0.10 usd  ━─────────────── 5% of 2 usd"


def test_a_question_has_the_terminal_alone_and_no_old_line_stays() -> None:
    watcher = deep(80, 24)
    watcher.looks()

    with watcher.view.paused():
        assert watcher.terminal.text == "$ orchestrate run deep.yaml\na notice"
        watcher.terminal.write("\nlead wants to use bash\n    | make\n[y]es, [N]o? ")
        watcher.looks()
        assert watcher.terminal.text.endswith("[y]es, [N]o?")
        watcher.terminal.write("y\n")
    lines = watcher.looks()

    assert lines[2:6] == ["", "lead wants to use bash", "    | make", "[y]es, [N]o? y"]
    assert lines[6].startswith("20261129-201500-deep-7f3a")
    assert watcher.terminal.whole.count("20261129-201500-deep-7f3a") == 1


def test_what_is_said_meanwhile_stands_above_the_tree() -> None:
    terminal = Terminal()
    screen = Screen(terminal, size=terminal.size)
    screen.draw(["one", "two"])

    screen.say("a warning\n")
    screen.say("x" * 100)
    screen.draw(["one", "three"])
    screen.close()

    rows = ["a warning", "x" * 80, "x" * 20, "one", "three"]
    assert terminal.text.split("\n") == rows


@pytest.mark.parametrize(("columns", "rows"), SIZES)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_never_acts(name: str, columns: int, rows: int) -> None:
    text = HOSTILE[name]
    watcher = Watcher(columns, rows)
    write = watcher.events
    write("run.started", task=text, objective=text, limits={"usd": 2.0})
    write.starts("lead", text, role="lead")
    write.accepts("a1", text)
    write.starts("a1", text)
    write.calls("a1", text, path=text)
    write.accepts("a2", "calm")
    write.starts("a2", "calm")
    write.calls("a2", "bash", command=text)
    write("control.received", action="steer", to="", text=text)
    write.accepts("a3", text)
    write.ends("a3", text, outcome=text, reason=text)
    lines = watcher.looks()

    assert strange_sequences(watcher.terminal.getvalue()) == ""
    assert watcher.terminal.screen.asked == []
    assert len(lines) == 9
    assert all(width(line) < columns for line in lines)
    assert lines[0].startswith(RUN)
    # Figures stand in one column, whatever is before them.
    buffer, edge = watcher.terminal.screen.buffer, columns - 2
    assert [buffer[at][edge].data for at in range(3, 7)] == ["s", "s", "s", "-"]
    assert [buffer[at][edge + 1].data for at in range(9)] == [" "] * 9


@pytest.mark.parametrize("count", [50, 500])
@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_of_many_agents_those_at_work_are_shown_and_the_others_counted(
    count: int, columns: int, rows: int
) -> None:
    watcher = Watcher(columns, rows)
    write = watcher.events
    write.begins()
    agents = [f"a{number}" for number in range(1, count + 1)]
    write.sends(*agents)
    for agent in agents[:30]:
        write.starts(agent, agent)
        write.ends(agent)
    for agent in agents[40:48]:
        write.starts(agent, agent)
        write.calls(agent, "grep", pattern="x")
    lines = watcher.looks()

    assert len(lines) <= rows - 1
    for agent in agents[40:48]:
        assert "● searches for “x”" in watcher.row(agent)
    if count > rows:
        [told] = [line for line in lines if "more agents: " in line]
        shown = sum(line.startswith(("├", "└", "lead")) for line in lines)
        assert int(told.split()[2].replace(",", "")) == count + 1 - shown
        assert " waiting" in told


def test_a_drawing_of_500_agents_is_cheap_and_an_event_is_as_with_five() -> None:
    def cost_of(count: int) -> tuple[float, float]:
        watcher = Watcher()
        write = watcher.events
        write.begins()
        write.sends(*(f"a{number}" for number in range(count)))
        for number in range(count):
            write.starts(f"a{number}", "t")
        write.turn("a1")
        best = [1.0, 1.0]
        for _ in range(5):
            began = time.perf_counter()
            for event in write.all[-20:]:
                watcher.view.on_event(event)
            told = time.perf_counter()
            watcher.view.lines(79, 23)
            took = (told - began) / 20, time.perf_counter() - told
            best = [min(*pair) for pair in zip(best, took, strict=True)]
        return best[0], best[1]

    (few, _), (many, drawing) = cost_of(5), cost_of(500)

    assert many < 4 * few + 1e-5
    assert drawing < 0.05


def test_a_deep_tree_shows_who_each_is() -> None:
    watcher = Watcher()
    write = watcher.events
    write.begins()
    for number in range(1, 16):
        parent = f"a{number - 1}" if number > 1 else "lead"
        write.sends(f"a{number}", parent=parent, call=f"d{number}")
        write.starts(f"a{number}", f"Level {number}")
    lines = watcher.looks()

    for number in range(1, 16):
        assert any(f"a{number} " in line[:30] for line in lines)
    assert all(width(line) < 80 for line in lines)


def test_children_of_hidden_parents_hang_on_who_is_shown_above_them() -> None:
    watcher = Watcher(80, 12)
    write = watcher.events
    write.begins()
    for number in range(1, 12):
        write.accepts(f"a{number}", f"Part {number}")
    write.accepts("b1", "below", parent="a11")
    write.starts("b1", "below")
    lines = watcher.looks()

    assert any(line.startswith("└ b1 below") for line in lines)


@pytest.mark.parametrize("size", [(1, 1), (10, 2), (23, 24), (80, 3), (20, 5)])
def test_in_a_tiny_window_there_is_one_line(size: tuple[int, int]) -> None:
    watcher = deep(200, 60)
    watcher.terminal.resize(*size)

    lines = watcher.view.lines(max(size[0] - 1, 1), max(size[1] - 1, 1))
    watcher.view.show()

    assert len(lines) == 1
    assert width(lines[0]) <= size[0]
    assert strange_sequences(watcher.terminal.getvalue()) == ""


def test_every_window_size_is_filled_and_never_overfilled() -> None:
    watcher = deep(200, 60)
    for columns in (1, 5, 24, 33, 40, 47, 55, 65, 79, 91, 105, 131, 151, 300):
        for rows in (1, 3, 4, 6, 8, 9, 12, 23, 60):
            lines = watcher.view.lines(columns, rows)
            assert 0 < len(lines) <= rows
            assert max(width(LOOKS.sub("", line)) for line in lines) <= columns


def test_without_colours_everything_can_still_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    watcher = deep(80, 24)

    watcher.looks()

    assert "m" not in {end[-1] for end in sequences(watcher.terminal.getvalue())}
    assert "● searches for" in watcher.terminal.text


def sequences(text: str) -> Iterator[str]:
    for part in text.split("\x1b[")[1:]:
        yield part[: next(at for at, char in enumerate(part) if char.isalpha()) + 1]


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_a_terminal_without_a_cursor_gets_lines(
    term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    terminal = Terminal()

    with open_view("auto", stream=terminal) as on_event:
        for event in ended_run():
            on_event(event)

    assert "\x1b" not in terminal.getvalue()
    assert "run ends as partial" in terminal.getvalue()


def test_a_terminal_that_cannot_write_the_tree_gets_lines() -> None:
    class Latin(Terminal):
        encoding = "latin-1"

    assert can_draw(Terminal())
    assert not can_draw(Latin())
    assert not can_draw(io.StringIO())


def test_a_run_that_is_watched_leaves_its_last_picture_and_the_cursor_below() -> None:
    terminal = Terminal()

    with LiveView(terminal, size=terminal.size) as view:
        for event in ended_run():
            view.on_event(event)

    assert terminal.rows[0].split()[:2] == ["20261129-201500-deep-7f3a", "partial"]
    assert terminal.text.endswith("0.14 usd  ━━────────────── 12% of 2 usd")
    assert not terminal.screen.cursor.hidden
    assert terminal.screen.cursor.y == len(terminal.text.split("\n"))


def test_a_terminal_that_goes_away_ends_the_drawing_and_nothing_else() -> None:
    hand, seat = os.openpty()
    with os.fdopen(seat, "w") as stream:
        with LiveView(stream) as view:
            os.close(hand)
            for event in live_run():
                view.on_event(event)
            view.show()
        stream.write("nobody reads this\n")

    assert view.view.agents["a4"].state == "running"
    assert view._screen.is_gone


def test_what_is_typed_is_not_shown_while_the_tree_is() -> None:
    hand, seat = os.openpty()

    def shows() -> bool:
        return bool(termios.tcgetattr(seat)[3] & termios.ECHO)

    with os.fdopen(os.dup(seat), "w") as stream:
        view = LiveView(stream)
        assert shows()
        view.show()
        assert not shows()
        with view.paused():
            assert shows()
            view.show()
            assert shows()
        view.show()
        assert not shows()
        with view:
            pass
        assert shows()
    os.close(hand)
    os.close(seat)


def test_a_terminal_that_showed_nothing_before_is_left_so() -> None:
    hand, seat = os.openpty()
    modes = termios.tcgetattr(seat)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(seat, termios.TCSANOW, modes)

    with os.fdopen(os.dup(seat), "w") as stream, LiveView(stream) as view:
        view.show()

    assert not termios.tcgetattr(seat)[3] & termios.ECHO
    os.close(hand)
    os.close(seat)


def test_after_a_stop_the_tree_is_drawn_below_what_the_shell_said() -> None:
    hand, seat = os.openpty()
    with os.fdopen(seat, "w") as stream, LiveView(stream) as view:
        os.write(hand, b"")
        for event in live_run():
            view.on_event(event)
        seen = told(hand, until="usd")
        signal.raise_signal(signal.SIGCONT)
        again = told(hand, until="usd")
    os.close(hand)

    assert "\x1b[?25l" in seen
    # It hides the cursor once more, and does not go up to what was drawn before.
    assert again.startswith("\x1b[?25l\x1b[?2026h\r\x1b[?7l")


def told(hand: int, *, until: str) -> str:
    """What comes on a terminal up to the drawing that holds that."""
    text = ""
    while until not in text or not text.endswith("\x1b[?2026l"):
        assert select.select([hand], [], [], 10)[0]
        text += os.read(hand, 65536).decode()
    return text


def test_stderr_goes_above_the_tree_and_is_put_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    with LiveView(size=terminal.size, past=None) as view:
        for event in live_run():
            view.on_event(event)
        view.show()
        sys.stderr.write("a warning\nand its end")
        sys.stderr.flush()
        assert sys.stderr.isatty()
        assert sys.stderr is not terminal
        assert getattr(sys.stderr, "screen", None) is terminal.screen

    assert sys.stderr is terminal
    assert terminal.rows[:2] == ["a warning", "and its end"]
    assert terminal.rows[2].startswith("20261129-201500-deep-7f3a")


def test_what_others_write_to_stderr_moves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    with LiveView(size=terminal.size):
        sys.stderr.write("\x1b[31mred\x1b[0m \x1b[5A\x1b]0;owned\x07\n")
        sys.stderr.write(" 10%\r 20%\r 30%\r\nrest\n")

    assert strange_sequences(terminal.getvalue()) == ""
    assert terminal.rows[:3] == ["red ␛[5A␛]0;owned␇", " 30%", "rest"]
    assert terminal.screen.buffer[0][0].fg == "red"


def test_a_resize_is_seen_at_once_also_where_nothing_happens() -> None:
    terminal = Terminal(200, 60)
    with LiveView(terminal, size=terminal.size) as view:
        for event in ended_run():  # it is over: no clock goes on
            view.on_event(event)
        wait_until(lambda: "compacted" in terminal.text)
        terminal.resize(80, 24)
        wait_until(lambda: "compacted" not in terminal.text, 5)

    assert terminal.text.count("20261129-201500-deep-7f3a") == 1


def test_drawing_stays_below_five_times_a_second(tmp_path: Path) -> None:
    terminal = Terminal()
    drawn: list[float] = []

    class Counted(LiveView):
        def show(self) -> None:
            drawn.append(time.monotonic())
            super().show()

    write = Events()
    with Counted(terminal, size=terminal.size) as view:
        write.listeners.append(view.on_event)
        write.begins()
        deadline = time.monotonic() + 0.7
        while time.monotonic() < deadline:
            write.turn("lead")
            time.sleep(0.01)

    assert 2 <= len(drawn) <= 5
    assert timedelta(seconds=drawn[-1] - drawn[0]) < timedelta(seconds=2)
