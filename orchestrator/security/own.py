"""The credentials of the process itself: known as exact values, whatever their form.

An endpoint may repeat in an error what it was sent, and a key of one's own proxy has no
form that could be known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote, unquote, urlsplit

__all__ = ["forms_of", "is_secret_name", "own_secrets", "url_secrets"]

MIN_CHARS = 8
"""What is shorter (`x`, `any`) only stands where a key is asked for."""
_NAMES: Final = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN",
    "ANTHROPIC_WEBHOOK_SIGNING_KEY",
    "ORCHESTRATE_EMBEDDER_KEY",
)
# Other headers (a team, a beta feature) hold words that may stand in any text.
_SECRET_NAME: Final = re.compile(
    r"auth(?!or(?!i))|key|token|secret|pass|cookie|credential|signature"
    r"|(?:^|_)(?:pat|pwd|dsn)(?:_|$)",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(r"(?:basic|bearer|token)\s+", re.IGNORECASE)


def own_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets that `env` holds for the endpoint, longest first.

    Each one also in the forms that it has within a URL and within JSON.

    Args:
        env: the environment.
    """
    return forms_of(_values(env))


def forms_of(values: Iterable[str]) -> tuple[str, ...]:
    """Return secrets in all forms that they may have in a text, longest first.

    Those of headers also without their scheme (`Bearer`). What is too short to be told
    from a word is left out.
    """
    found = {
        form
        for whole in values
        for value in (whole.strip(), _SCHEME.sub("", whole.strip(), count=1))
        for form in (value, quote(value, safe=""), json.dumps(value)[1:-1])
        if len(value) >= MIN_CHARS
    }
    return tuple(sorted(found, key=lambda form: (-len(form), form)))


def is_secret_name(name: str) -> bool:
    """Return whether a header or variable of that name holds a secret."""
    return _SECRET_NAME.search(name) is not None


def _values(env: Mapping[str, str]) -> Iterator[str]:
    for name in _NAMES:
        yield env.get(name, "")
    for line in env.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n"):
        name, _, value = line.partition(":")
        if is_secret_name(name):
            yield value
    for name in ("ANTHROPIC_BASE_URL", "ORCHESTRATE_EMBEDDER_URL"):
        yield from url_secrets(env.get(name, ""))


def url_secrets(url: str) -> Iterator[str]:
    """Yield the password in a URL, or the user where there is none."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return
    userinfo, _, _ = parts.netloc.rpartition("@")
    user, colon, password = userinfo.partition(":")
    secret = password if colon else user
    yield from (secret, unquote(secret))
