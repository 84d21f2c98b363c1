"""Which models a run may ask, what is known of their prices, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from orchestrator.errors import SpecError
from orchestrator.events import Event, RunResumed, RunStarted
from orchestrator.events.phrases import names_phrase
from orchestrator.models.price_file import PriceBook
from orchestrator.models.pricing import Price, kept_ids
from orchestrator.settings import OFFLINE, ModelsChosen
from orchestrator.spec.profiles import Selection
from orchestrator.spec.task import Task

__all__ = [
    "fallback_notices",
    "models_used",
    "price_changes",
    "price_file_notices",
    "summary_notices",
    "told_prices",
    "unused_entries",
    "usd_limit",
]

PriceOf = Callable[[str], Price | None]

CLOSE = 0.9
"""How much alike two ids must be (0 to 1) for one to be a misspelling of the other."""


def models_used(models: ModelsChosen, profiles: Selection) -> list[str]:
    """Return the models that a run may ask, each once, sorted."""
    used = _asked_first(models, profiles)
    return sorted(used | set(_asked_later(models, profiles)))


def _asked_first(models: ModelsChosen, profiles: Selection) -> set[str]:
    """Return the models that are asked before anything is refused."""
    used = {models.of_profile(profiles.lead.model, lead=True)}
    return used | {
        models.of_profile(each.model) for each in profiles.subagents.values()
    }


def _asked_later(models: ModelsChosen, profiles: Selection) -> dict[str, str]:
    """Return the other models that may be asked → the field that names each."""
    if _asked_first(models, profiles) == {OFFLINE}:
        return {}
    named = {
        models.judge: "context_policy.judge",
        models.summaries: "model.summaries",
        models.fallback: "fallback_model",
    }
    return {model: field for model, field in named.items() if model}


def usd_limit(
    task: Task, models: ModelsChosen, profiles: Selection, price_of: PriceOf
) -> tuple[float | None, list[str]]:
    """Return the limit in dollars, or None and why it cannot hold.

    Raises:
        SpecError: the task sets `limits.usd` and a model's price is unknown.
    """
    used = models_used(models, profiles)
    unknown = [model for model in used if price_of(model) is None]
    if not unknown:
        return task.limits.usd, []
    fields = _asked_later(models, profiles)
    for model in _asked_first(models, profiles):
        fields.pop(model, None)
    names = ", ".join(
        f"`{model}` (`{fields[model]}`)" if model in fields else f"`{model}`"
        for model in unknown
    )
    meant = "".join(_guess(model, used, price_of) for model in unknown)
    if "usd" in task.limits.model_fields_set:
        raise SpecError(
            f"the price of {names} is unknown{meant}, so that a limit in dollars "
            "cannot be kept; leave it out and use `limits.tokens`, or name a file with "
            "its price in `ORCHESTRATE_PRICES`",
            field="limits.usd",
        )
    return None, [
        f"the price of {names} is unknown{meant}: the default limit in dollars is "
        "dropped, the limit in tokens holds"
    ]


def _guess(model: str, used: Sequence[str], price_of: PriceOf) -> str:
    """Return a question after the id that was meant, or "" where none is close."""
    others = [each for each in used if each != model]
    known = {*others, *kept_ids(), *(_own(price_of) or {})}
    close = get_close_matches(model, sorted(known), n=1, cutoff=CLOSE)
    return f" (did you mean `{close[0]}`?)" if close else ""


def fallback_notices(models: ModelsChosen, profiles: Selection) -> Iterator[str]:
    """Yield a line where the model that is to go on after a refusal never will."""
    fallback, first = models.fallback, _asked_first(models, profiles)
    if not fallback:
        return
    if first == {OFFLINE}:
        yield f"`fallback_model: {fallback}` is not used: this run is offline"
    elif first == {fallback}:
        yield (
            f"`fallback_model: {fallback}` is the model of all agents: nobody goes on "
            "after a refusal"
        )
    elif fallback in first:
        yield (
            f"`fallback_model: {fallback}` is the model of some agents already: after "
            "their refusals nobody goes on"
        )


def summary_notices(task: Task, models: ModelsChosen) -> Iterator[str]:
    """Yield a line where a model that is to help with summaries is never asked."""
    named = (
        ("model.summaries", task.model.summaries),
        ("context_policy.judge", task.context_policy.judge),
    )
    for field, name in named:
        if name is None:
            continue
        if models.is_offline:
            yield f"`{field}: {name}` is not used: this run is offline"
        elif task.context_policy.policy != "ladder":
            yield (
                f"`{field}: {name}` is not used: policy "
                f"`{task.context_policy.policy}` summarises nothing"
            )


def told_prices(used: Sequence[str], price_of: PriceOf) -> dict[str, dict[str, Any]]:
    """Return what models cost and who says so, for the log; unknown ones left out."""
    known = ((model, price_of(model)) for model in used)
    return {model: price.told() for model, price in known if price is not None}


def price_changes(
    events: Sequence[Event], used: Sequence[str], price_of: PriceOf
) -> Iterator[str]:
    """Yield a line if models do not cost what they did when a run stopped.

    Args:
        events: of the run; its starts tell of prices.
        used: the models that it may ask.
        price_of: what they cost now.
    """
    kinds = (RunStarted.KIND, RunResumed.KIND)
    told = [each.data.get("prices") for each in events if each.kind in kinds]
    if not told or not isinstance(told[-1], dict):  # as in logs of older versions
        return
    before = {name: each for name, each in told[-1].items() if isinstance(each, dict)}
    now = told_prices(used, price_of)
    changed = [
        f"`{model}`, before {_told(before.get(model))}, now {_told(now.get(model))}"
        for model in sorted({*before, *now})
        if before.get(model, {}).get("bands") != now.get(model, {}).get("bands")
    ]
    if changed:
        yield (
            f"prices have changed since: {'; '.join(changed)}; what is booked stays as "
            "it is"
        )


def _told(price: Mapping[str, Any] | None) -> str:
    """Return a price in short, with its source."""
    if price is None:
        return "unknown"
    try:
        rates, source = price["bands"][0], price["source"]
        return f"${rates['input']:g} in, ${rates['output']:g} out ({source})"
    except (LookupError, TypeError, ValueError):  # a damaged log may hold anything
        return "not readable"


def price_file_notices(used: Sequence[str], price_of: PriceOf) -> Iterator[str]:
    """Yield a line where a price file says nothing of any model of the run."""
    own, unused = _own(price_of), unused_entries(used, price_of)
    if own and len(unused) == len(own) and list(used) != [OFFLINE]:
        asked = ", ".join(f"`{model}`" for model in used)
        has = names_phrase([f"`{name}`" for name in unused])
        yield f"the price file has no entry for {asked}, only for {has}"


def unused_entries(used: Sequence[str], price_of: PriceOf) -> list[str]:
    """Return the entries of the user's price file that no model of a run takes."""
    taken = {id(price_of(model)) for model in used}
    own = _own(price_of) or {}
    return [name for name, price in own.items() if id(price) not in taken]


def _own(price_of: PriceOf) -> dict[str, Price] | None:
    return dict(price_of.own) if isinstance(price_of, PriceBook) else None
