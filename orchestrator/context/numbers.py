"""Every number of `context_policy`, resolved for one agent, model and window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.errors import SpecError
from orchestrator.models.choose import smallest
from orchestrator.spec.task import ContextPolicy

__all__ = [
    "LEAST_OUTPUT_TOKENS",
    "LEAST_STATE_TOKENS",
    "LEAST_STEP_TOKENS",
    "Numbers",
    "Shrunk",
    "resolve",
    "shrunk",
]

LEAST_OUTPUT_TOKENS: Final = 512
LEAST_STEP_TOKENS: Final = 400
LEAST_STATE_TOKENS: Final = 300
"""State, notes and summary together; below these three an agent cannot work."""

REPLY_TOKENS: Final = 150
"""Of a step, what stands beside its result: a call and a line of text."""
LEAST_RESULT_TOKENS: Final = 200
SMALL_RESULT_TOKENS: Final = 1000
"""Where not even this many tokens a result fit, fewer of the newest are spared."""
USUAL_STATE: Final = 0.25
"""Of the share of state, notes and summary, that is usually in use."""
SUMMARY_PART: Final = 0.6
"""Of the share of state, notes and summary; the rest is never summarised."""
UNKNOWN_WINDOW_TOKENS: Final = 32_000
"""What the sizes without a name of their own are taken from, beside the fixed part,
where nobody knows the window."""
_NOISE: Final = 1e-6  # of fractions, which must not take a token away


@dataclass(frozen=True, slots=True)
class Numbers:
    """What holds for one agent: no number is larger than its share of the window.

    Attributes:
        policy: which one keeps the context small.
        window_tokens: prompt and answer together; None: unknown, and there are no
            marks.
        output_tokens: longest reply.
        soft_tokens: size of a request from which old results are cleared.
        hard_tokens: size of a request from which earlier steps are compacted; above
            `soft_tokens`. With a full state and a tail of one whole step, a request is
            below it.
        read_tokens: page of `read_file` and `read_ref`.
        clip_tokens: longest other result.
        keep_results: newest results that are never cleared, 1 or more.
        digest_tokens: longest digest in a stub.
        tail_steps: last steps that a compaction keeps whole, as far as they fit
            `tail_tokens`; one always.
        tail_tokens: longest tail, but for a single step that is longer.
        summary_tokens: longest summary.
        state_tokens: state and notes beside the summary.
        memory_tokens: what memory found; 0 where there is none.
        reopen_files: files shown afresh after a compaction.
        reopen_tokens: longest of them.
        reminder_turns: turns from one reminder to the next.
        reminder_tokens: longest reminder.
        last_steps: what policy `window` shows.
        every_turns: turns from one compaction to the next, or None.
    """

    policy: Literal["ladder", "window", "budget"]
    window_tokens: int | None
    output_tokens: int
    soft_tokens: int | None
    hard_tokens: int | None
    read_tokens: int
    clip_tokens: int
    keep_results: int
    digest_tokens: int
    tail_steps: int
    tail_tokens: int
    summary_tokens: int
    state_tokens: int
    memory_tokens: int
    reopen_files: int
    reopen_tokens: int
    reminder_turns: int
    reminder_tokens: int
    last_steps: int
    every_turns: int | None


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A number that is smaller than the task says.

    Attributes:
        name: as in `context_policy`, or `max_output_tokens`.
        wanted: what the task says.
        got: what holds.
        layer: whose share it would not fit: a field of `shares`.
    """

    name: str
    wanted: int
    got: int
    layer: str


