"""Secrets that are known by their place: headers, options of commands, URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.security.formats import CREDENTIAL, Span
from orchestrator.security.values import Value, is_secret, is_stand_in, is_wordy

__all__ = ["placed_secrets"]

_URL = re.compile(
    r"://[^\s:/@?#\"'<>]{0,100}:(?P<value>[^\s/@\"'<>]{3,200})@"
    r"(?!(?:\w+\.)?example\.)(?=[\w.\[-])"
)
_LONE_USER = re.compile(r"://(?P<value>[\w-]{20,200})@(?=[\w.\[-])")
_OPTION = r"[ \t=]?[\"']?(?P<typed>[^\s\"';|&]{6,200})"
# Places that no name marks, or only its part: a word to find, and what begins there.
_PLACES = tuple(
    (word, re.compile(form, re.IGNORECASE))
    for word, form in (
        ("bearer", r"bearer[ \t]+(?P<value>[\w.~+/-]{16,}=*)"),
        (
            "authorization",
            r"authorization[\"']?[ \t]*[:=][ \t]*[\"']?basic[ \t]+"
            r"(?P<coded>[\w+/]{8,}=*)",
        ),
        (
            "curl",
            r"curl\b[^\n|;]{0,200}?[ \t](?:-u|--user)[ \t=]?[\"']?[^\s:\"']{1,64}:"
            r"(?P<typed>[^\s\"';|&]{6,200})",
        ),
        ("sshpass", rf"sshpass[ \t]+-p{_OPTION}"),
        (
            "mysql",
            r"mysql\w{0,8}\b[^\n|;]{0,200}?[ \t]-p[\"']?"
            r"(?P<typed>[^\s\"';|&]{6,200})",
        ),
        ("docker login", rf"docker login\b[^\n|;]{{0,200}}?[ \t]-p{_OPTION}"),
        (
            "cookie",
            r"cookie[\"']?[ \t]*[:=][^\n]{0,200}?(?:sess|sid|auth|token)\w*="
            r"(?P<value>[\w%.~+/-]{16,}=*)",
        ),
        ("sig=", r"sig=(?P<value>[\w%+/-]{24,}=*)"),
    )
)


def placed_secrets(text: str, low: str) -> Iterator[Span]:
    """Yield the values in `text` that stand where secrets do.

    Args:
        text: any text.
        low: `text` in lower case, character by character.
    """
    for word, form in _PLACES:
        at = low.find(word)
        while at != -1:
            match = form.match(text, at)
            if match and _fits(match):
                yield Span(*match.span(match.lastgroup or 0), CREDENTIAL)
            at = low.find(word, at + len(word))
    if "://" in text and "@" in text:
        for match in _URL.finditer(text):
            if not is_stand_in(match["value"]):
                yield Span(*match.span("value"), CREDENTIAL)
        for match in _LONE_USER.finditer(text):
            if _fits(match):
                yield Span(*match.span("value"), CREDENTIAL)


def _fits(match: re.Match[str]) -> bool:
    """Return whether what stands in a place for secrets is one."""
    name = match.lastgroup or ""
    value = match[name]
    if name == "typed":
        place = Value(*match.span(name), is_quoted=False)
        return is_secret(value, place, is_password=True)
    return name == "coded" or not (is_wordy(value) or is_stand_in(value))
