"""What a run used, class by class, and what of its dollars is not known."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.cli.output import dollars, safe
from orchestrator.events.phrases import count_phrase, tokens
from orchestrator.inspection.run import RunView
from orchestrator.inspection.tokens import Cost, Tokens

__all__ = ["usage_rows", "usage_rows_of"]


def usage_rows(view: RunView) -> Iterator[tuple[str, str]]:
    """Yield label and text of the rows about tokens by class, dollars and prices."""
    cost = view.cost
    if view.tokens.sent:
        yield "usage", _by_class(view.tokens, cost)
    yield "usd", _dollars(view, cost)
    if sources := "; ".join(view.prices.sources()):
        yield "prices", safe(sources)


def usage_rows_of(used: Tokens, cost: Cost) -> Iterator[tuple[str, str]]:
    """Yield the rows about tokens by class and dollars of one agent."""
    if used.sent:
        yield "usage", _by_class(used, cost)
    known = cost.known_usd
    text = "unknown" if known is None else dollars(known)
    yield "usd", text + _cut_off(cost) + _doubted(cost)


def _by_class(used: Tokens, cost: Cost) -> str:
    """Return each class of token once; they add up to what was sent and said."""
    classes = (
        ("uncached input", used.input, "input", ""),
        ("cache writes", used.cache_write, "cache_write", _written(used)),
        ("cache reads", used.cache_read, "cache_read", ""),
        ("output", used.output, "output", _thought(used)),
    )
    parts = []
    for name, count, key, more in classes:
        price = f"${dollars(cost.parts[key])}" if key in cost.parts else ""
        told = ", ".join(each for each in (price, more) if each)
        if count:
            parts.append(f"{name} {tokens(count)}" + (f" ({told})" if told else ""))
    if cost.unbilled:
        parts.append(f"{cost.unbilled} refused before output: not billed")
    return "; ".join(parts)


def _written(used: Tokens) -> str:
    if not used.cache_write_1h:
        return ""
    return f"{tokens(used.cache_write_1h)} of them for an hour"


def _thought(used: Tokens) -> str:
    return f"{tokens(used.thinking)} of it thinking" if used.thinking else ""


def _dollars(view: RunView, cost: Cost) -> str:
    unknown = view.prices.unknown(view.models)
    names = ", ".join(f"`{safe(model)}`" for model in unknown)
    if cost.to_dict()["usd"] is None or (unknown and not cost.priced):
        return f"unknown: no price for {names}" if names else "unknown"
    text = dollars(cost.usd)
    if cost.unpriced:
        text += " (the price of some calls is unknown)"
    return text + _cut_off(cost) + _doubted(cost)


def _cut_off(cost: Cost) -> str:
    """Return what calls that were cut off may have cost, in words."""
    if not cost.cut:
        return ""
    calls = count_phrase(cost.cut, "call")
    were = "was" if cost.cut == 1 else "were"
    most = f"at most {dollars(cost.cut_usd)} more" if cost.cut_usd else "perhaps more"
    return f", and {most} for {calls} that {were} cut off"


def _doubted(cost: Cost) -> str:
    """Return what is counted where the service told too little, in words."""
    if not cost.doubted:
        return ""
    more = f"{dollars(cost.doubted_usd)} more" if cost.doubted_usd else "more"
    calls = count_phrase(cost.doubted, "call")
    few = "the endpoint told too few tokens to be true"
    return f"; {few} for {calls}: limits count {more}"
