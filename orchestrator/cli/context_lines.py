"""The numbers of each agent's context, as `orchestrate check` shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from orchestrator.cli.output import fill, safe
from orchestrator.events.phrases import count_phrase
from orchestrator.runtime.fixed import AgentNumbers

__all__ = ["context_lines", "context_rows"]

_LAYERS = {"recent": "recent steps", "output": "output"}


def context_rows(agents: Sequence[AgentNumbers]) -> list[dict[str, Any]]:
    """Return the numbers of each profile as plain data, the lead's first."""
    return [
        {
            "profile": each.name,
            "model": each.model,
            "fixed_tokens": each.fixed_tokens,
            **asdict(each.numbers),
            "shrunk": [asdict(one) for one in each.shrunk],
        }
        for each in agents
    ]


def context_lines(
    rows: Sequence[Mapping[str, Any]],
    policy: Mapping[str, Any],
    *,
    prices: Mapping[str, Mapping[str, Any] | None],
) -> Iterator[str]:
    """Yield what `context_rows` found as text, some lines a profile.

    Args:
        rows: as it gave them.
        policy: `context_policy` of the task, as plain data.
        prices: model → its price as plain data, or None where nobody told one.
    """
    yield f"context: policy {policy['policy']} (preset {policy['preset']})"
    for row in rows:
        window = row["window_tokens"]
        known = "unknown" if window is None else f"{window:,}"
        fixed = f"about {row['fixed_tokens']:,} always there"
        yield fill(
            f"{safe(row['profile'])}: window {known}, {fixed}",
            indent="    ",
            first="  ",
        )
        for text in _told(row, prices.get(row["model"])):
            yield fill(safe(text), indent="      ", first="    ")


def _told(row: Mapping[str, Any], price: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what holds for a profile, a paragraph each."""
    is_ladder, is_known = row["policy"] == "ladder", row["window_tokens"] is not None
    if not is_known:
        yield (
            "no marks, numbers as written: set `context_policy.window_tokens` to what "
            "the model's server was started with"
        )
    if is_ladder:
        yield from _clears(row, price)
        yield from _compacts(row)
    else:
        yield from _drops(row)
    if is_known:
        yield _sizes(row)
    if row["shrunk"]:
        yield f"shrunk: {'; '.join(_shrunk(row['shrunk']))}"


def _clears(row: Mapping[str, Any], price: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield when old results are cleared."""
    bands = price["bands"] if price else []
    soft, hard = row["soft_tokens"], row["hard_tokens"]
    when = []
    if not _is_free(bands):
        when.append("as soon as carrying them has cost as much as clearing them")
    if soft is not None:
        when.append(f"{'at the latest ' if when else ''}from {soft:,} tokens on")
    if when:
        yield f"old results are cleared {'; '.join(when)}"
    dear = [each["over_tokens"] for each in bands if each["over_tokens"]]
    for tokens in dear if hard is None else [each for each in dear if each < hard]:
        yield (
            f"{row['model']} costs more above {tokens:,} tokens: results are cleared "
            "before, where that keeps a request below"
        )


def _is_free(bands: Sequence[Mapping[str, float]]) -> bool:
    names = ("input", "cache_read", "cache_write_5m")
    return bool(bands) and not any(each[name] for each in bands for name in names)


def _compacts(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield when earlier steps are compacted."""
    hard, every = row["hard_tokens"], row["every_turns"]
    when = [
        f"from {hard:,} tokens on" if hard is not None else "",
        f"every {count_phrase(every, 'turn')}" if every else "",
    ]
    if any(when):
        yield f"earlier steps are compacted {', and '.join(filter(None, when))}"


def _drops(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield when a policy that only drops steps does so."""
    if row["policy"] == "window":
        last = row["last_steps"]
        steps = "step is" if last == 1 else f"{last} steps at most are"
        yield f"the last {steps} shown"
    if row["hard_tokens"] is not None:
        soft, hard = f"{row['soft_tokens']:,}", f"{row['hard_tokens']:,}"
        yield f"from {hard} tokens on the oldest steps go, down to {soft}"


def _sizes(row: Mapping[str, Any]) -> str:
    parts = [
        f"replies up to {row['output_tokens']:,}",
        f"pages {row['read_tokens']:,}",
        f"other results {row['clip_tokens']:,}",
    ]
    if row["policy"] == "ladder":
        steps = count_phrase(row["tail_steps"], "step")
        parts += [
            f"tail {steps} up to {row['tail_tokens']:,}",
            f"summary {row['summary_tokens']:,}",
        ]
    return ", ".join(parts)


def _shrunk(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a phrase for each layer with the numbers that did not fit into it."""
    for layer, words in _LAYERS.items():
        numbers = [
            f"{each['name']} {each['wanted']:,} to {each['got']:,}"
            for each in found
            if each["layer"] == layer
        ]
        if numbers:
            yield f"{', '.join(numbers)} (share of {words})"
