"""The tools of a run by name, and their definitions in one order always."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from orchestrator.context.tokens import estimate
from orchestrator.messages import encode
from orchestrator.security.untrusted import defused, defused_schema
from orchestrator.tools.base import Described, Tool
from orchestrator.tools.schema import input_schema

__all__ = ["Registry", "definition_of", "legal_tool_name", "tokens_of"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")  # what the API accepts


def definition_of(tool: Described) -> dict[str, Any]:
    """Return what a model is told of a tool; words of others in it are defused.

    Raises:
        TypeError: its argument model refers to itself.
    """
    if getattr(tool, "own_marks", False):
        description, schema = tool.description, input_schema(tool.Args)
    else:
        description, schema = defused(tool.description), _defused_schema(tool.Args)
    return {"name": tool.name, "description": description, "input_schema": schema}


@lru_cache(maxsize=512)
def _defused_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a tool of others; made once, for each agent asks for it."""
    schema: dict[str, Any] = defused_schema(input_schema(model))
    return schema


def tokens_of(tool: Described) -> int:
    """Return the estimated tokens of the definition of a tool."""
    return estimate(encode(definition_of(tool)).decode())


def legal_tool_name(name: str) -> bool:
    """Return whether the API accepts the name of a tool."""
    return _NAME.fullmatch(name) is not None


class Registry:
    """The tools of a run. Immutable.

    Definitions are sorted by name, so that the bytes sent are the same on every turn,
    in every process and after a resume; the prompt cache lives on that.
    """

    def __init__(self, tools: Iterable[Tool[Any]]) -> None:
        """Take the tools.

        Raises:
            ValueError: two tools have one name, or the API would refuse a name.
            TypeError: an argument model refers to itself.
        """
        self._tools: dict[str, Tool[Any]] = {}
        for tool in sorted(tools, key=lambda tool: tool.name):
            if not legal_tool_name(tool.name):
                raise ValueError(
                    f"tool name `{tool.name[:80]}` must be 1 to 64 ASCII letters, "
                    "digits, dashes or underscores"
                )
            if tool.name in self._tools:
                other = self._tools[tool.name]
                raise ValueError(
                    f"two tools are named `{tool.name}`: "
                    f"{type(other).__qualname__} and {type(tool).__qualname__}"
                )
            self._tools[tool.name] = tool
        self._definitions = {
            name: definition_of(tool) for name, tool in self._tools.items()
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names, sorted."""
        return tuple(self._tools)

    def get(self, name: str) -> Tool[Any] | None:
        """Return the tool of exactly that name, or None."""
        return self._tools.get(name)

    def definitions(self, names: Collection[str] | None = None) -> list[dict[str, Any]]:
        """Return the definitions for a request, sorted by name.

        The caller owns them, but not the schemas in them: all agents share those.

        Args:
            names: which tools; None means all. Names that are not there are left out.
        """
        return [
            dict(definition)
            for name, definition in self._definitions.items()
            if names is None or name in names
        ]
