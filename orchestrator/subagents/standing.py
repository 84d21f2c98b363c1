"""Where subagents stand and what they brought, from records, for who sent them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from orchestrator.subagents.mail import Mail
from orchestrator.subagents.place import Place, as_delivered, delivery_id
from orchestrator.subagents.render import MAX_TITLE_CHARS, defused, for_parent

__all__ = ["facts_of", "opened", "running", "table_of"]

MAX_CLAIM_CHARS = 400
MAX_SUMMARY_CHARS = 300
MAX_RUNNING = 8


def table_of(places: Sequence[Place], mail: Mail) -> str:
    """Return a line for each subagent, in order of acceptance, or "".

    Args:
        places: of one agent.
        mail: of the same.
    """
    if not places:
        return ""
    unseen = {due.place.id for due in mail.unseen()}
    rows = [f"{each.id} | {_title(each)} | {_state(each, unseen)}" for each in places]
    return "\n".join(["id | title | state", *rows])


def facts_of(places: Sequence[Place], mail: Mail) -> Iterator[str]:
    """Yield what was delivered, a line each: summaries, then items by their numbers.

    Args:
        places: of one agent.
        mail: of the same.
    """
    unseen = {due.id for due in mail.unseen()}
    for place in places:
        for number in range(len(place.answers)):
            found = as_delivered(place, number)
            if delivery_id(place.id, number) in unseen:
                continue
            summary = _flat(found.findings.summary, MAX_SUMMARY_CHARS)
            yield f"{place.id} ({_title(place)}), {found.findings.status}: {summary}"
            for n, item in enumerate(found.findings.items, found.first_item):
                mark = " (unsupported)" if n in found.unsupported else ""
                claim = _flat(item.claim, MAX_CLAIM_CHARS)
                yield f"[{place.id}#{n}] {claim}{mark}"


def running(places: Sequence[Place]) -> list[str]:
    """Return who is at work or waits for a place, in words."""
    out = [place for place in places if place.ended is None]
    named = [f"{place.id} ({_title(place)})" for place in out[:MAX_RUNNING]]
    more = len(out) - MAX_RUNNING
    return [*named, f"{more} more"] if more > 0 else named


def opened(places: Sequence[Place], mail: Mail, agent: str) -> str:
    """Return all that a subagent delivered, as it was delivered, or "".

    Args:
        places: of one agent.
        mail: of the same.
        agent: id of a subagent.
    """
    unseen = {due.id for due in mail.unseen()}
    texts = []
    for place in places:
        if place.id != agent:
            continue
        texts += [
            for_parent(as_delivered(place, number))
            for number in range(len(place.answers))
            if delivery_id(place.id, number) not in unseen
        ]
    return "\n\n".join(texts)


def _state(place: Place, unseen: set[str]) -> str:
    if place.ended is None:
        return place.state
    if place.id in unseen:
        return "ended; its findings come to you next"
    findings = place.findings
    items = len(findings.items) if findings else 0
    status = findings.status if findings else place.ended.outcome
    why = f" ({_flat(place.problem, 200)})" if place.problem else ""
    return f'{status}{why}, {items} items, delivered: `read_ref` opens "{place.id}"'


def _title(place: Place) -> str:
    return _flat(place.title, MAX_TITLE_CHARS).replace("|", "/")


def _flat(text: str, limit: int) -> str:
    flat = defused(" ".join(text.split()))
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
