"""What stands out in a run, as rows: the dearest subagent, the fullest context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.cli.output import clock_time, dollars, safe
from orchestrator.events.base import moment
from orchestrator.events.phrases import count_phrase, duration, quoted, tokens
from orchestrator.inspection.breakdown import fullest_of, waits_of
from orchestrator.inspection.costliest import Costliest, Factor, costliest_of
from orchestrator.inspection.layers import by_group
from orchestrator.inspection.run import RunView
from orchestrator.inspection.story import PersonAct
from orchestrator.inspection.usage import Peak

__all__ = ["WAIT_WORDS", "events_named", "insight_rows", "peak_phrase"]

WORTH_SHARE = 0.25
"""Of its window: a context that was never fuller is not of note."""
_MOST_ACTS = 4

WAIT_WORDS = {
    "service": "for the service",
    "subagents": "for subagents",
    "room": "for a free place",
    "person": "for a person",
}
_FACTORS = {
    "turns": "turn",
    "tool_calls": "call",
    "repeated_reads": "repeated read",
    "retries": "retry",
    "tool_errors": "failed call",
    "compactions": "compaction",
    "further_questions": "further question",
}
_ACTS = {
    "stop": "stopped", "steer": "steered", "pause": "paused", "go_on": "let go on",
    "edit_notes": "notes edited", "ask": "asked", "allow": "allowed",
    "refuse": "refused",
}  # fmt: skip


def insight_rows(view: RunView) -> Iterator[tuple[str, str]]:
    """Yield label and text of the rows about what stands out; most runs have few."""
    costliest = costliest_of(view)
    if costliest is not None:
        yield "dearest", _dearest(view, costliest)
    fullest = fullest_of(view)
    is_edited = any(each.clears or each.compactions for each in view.agents.values())
    if fullest is not None and (fullest.share >= WORTH_SHARE or is_edited):
        peak = peak_phrase(fullest.peak, fullest.window)
        yield "context", f"fullest: {safe(fullest.agent)} {peak}"
    if waited := _waited(view):
        yield "waited", waited
    if view.story.acts:
        yield "people", safe(_people(view.story.acts))


def events_named(seqs: tuple[int, ...]) -> str:
    """Return ` (#57, #60)`, or "" where no event is known."""
    return f" ({', '.join(f'#{seq}' for seq in seqs)})" if seqs else ""


def peak_phrase(peak: Peak, window: int) -> str:
    """Return `at turn 7, 9.4k of 16k tokens (59%): results 4.2k, fixed 2.3k`."""
    of = f" of {tokens(window)}" if window else ""
    share = f" ({peak.tokens / window:.0%})" if window else ""
    sizes = {
        name: size for name, size in by_group(_sizes(peak.composition)).items() if size
    }
    parts = sorted(sizes.items(), key=lambda each: -each[1])
    named = ", ".join(f"{name} {tokens(size)}" for name, size in parts)
    told = f": {named}" if named else ""
    return f"at turn {peak.turn}, {tokens(peak.tokens)}{of} tokens{share}{told}"


def _sizes(composition: Mapping[str, object]) -> dict[str, int]:
    return {
        str(layer): size for layer, size in composition.items() if isinstance(size, int)
    }


def _dearest(view: RunView, found: Costliest) -> str:
    agent = view.agents[found.agent]
    count = sum(bool(each.tokens.sent) for each in view.subagents)
    took, what = tokens(found.amount), "the tokens"
    if found.measure == "usd":
        took, what = f"${dollars(found.amount)}", "the dollars"
    head = (
        f"{found.agent} {quoted(agent.title)} took {found.share:.0%} of {what} of "
        f"{count} subagents ({took})"
    )
    why = [
        _factor(each, "others " if not index else "")
        for index, each in enumerate(found.factors)
    ]
    if found.model:
        why.append(f"asks {found.model}, others do not")
    return safe(f"{head}: {', '.join(why) or 'in no figure far from the others'}")


def _factor(factor: Factor, of: str) -> str:
    """Return a figure and, in brackets, the median of the others."""
    value, others = factor.value, factor.others
    match factor.name:
        case "explored_tokens":
            return f"explored {tokens(value)} ({of}{tokens(others)})"
        case "output_tokens":
            return f"wrote {tokens(value)} ({of}{tokens(others)})"
        case "tokens_per_turn":
            return f"{tokens(value)} sent a turn ({of}{tokens(others)})"
        case "cache_share":
            return f"only {value:.0%} from the cache ({of}{others:.0%})"
        case name:
            return (
                f"{count_phrase(int(value), _FACTORS.get(name, name))} ({of}{others:g})"
            )


def _waited(view: RunView) -> str:
    """Return what agents waited for, but for subagents, where it is of note."""
    waits = waits_of(view.agents.values())
    total = sum(each.seconds() for each in view.agents.values()) + waits["room"]
    if total <= 0:
        return ""
    told = [
        f"{duration(seconds)} {WAIT_WORDS[what]} ({seconds / total:.0%})"
        for what, seconds in waits.items()
        if what != "subagents" and seconds >= 2 and seconds >= total * 0.1
    ]
    return f"{', '.join(told)} of the agents' time; see --by wait" if told else ""


def _people(acts: list[PersonAct]) -> str:
    """Return what people did, the newest of it word for word."""
    counts: dict[str, list[PersonAct]] = {}
    for each in acts:
        counts.setdefault(each.action, []).append(each)
    told = []
    for action, found in counts.items():
        numbers = ", ".join(f"#{each.seq}" for each in found[-_MOST_ACTS:])
        times = f" {len(found)} times" if len(found) > 1 else ""
        told.append(f"{_ACTS.get(action, action)}{times} ({numbers})")
    newest = next((each for each in reversed(acts) if each.text), None)
    if newest is not None:
        at = clock_time(moment(newest.at))
        told.append(f"newest, at {at}: {quoted(newest.text[:200])}")
    return "; ".join(told)
