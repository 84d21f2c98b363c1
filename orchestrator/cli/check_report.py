"""What `orchestrate check` shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.cli.estimate import Estimate, estimate_run
from orchestrator.cli.output import dollars, safe
from orchestrator.cli.profile_table import profile_lines, profile_row
from orchestrator.cli.tool_table import definition_tokens
from orchestrator.context.tokens import estimate
from orchestrator.errors import SpecError
from orchestrator.models.base import Usage
from orchestrator.models.pricing import price_of
from orchestrator.runtime.prepare import Prepared, prepare
from orchestrator.settings import OFFLINE, Settings
from orchestrator.spec.document import dump
from orchestrator.spec.loader import blame, load_task
from orchestrator.spec.not_yet import READY_POLICY
from orchestrator.spec.profiles import DELEGATION, LEAD, allowed_tools

__all__ = ["check_lines", "check_task"]


def check_task(
    path: Path, overrides: Mapping[str, str], env: Mapping[str, str], cwd: Path
) -> dict[str, Any]:
    """Return all that is known of a task before it runs, as plain data.

    Raises:
        SpecError: anything about it is wrong.
    """
    task = load_task(path, overrides)
    try:
        prepared = prepare(
            task,
            settings=Settings.load(env),
            env=env,
            price_of=price_of,
            task_folder=path.absolute().parent,
            cwd=cwd,
        )
        models = _models(prepared)
    except SpecError as error:
        raise blame(error, path, overrides) from error
    expected = estimate_run(
        prepared,
        count=estimate,
        tool_tokens=lambda name: definition_tokens(_tools(prepared, name)),
        usd_of=_usd,
    )
    return {
        "task": task.model_dump(mode="json", by_alias=True),
        "models": {
            "lead": prepared.models.lead,
            "subagents": prepared.models.subagents,
            "fallback": prepared.models.fallback or None,
            "reason": prepared.models.reason,
        },
        "profiles": _profiles(prepared, models),
        "prompts": {
            name: str(file) for name, file in sorted(prepared.book.shadowing().items())
        },
        "context": [file.path for file in prepared.context_files],
        "estimate": _estimate(expected, prepared),
        "notices": [
            *(each for each in prepared.notices if each != prepared.models.reason),
            *(f"not used: {problem}" for problem in prepared.found.problems),
        ],
    }


def _tools(prepared: Prepared, name: str) -> set[str]:
    """Return the tools of a profile that the lead sends, or of the lead."""
    profile, is_lead = prepared.found.profiles[name], name == LEAD
    limits, may_delegate = prepared.task.limits, prepared.task.limits.depth > 1
    tools = set(allowed_tools(profile, is_lead=is_lead, may_delegate=may_delegate))
    if not (prepared.profiles.subagents and limits.subagents and limits.depth):
        tools -= set(DELEGATION)
    return tools


def _models(prepared: Prepared) -> dict[str, str]:
    """Return the model of the lead and of each profile, by name."""
    chosen, profiles = prepared.models, prepared.profiles
    models = {LEAD: chosen.of_profile(profiles.lead.model, lead=True)}
    for name, profile in profiles.subagents.items():
        models[name] = chosen.of_profile(profile.model)
    return models


def _usd(model: str, usage: Usage) -> float | None:
    price = price_of(model)
    return None if price is None else price.usd(usage)


def _profiles(prepared: Prepared, models: dict[str, str]) -> list[dict[str, Any]]:
    profiles = (prepared.profiles.lead, *prepared.profiles.subagents.values())
    may_delegate = prepared.task.limits.depth > 1
    return [
        {**profile_row(each, may_delegate=may_delegate), "model": models[each.name]}
        for each in profiles
    ]


def _estimate(expected: Estimate, prepared: Prepared) -> dict[str, Any]:
    return {
        "subagents": expected.subagents,
        "calls": expected.calls,
        "tokens": expected.tokens,
        "cache_read_tokens": expected.cache_read_tokens,
        "usd": None if expected.usd is None else round(expected.usd, 4),
        "limit_tokens": prepared.task.limits.tokens,
        "limit_usd": prepared.usd,
        "assumptions": list(expected.assumptions),
    }


def check_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the report of `check_task` as text."""
    yield dump(_shown(report["task"])).rstrip("\n")
    yield ""
    yield report["models"]["reason"]
    if report["models"]["fallback"]:
        yield f"after a refusal: {report['models']['fallback']}"
    yield ""
    yield "profiles"
    yield from (f"  {line}" for line in profile_lines(report["profiles"]))
    for name, file in report["prompts"].items():
        yield f"prompt {name} is taken from {file}"
    if report["context"]:
        yield f"context files: {', '.join(report['context'])}"
    yield ""
    yield from _estimate_lines(report["estimate"], report["models"])
    for notice in report["notices"]:
        yield f"note: {safe(notice)}"


def _shown(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the task without what is empty, and of the policy what can be set."""
    policy = task["context_policy"]
    task = {**task, "context_policy": {name: policy[name] for name in READY_POLICY}}
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
    usd, limit = expected["usd"], expected["limit_usd"]
    cost = "dollars unknown" if usd is None else f"${dollars(usd)}"
    if models["lead"] == models["subagents"] == OFFLINE:
        cost = "$0, the offline model is free"
    most = f", at most ${limit:g}" if limit is not None else ""
    yield (
        f"estimate: {expected['calls']} model calls, {expected['tokens']:,} tokens "
        f"and {expected['cache_read_tokens']:,} read from the cache, {cost}"
    )
    yield f"limits: at most {expected['limit_tokens']:,} tokens{most}"
    yield "assumed:"
    yield from (f"  - {text}" for text in expected["assumptions"])
