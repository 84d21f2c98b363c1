"""The agents of a run in the order of a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.inspection.agents import AgentView

__all__ = ["tree"]


def tree(agents: Mapping[str, AgentView]) -> Iterator[tuple[AgentView, int]]:
    """Yield each agent once, with its depth; parents come before their children.

    Args:
        agents: id → agent, in order of acceptance.
    """
    children: dict[str, list[str]] = {}
    roots: list[str] = []
    for agent in agents.values():
        is_below = agent.parent in agents and agent.parent != agent.id
        (children.setdefault(agent.parent, []) if is_below else roots).append(agent.id)
    seen: set[str] = set()
    # The second round finds those whose parents, in a damaged log, form a ring.
    for start in [*roots, *agents]:
        stack = [(start, 0)]
        while stack:
            agent_id, depth = stack.pop()
            if agent_id not in seen:
                seen.add(agent_id)
                yield agents[agent_id], depth
                below = reversed(children.get(agent_id, []))
                stack.extend((child, depth + 1) for child in below)
