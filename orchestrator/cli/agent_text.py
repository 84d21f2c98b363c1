"""Everything about one agent of a run, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import starmap
from typing import Any

from orchestrator.cli.breakdown_tables import tool_table
from orchestrator.cli.insight_text import WAIT_WORDS, peak_phrase
from orchestrator.cli.output import (
    LABEL_COLUMNS,
    Style,
    clock_time,
    cut,
    fill,
    pad,
    row,
    safe,
    state_color,
    terminal_width,
)
from orchestrator.cli.usage_text import usage_rows_of
from orchestrator.events.phrases import count_phrase, duration, quoted, tokens
from orchestrator.inspection.agent_page import AgentPage, Finding
from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.run import RunView
from orchestrator.inspection.sentences import describe

__all__ = ["agent_lines"]

_MOST_TEXT = 600
_MOST_ROWS = 8
_MOST_FINDINGS = 40
_MOST_DIFFS = 3


def agent_lines(
    page: AgentPage,
    view: RunView,
    *,
    handle: str,
    now: datetime | None,
    style: Style,
) -> Iterator[str]:
    """Yield everything about an agent.

    Args:
        page: the agent.
        view: its run.
        handle: what commands call the run.
        now: ends what is under way; None: the last event does.
        style: of the terminal.
    """
    agent, run = page.view, safe(handle)
    yield _head(agent, style)
    for rows in (
        _standing(page, view, now),
        _brief(page),
        _used(agent, now),
        _context(page),
    ):
        yield from starmap(row, rows)
    if agent.usage.tools:
        yield ""
        yield from tool_table([agent], style=style)
    yield from _findings(page, style)
    yield from _troubles(page, style)
    yield ""
    for index, command in enumerate(_see_also(page, run)):  # whole, to be copied
        yield pad("" if index else "see also", LABEL_COLUMNS) + command


def _head(agent: AgentView, style: Style) -> str:
    named = ", ".join(safe(each) for each in (agent.profile, agent.model) if each)
    title = style(cut(safe(agent.title), terminal_width() - LABEL_COLUMNS), "bold")
    return f"{style(pad(safe(agent.id), LABEL_COLUMNS), 'bold')}{title}" + (
        f"\n{' ' * LABEL_COLUMNS}({named})" if named else ""
    )


def _standing(
    page: AgentPage, view: RunView, now: datetime | None
) -> Iterator[tuple[str, str]]:
    agent = page.view
    label, doing = view.label(agent), view.doing(agent, now)
    is_fine = label in ("complete", "done")
    why = f": {agent.reason}" if agent.reason and not is_fine else ""
    yield "state", safe(label + why + (f"; now: {doing}" if doing else ""))
    for each in agent.answers.further_phrases(goes_on=view.is_running):
        yield "", safe(each)
    if agent.parent:
        took = f", event #{page.accepted}" if page.accepted else ""
        yield "sent by", safe(agent.parent) + took
    if lost := view.undelivered(agent):
        yield "delivered", f"not yet: {safe(', '.join(lost))}"
    if agent.started_at is not None:
        started = clock_time(agent.started_at, with_date=True)
        yield "time", f"started {started}, at work {duration(agent.seconds(now))}"


def _brief(page: AgentPage) -> Iterator[tuple[str, str]]:
    brief = page.brief
    if objective := _text(brief.get("objective")):
        yield "objective", objective
    for index, question in enumerate(_list(brief.get("questions"))[:_MOST_ROWS]):
        yield ("" if index else "questions"), f"{index + 1}. {_text(question)}"
    scope = brief.get("scope")
    parts = scope if isinstance(scope, dict) else {}
    inside, outside = (
        ", ".join(_text(each) for each in _list(parts.get(name))[:_MOST_ROWS])
        for name in ("include", "exclude")
    )
    if brief:
        yield (
            "scope",
            (inside or "the whole workspace")
            + (f"; without {outside}" if outside else ""),
        )
    if background := _text(brief.get("background")):
        yield "background", background


def _used(agent: AgentView, now: datetime | None) -> Iterator[tuple[str, str]]:
    calls = count_phrase(agent.calls, "call")
    told = [count_phrase(agent.turns, "turn"), calls]
    if agent.call_errors:
        told.append(f"{agent.call_errors} of them failed")
    if agent.usage.repeats:
        told.append(count_phrase(agent.usage.repeats, "repeated read"))
    if agent.usage.retries:
        told.append(count_phrase(agent.usage.retries, "try").replace("try", "retry"))
    yield "work", ", ".join(told)
    handed = ""
    if agent.role == "subagent":
        handed = f", handed back {tokens(agent.returned_tokens)}"
    yield "explored", f"{tokens(agent.explored_tokens)} tokens{handed}"
    yield from usage_rows_of(agent.tokens, agent.cost)
    waits = {
        what: seconds
        for what, seconds in agent.usage.waits(now).items()
        if seconds >= 0.05
    }
    if waits:
        yield (
            "waited",
            ", ".join(
                f"{duration(seconds)} {WAIT_WORDS[what]}"
                for what, seconds in waits.items()
            ),
        )


def _context(page: AgentPage) -> Iterator[tuple[str, str]]:
    usage = page.view.usage
    if usage.peak is None:
        return
    yield "context", f"fullest {peak_phrase(usage.peak, usage.window_tokens)}"
    clears = page.view.clears
    if clears:
        results = sum(
            len(each.calls) for each in page.context.edits if not each.is_compaction
        )
        gone = count_phrase(results, "result")
        yield "", f"{count_phrase(clears, 'clear')}: {gone} gave way to stubs"
    for each in page.compactions:
        went = (
            f"{count_phrase(each.calls, 'result')} of {tokens(each.tokens)} tokens went"
        )
        yield "", f"#{each.seq}, before turn {each.turn}: {safe(each.says)}; {went}"
        if each.lost:
            named = "; ".join(quoted(text[:80]) for text in each.lost[:3])
            more = f" and {len(each.lost) - 3} more" if len(each.lost) > 3 else ""
            yield "", safe(f"the summary lacked {named}{more}: the check put it right")


def _findings(page: AgentPage, style: Style) -> Iterator[str]:
    answers = page.view.answers.all
    if not any(each.findings for each in answers):
        return
    yield ""
    found = page.findings
    bad = sum(not each.is_supported for each in found)
    also = f", {bad} of them unsupported" if bad else ""
    yield style(f"findings: {count_phrase(len(found), 'item')}{also}", "bold")
    for answer in answers:
        if summary := _text(answer.findings.get("summary")):
            yield fill(summary, indent="  ")
    for each in found[:_MOST_FINDINGS]:
        yield from _finding(each, style)
    if len(found) > _MOST_FINDINGS:
        yield f"  … {len(found) - _MOST_FINDINGS} more: --json has them"
    for question in page.listed("open_questions"):
        yield fill(f"open: {_text(question)}", indent="    ", first="  ")
    for note in page.notes:
        yield fill(f"the program: {_text(note)}", indent="    ", first="  ")


def _finding(each: Finding, style: Style) -> Iterator[str]:
    word = "supported" if each.is_supported else "unsupported"
    color = state_color("complete" if each.is_supported else "failed")
    sure = f", its own confidence {each.confidence:g}" if each.confidence else ""
    ref = safe(each.ref)
    yield f"  {style(ref, 'cyan')} {style(word, color)}{sure}"
    yield fill(_text(each.claim), indent="    ")
    for evidence in each.evidence[:3]:
        quote = cut(f"“{_text(evidence['quote'])}”", 200)
        yield fill(f"{_text(evidence['source'])}: {quote}", indent="      ")


def _troubles(page: AgentPage, style: Style) -> Iterator[str]:
    if not page.troubles:
        return
    yield ""
    yield style(f"went wrong: {count_phrase(len(page.troubles), 'event')}", "bold")
    for each in page.troubles[-_MOST_ROWS:]:
        text = safe(f"{each.kind}: {describe(each)}")
        yield fill(cut(text, 300), indent="        ", first=f"  #{each.seq} ")


def _see_also(page: AgentPage, run: str) -> Iterator[str]:
    name = safe(page.view.id)
    yield f"orchestrate transcript {run} {name}"
    yield f"orchestrate logs {run} --agent {name}"
    if page.view.usage.peak:
        yield f"orchestrate context {run} --agent {name}"
    for each in page.compactions[-_MOST_DIFFS:]:
        yield f"orchestrate diff {run} {name} {each.nth}"


def _text(value: object) -> str:
    return cut(safe(str(value or "")), _MOST_TEXT)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
