"""How the context is kept small: every number of `context_policy`, and its presets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    model_validator,
)

from orchestrator.errors import SpecError
from orchestrator.settings import OFFLINE, bare_model
from orchestrator.spec.limits import Amount, Count, NotBool

__all__ = ["PRESETS", "ContextPolicy", "Shares", "policy_problems"]

PRESETS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "long": MappingProxyType({}),  # the defaults of the fields
        "short": MappingProxyType(
            {"policy": "budget", "soft": 0.80, "hard": 0.90, "reminder_turns": 10}
        ),
        "dialogue": MappingProxyType(
            {
                "policy": "window",
                "clip_tokens": 2000,
                "read_tokens": 4000,
                "reminder_turns": 10,
            }
        ),
    }
)
"""What a preset sets where the task itself does not."""

_EXACT: Final = 1e-9  # above a sum of 1: rounding of fractions

_CONFIG = ConfigDict(
    extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
)


class Shares(BaseModel):
    """Share of the window per layer; the defaults are those of a 32k window."""

    model_config = _CONFIG

    recent: Amount = Field(default=0.25, gt=0, lt=1)
    """The steps shown whole, and files that a compaction opens afresh."""
    state: Amount = Field(default=0.19, gt=0, lt=1)
    """State, notes and summary."""
    memory: Amount = Field(default=0.12, gt=0, lt=1)
    """What memory found; without memory, recent steps have this as well."""
    fixed: Amount = Field(default=0.12, gt=0, lt=1)
    """System prompt, tools and first message; if they are larger, all others shrink."""
    output: Amount = Field(default=0.31, gt=0, lt=1)
    """The reply."""


class ContextPolicy(BaseModel):
    """How the context is kept small; every number has a name here.

    A preset fills in what is not given, so that every value is the one in force.
    `model_fields_set` names what was given.
    """

    model_config = _CONFIG

    preset: Literal["long", "short", "dialogue"] = "long"
    """Defaults for a kind of work: many turns, one that fits anyway, a conversation."""
    policy: Literal["ladder", "window", "budget"] = "ladder"
    """`ladder` clips, clears and compacts; `window` shows the last `last_steps` steps,
    `budget` the newest that fit."""
    window_tokens: Annotated[int, Field(ge=4000), NotBool] | None = None
    """Window of the model, prompt and answer together; None: as far as it is known."""
    soft: Amount = Field(default=0.60, gt=0, lt=1)
    """Share of the usable window from which old results are cleared."""
    hard: Amount = Field(default=0.75, gt=0, lt=1)
    """Share of the usable window from which earlier steps are compacted."""
    clip_tokens: Count = Field(default=4000, ge=200)
    """Longest tool output that stays in the context whole."""
    read_tokens: Count = Field(default=8000, ge=200)
    """Page size of `read_file` and `read_ref`."""
    keep_results: Count = Field(default=3, ge=1)
    """Newest tool results that are never cleared."""
    digest_tokens: Count = Field(default=60, ge=0)
    """Longest digest of a result that is cleared; 0: none."""
    tail_steps: Count = Field(default=3, ge=1)
    """Last steps that a compaction keeps whole, as far as they fit."""
    summary_share: Amount = Field(default=0.15, gt=0, lt=1)
    """Longest summary, as a share of the window."""
    reopen_files: Count = Field(default=5, ge=0)
    """Files that a compaction shows afresh, at most."""
    reopen_tokens: Count = Field(default=5000, ge=0)
    """Longest of them; larger ones are only named."""
    reminder_turns: Count = Field(default=5, ge=1)
    """Turns from one reminder to the next."""
    reminder_tokens: Count = Field(default=150, ge=20)
    """Longest reminder."""
    last_steps: Count = Field(default=20, ge=1)
    """Steps that policy `window` shows."""
    every_turns: Annotated[int, Field(ge=1), NotBool] | None = None
    """Turns from one compaction to the next, whatever the size; None: by size only."""
    judge: str | None = None
    """Model that compares each summary with what it stands for; None: nobody does."""
    shares: Shares = Shares()
    """Share of the window per layer; a number larger than its layer's shrinks to it."""

    @model_validator(mode="wrap")
    @classmethod
    def _filled(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:  # noqa: ANN401 - what pydantic hands over
        if not isinstance(data, dict):
            return handler(data)
        preset = data.get("preset", "long")
        filling = PRESETS.get(preset, {}) if isinstance(preset, str) else {}
        policy = handler({**filling, **data})
        policy.model_fields_set.intersection_update(data)
        return policy


def policy_problems(policy: ContextPolicy) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield place and message of what cannot be meant, numbers together."""
    if policy.soft >= policy.hard:
        field = "soft" if "soft" in policy.model_fields_set else "hard"
        yield (
            (field,),
            f"`soft` {policy.soft:g} must be below `hard` {policy.hard:g}{_of(policy)}",
        )
    shares = policy.shares.model_dump()
    if (whole := sum(shares.values())) > 1 + _EXACT:
        listed = ", ".join(f"{name} {share:g}" for name, share in shares.items())
        yield ("shares",), f"sum to {whole:.4g} ({listed}); at most 1 is allowed"
    for field in ("every_turns", "judge"):
        if getattr(policy, field) is not None and policy.policy != "ladder":
            yield (
                (field,),
                f"is for policy `ladder`, which summarises; this is `{policy.policy}`"
                f"{_of(policy)}: leave one of both out",
            )
    if policy.judge is not None:
        yield from _judge(policy.judge)


def _judge(name: str) -> Iterator[tuple[tuple[str, ...], str]]:
    try:
        bare = bare_model(name)
    except SpecError as error:
        offline = f", a bare id and `{OFFLINE}`"
        yield ("judge",), error.message.replace(offline, " and a bare id")
        return
    if bare == OFFLINE:
        yield ("judge",), f"`{OFFLINE}` cannot judge; name a language model"


def _of(policy: ContextPolicy) -> str:
    """Return which preset has a hand in it, or ""."""
    return f" (preset `{policy.preset}`)" if PRESETS[policy.preset] else ""
