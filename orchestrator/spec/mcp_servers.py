"""MCP servers as a task names them: the common `mcpServers` shape, and a few keys more.

`with_files` brings in what the task takes from a JSON file, `mcp_servers` checks and
fills in the environment. Nothing here starts anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
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
from orchestrator.security.own import forms_of, is_secret_name, url_secrets
from orchestrator.security.redaction import PLACEHOLDER
from orchestrator.spec.complaints import complaints, describe, nearest
from orchestrator.spec.document import read_source

__all__ = ["McpServer", "mcp_servers", "notices", "secret_values", "with_files"]

Raw = Mapping[str, Mapping[str, Any]]
"""Servers by name, as the task has them."""

FIELD = "mcp_servers"
FILE_KEYS = ("mcpServers", "servers")
"""Under one of these a JSON file holds its servers."""
MAX_SERVERS = 50

FOREIGN_KEYS = frozenset(
    {
        "alwaysAllow", "autoApprove", "description", "gallery", "icon", "label",
        "metadata", "note", "notes", "timeout", "transportType", "trust", "version",
    }
)  # fmt: skip
"""Keys of other programs that are read over: none limits what a server may do."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,64}")
_RANDOM = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=-]{20,}")
_TYPES = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
}


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
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    type: Literal["stdio", "http"] = "stdio"
    """How it speaks. Default: `stdio` with a `command`, `http` with a `url`."""
    command: str = ""
    args: tuple[Text, ...] = Field(default=(), repr=False)
    env: dict[str, Text] = Field(default_factory=dict, repr=False)
    """Its whole environment, besides PATH and its like."""
    cwd: str = ""
    """Relative to the workspace, which is the default."""
    url: str = Field(default="", repr=False)
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
        return _TYPES.get(value, value) if isinstance(value, str) else value

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


def with_files(raw: Raw, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the servers with what they take from a file written in.

    `github: {file: .mcp.json}` takes the server `github` of that file; keys beside
    `file` win over those in it. A file never adds a server that the task does not name.

    Args:
        raw: of the task; not changed.
        folder: of the task file; paths count from it.

    Raises:
        SpecError: a file cannot be read, is not JSON, or lacks the server.
    """
    return {name: _with_file(name, entry, folder) for name, entry in raw.items()}


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


def notices(raw: Raw) -> tuple[str, ...]:
    """Return what a person should know of the servers, one sentence each."""
    return tuple(_notices(raw))


def secret_values(raw: Raw, env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values to redact whatever their form, longest first.

    Those of `env` and `headers` whose name, or whose variable's name, tells a secret
    (token, key, …) or that look random; variables of that kind in `args` and `url`;
    passwords in a `url`. Each one also in the forms that it has in a URL and in JSON.
    Settings such as `NODE_ENV` stay readable. What is wrong is passed over.

    Args:
        raw: of the task, files brought in.
        env: the environment.
    """
    values: list[str] = []
    for entry in raw.values():
        values += _secrets_of(entry, env)
    return forms_of(values)


def _secrets_of(entry: Mapping[str, Any], env: Mapping[str, str]) -> Iterator[str]:
    for key, text in _texts(entry):
        for match in _VARIABLE.finditer(text):
            value = env.get(match[1]) or match[2] or ""
            if _is_secret(match[1], value) or (key and is_secret_name(key)):
                yield value
        whole = _VARIABLE.sub(lambda each: env.get(each[1]) or each[2] or "", text)
        if key and _is_secret(key, whole):
            yield whole
        if "://" in whole:
            yield from url_secrets(whole)


def _is_secret(name: str, value: str) -> bool:
    return is_secret_name(name) or _RANDOM.fullmatch(value) is not None


def _texts(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts of a server that may hold a secret, with the name each has."""
    for part in ("env", "headers"):
        values = entry.get(part)
        for key, value in values.items() if isinstance(values, dict) else ():
            yield str(key), str(value)
    args = entry.get("args")
    for value in args if isinstance(args, list | tuple) else ():
        yield "", str(value)
    yield "", str(entry.get("url", ""))


def _notices(raw: Raw) -> Iterator[str]:
    for name, entry in raw.items():
        if entry.get("disabled") is True:
            continue
        foreign = sorted(FOREIGN_KEYS.intersection(entry))
        if foreign:
            more = "; the limit of a call is `call_s`" if "timeout" in foreign else ""
            keys = ", ".join(f"`{key}`" for key in foreign)
            yield f"MCP server `{name}`: {keys} not used here{more}"
        if entry.get("sandbox") is False and entry.get("command"):
            yield (
                f"MCP server `{name}` runs outside the sandbox (`sandbox: false`): it "
                "may do whatever you may"
            )
        for part in ("env", "headers"):
            values = entry.get(part)
            for key, value in values.items() if isinstance(values, dict) else ():
                if is_secret_name(key) and not _VARIABLE.search(str(value)):
                    yield (
                        f"MCP server `{name}`: `{part}.{key}` is written out in the "
                        "task; better `${VARIABLE}`: what is secret is not kept in "
                        "the run's folder, so that a resume would need it again"
                    )


def _with_file(name: str, entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    if "file" not in entry:
        return dict(entry)
    field = f"{FIELD}.{name}.file"
    written = entry["file"]
    if not isinstance(written, str) or not written.strip():
        raise SpecError(
            f"must be the path of a JSON file, found {describe(written)}", field=field
        )
    path = folder / Path(written).expanduser()
    try:
        servers = _servers_in(path)
    except SpecError as error:
        raise SpecError(f"{error}", field=field) from error
    if name not in servers:
        meant = nearest(name, servers)
        hint = f"did you mean `{meant}`? " if meant else ""
        names = ", ".join(f"`{each}`" for each in list(servers)[:20]) or "none"
        raise SpecError(
            f"`{written}` has no server `{name}`; {hint}it has: {names}", field=field
        )
    found = servers[name]
    if not isinstance(found, dict):
        raise SpecError(
            f"`{name}` in `{written}` must be an object, found {describe(found)}",
            field=field,
        )
    own = {key: value for key, value in entry.items() if key != "file"}
    return {**found, **own}


def _servers_in(path: Path) -> dict[str, Any]:
    """Return the servers of a JSON file by name.

    Raises:
        SpecError: it cannot be read, or holds no servers.
    """
    text = read_source(path, what="file of MCP servers")
    try:
        data = json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        raise SpecError(f"is not JSON: {error}", file=str(path), line=line) from error
    except RecursionError as error:
        raise SpecError("is nested beyond all bounds", file=str(path)) from error
    for key in FILE_KEYS:
        if isinstance(data, dict) and isinstance(data.get(key), dict):
            servers: dict[str, Any] = data[key]
            return servers
    raise SpecError(
        f"must hold an object `mcpServers`, found {describe(data)}", file=str(path)
    )


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
        meant = nearest(key, KNOWN_KEYS)
        hint = f"did you mean `{meant}`? " if meant else ""
        raise SpecError(
            f"unknown key; {hint}allowed: {', '.join(KNOWN_KEYS)}",
            field=f"{FIELD}.{name}.{key}",
        )


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


def _text(text: str, env: Mapping[str, str], where: tuple[str, ...]) -> str:
    if where[2:3] in (("tools",), ("context_fields",)):
        return text
    field = ".".join(where)
    if PLACEHOLDER.search(text):
        # A run keeps its task without secrets; a resume takes them from here.
        variable = re.sub(r"\W", "_", where[-1])
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

    return _VARIABLE.sub(value, text)
