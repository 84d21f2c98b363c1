"""What `orchestrate check` shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.access import check_access, has_credentials
from orchestrator.cli.context_lines import context_lines, context_rows
from orchestrator.cli.estimate import Estimate, Figures, estimate_run
from orchestrator.cli.extra_tools import extra_lines, extra_rows
from orchestrator.cli.output import dollars, fill, safe
from orchestrator.cli.profile_table import profile_lines, profile_row
from orchestrator.errors import SpecError
from orchestrator.events.phrases import names_phrase
from orchestrator.models.base import Usage
from orchestrator.models.price_file import price_book
from orchestrator.models.pricing import Price
from orchestrator.runtime.costs import models_used, price_file_notices, unused_entries
from orchestrator.runtime.prepare import Prepared, prepare
from orchestrator.settings import OFFLINE, Settings
from orchestrator.spec.document import dump
from orchestrator.spec.foreign import available_tools
from orchestrator.spec.loader import blame, load_task

__all__ = ["check_lines", "check_task"]

_ASIDES = {"summaries": "summaries by", "judge": "summaries judged by"}

PriceOf = Callable[[str], Price | None]


def check_task(
    path: Path, overrides: Mapping[str, str], env: Mapping[str, str], cwd: Path
) -> dict[str, Any]:
    """Return all that is known of a task before it runs, as plain data.

    Its MCP servers are started for a moment, to be asked for their tools.

    Raises:
        SpecError: anything about it is wrong.
    """
    task, settings = load_task(path, overrides), Settings.load(env)
    price_of = price_book(settings.prices)
    names_none = task.model.lead is None and task.model.subagents is None
    try:
        prepared = prepare(
            task,
            settings=settings,
            env=env,
            price_of=price_of,
            task_folder=path.absolute().parent,
            cwd=cwd,
            # Nothing is asked here; but without credentials and a name it is offline.
            needs_credentials=names_none,
        )
        if not prepared.models.is_offline:
            check_access(env)
        tools = extra_rows(prepared, env)
    except SpecError as error:
        raise blame(error, path, overrides) from error
    used = models_used(prepared.models, prepared.profiles)
    expected = estimate_run(
        prepared,
        usd_of=lambda model, usage: _usd(price_of(model), usage),
    )
    return {
        "task": task.model_dump(mode="json", by_alias=True),
        "models": {
            "lead": prepared.models.lead,
            "subagents": prepared.models.subagents,
            "fallback": prepared.models.fallback or None,
            "summaries": prepared.models.summaries or None,
            "judge": prepared.models.judge or None,
            "reason": prepared.models.reason,
        },
        "profiles": _profiles(prepared),
        "prompts": {
            name: str(file) for name, file in sorted(prepared.book.shadowing().items())
        },
        "tools": tools,
        "skills": [each.name for each in prepared.skills],
        "context": [file.path for file in prepared.context_files],
        "numbers": context_rows(prepared.numbers),
        "estimate": _estimate(expected, prepared),
        "prices": _prices(used, price_of),
        "notices": [
            *(each for each in prepared.notices if each != prepared.models.reason),
            *(f"not used: {problem}" for problem in prepared.found.problems),
            *_unused(used, price_of),
            *_too_small(expected, prepared),
            *_no_key(prepared, env),
        ],
    }


def _unused(used: Sequence[str], price_of: PriceOf) -> Iterator[str]:
    """Yield which entries of the price file no model takes, if others are taken."""
    names = [f"`{name}`" for name in unused_entries(used, price_of)]
    is_told = next(price_file_notices(used, price_of), "")
    if names and used != [OFFLINE] and not is_told:
        yield f"of the price file, no model of this run takes {names_phrase(names)}"


def _too_small(expected: Estimate, prepared: Prepared) -> Iterator[str]:
    """Yield the limits that even the shortest course of the run will not keep."""
    least, limits, hint = expected.least, prepared.task.limits, "is below the least"
    if least.usd is not None and prepared.usd is not None and prepared.usd < least.usd:
        yield (
            f"`limits.usd` {prepared.usd:g} {hint} that this will probably cost, "
            f"${dollars(least.usd)}"
        )
    if limits.tokens < least.tokens:
        yield (
            f"`limits.tokens` {limits.tokens:,} {hint} that this will probably take, "
            f"{least.tokens:,}"
        )


def _no_key(prepared: Prepared, env: Mapping[str, str]) -> Iterator[str]:
    """Yield what `run` lacks, if so."""
    if not prepared.models.is_offline and not has_credentials(env):
        yield (
            "no credentials: `run` will need ANTHROPIC_API_KEY (or "
            "ANTHROPIC_AUTH_TOKEN; any value, for an endpoint of your own that asks "
            "for none)"
        )


def _usd(price: Price | None, usage: Usage) -> float | None:
    return None if price is None else price.usd(usage)


def _prices(models: Sequence[str], price_of: PriceOf) -> dict[str, Any]:
    """Return model → its price, or None where nobody told one."""
    known = ((model, price_of(model)) for model in models)
    return {model: None if price is None else price.told() for model, price in known}


def _profiles(prepared: Prepared) -> list[dict[str, Any]]:
    profiles = (prepared.profiles.lead, *prepared.profiles.subagents.values())
    may_delegate = prepared.task.limits.depth > 1
    available = available_tools(
        prepared.task.permissions, has_memory=prepared.task.memory.has_entries
    )
    models = {each.name: each.model for each in prepared.numbers}
    return [
        {
            **profile_row(each, may_delegate=may_delegate, available=available),
            "model": models[each.name],
        }
        for each in profiles
    ]


def _estimate(expected: Estimate, prepared: Prepared) -> dict[str, Any]:
    least, most = _figures(expected.least), _figures(expected.most)
    return {
        "subagents": expected.subagents,
        **_figures(expected.likely),
        "lead_usd": _rounded(expected.likely.lead_usd),
        "from": least,
        "to": most,
        "without_cache": _figures(expected.uncached),
        "limit_tokens": prepared.task.limits.tokens,
        "limit_usd": prepared.usd,
        "assumptions": list(expected.assumptions),
    }


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        "calls": figures.calls,
        "tokens": figures.tokens,
        "cache_read_tokens": figures.cache_read_tokens,
        "usd": _rounded(figures.usd),
    }


def _rounded(usd: float | None) -> float | None:
    return None if usd is None else round(usd, 4)


def check_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the report of `check_task` as text."""
    yield dump(_shown(report["task"])).rstrip("\n")
    yield ""
    yield report["models"]["reason"]
    if report["models"]["fallback"]:
        fallback = report["models"]["fallback"]
        yield f"after a refusal: {fallback} (the estimate leaves it out)"
    for name in ("summaries", "judge"):
        if model := report["models"][name]:
            yield f"{_ASIDES[name]}: {model} (the estimate leaves it out)"
    yield ""
    yield "profiles"
    yield from profile_lines(report["profiles"], margin="  ")
    for name, file in report["prompts"].items():
        yield f"prompt {name} is taken from {file}"
    if report["tools"]:
        yield "tools of the task"
        yield from extra_lines(report["tools"], margin="  ")
        together = sum(each["tokens"] for each in report["tools"])
        yield f"  {together:,} tokens together, which every agent carries"
    if report["skills"]:
        yield f"skills: {', '.join(report['skills'])}"
    if report["context"]:
        yield f"context files: {', '.join(report['context'])}"
    yield ""
    yield from context_lines(
        report["numbers"], report["task"]["context_policy"], prices=report["prices"]
    )
    yield ""
    yield from _estimate_lines(report["estimate"], report["models"])
    yield from _price_lines(report["prices"])
    for notice in report["notices"]:
        yield f"note: {safe(notice)}"


