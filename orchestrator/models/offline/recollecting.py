"""What subagents brought, as far as it can still be seen: opened again, noted, listed.

In a small window the results of `delegate` are shortened, cleared, or gone with their
steps. What is shown of them elsewhere is put back in their place here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.models.offline.answers import (
    AgentResult,
    Missed,
    Place,
    parse_results,
)
from orchestrator.models.offline.noting import steps_before
from orchestrator.models.offline.phrases import shortened
from orchestrator.models.offline.places import span
from orchestrator.models.offline.reading import Call, Conversation
from orchestrator.models.offline.searching import rows_of

__all__ = ["lacking", "notes_of", "opening", "recollected"]

Step = tuple[str, dict[str, Any]]

ITEM_LINES = r"^\[a\d+#\d+\] |^  [^> ].*:\d+"
"""What matches claims and their places in findings."""
AT_ONCE = 2
"""Findings that are opened side by side; more would be cut short."""
MAX_PAGES = 4
"""Of the findings of one subagent."""
MAX_OPENED = 20
"""Steps that are gone, beside two for each subagent; then nothing more is opened."""
MAX_CLAIM_CHARS = 160
MAX_WHY_CHARS = 80
"""Of what is noted: a state holds little of it."""

_AGENT = re.compile(r"a\d+")
_MORE = re.compile(
    r"^\[(?:\d+ more lines|more lines match); go on with first_line=(\d+)\]",
    re.MULTILINE,
)
# A row of the table of subagents, where their steps are gone.
_STANDS = re.compile(
    r"^(?P<agent>a\d+) \| (?P<title>.*?) \| (?P<status>\w+)(?P<why> \(.*\))?, "
    r"(?P<items>\d+) items, delivered: "
)
_HEAD = re.compile(r"^- (a\d+) “(.*)” brought (\d+) items \((\w+)\): (.*)$")
_NOTED = re.compile(
    r"^- \[(a\d+)#(\d+)\] (.*?)(?: \[(\S[^\[\]]*):(\d+)(?:-(\d+))?\])?$"
)
_PLACES = re.compile(r"^- (a\d+) brought (\d+) \((\w+)\): (.*)$")
_PLACE = re.compile(r"#(\d+) (\S.*?):(\d+)(?:-(\d+))?(?=, #|$)")
_MISSED = re.compile(r"^- (a\d+) missed (“.*” – searched for ‘.*?’: .*)$")


def recollected(conversation: Conversation) -> Conversation:
    """Return the conversation with what subagents brought where it was brought."""
    known = _titled(_known(conversation), conversation)
    calls: list[Call] = []
    told: set[str] = set()
    for call in conversation.calls:
        if call.name == "delegate":
            mine = _of_call(call, known)
            told |= {result.agent for result in mine}
            shown = "" if call.is_cleared and mine else call.result
            calls.append(replace(call, result=_written(shown, mine)))
        else:
            calls.append(call)
    told |= {result.agent for result in parse_results(conversation.brought)}
    gone = [known[agent] for agent in known if agent not in told]
    return (
        replace(conversation, calls=(*_gone(gone), *calls)) if known else conversation
    )


def opening(
    conversation: Conversation,
    results: Sequence[AgentResult],
    *,
    places_only: bool = False,
) -> list[Step]:
    """Return the notes and calls that open what subagents brought and is not shown.

    Args:
        conversation: as `recollected` gives it.
        results: of its subagents; those that have nothing to open are left out.
        places_only: claims need not be noted.
    """
    if "read_ref" not in conversation.tools or conversation.must_end:
        return []
    if steps_before(conversation) > MAX_OPENED + 2 * len(results):
        return []
    wanted = [
        given
        for result in sorted(results, key=lambda result: not result.items)
        if lacking(result) or (_has_reasons(result) and not conversation.so_far)
        for given in _next_page(conversation, result.agent, places_only=places_only)
    ]
    if not wanted:
        return []
    opened: list[Step] = [("read_ref", given) for given in wanted[:AT_ONCE]]
    notes = notes_of(conversation, results, places_only=places_only)
    return [*notes, *opened]


def lacking(result: AgentResult) -> bool:
    """Return whether a subagent brought more than can be seen."""
    has_more = len({place.item for place in result.places}) < result.items
    if has_more and result.is_short:
        return True
    return _has_reasons(result) and result.state == "partial"


def _has_reasons(result: AgentResult) -> bool:
    """Return whether it said why it found nothing, where that is not shown."""
    return result.is_short and result.state != "complete" and not result.missed


# ---- opening ------------------------------------------------------------------------


def _next_page(
    conversation: Conversation, agent: str, *, places_only: bool
) -> list[dict[str, Any]]:
    """Return what opens the next page of findings; nothing where all was opened."""
    first: dict[str, Any] = {"ref": agent}
    if places_only:
        first["pattern"] = ITEM_LINES
    given = first
    for _ in range(MAX_PAGES):
        call = conversation.has_made("read_ref", given)
        if call is None:
            return [given]
        more = _MORE.search(call.result)
        if call.is_error or not more:
            return []
        given = {**first, "first_line": int(more[1])}
    return []


def notes_of(
    conversation: Conversation,
    results: Sequence[AgentResult],
    *,
    places_only: bool = False,
) -> list[Step]:
    """Return the notes of what subagents brought, as one call; what is new of it."""
    if "update_notes" not in conversation.tools:
        return []
    if places_only:
        text = "\n".join(map(_brief, results))
        # Pinned, so that nothing needs to be opened a second time.
        given = {"section": "Facts", "mode": "replace", "text": text, "pin": True}
        made = conversation.has_made("update_notes", given)
        return [] if made else [("update_notes", given)]
    # Who there is stands in a table wherever steps are gone.
    heads = [] if conversation.so_far else [_head(result) for result in results]
    lines = [*heads, *(line for result in results for line in _lines(result))]
    noted = set(_note_lines(conversation))
    lines = [line for line in lines if line not in noted]
    if not lines:
        return []
    given = {"section": "Facts", "mode": "append", "text": "\n".join(lines)}
    return [("update_notes", given)]


def _head(result: AgentResult) -> str:
    title = result.title.replace("”", '"')
    state = "submitted" if not result.has_failed else result.state
    status = "failed" if result.has_failed else result.state
    return (
        f"- {result.agent} “{title}” brought {result.items} items ({status}): {state}"
    )


def _brief(result: AgentResult) -> str:
    """Return one line, since a small state has room for little."""
    told = ", ".join(
        f"#{place.item} {place.path}:{span(place.first, place.last)}"
        for place in result.places
        if place.path
    )
    status = "failed" if result.has_failed else result.state
    return f"- {result.agent} brought {result.items} ({status}): {told or 'not opened'}"


def _lines(result: AgentResult) -> Iterable[str]:
    for place in result.places:
        where = f" [{place.path}:{span(place.first, place.last)}]" if place.path else ""
        claim = shortened(place.claim, MAX_CLAIM_CHARS)
        yield f"- [{result.agent}#{place.item}] {claim}{where}"
    for each in result.missed:
        question = shortened(each.question, MAX_WHY_CHARS)
        why = shortened(each.why, MAX_WHY_CHARS)
        told = f"“{question}” – searched for ‘{each.terms}’: {why}"
        yield f"- {result.agent} missed {told}"


# ---- what is known ------------------------------------------------------------------


def _known(conversation: Conversation) -> dict[str, AgentResult]:
    """Return what is known beside the results of `delegate`, by agent."""
    known: dict[str, AgentResult] = {}
    for line in conversation.so_far.split("\n"):
        if row := _STANDS.match(line):
            why = (row["why"] or "").strip(" ()")
            state = f"{row['status']}: {why}" if why else row["status"]
            result = _bare(row["agent"], row["title"], state)
            result.items = int(row["items"])
            known[row["agent"]] = result
    for line in _note_lines(conversation):
        _take(known, line)
    for agent, text in _opened(conversation).items():
        for result in parse_results(text):
            if result.agent == agent:
                known[agent] = _merged(known.get(agent), result)
    return known


def _titled(
    known: dict[str, AgentResult], conversation: Conversation
) -> dict[str, AgentResult]:
    """Return it with the titles of briefs, where notes and table tell none."""
    for call in conversation.named("delegate"):
        titles = [str(b.get("title")) for b in call.input.get("briefs") or []]
        shown = {each.agent: each.title for each in parse_results(call.result)}
        bare = sorted(
            (r for r in known.values() if not r.title), key=lambda r: int(r.agent[1:])
        )
        for at, result in enumerate(bare):
            by_order = titles[at] if len(bare) == len(titles) else ""
            result.title = shown.get(result.agent, by_order)
    return known


def _merged(old: AgentResult | None, new: AgentResult) -> AgentResult:
    """Return what was opened, and what notes tell of the rest of it."""
    if old is None:
        return new
    seen = {place.item for place in new.places if place.path}
    kept = [place for place in old.places if place.item not in seen]
    listed = {place.item for place in kept}
    places = [*kept, *(p for p in new.places if p.path or p.item not in listed)]
    return replace(
        new,
        title=old.title or new.title,
        state=old.state,
        items=max(old.items, new.items),
        places=sorted(places, key=lambda place: place.item),
        missed=[*new.missed, *_new(old.missed, new.missed)],
    )


def _note_lines(conversation: Conversation) -> list[str]:
    texts = [str(c.input.get("text")) for c in conversation.named("update_notes")]
    return "\n".join([conversation.so_far, *texts]).split("\n")


def _take(known: dict[str, AgentResult], line: str) -> None:
    if head := _HEAD.match(line):
        agent, title, items, status, ended = head.groups()
        state = status if ended == "submitted" else ended
        result = known.setdefault(agent, _bare(agent, title, state))
        result.items = int(items)
    elif item := _NOTED.match(line):
        agent, number, claim, *where = item.groups()
        _add(known.get(agent), claim, number, where)
    elif brief := _PLACES.match(line):
        agent, items, status, told = brief.groups()
        result = known.setdefault(agent, _bare(agent, "", status))
        result.items = int(items)
        for number, *where in _PLACE.findall(told):
            _add(result, "…", number, where)
    elif (missed := _MISSED.match(line)) and missed[1] in known:
        result = known[missed[1]]
        [told] = parse_results(_framed(result, [f"- {missed[2]}"]))
        result.missed += _new(told.missed, result.missed)


def _bare(agent: str, title: str, state: str) -> AgentResult:
    """Return a result of which only this much is in sight."""
    return AgentResult(agent, title, state, is_short=True)


def _add(
    result: AgentResult | None, claim: str, number: str, where: Sequence[str | None]
) -> None:
    """Add an item, unless more of it is known."""
    if result is None:
        return
    path, first, last = where
    place = Place(claim, result.agent, int(number), path or "")
    if path:
        place.first, place.last = int(first or 0), int(last or first or 0)
    same = [p for p in result.places if p.item == place.item]
    if same and (same[0].path or not path):
        return
    result.places = [p for p in result.places if p.item != place.item] + [place]


def _new(found: Sequence[Missed], known: Sequence[Missed]) -> list[Missed]:
    return [each for each in found if each not in known]


def _opened(conversation: Conversation) -> dict[str, str]:
    """Return the findings that were opened and are in sight, by agent."""
    rows: dict[str, dict[int, str]] = {}
    for call in conversation.named("read_ref"):
        ref = str(call.input.get("ref"))
        if _AGENT.fullmatch(ref) and call.answered and not call.is_error:
            rows.setdefault(ref, {}).update(rows_of(call.result))
    texts: dict[str, str] = {}
    for ref, lines in rows.items():
        told = [text for _number, text in sorted(lines.items())]
        # Of matching lines the frame is none.
        has_frame = any(text.startswith(f'<findings agent="{ref}"') for text in told)
        frame = AgentResult(ref, "", "complete")
        texts[ref] = "\n".join(told) if has_frame else _framed(frame, told)
    return texts


# ---- written again ------------------------------------------------------------------


def _of_call(call: Call, known: dict[str, AgentResult]) -> list[AgentResult]:
    """Return what is known of the subagents of a `delegate`."""
    briefs = call.input.get("briefs") or []
    titles = {_mark(brief.get("title")) for brief in briefs if isinstance(brief, dict)}
    return [result for result in known.values() if _mark(result.title) in titles]


def _mark(title: object) -> str:
    return "".join(re.findall(r"\w", str(title).lower()))


def _gone(results: Sequence[AgentResult]) -> list[Call]:
    """Return a `delegate` in the place of those that are gone with their steps."""
    if not results:
        return []
    briefs = [{"title": result.title} for result in results]
    text = _written("", results)
    return [Call("", "delegate", {"briefs": briefs}, text, answered=True)]


def _written(shown: str, results: Sequence[AgentResult]) -> str:
    """Return what a `delegate` showed, and behind it what is known of its findings."""
    if not results:
        return shown
    rows = {result.agent for result in parse_results(shown)}
    parts = ["\n".join(_row(r) for r in results if r.agent not in rows), shown]
    parts += [_framed(result, list(_body(result))) for result in results]
    return "\n\n".join(part for part in parts if part)


def _row(result: AgentResult) -> str:
    ended = result.state if result.has_failed else "submitted"
    status = "failed" if result.has_failed else result.state
    return f"{result.agent} | {result.title} | {status} | {result.items} | 0 | {ended}"


def _framed(result: AgentResult, body: Sequence[str]) -> str:
    head = f'<findings agent="{result.agent}" title="{result.title}" status="complete">'
    return "\n".join([head, *body, "</findings>"])


def _body(result: AgentResult) -> Iterable[str]:
    for place in result.places:
        mark = "UNSUPPORTED: " if place.unsupported else ""
        yield f"[{result.agent}#{place.item}] {mark}{place.claim} (0.5)"
        if place.path:
            yield f"  {place.path}:{span(place.first, place.last)}"
        yield from (f"  > {line}" for line in place.quote.split("\n") if place.quote)
    for each in result.missed:
        yield f"- “{each.question}” – searched for ‘{each.terms}’: {each.why}"
    yield from (f"- Searching every file: {gap}" for gap in result.gaps)
    if result.is_short:
        yield "The rest, with `read_ref`: " + result.agent
