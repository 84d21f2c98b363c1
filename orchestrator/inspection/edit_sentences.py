"""What an edit of the context says, as a plain sentence, and why it came."""

from __future__ import annotations

from typing import Any

from orchestrator.events.phrases import count_phrase, number, one_line, tokens

__all__ = ["asked_for", "cleared", "compacted", "mended", "why_edited"]

Data = dict[str, Any]

_PURPOSES = {
    "summary": "a summary",
    "judge": "a check of a summary",
    "memory": "what to remember",
}


def asked_for(data: Data) -> str:
    """Return what the program asked the model for; "" where it is an agent's turn."""
    purpose = one_line(data.get("purpose"))
    return _PURPOSES.get(purpose, purpose)


_WHYS = {
    "rent": "carrying them has cost as much as the clear does",
    "soft": "the soft mark is reached",
    "band": "a larger request has a higher price",
    "too_long": "the request was too long",
    "thinking": "the endpoint took nothing of it back as it was",
    "hard": "the hard mark is reached",
    "break": "a part of the work is done",
    "every_turns": "as often as the policy says",
    "exceeded": "the window was full",
    "window": "only the last steps are kept",
    "budget": "only what fits is kept",
}


def why_edited(why: str) -> str:
    """Return why something is no longer sent, in words.

    Args:
        why: as in `context.cleared` or `context.compacted`; one of later versions
            stays as it is.
    """
    return _WHYS.get(why, why)


def _change(data: Data) -> str:
    before = tokens(number(data.get("tokens_before")))
    return f"{before} → {tokens(number(data.get('tokens_after')))} tokens"


def cleared(data: Data) -> str:
    """Return what `context.cleared` with this data says."""
    found = data.get("stubs")
    count = len(found) if isinstance(found, dict) else 0
    also = _thinking(data)
    return (
        f"{count_phrase(count, 'result')}{also} no longer sent ({_change(data)}): "
        f"{why_edited(one_line(data.get('why')))}"
    )


def _thinking(data: Data) -> str:
    blocks = int(number(data.get("thinking")))
    return f" and {count_phrase(blocks, 'block')} of thinking" if blocks else ""


_HOW = {
    "model": "a summary stands in place of",
    "mechanical": "a summary made without the model stands in place of",
}


def mended(data: Data) -> str:
    """Return what became of a summary when it was checked; "": nothing was changed.

    Args:
        data: of `context.compacted`.
    """
    checks = data.get("checks")
    places = sum(
        int(number(each.get("found")))
        for each in (checks if isinstance(checks, list) else [])
        if isinstance(each, dict)
    )
    added, rules = _length(data.get("added")), _length(data.get("own_rules"))
    done = [
        f"mended {count_phrase(places, 'place')}" if places else "",
        f"put back {count_phrase(added, 'line')}" if added else "",
        f"marked {count_phrase(rules, 'rule')} as its own" if rules else "",
    ]
    return ", ".join(filter(None, done))


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def compacted(data: Data) -> str:
    """Return what `context.compacted` with this data says."""
    first, last = (one_line(data.get(f"{end}_dropped")) for end in ("first", "last"))
    steps = f"step {first}" if first == last else f"steps {first} to {last}"
    how = _HOW.get(one_line(data.get("how")), "no longer sent:")
    checks = mended(data)
    failed = _length(data.get("failures"))
    also = [
        f"the check {checks}" if checks else "",
        f"{count_phrase(failed, 'try')} for a summary failed" if failed else "",
    ]
    why = why_edited(one_line(data.get("why")))
    return "; ".join([f"{how} {steps} ({_change(data)}): {why}", *filter(None, also)])
