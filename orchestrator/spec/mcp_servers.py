"""MCP servers as a task names them: the common `mcpServers` shape, and a few keys more.

Nothing here starts anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from orchestrator.errors import SpecError
from orchestrator.security.placeholders import PLACEHOLDER
from orchestrator.spec.complaints import complaints, describe, unknown_key

__all__ = [
    "FIELD",
    "FOREIGN_KEYS",
    "TYPES",
    "VARIABLE",
    "McpServer",
    "Raw",
    "mcp_servers",
    "variable_of",
]

Raw = Mapping[str, Mapping[str, Any]]
"""Servers by name, as the task has them."""

FIELD = "mcp_servers"
MAX_SERVERS = 50

FOREIGN_KEYS = frozenset(
    {
        "alwaysAllow", "autoApprove", "description", "gallery", "icon", "label",
        "metadata", "note", "notes", "timeout", "transportType", "trust", "version",
    }
)  # fmt: skip
"""Keys of other programs that are read over: none limits what a server may do."""

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,64}")
TYPES = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
}
"""What may be written as `type`, and what it means."""


def _as_text(value: object) -> object:
    """Let `PORT: 8080` be the text that an environment holds."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Text = Annotated[str, BeforeValidator(_as_text), Field(max_length=100_000)]


class McpServer(BaseModel):
    """One server: a program to start (`command`), or an address (`url`).

    In a task file, `${VAR}` and `${VAR:-default}` stand for the environment in all
    texts but `tools` and `context_fields`.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    type: Literal["stdio", "http"] = "stdio"
    """How it speaks. Default: `stdio` with a `command`, `http` with a `url`."""
    command: str = ""
    """A program to start, by its name or path."""
    args: tuple[Text, ...] = Field(default=(), repr=False)
    """Of the program."""
    env: dict[str, Text] = Field(default_factory=dict, repr=False)
    """Its whole environment, besides PATH and its like."""
    cwd: str = ""
    """Relative to the workspace, which is the default."""
    url: str = Field(default="", repr=False)
    """Of a server that speaks streamable HTTP."""
    headers: dict[str, Text] = Field(default_factory=dict, repr=False)
    """Sent with every request."""
    sandbox: bool = True
    """A program runs in the sandbox: it sees the workspace, and no network and no
    writing unless the task allows them."""
    tools: tuple[str, ...] | None = None
    """Only these, by the names that the server gives them. None: all."""
    context_fields: tuple[str, ...] | dict[str, tuple[str, ...]] = ()
    """Of results that are JSON, only these dotted names are shown; for all tools, or
    by tool."""
    start_s: float = Field(default=30, gt=0, le=600)
    """Time to start and to list its tools."""
    call_s: float = Field(default=120, gt=0, le=3600)
    """Time of one call."""
    disabled: bool = False
    """Leave it out."""

    @model_validator(mode="before")
    @classmethod
    def _knows_its_type(cls, data: object) -> object:
        if isinstance(data, dict) and "type" not in data and data.get("url"):
            return {**data, "type": "http"}
        return data

    @field_validator("type", mode="before")
    @classmethod
    def _one_word_for_a_type(cls, value: object) -> object:
        if value == "sse":
            raise ValueError(
                "`sse` is the transport of before 2025 and is not spoken here; most "
                "such servers speak `http` at another path"
            )
        return TYPES.get(value, value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _can_be_reached(self) -> McpServer:
        if self.command and self.url:
            raise ValueError("has both `command` and `url`; one of them is needed")
        if self.type == "stdio" and not self.command.strip():
            raise ValueError("needs `command` (a program) or `url` (an address)")
        if self.type == "http" and not re.match(r"https?://[^/\s]", self.url):
            raise ValueError(
                "needs a `url` that starts with http:// or https://, found "
                f"{describe(self.url[:60])}"
            )
        return self

    def fields_of(self, tool: str) -> tuple[str, ...]:
        """Return what is shown of the JSON results of a tool; (): all of it."""
        if isinstance(self.context_fields, dict):
            return self.context_fields.get(tool, ())
        return self.context_fields


KNOWN_KEYS = tuple(sorted((*McpServer.model_fields, "file")))


def mcp_servers(raw: Raw, env: Mapping[str, str]) -> dict[str, McpServer]:
    """Return the servers that are not disabled, checked, with `${VAR}` filled in.

    Args:
        raw: of the task, files brought in.
        env: the environment.

    Raises:
        SpecError: a key is unknown, a value is wrong, or a variable is not set.
    """
    if len(raw) > MAX_SERVERS:
        raise SpecError(
            f"names {len(raw)} servers; {MAX_SERVERS} are allowed", field=FIELD
        )
    found: dict[str, McpServer] = {}
    for name, entry in raw.items():
        _check_name(name)
        _check_keys(name, entry)
        if entry.get("disabled") is not True:
            known = {key: entry[key] for key in entry if key not in FOREIGN_KEYS}
            found[name] = _server(name, _filled(known, env, (FIELD, name)))
    return found


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or not name.strip():
        raise SpecError(
            f"a server's name must have 1 to 64 characters, found {name[:80]!r}",
            field=FIELD,
        )


def _check_keys(name: str, entry: Mapping[str, Any]) -> None:
    for key in entry:
        if key in KNOWN_KEYS or key in FOREIGN_KEYS:
            continue
        raise SpecError(unknown_key(key, KNOWN_KEYS), field=f"{FIELD}.{name}.{key}")


def _server(name: str, data: Mapping[str, Any]) -> McpServer:
    try:
        return McpServer.model_validate(data)
    except ValidationError as error:
        where, message = complaints(error, model=McpServer, data=data)[0]
        field = ".".join(map(str, (FIELD, name, *where)))
        raise SpecError(message, field=field) from None


def _filled(value: Any, env: Mapping[str, str], where: tuple[str, ...]) -> Any:  # noqa: ANN401 - any YAML value
    """Return a value with the variables in its texts filled in.

    Raises:
        SpecError: a variable is not set, or a secret was not kept.
    """
    if isinstance(value, str):
        return _text(value, env, where)
    if isinstance(value, list | tuple):
        return [
            _filled(each, env, (*where, str(number)))
            for number, each in enumerate(value)
        ]
    if isinstance(value, dict):
        return {key: _filled(each, env, (*where, key)) for key, each in value.items()}
    return value


def variable_of(key: str) -> str:
    """Return the environment variable that a resume takes a secret from.

    Args:
        key: under which the secret was written out in the task.
    """
    return re.sub(r"\W", "_", key)


def _text(text: str, env: Mapping[str, str], where: tuple[str, ...]) -> str:
    if where[2:3] in (("tools",), ("context_fields",)):
        return text
    field = ".".join(where)
    if PLACEHOLDER.search(text):
        # A run keeps its task without secrets; a resume takes them from here.
        variable = variable_of(where[-1])
        if not env.get(variable):
            raise SpecError(
                "was a secret written out in the task, which a run does not keep; set "
                f"the environment variable `{variable}` to it",
                field=field,
            )
        return env[variable]

    def value(match: re.Match[str]) -> str:
        found = env.get(match[1])
        if not found and match[2] is not None:
            return match[2]
        if found is None:
            raise SpecError(
                f"the environment variable `{match[1]}` is not set; set it, or write "
                f"`${{{match[1]}:-default}}`",
                field=field,
            )
        return found

    return VARIABLE.sub(value, text)
