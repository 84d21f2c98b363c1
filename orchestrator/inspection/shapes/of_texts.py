"""Shapes of notes, conversations, contexts and compactions."""

from __future__ import annotations

from typing import Any, Literal

from orchestrator.inspection.shapes.figures import Shape, Version

__all__ = ["Compaction", "Contexts", "Conversation", "Notes", "StepShown"]

Block = dict[str, Any]


class SectionShape(Shape):
    """One section of the notes."""

    section: str
    text: str
    by: Literal["", "lead", "person"]
    """Who wrote to it last; "": nobody did."""
    at: str
    """When, RFC 3339, or ""."""
    is_logged: bool
    """false: a person changed it in the file, and no process has taken that in yet."""


class Notes(Shape):
    """`notes RUN --json`; with --follow one object a line, for each change."""

    v: Version
    run: str
    path: str | None
    """null: there are none yet."""
    text: str
    sections: list[SectionShape]


class MessageShape(Shape):
    """A message in the form of the Messages API."""

    role: str
    content: str | list[Block]


class EditShape(Shape):
    """Something that was no longer sent from then on."""

    messages_before: int
    """Messages of the whole conversation that had come before it."""
    kind: str
    turn: int | None
    """Of the request that follows."""
    seq: int
    says: str


class Conversation(Shape):
    """`transcript RUN AGENT --json`: what an agent was sent and said."""

    v: Version
    run: str
    agent: str
    system: list[Block]
    tools: list[dict[str, Any]]
    steps: list[int]
    """Those that are in `messages`; 0: what stands before the first."""
    messages: list[MessageShape]
    """Of the whole conversation, or as sent at the turn of --view."""
    edits: list[EditShape]
    """Empty with --view."""


class StepShown(Shape):
    """`transcript RUN AGENT --step REF --json`: a step, or a call of it."""

    v: Version
    run: str
    agent: str
    ref: str
    messages: list[MessageShape]


class TurnShape(Shape):
    """One turn: the newest request that it took, and the answer."""

    turn: int
    estimated: int
    """Tokens of the request, as estimated before it left."""
    composition: dict[str, int]
    """The same by layer."""
    reported: int | None
    """Tokens of it as the service counted them; null: it told nothing."""
    cache_read: int
    """Tokens."""
    output: int
    """Tokens."""
    first_token_s: float | None
    seconds: float | None
    usd: float | None
    requests: int
    calls: int
    """Tool calls that ended."""
    errors: int
    rent_usd: float | None
    """What carrying stale results has cost since the last rewrite."""
    newest_unwritten: bool
    """Its newest block was not written to the cache."""
    cache_share: float
    error: float | None
    """How far the estimate was off, 0.1 for a tenth too much."""


class AsideShape(Shape):
    """A request that the program made for itself: of a summary, of a judgement."""

    seq: int
    turn: int
    purpose: str
    tokens_in: int
    tokens_out: int
    usd: float | None
    seconds: float
    model: str
    found: list[str]
    """What a judge says that the summary lacks."""


class CallShape(Shape):
    """One tool call and its result."""

    id: str
    name: str
    turn: int
    step: int
    tokens: int
    """Of the result as the model was shown it, estimated."""
    full_tokens: int
    artifact: str
    label: str
    """`critical`, `reference`, `transient` or ""."""
    is_error: bool
    sent: int
    """Requests that held the result whole."""
    gone: int
    """Turn from which on it was not sent whole any more; 0: it still is."""
    ref: str
    """What opens it: `h12` or `h12.2`."""
    carried: int
    """Tokens that all requests with the whole result add up to."""


class CallWithInput(CallShape):
    """One tool call with what it was given."""

    input: dict[str, Any]


class HealthShape(Shape):
    """A clear or a compaction, and what the agent did after it."""

    kind: str
    turn: int
    nth: int
    why: str | None
    tokens_before: float
    tokens_after: float
    results: int
    """How many went."""
    steps: list[int]
    """First and last of those that went."""
    called_again: list[CallShape]
    """Within three turns: calls like one whose result had gone."""
    opened_again: list[CallShape]
    searched: list[CallShape]
    errors_before: int
    """Tool errors in the five turns before."""
    calls_before: int
    errors_after: int
    calls_after: int


class ToolSumShape(Shape):
    """What one tool brought into a context."""

    name: str
    calls: int
    errors: int
    tokens: int
    full_tokens: int
    carried: int


class EstimatesShape(Shape):
    """How far estimates were from what the service counted, as a share of that."""

    requests: int
    first: float
    total: float
    worst: float


class ContextShape(Shape):
    """What filled the context of one agent."""

    id: str
    title: str
    role: str
    model: str
    window_tokens: int | None
    soft_tokens: int | None
    hard_tokens: int | None
    peak_tokens: int
    """Of its largest request."""
    sent_tokens: int
    """Of all requests together."""
    cache_share: float
    turns: list[TurnShape]
    asides: list[AsideShape]
    edits: list[HealthShape]
    largest: list[CallShape]
    """The results that took most of all requests together."""
    tools: list[ToolSumShape]
    estimates: EstimatesShape | None
    """null: no request is large enough to tell."""


class Contexts(Shape):
    """`context RUN --json`: what filled the contexts, turn by turn."""

    v: Version
    run: str
    agents: list[ContextShape]


class CheckShape(Shape):
    """One check of a summary."""

    check: str
    """`sections`, `length`, `names`, `numbers`, `negations`, `statuses`, `rules` or
    `calls`."""
    found: int
    """How often something was wrong."""
    lost: list[str]


class MendedShape(Shape):
    """What a check doubted in a summary."""

    check: str
    said: str
    source: str
    now: str


class StepShape(Shape):
    """One assistant message and the results of its calls."""

    step: int
    ref: str
    said: str
    """The start of its text."""
    tokens: int
    """Of its results as they came."""
    calls: list[CallWithInput]


class Compaction(Shape):
    """`diff RUN AGENT N --json`: a compaction, with what went and what stayed."""

    v: Version
    run: str
    agent: str
    n: int
    of: int
    """So many there are."""
    turn: int
    """Of the request that follows."""
    why: str
    how: str
    """`model`, `mechanical` or `none`."""
    kept_messages: int
    first_dropped: int
    last_dropped: int
    text: str
    """What stands in the place of the steps."""
    summary: str
    parts: dict[str, int]
    """Estimated tokens of `text`, by part."""
    tokens_before: int
    tokens_after: int
    checks: list[CheckShape]
    mended: list[MendedShape]
    added: list[str]
    """What the checks put back, word for word."""
    own_rules: list[str]
    """Rules that the summary made up."""
    failures: list[str]
    """What went wrong with requests of a summary."""
    usd: float | None
    seconds: float
    tokens_in: int
    tokens_out: int
    reopened: list[str]
    """Files shown afresh."""
    thinking: int
    """Blocks of thinking that went."""
    spares_newest: bool
    """Thinking of the newest step stays."""
    files: list[dict[str, Any]]
    """Versions of the reopened files, as in `context.compacted`."""
    opened: dict[str, list[int]]
    """Path of each of those → where its part of `text` begins and ends, characters."""
    dropped: list[StepShape]
    kept: list[StepShape]
    asides: list[AsideShape]
    """Requests of the program that led to it."""