def resolve(
    policy: ContextPolicy,
    *,
    window_tokens: int | None,
    fixed_tokens: int,
    max_output_tokens: int,
    has_memory: bool = False,
) -> Numbers:
    """Return the numbers for an agent; the same arguments give the same numbers.

    Args:
        policy: as the task has it.
        window_tokens: of the model, or None if unknown; a smaller one of the policy
            counts in its place.
        fixed_tokens: system prompt, tools and first message, estimated.
        max_output_tokens: longest reply that limits allow.
        has_memory: memory has a share; without it, recent steps have that too.

    Raises:
        SpecError: beside the fixed part, the window has no room for the least reply,
            step and state.
    """
    window = smallest(window_tokens, policy.window_tokens)
    if window is None:
        return _without_window(policy, fixed_tokens, max_output_tokens, has_memory)
    _check_room(window, fixed_tokens, max_output_tokens)
    layers = _layers(policy, window, fixed_tokens, max_output_tokens, has_memory)
    output = min(float(max_output_tokens), layers.output)
    usable = window - output
    base = fixed_tokens + layers.state + layers.memory
    room = usable - base
    recent = min(layers.recent, room)
    # Two steps fit, so that what was read last is still there beside what comes next.
    result = max(min(recent, room / 2) - REPLY_TOKENS, LEAST_RESULT_TOKENS)
    read = min(policy.read_tokens, result)
    clip = min(policy.clip_tokens, result, max(recent / 2, LEAST_RESULT_TOKENS))
    step = max(read, clip) + REPLY_TOKENS
    hard = max(policy.hard * usable, base + step + LEAST_STEP_TOKENS)
    hard = min(hard, usable)
    soft = min(max(policy.soft * usable, base + LEAST_STEP_TOKENS), hard - 1)
    # What a compaction leaves has to be below the hard mark, or it was in vain.
    kept = max(min(recent, hard - base - LEAST_STEP_TOKENS), step)
    tail = max(step, kept / 2, kept - policy.reopen_files * policy.reopen_tokens)
    each = _reopened_tokens(policy, kept - tail)
    files = min(policy.reopen_files, _whole((kept - tail) / each)) if each else 0
    # The spared and the next one fit below the hard mark; else nothing could be cleared
    # and each step would end in a compaction.
    spared = (hard - base + (1 - USUAL_STATE) * layers.state) / step - 1
    spared = min(spared, recent / SMALL_RESULT_TOKENS)
    summary = min(policy.summary_share * window, SUMMARY_PART * layers.state, output)
    return Numbers(
        policy=policy.policy,
        window_tokens=window,
        output_tokens=_whole(output),
        soft_tokens=_whole(soft),
        hard_tokens=_whole(hard),
        read_tokens=_whole(read),
        clip_tokens=_whole(clip),
        keep_results=_at_most(policy.keep_results, spared),
        digest_tokens=_whole(min(policy.digest_tokens, recent / 40)),
        tail_steps=_at_most(policy.tail_steps, tail / LEAST_STEP_TOKENS),
        tail_tokens=_whole(tail),
        summary_tokens=_whole(summary),
        state_tokens=_whole(layers.state - summary),
        memory_tokens=_whole(layers.memory),
        reopen_files=files,
        reopen_tokens=each,
        reminder_turns=policy.reminder_turns,
        reminder_tokens=_whole(min(policy.reminder_tokens, recent / 8)),
        last_steps=policy.last_steps,
        every_turns=policy.every_turns,
    )


def shrunk(
    policy: ContextPolicy, numbers: Numbers, *, max_output_tokens: int
) -> tuple[Shrunk, ...]:
    """Return which numbers are smaller than the task says, and for which layer.

    Args:
        policy: as the task has it.
        numbers: what became of it.
        max_output_tokens: as for `resolve`.
    """
    recent = ("read_tokens", "clip_tokens", "keep_results", "digest_tokens")
    tail = ("tail_steps", "reopen_files", "reopen_tokens", "reminder_tokens")
    pairs = [
        ("max_output_tokens", max_output_tokens, numbers.output_tokens, "output"),
        *(
            (name, getattr(policy, name), getattr(numbers, name), "recent")
            for name in (*recent, *tail)
        ),
    ]
    return tuple(Shrunk(*pair) for pair in pairs if pair[2] < pair[1])


@dataclass(frozen=True, slots=True)
class _Layers:
    """What each layer but the fixed one may have, in tokens."""

    recent: float
    state: float
    memory: float
    output: float


