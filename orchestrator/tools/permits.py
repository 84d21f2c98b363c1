"""The gate that calls pass which need a permission: the task's word, or a person's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from pydantic import BaseModel

from orchestrator.messages import with_texts
from orchestrator.security.permissions import Ask, Permission
from orchestrator.security.placeholders import PLACEHOLDER
from orchestrator.security.untrusted import as_written
from orchestrator.tools.base import Tool, ToolContext

__all__ = ["CLOSED", "Gate", "asked_by", "with_secrets"]


Asks = Callable[[BaseModel, ToolContext], Ask]


class Gate(Protocol):
    """Decides whether a call may have what it needs; neither model nor tool does."""

    async def refused(self, agent: str, call: str, tool: str, ask: Ask) -> str:
        """Return "", or why the call is not run, for the model.

        Args:
            agent: whose call it is.
            call: its id.
            tool: its name.
            ask: what it needs and would do.
        """
        ...


class _Closed:
    async def refused(self, agent: str, call: str, tool: str, ask: Ask) -> str:  # noqa: ARG002 - the port's
        return f"`{tool}` is not allowed: the task allows nothing but reading."


CLOSED: Gate = _Closed()
"""Lets nothing through that needs a permission."""


def asked_by(tool: Tool[Any], args: BaseModel, context: ToolContext) -> Ask | None:
    """Return what this call needs and would do; None: nothing that is asked for."""
    asks: Asks | None = getattr(tool, "asks", None)
    if asks is None:
        return None
    ask = asks(args, context)
    if not ask.permissions:
        return None
    whole = ask.in_full
    return replace(  # as it will be
        ask,
        effect=as_written(ask.effect),
        in_full=None if whole is None else lambda: as_written(whole()),
    )


def with_secrets(
    permissions: tuple[Permission, ...],
    given: Any,  # noqa: ANN401 - JSON
) -> tuple[Permission, ...]:
    """Return what a call needs: `secrets` as well, where it would put one back.

    Args:
        permissions: what it needs without.
        given: the arguments, as JSON.
    """
    marks: list[str] = []

    def note(text: str) -> str:
        marks.extend(PLACEHOLDER.findall(text))
        return text

    with_texts(given, note)
    return (*permissions, "secrets") if marks else permissions
