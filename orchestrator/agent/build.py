"""Putting an agent together from what all agents of a run share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.agent.budget import Budget
from orchestrator.agent.cache_watch import RESULT_REPLACED, CacheUse
from orchestrator.agent.caching import Caching
from orchestrator.agent.caller import Caller
from orchestrator.agent.form import Form
from orchestrator.agent.head_start import HeadStart
from orchestrator.agent.hooks import NO_HOOKS, Hooks, Words
from orchestrator.agent.incoming import ResultSizes
from orchestrator.agent.loop import Agent
from orchestrator.agent.mending import Mender
from orchestrator.agent.parking import Parking
from orchestrator.agent.reserving import Reserving
from orchestrator.agent.route import Route
from orchestrator.agent.speaking import Speaker
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.clock import Clock
from orchestrator.context.transcript import Transcript
from orchestrator.context.view import Head, make_head
from orchestrator.events import ResultReplaced
from orchestrator.messages import encode, text_of
from orchestrator.models.base import OUTAGE_S, Model
from orchestrator.models.choose import known_window
from orchestrator.models.features import Lacks
from orchestrator.models.pricing import Price
from orchestrator.security.workspace import Workspace
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.base import Clip, Tool, ToolContext
from orchestrator.tools.executor import Executor
from orchestrator.tools.registry import Registry

__all__ = ["Services", "build_agent", "head_of", "new_state"]


@dataclass(frozen=True, slots=True)
class Services:
    """What all agents of one run share; made once, in `runtime/session.py`.

    Attributes:
        open_model: bare id → the model behind it.
        price_of: bare id → its price, or None if unknown.
        budget: of the whole run.
        redact: replaces secrets in text that enters.
        count: estimated tokens of a text.
        words: the program's prompts.
        base_tools: tools that need no port of an agent, the user's own included.
        head_start: lets the first of alike requests go ahead.
        parking: the gate before every request.
        heads: the starts of requests up to now; agents of a profile share one.
        cache_use: which models have a prompt cache, as their answers tell.
        outage_s: longest time to go on trying while nobody gets an answer, in seconds.
        lacks: what the endpoint lacks, as far as is known.
        fallback: bare id of the model that goes on after a refusal, or "".
        window_of: bare id → its context window in tokens, or None if unknown.
    """

    log: EventLog
    artifacts: Artifacts
    clock: Clock
    open_model: Callable[[str], Model]
    price_of: Callable[[str], Price | None]
    budget: Budget
    redact: Callable[[str], str]
    count: Callable[[str], int]
    clip: Clip
    words: Words
    base_tools: tuple[Tool[Any], ...]
    read_tokens: int
    clip_tokens: int
    head_start: HeadStart = field(default_factory=HeadStart)
    parking: Parking = field(default_factory=Parking)
    heads: dict[bytes, Head] = field(default_factory=dict)
    cache_use: CacheUse = field(default_factory=CacheUse)
    outage_s: float = OUTAGE_S
    lacks: Lacks = field(default_factory=Lacks)
    fallback: str = ""
    window_of: Callable[[str], int | None] = known_window


def new_state(services: Services, spec: AgentSpec) -> AgentState:
    """Return the state of an agent that has not begun."""
    state = AgentState(
        Transcript(), services.count, services.clock, spec.form, spec.max_output_tokens
    )
    state.start(spec.first, head_tokens=head_of(services, spec).tokens)
    return state


def build_agent(
    services: Services,
    spec: AgentSpec,
    *,
    registry: Registry,
    workspace: Workspace,
    state: AgentState | None = None,
    hooks: Hooks = NO_HOOKS,
    budget: Budget | None = None,
) -> Agent:
    """Return the agent that `spec` describes, ready to run.

    Args:
        services: what it shares with the others.
        spec: what it starts with.
        registry: the shared tools and those with ports of its own.
        workspace: what it may see.
        state: where an earlier process left it; None for a fresh start.
        hooks: what its role adds to the loop.
        budget: what its calls are paid from, within its own limits; None: the run's.
    """
    if state is None:
        lacks = services.lacks.of(spec.model)
        spec = replace(spec, without=tuple(sorted(lacks)))
        services.log.append(spec.started(), agent=spec.id)
        state = new_state(services, spec)
    limits = spec.limits
    own = Budget(
        limits.usd, limits.tokens, budget or services.budget, spent=state.spent
    )
    if state.limited is not None and own.is_raised(state.limited.reached, limits):
        state.go_on(spec.hand_in)
    for edit in state.edits:
        services.log.append(edit, agent=spec.id)
        if isinstance(edit, ResultReplaced):
            state.cache.changed = RESULT_REPLACED
    services.cache_use.without |= state.cache.without
    state.edits.clear()
    caller = Caller(
        spec=spec,
        form=state.form,
        route=route_of(services, spec, state.form),
        routes=lambda form: route_of(services, spec, form),
        mender=Mender(
            spec.id,
            services.log,
            services.lacks,
            services.fallback,
            services.artifacts.put,
        ),
        reserving=Reserving(spec.id, own, spec.hand_in_tokens),
        caching=Caching(spec.id, services.log, services.head_start, services.cache_use),
        sizes=ResultSizes(services.read_tokens, services.clip_tokens),
        log=services.log,
        parking=services.parking,
        outage_s=services.outage_s,
    )
    executor = Executor(registry, services.log, services.clip, services.clock)
    transcript, sizes = state.transcript, caller.sizes

    def context_for(call: str) -> ToolContext:
        return ToolContext(
            agent=spec.id,
            call=call,
            workspace=workspace,
            artifacts=services.artifacts,
            redact=services.redact,
            count=services.count,
            read_tokens=(state.result_sizes or sizes).read_tokens,
            clip_tokens=(state.result_sizes or sizes).clip_tokens,
            knows_ref=transcript.holds,
        )

    return Agent(
        spec=spec,
        state=state,
        caller=caller,
        executor=executor,
        context_for=context_for,
        speaker=Speaker(spec, state, services.words, services.log, hooks),
        log=services.log,
        hooks=hooks,
    )


def route_of(services: Services, spec: AgentSpec, form: Form) -> Route:
    """Return where requests of this form go, of the agent that `spec` describes."""
    return Route(
        name=form.model,
        model=services.open_model(form.model),
        price=services.price_of(form.model),
        head=head_of(services, spec, form),
        window=services.window_of(form.model),
    )


def head_of(services: Services, spec: AgentSpec, form: Form | None = None) -> Head:
    """Return the fixed start of every request of the agent that `spec` describes.

    Args:
        services: of its run.
        spec: what it started with.
        form: of the requests; None: as at its start.
    """
    form = form or spec.form
    key = encode([form.model, spec.system, spec.tools, form.sent, form.has_marks])
    head = services.heads.get(key)
    if head is None:
        tools = services.count(encode(spec.tools).decode())
        head = services.heads[key] = make_head(
            model=form.model,
            system=spec.system,
            tools=spec.tools,
            settings=form.sent,
            marks=form.has_marks,
            tokens=services.count(text_of(spec.system)) + tools,
            tools_tokens=tools,
        )
    return head
