"""What in the entries of MCP servers is secret, and what a person should know."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.security.own import forms_of, is_secret_name, url_secrets
from orchestrator.security.placeholders import PLACEHOLDER
from orchestrator.spec.mcp_servers import FOREIGN_KEYS, VARIABLE, Raw, variable_of

__all__ = ["notices", "secret_values"]

_RANDOM = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_+=-]{20,}")


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
        if PLACEHOLDER.search(text):  # of a run that goes on
            yield env.get(variable_of(key), "")
        for match in VARIABLE.finditer(text):
            value = env.get(match[1]) or match[2] or ""
            if _is_secret(match[1], value) or (key and is_secret_name(key)):
                yield value
        whole = VARIABLE.sub(lambda each: env.get(each[1]) or each[2] or "", text)
        if key and _is_secret(key, whole):
            yield whole
        if "://" in whole:
            yield from url_secrets(whole)


def _is_secret(name: str, value: str) -> bool:
    return is_secret_name(name) or _RANDOM.fullmatch(value) is not None


def _texts(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts of a server that may hold a secret, with the name each has."""
    for _part, key, value in _named_texts(entry):
        yield key, value
    args = entry.get("args")
    for value in args if isinstance(args, list | tuple) else ():
        yield "", str(value)
    yield "url", str(entry.get("url", ""))


def _named_texts(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield `env` or `headers`, name and text of what stands there."""
    for part in ("env", "headers"):
        values = entry.get(part)
        for key, value in values.items() if isinstance(values, dict) else ():
            yield part, str(key), str(value)


def notices(raw: Raw) -> Iterator[str]:
    """Yield what a person should know of the servers, a sentence each."""
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
        for part, key, value in _named_texts(entry):
            if is_secret_name(key) and not VARIABLE.search(value):
                yield (
                    f"MCP server `{name}`: `{part}.{key}` is written out in the task; "
                    "better `${VARIABLE}`: what is secret is not kept in the run's "
                    "folder, so that a resume would need it again"
                )
