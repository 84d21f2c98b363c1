"""Putting an agent together from what all agents of a run share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from orchestrator.agent.budget import Budget
from orchestrator.agent.cache_watch import RESULT_REPLACED, CacheUse
from orchestrator.agent.caching import Caching
from orchestrator.agent.caller import Caller
from orchestrator.agent.compacting import Compactor, Reopen
from orchestrator.agent.form import Form
from orchestrator.agent.head_start import HeadStart
from orchestrator.agent.hooks import NO_HOOKS, Hooks, Words
from orchestrator.agent.judging import Judge
from orchestrator.agent.keeping import Keeper
from orchestrator.agent.looking_back import LookingBack
from orchestrator.agent.loop import Agent
from orchestrator.agent.memory import Ask
from orchestrator.agent.mending import Mender
from orchestrator.agent.outside import LIVE, Outside
from orchestrator.agent.parking import Parking
from orchestrator.agent.reminding import Reminder
from orchestrator.agent.reopening import Reopened, reopen
from orchestrator.agent.reserving import Reserving
from orchestrator.agent.route import Route
from orchestrator.agent.speaking import Speaker
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.agent.summarizing import Summarizer
from orchestrator.block_sizes import content_tokens
from orchestrator.clock import Clock
from orchestrator.context.factor import Factors
from orchestrator.context.numbers import resolve
from orchestrator.context.shown import Shown
from orchestrator.context.transcript import Transcript
from orchestrator.context.view import Head, make_head
from orchestrator.events import FileSeen, ResultReplaced
from orchestrator.messages import encode, text_of
from orchestrator.models.base import OUTAGE_S, Model
from orchestrator.models.choose import known_window
from orchestrator.models.features import Lacks
from orchestrator.models.pricing import Price
from orchestrator.security.permissions import Permission
from orchestrator.security.untrusted import as_written
from orchestrator.security.workspace import Workspace
from orchestrator.settings import OFFLINE
from orchestrator.spec.foreign import NEEDS
from orchestrator.spec.policy import ContextPolicy
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.base import Clip, Tool, ToolContext
from orchestrator.tools.executor import Executor
from orchestrator.tools.permits import CLOSED, Gate
from orchestrator.tools.registry import Registry

__all__ = ["Services", "build_agent", "head_of", "new_state"]


WRITERS = frozenset(name for name, need in NEEDS.items() if need == "write")


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
        policy: how contexts are kept small.
        factors: what models count for an estimated token, as they report.
        summaries: bare id of another model that writes summaries; "": each its own.
        summaries_effort: for that one.
        judge: bare id of the model that compares summaries; "": nobody does.
        gate: what calls pass that need a permission.
        permissions: those that agents may have at all.
        seen_by: agent id → path → the version of it that this agent saw last.
        restore: puts secrets back in place of their placeholders, in what leaves.
        restore_file: the same in what is written into the workspace.
        outside: what the program itself takes from outside.
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
    policy: ContextPolicy = field(default_factory=ContextPolicy)
    factors: Factors = field(default_factory=Factors)
    summaries: str = ""
    summaries_effort: str | None = None
    judge: str = ""
    head_start: HeadStart = field(default_factory=HeadStart)
    parking: Parking = field(default_factory=Parking)
    heads: dict[bytes, Head] = field(default_factory=dict)
    cache_use: CacheUse = field(default_factory=CacheUse)
    outage_s: float = OUTAGE_S
    lacks: Lacks = field(default_factory=Lacks)
    fallback: str = ""
    window_of: Callable[[str], int | None] = known_window
    gate: Gate = CLOSED
    permissions: frozenset[Permission] = frozenset()
    seen_by: Callable[[str], Callable[[str], FileSeen | None]] = lambda _agent: (
        lambda _path: None
    )
    restore: Callable[[str], str] = lambda text: text
    restore_file: Callable[[str], str] = lambda text: text
    outside: Outside = LIVE


def new_state(services: Services, spec: AgentSpec) -> AgentState:
    """Return the state of an agent that has not begun."""
    state = AgentState(
        Transcript(),
        Shown(),
        services.count,
        services.clock,
        spec.form,
        spec.max_output_tokens,
        factors=services.factors,
    )
    state.start(spec.first, head_of(services, spec), spec.memory_tokens)
    return state


def within_window(services: Services, spec: AgentSpec) -> AgentSpec:
    """Return what an agent starts with, its output and marks as its window allows.

    Raises:
        SpecError: what it starts with does not fit.
    """
    first = content_tokens(spec.first, count=services.count)
    numbers = resolve(
        services.policy,
        window_tokens=services.window_of(spec.model),
        fixed_tokens=head_of(services, spec).tokens + first,
        max_output_tokens=spec.max_output_tokens,
    )
    marks = {
        "window_tokens": numbers.window_tokens,
        "soft_tokens": numbers.soft_tokens,
        "hard_tokens": numbers.hard_tokens,
    }
    known = {name: tokens for name, tokens in marks.items() if tokens is not None}
    return replace(spec, max_output_tokens=numbers.output_tokens, context=known)


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
        spec = within_window(services, replace(spec, without=tuple(sorted(lacks))))
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
        log=services.log,
        parking=services.parking,
        outage_s=services.outage_s,
        outside=services.outside,
    )
    executor = Executor(
        registry, services.log, services.clip, services.clock, gate=services.gate
    )
    transcript, seen = state.transcript, services.seen_by(spec.id)

    def context_for(call: str) -> ToolContext:
        sizes = state.result_sizes or caller.sizes
        return ToolContext(
            agent=spec.id,
            call=call,
            workspace=workspace,
            artifacts=services.artifacts,
            redact=services.redact,
            count=services.count,
            read_tokens=sizes.read_tokens,
            clip_tokens=sizes.clip_tokens,
            knows_ref=transcript.knows,
            history=lambda: transcript.messages,
            findings_of=hooks.team.standing.opened,
            shown=state.sight.showings.find,
            may=_may(services, spec),
            seen=lambda path: seen(services.redact(path)),  # as it is logged
            restore=lambda text: services.restore(as_written(text)),
            restore_file=lambda text: services.restore_file(as_written(text)),
        )

    keeper = _keeper(services, spec, caller, hooks, context_for)
    keeper.numbers(state)
    return Agent(
        spec=spec,
        state=state,
        caller=caller,
        keeper=keeper,
        executor=executor,
        context_for=context_for,
        speaker=Speaker(spec, state, services.words, services.log, hooks),
        log=services.log,
        look_back=partial(_looking_back, services, spec, caller),
        hooks=hooks,
    )


def _looking_back(
    services: Services,
    spec: AgentSpec,
    caller: Caller,
    state: AgentState,
    left_s: float,
) -> Ask | None:
    """Return what asks the model once more; None: it is none that understands."""
    if spec.model == OFFLINE:
        return None
    other = services.summaries if services.summaries != spec.model else ""
    return LookingBack(state, caller, left_s, other, services.summaries_effort)


def _may(services: Services, spec: AgentSpec) -> frozenset[Permission]:
    """Return what an agent may have: only who has a tool that writes may write."""
    may = services.permissions
    return may if WRITERS.intersection(spec.allowed) else may - {"write"}


def _reopening(
    services: Services, agent: str, context_for: Callable[[str], ToolContext]
) -> Reopen:
    """Return what opens files afresh after a compaction."""

    async def opened(paths: Sequence[str], limit_tokens: int) -> Sequence[Reopened]:
        look = partial(reopen, paths, limit_tokens, context=context_for)
        return await services.outside.reopened(agent, look)

    return opened


def _keeper(
    services: Services,
    spec: AgentSpec,
    caller: Caller,
    hooks: Hooks,
    context_for: Callable[[str], ToolContext],
) -> Keeper:
    """Return what keeps the conversation of this agent small."""
    policy, words = services.policy, services.words
    is_own = spec.model in (OFFLINE, services.summaries)
    summaries = "" if is_own else services.summaries
    summarizer = Summarizer(spec, caller, words, summaries, services.summaries_effort)
    judge = "" if spec.model == OFFLINE else services.judge
    return Keeper(
        spec=spec,
        policy=policy,
        caller=caller,
        compactor=Compactor(
            spec=spec,
            log=services.log,
            clock=services.clock,
            words=words,
            summarizer=summarizer,
            hooks=hooks,
            reopen=_reopening(services, spec.id, context_for),
            judge=Judge(caller, words, judge) if judge else None,
        ),
        reminder=Reminder(spec, caller, hooks, words, services.log),
        hooks=hooks,
        log=services.log,
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