def _check_room(window: int, fixed: int, max_output_tokens: int) -> None:
    output = min(max_output_tokens, LEAST_OUTPUT_TOKENS)
    least = output + LEAST_STEP_TOKENS + LEAST_STATE_TOKENS
    if window - fixed >= least:
        return
    raise SpecError(
        f"the window has {window:,} tokens, and system prompt, tools and first message "
        f"need {fixed:,} of them; at most {max(window - least, 0):,} are allowed, so "
        f"that a reply ({output:,}), a step ({LEAST_STEP_TOKENS}) and the state "
        f"({LEAST_STATE_TOKENS}) fit: take a model with a larger window, or shorten "
        "objective, context files and prompt",
        field="context_policy.window_tokens",
    )


def _layers(
    policy: ContextPolicy,
    window: int,
    fixed: int,
    max_output_tokens: int,
    has_memory: bool,
) -> _Layers:
    """Return the shares in tokens; a fixed part above its own takes from all others."""
    shares = policy.shares
    memory = shares.memory if has_memory else 0.0
    wanted = {
        "recent": shares.recent + shares.memory - memory,
        "state": shares.state,
        "output": shares.output,
        "memory": memory,
    }
    least = {
        "recent": float(LEAST_STEP_TOKENS),
        "state": float(LEAST_STATE_TOKENS),
        "output": float(min(max_output_tokens, LEAST_OUTPUT_TOKENS)),
        "memory": 0.0,
    }
    left = window - max(fixed, shares.fixed * window)
    pot = left * sum(wanted.values()) / (1 - shares.fixed)
    pot = min(max(pot, sum(least.values())), window - fixed)
    return _Layers(**_divided(pot, wanted, least))


def _divided(
    pot: float, shares: dict[str, float], least: dict[str, float]
) -> dict[str, float]:
    """Divide `pot` by shares, but nobody gets less than the least, which fit in it."""
    given: dict[str, float] = {}
    while True:
        rest = pot - sum(given.values())
        whole = sum(share for name, share in shares.items() if name not in given)
        offer = {
            name: rest * share / whole if whole else 0.0
            for name, share in shares.items()
            if name not in given
        }
        poor = {name: least[name] for name in offer if offer[name] < least[name]}
        if not poor:
            return {**given, **offer}
        given |= poor


def _reopened_tokens(policy: ContextPolicy, room: float) -> int:
    """Return how long a reopened file may be; 0: none fits into `room`."""
    each = _whole(min(policy.reopen_tokens, room))
    return each if each >= min(policy.reopen_tokens, LEAST_RESULT_TOKENS) else 0


def _without_window(
    policy: ContextPolicy, fixed: int, max_output_tokens: int, has_memory: bool
) -> Numbers:
    """Return the numbers as written; those without a name are of a small window."""
    unbound = policy.model_copy(update={"window_tokens": None})
    small = resolve(
        unbound,
        window_tokens=UNKNOWN_WINDOW_TOKENS + fixed,
        fixed_tokens=fixed,
        max_output_tokens=max_output_tokens,
        has_memory=has_memory,
    )
    return Numbers(
        policy=policy.policy,
        window_tokens=None,
        output_tokens=max_output_tokens,
        soft_tokens=None,
        hard_tokens=None,
        read_tokens=policy.read_tokens,
        clip_tokens=policy.clip_tokens,
        keep_results=policy.keep_results,
        digest_tokens=policy.digest_tokens,
        tail_steps=policy.tail_steps,
        tail_tokens=small.tail_tokens,
        summary_tokens=small.summary_tokens,
        state_tokens=small.state_tokens,
        memory_tokens=small.memory_tokens,
        reopen_files=policy.reopen_files,
        reopen_tokens=policy.reopen_tokens,
        reminder_turns=policy.reminder_turns,
        reminder_tokens=policy.reminder_tokens,
        last_steps=policy.last_steps,
        every_turns=policy.every_turns,
    )


def _at_most(wanted: int, fitting: float) -> int:
    return max(min(wanted, _whole(fitting)), 1)


def _whole(tokens: float) -> int:
    return int(tokens + _NOISE)
