"""Everything that is known of a run, as JSON has it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from orchestrator.inspection.breakdown import by_model, by_tool, fullest_of, waits_of
from orchestrator.inspection.costliest import costliest_of
from orchestrator.inspection.run import RunView

__all__ = ["FIGURES_VERSION", "run_figures"]

FIGURES_VERSION = 1
"""Of every JSON of the reading commands; fields are only added within a version."""


def run_figures(view: RunView, now: datetime | None = None) -> dict[str, Any]:
    """Return everything about a run, for machines; the shape only grows.

    Args:
        view: the run.
        now: ends what is under way; None: its last event does.
    """
    subagents, agents = view.subagents, view.agents.values()
    costliest, fullest = costliest_of(view), fullest_of(view)
    waits = waits_of(agents, now)
    return {
        "v": FIGURES_VERSION,
        "id": view.id,
        "task": view.task,
        "objective": view.objective,
        "questions": view.questions,
        "state": view.state,
        "reason": view.reason,
        "resume_at": view.resume_at,
        "exit_code": view.exit_code,
        "resumable": view.is_resumable,
        "missing": view.missing,
        "reasons": [each.to_dict() for each in view.reasons],
        "person": [each.to_dict() for each in view.story.acts],
        "started": view.started_at and view.started_at.isoformat(),
        "ended": view.ended_at and view.ended_at.isoformat(),
        "seconds": round(view.seconds(now), 3),
        "resumes": view.resumes,
        "models": view.models,
        "prices": view.prices.of,
        "tokens": view.tokens.to_dict(),
        **view.cost.to_dict(),
        "explored_tokens": sum(each.explored_tokens for each in subagents),
        "returned_tokens": sum(each.returned_tokens for each in subagents),
        "costliest": costliest and costliest.to_dict(),
        "fullest": fullest and fullest.to_dict(),
        "tools": {name: each.to_dict() for name, each in by_tool(agents).items()},
        "requests": {name: each.to_dict() for name, each in by_model(agents).items()},
        "waits_s": {name: round(spent, 3) for name, spent in waits.items()},
        "limits": {
            each.name: {"used": round(each.used, 6), "allowed": each.allowed}
            for each in view.limit_use(now)
        },
        "limits_reached": [
            {"agent": agent, "limit": limit} for agent, limit in view.limits_reached
        ],
        "refused_briefs": [
            {"title": title, "problems": problems}
            for title, problems in view.refused_briefs
        ],
        "reused_briefs": [
            {"title": title, "agent": agent} for title, agent in view.reused_briefs
        ],
        "report": {
            "attempts": view.report_attempts,
            "citations": view.citations,
            "wrong_citations": view.wrong_citations,
        },
        "agents": [
            {
                **agent.to_dict(now),
                "doing": view.doing(agent, now),
                "depth": depth,
            }
            for agent, depth in view.tree()
        ],
        "log": {
            "events": view.events,
            "damaged": view.damaged,
            "unknown_kinds": view.unknown,
        },
    }
