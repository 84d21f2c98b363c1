"""Secrets that are known by their name: `password = "…"`, `api_key: …`, `密码: …`.

The name says that a secret may follow; the value decides. Types, expressions,
placeholders and words are no secrets. Names of passwords are trusted more than names
like `token`, which source code uses for much else.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator

from orchestrator.security.formats import CREDENTIAL, Span
from orchestrator.security.values import PASSWORD, Value, is_secret, is_wordy

__all__ = ["named_secrets"]

# Only plain words, since such a search runs at ten times the speed of any other; what
# must stand around some of them is checked afterwards.
_KEYWORD = re.compile(
    rf"{PASSWORD}|_pass(?![a-z])|secret|token|credential|key|密钥|令牌|私钥"
)
_PASSWORDS = frozenset((*PASSWORD.split("|"), "_pass"))
_NAME_CHARS = string.ascii_letters + string.digits + "_.$@-"
_KEY_OF = re.compile(
    r"(?:api|access|private|auth|account|signing|encryption|client|service|master"
    r"|license)[_.-]?\Z"
)
# The rest of the name, then what stands between name and value.
_LINK = re.compile(
    r"(?P<suffix>s?(?:[_.\d-][\w.-]{0,40}|[A-Z][\w.-]{0,40})?)"
    r"(?P<close>(?:\\?[\"'`\]]){0,3})"
    r"(?:[ \t]*(?P<op>:[ \t]*[A-Za-z_][\w.]{0,30}(?:\[[\w.,| ]{0,30}\])?"
    r"(?:[ ]?\|[ ]?\w+)?[ \t]*=(?=[ \t]*[rbuf]{0,2}[\"'])|:=|=>|[=!]==?|="
    r"|[:\uff1a](?!:)|[是为]|,|\(|>|\|)|[ \t]+(?P<word>is:?)(?=[ \t])|(?P<gap>[ \t]))"
    r"[ \t]*(?:[rbuf@]{1,2}(?=[\"']))?"
)
_QUOTED = re.compile(
    r"(?P<open>\"\"\"|'''|\\?[\"'`])"
    r"(?P<value>(?:(?!(?P=open))(?:\\.|[^\n\\])){4,512})(?P=open)"
)
_BARE = re.compile(
    r"[“”「『]?(?P<value>[^\s\"'`<>(){}\[\];,|\\&\x7f-\U0010ffff]{6,300})"
)
# Nothing but a name and its value is on the line, so that signs belong to the value.
_OWN_LINE = re.compile(r"(?:\A|\n)[ \t]*(?:- |export |set |ENV |ARG )?[\"']?\Z")
_REST = re.compile(r"[^\s\"'`<>(){}\[\]\x7f-\U0010ffff]{1,100}(?=[ \t\r]*(?:\n|\Z))")
_REVERSED = re.compile(
    r"(?P<open>[\"'])(?P<value>[^\"'\n\\]{6,200})(?P=open)[ \t]*[!=]==?[ \t]*\Z"
)
_NETRC = re.compile(r"\blogin\s{1,9}\S{1,99}\s{1,9}\Z")

# Names that hold something about a secret, and not the secret.
_ABOUT = re.compile(
    r"[_.-](?:type|name|file|filename|path|dir|url|uri|endpoint|field|label|id|len|"
    r"length|size|count|limit|max|min|prefix|suffix|regex|re|pattern|format|header|"
    r"class|ttl|expir\w*|lifetime|policy|prompt|hint|help|error|message|msg|text|title|"
    r"placeholder|env|var|ref|kind|index|pos|start|end|column|required|enabled|reset|"
    r"arn|version|algorithm|alg|encoding|usage|manager|mgr|provider|store|input|selector|"
    r"description|desc|docs?|rules?|scheme|set|list|map)(?![a-z])"
)
_CAMEL = re.compile(r"(?<![A-Z])(?=[A-Z])")


def named_secrets(text: str, low: str) -> Iterator[Span]:
    """Yield the values in `text` that a name calls secret and that look like one.

    Args:
        text: any text.
        low: `text` in lower case, character by character.
    """
    behind = 0
    for hit in _KEYWORD.finditer(low):
        start, end = hit.span()
        if start < behind or not _is_name(low, hit):
            continue
        place = _value_after(text, start, end) or _value_before(text, start)
        if place is None:
            continue
        value = text[place.start : place.end]
        if is_secret(value, place, is_password=hit[0] in _PASSWORDS):
            behind = place.end
            yield Span(place.start, place.end, CREDENTIAL)


def _is_name(low: str, hit: re.Match[str]) -> bool:
    start = hit.start()
    if hit[0] == "key":
        return _KEY_OF.search(low[max(0, start - 12) : start]) is not None
    if hit[0] == "token":
        return not low.startswith("publickey", max(0, start - 9))  # of an assembly
    if hit[0] == "_pass":
        return low[start - 1 : start].isalnum()
    return True


def _name_start(text: str, at: int) -> int:
    """Return where the name begins that goes on at `at`."""
    head = text[max(0, at - 60) : at]
    return at - (len(head) - len(head.rstrip(_NAME_CHARS)))


def _value_after(text: str, start: int, end: int) -> Value | None:
    link = _LINK.match(text, end)
    if link is None or _ABOUT.search(_CAMEL.sub("_", link["suffix"]).lower()):
        return None
    begin = _name_start(text, start)
    name = text[begin : link.end("suffix")]
    is_apart = link["op"] is None and not link["word"] and not name.startswith("--")
    if is_apart and not _NETRC.search(text, max(0, begin - 120), begin):
        return None
    quoted = _QUOTED.match(text, link.end())
    if quoted and _may_be_quoted(text[max(0, begin - 2) : begin], link):
        return Value(*quoted.span("value"), is_quoted=True)
    bare = _BARE.match(text, link.end())
    if quoted or bare is None or not _may_be_bare(text, link["op"], bare):
        return None
    return _bare(text, begin, link, bare)


def _bare(text: str, begin: int, link: re.Match[str], bare: re.Match[str]) -> Value:
    """Return a value without quotes, beside a name that begins at `begin`."""
    first, last = bare.span("value")
    rest = _REST.match(text, last)
    if rest and _OWN_LINE.search(text, max(0, begin - 60), begin):
        last = rest.end()
    while text[last - 1] in ".:?":
        last -= 1
    is_setting = (
        text[begin : link.end("suffix")].isupper()
        and text[link.end("suffix") : link.end()] == "="
        and text[last : last + 1] in ("", "\n", "\r")
    )
    return Value(first, last, is_quoted=False, is_setting=is_setting)


def _may_be_quoted(before: str, link: re.Match[str]) -> bool:
    """Return whether what stands between name and value makes them a pair."""
    if link["op"] == ",":
        return before in ("('", '("')  # `put("password", "…")`, but no list of words
    # `password.encode("utf-8")` is a call.
    return link["op"] != "(" or "." not in link["suffix"]


def _may_be_bare(text: str, op: str | None, bare: re.Match[str]) -> bool:
    """Return whether a value without quotes is possible at this place."""
    after = text[bare.end() : bare.end() + 2]
    if after[:1] in ("(", "[", "{"):
        return False  # an expression
    if op == ">":
        return after == "</"
    if op == "=" and after[:1] in (",", ")") and bare["value"].isidentifier():
        # `connect(password=pw1234)` is code, `password=pw1234, user=x` is a log.
        begin = max(0, bare.start() - 200)
        line = text[begin : bare.start()].rpartition("\n")[2]
        is_code = after != ", " or line.count("(") > line.count(")")
        return not (is_code and is_wordy(bare["value"]))
    return op in (None, "=", ":", ":=", "\uff1a", "是", "为")


def _value_before(text: str, start: int) -> Value | None:
    """Return the value in `"…" == password`."""
    start = _name_start(text, start)
    if "=" not in text[max(0, start - 3) : start]:
        return None
    match = _REVERSED.search(text, max(0, start - 220), start)
    return None if match is None else Value(*match.span("value"), is_quoted=True)