def _shown(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the task without what is empty."""
    shown: dict[str, Any] = {}
    for name, value in task.items():
        kept = value
        if isinstance(value, dict):
            kept = {key: inner for key, inner in value.items() if inner is not None}
        if kept not in (None, [], {}):
            shown[name] = kept
    return shown


def _estimate_lines(
    expected: Mapping[str, Any], models: Mapping[str, Any]
) -> Iterator[str]:
    least, most, bare = expected["from"], expected["to"], expected["without_cache"]
    yield fill(
        f"estimate: {expected['calls']} model calls ({least['calls']} to "
        f"{most['calls']}), {expected['tokens']:,} tokens ({least['tokens']:,} to "
        f"{most['tokens']:,}) and {expected['cache_read_tokens']:,} read from the "
        "cache",
        indent="  ",
        first="",
    )
    is_free = models["lead"] == models["subagents"] == OFFLINE
    if is_free:
        yield "  $0, the offline model is free"
    elif expected["usd"] is None:
        yield "  dollars unknown"
    else:
        others = max(expected["usd"] - expected["lead_usd"], 0.0)
        yield (
            f"  ${dollars(expected['usd'])} (${dollars(least['usd'])} to "
            f"${dollars(most['usd'])}): lead ${dollars(expected['lead_usd'])}, "
            f"subagents ${dollars(others)}"
        )
    if not is_free:
        cost = "" if bare["usd"] is None else f", ${dollars(bare['usd'])}"
        yield f"  at an endpoint without a cache: {bare['tokens']:,} tokens{cost}"
    limit = expected["limit_usd"]
    money = f", at most ${limit:g}" if limit is not None else ""
    yield f"limits: at most {expected['limit_tokens']:,} tokens{money}"
    yield "assumed:"
    for text in expected["assumptions"]:
        yield fill(text, indent="    ", first="  - ")


def _price_lines(prices: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line per model: its price, and where that is from."""
    for model, price in prices.items():
        if model == OFFLINE:
            continue
        if price is None:
            yield f"price of {safe(model)}: unknown"
            continue
        bands = "; ".join(_band(each) for each in price["bands"])
        date = f", {price['date']}" if price["date"] else ""
        yield f"price of {safe(model)}: {bands} ({safe(price['source'])}{date})"


def _band(rates: Mapping[str, float]) -> str:
    """Return one band in dollars per million tokens."""
    above = f"above {rates['over_tokens']:,} tokens " if rates["over_tokens"] else ""
    return (
        f"{above}${rates['input']:g} in, ${rates['output']:g} out, "
        f"${rates['cache_write_5m']:g} written, ${rates['cache_read']:g} read"
    )
