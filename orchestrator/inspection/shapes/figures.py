"""Shapes of figures: tokens, dollars, tools, requests, waits, one agent."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

__all__ = [
    "AgentFigures",
    "AnswerShape",
    "CostShape",
    "FullestShape",
    "ModelUseShape",
    "PeakShape",
    "Shape",
    "TokensShape",
    "ToolUseShape",
    "Version",
    "WaitsShape",
    "WrapUpShape",
]

Version = Literal[1]


class Shape(BaseModel):
    """An object; fields are only ever added."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)


class TokensShape(Shape):
    """Tokens by class; the classes do not overlap, but for those that say so."""

    input: int
    """Input that was not read from the cache nor written to it."""
    cache_write: int
    """Both kinds of cache writes together."""
    cache_write_5m: int
    cache_write_1h: int
    cache_read: int
    output: int
    thinking: int
    """Part of `output`."""
    cache_share: float
    """Of all input, what was read from the cache, 0 to 1."""


class CostShape(Shape):
    """Dollars of some calls, and what of them is not known."""

    usd: float | None
    """null: no price is known."""
    usd_is_whole: bool
    """Whether it is known what every call cost."""
    usd_by_class: dict[str, float]
    """`input`, `cache_write`, `cache_read`, `output`, as far as the log tells."""
    unbilled_calls: int
    """Calls that were refused before any output: they cost nothing."""
    doubted_calls: int
    """Calls for which the service told too few tokens to be true."""
    cut_calls: int
    """Calls that were cut off; they may be billed."""
    cut_usd_at_most: float
    cut_tokens_at_most: int


class ToolUseShape(Shape):
    """The calls of one tool that ended."""

    calls: int
    errors: int
    repeats: int
    """Calls that read with the same input as an earlier one of the same agent."""
    seconds: float
    """Of all calls, side by side or not."""
    tokens: int
    """Of the results as models were shown them, estimated."""
    full_tokens: int
    """Of the outputs before they were clipped, estimated."""
    artifacts: int
    """Outputs that were clipped and are kept whole."""


class ModelUseShape(CostShape):
    """The requests to one model; those for summaries are in it."""

    requests: int
    answers: int
    retries: int
    """Tries that failed and were made again."""
    failures: int
    """Requests that got no answer."""
    seconds: float
    """Of the tries that were answered."""
    waited_s: float
    """Beside that: in line, between tries, and for tries that failed."""
    tokens: TokensShape


class WaitsShape(Shape):
    """Seconds that were waited; agents side by side count each."""

    service: float
    """For answers of a model, beyond the time of the try that was answered."""
    subagents: float
    """In calls that wait for subagents."""
    room: float
    """For a free place, after the brief or question was accepted."""
    person: float
    """For a person's answer about a permission."""


class PeakShape(Shape):
    """The largest request of an agent."""

    turn: int
    seq: int
    """Of the event `model.requested`."""
    tokens: int
    """As the service counted them; before its answer, as estimated."""
    composition: dict[str, int]
    """Estimated tokens by layer, such as `prompt`, `task` or `results:grep`."""


class FullestShape(PeakShape):
    """The agent whose context was fullest, and its largest request."""

    agent: str
    window_tokens: int | None
    """What it may be sent at most; null: the log does not tell."""
    share: float | None
    """How full that was, 0 to 1; null where the window is not known."""


class WrapUpShape(Shape):
    """A limit that an agent was told is nearly used up."""

    limit: str
    seq: int
    """Of the event `text.added`."""


class AnswerShape(Shape):
    """What a subagent handed over, for its brief or for one further question."""

    id: str
    """As deliveries name it: `a3`, or `a3/1` for its first further question."""
    question: str
    """"" for the brief."""
    over: bool
    delivered: bool
    """It has reached the agent that wants it."""
    status: str
    """Of the findings: `complete`, `partial`, `nothing_found`, `failed`, or ""."""
    outcome: str
    """`submitted`, `unvalidated`, `limit`, `failed`, `cancelled`, or ""."""
    word: str
    """How it ended, in at most ten letters."""
    reason: str
    cancelled_by: str
    limit: str
    """Name of the limit that stopped it, or ""."""
    first_item: int
    """Number of its first item."""
    items: int
    unsupported: int
    """Items whose evidence was not found."""
    explored_tokens: int
    returned_tokens: int


class AgentFigures(CostShape):
    """One agent, in figures."""

    id: str
    title: str
    role: str
    """`lead` or `subagent`; "" where that is not known."""
    profile: str
    model: str
    """That it asks now."""
    refused_by: list[str]
    """Models that it asked before."""
    usd_by_model: dict[str, float | None]
    parent: str
    state: str
    """`waiting`, `running` or `ended`."""
    doing: str
    """What it does now, in a few words; "" where nobody works on it."""
    running_tools: list[str]
    outcome: str
    status: str
    reason: str
    delivered: bool
    asked: list[str]
    """Further questions."""
    answers: list[AnswerShape]
    reused_for: list[str]
    """Titles of later briefs that its findings answered too."""
    turns: int
    tool_calls: int
    tool_errors: int
    retries: int
    retries_by_error: dict[str, int]
    queued_s: float
    """In line for a rate limit, of requests that were answered."""
    cache_misses: dict[str, int]
    """Cause → how often a request read clearly less from the cache than it should."""
    clears: int
    """How often results gave way to stubs."""
    compactions: int
    """How often earlier steps gave way to one text."""
    tokens: TokensShape
    explored_tokens: int
    """Of everything its tools read, before clipping, estimated."""
    returned_tokens: int
    """Of what it handed back, estimated."""
    seconds: float
    """At work; the time between processes is left out."""
    unsupported: int
    unsupported_claims: list[str]
    tools: dict[str, ToolUseShape]
    requests: dict[str, ModelUseShape]
    """By model."""
    waits_s: WaitsShape
    repeated_reads: int
    window_tokens: int | None
    wrapped_up: WrapUpShape | None
    peak: PeakShape | None
