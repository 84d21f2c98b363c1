"""Where the model service is and what opens it, as far as that can be told beforehand.

Imports nothing heavy: commands that only look use it, too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from orchestrator.errors import SpecError

__all__ = [
    "BASE_URL",
    "bare_url",
    "check_access",
    "credential_problem",
    "credential_source",
    "endpoint_problem",
    "has_credentials",
]

BASE_URL: Final = "ANTHROPIC_BASE_URL"
"""Names the address of another endpoint with the same API."""
_SECRETS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_ADDED: Final = re.compile(r"/v1(?:/messages)?/*$")
"""The end of a path that is put behind the base URL of each request."""
MAX_SHOWN_CHARS = 200


def credential_source(env: Mapping[str, str]) -> str:
    """Return where the SDK would find credentials, or "" for nowhere.

    The same order as the SDK's: key, token, named profile, workload identity,
    active profile on disk. Never returns the value itself.
    """
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE"):
        if env.get(name, "").strip():
            return name
    if (
        env.get("ANTHROPIC_FEDERATION_RULE_ID")
        and env.get("ANTHROPIC_ORGANIZATION_ID")
        and (
            env.get("ANTHROPIC_IDENTITY_TOKEN")
            or env.get("ANTHROPIC_IDENTITY_TOKEN_FILE")
        )
    ):
        return "ANTHROPIC_IDENTITY_TOKEN"
    return _profile_on_disk(env)


def _profile_on_disk(env: Mapping[str, str]) -> str:
    try:
        folder = _config_folder(env)
        pointer = folder / "active_config"
        name = pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else ""
        profile = folder / "configs" / f"{name or 'default'}.json"
        return f"profile {profile}" if profile.is_file() else ""
    except (OSError, UnicodeDecodeError, RuntimeError):
        return ""


def _config_folder(env: Mapping[str, str]) -> Path:
    if folder := env.get("ANTHROPIC_CONFIG_DIR"):
        return Path(folder)
    home = Path(env["HOME"]) if env.get("HOME") else Path.home()
    if sys.platform == "win32":
        appdata = env.get("APPDATA")
        return (Path(appdata) if appdata else home / "AppData/Roaming") / "Anthropic"
    return home / ".config" / "anthropic"


def has_credentials(env: Mapping[str, str]) -> bool:
    """Return whether the SDK would find credentials; imports nothing."""
    return bool(credential_source(env))


def credential_problem(env: Mapping[str, str]) -> str:
    """Return why the credentials found in `env` cannot be sent, or "".

    Names the variable, never the value.
    """
    name = credential_source(env)
    if name in _SECRETS and _CONTROL.search(env[name]):
        return f"`{name}` holds a line end (or other control character)"
    return ""


def endpoint_problem(url: str) -> str:
    """Return why `url` cannot be the base URL of an endpoint, or ""."""
    why = _no_base_url(url)
    if not why:
        return ""
    return (
        f"`{BASE_URL}` is {f'`{bare_url(url)}`' if url else 'empty'}: {why}; allowed "
        "is the address of a Messages API, http(s)://HOST[:PORT][/PATH], such as "
        "`http://127.0.0.1:8080`"
    )


def _no_base_url(url: str) -> str:
    if not url.strip():
        return "unset it, or name an address"
    if any(each.isspace() or not each.isprintable() for each in url):
        return "it holds a blank, a line end or other control character"
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError:  # its words may hold a part of a password
        return "its host or port is not legal; a port is a number from 1 to 65535"
    added = _ADDED.search(parts.path)
    rules = (
        (
            parts.scheme not in ("http", "https"),
            "it must begin with http:// or https://",
        ),
        (not host, "it names no host"),
        (port == 0, "a port is a number from 1 to 65535"),
        ("?" in url or "#" in url, "leave out the query"),
        (added, f"leave out `{added and added[0].rstrip('/')}`, which is added to it"),
    )
    return next((why for is_broken, why in rules if is_broken), "")


def bare_url(url: str) -> str:
    """Return `url` for people: without user, password and query, and on one line.

    It may be none: whatever could be a secret in it is left out.
    """
    scheme, slashes, rest = url.partition("://")
    if not slashes:
        scheme, rest = "", url
    rest = rest.rpartition("@")[2]
    bare = scheme + slashes + re.split(r"[?#]", rest, maxsplit=1)[0]
    shown = "".join(each if each.isprintable() else "\ufffd" for each in bare)
    return shown[:MAX_SHOWN_CHARS]


def check_access(env: Mapping[str, str]) -> None:
    """Make sure that requests can be sent with what `env` holds.

    Raises:
        SpecError: credentials or the address of the endpoint cannot be meant.
    """
    problem = credential_problem(env)
    if not problem and BASE_URL in env:
        problem = endpoint_problem(env[BASE_URL])
    if problem:
        raise SpecError(problem)
