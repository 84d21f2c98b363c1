"""Secrets that are known by their name: `password = "…"`, `api_key: …`, `密码: …`.

The name says that a secret may follow; the value decides. Types, expressions,
placeholders and words are no secrets. Names of passwords are trusted more than names
like `token`, which source code uses for much else.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import NamedTuple

from orchestrator.security.formats import CREDENTIAL, Span

__all__ = ["is_stand_in", "is_wordy", "named_secrets"]

_PASSWORD = "password|passwd|passwort|passphrase|passcode|pwd|密码|口令"  # noqa: S105 - names, no value
# Only plain words, since such a search runs at ten times the speed of any other; what
# must stand around some of them is checked afterwards.
_KEYWORD = re.compile(
    rf"{_PASSWORD}|_pass(?![a-z])|secret|token|credential|key|密钥|令牌|私钥"
)
_PASSWORDS = frozenset((*_PASSWORD.split("|"), "_pass"))
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
_REVERSED = re.compile(
    r"(?P<open>[\"'])(?P<value>[^\"'\n\\]{6,200})(?P=open)[ \t]*[!=]==?[ \t]*\Z"
)
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
            r"cookie[\"']?[ \t]*[:=][^\n]{0,400}?(?:sess|sid|auth|token)\w*="
            r"(?P<value>[\w%.~+/-]{16,}=*)",
        ),
        ("sig=", r"sig=(?P<value>[\w%+/-]{24,}=*)"),
    )
)
_NETRC = re.compile(r"\blogin\s{1,9}\S{1,99}\s{1,9}\Z")

# Names that hold something about a secret, and not the secret.
_ABOUT = re.compile(
    r"[_.-](?:type|name|file|filename|path|dir|url|uri|endpoint|field|label|id|len|"
    r"length|size|count|limit|max|min|prefix|suffix|regex|re|pattern|format|header|"
    r"class|ttl|expir\w*|lifetime|policy|prompt|hint|help|error|message|msg|text|title|"
    r"placeholder|env|var|ref|kind|index|pos|start|end|column|required|enabled|reset|"
    r"arn|version|algorithm|alg|encoding|usage|manager|provider|store|input|selector|"
    r"description|desc|docs?|rules?|scheme|set|list|map)(?![a-z])"
)
_CAMEL = re.compile(r"(?<![A-Z])(?=[A-Z])")
_PLACEHOLDER = re.compile(
    r"change[-_ ]?me|place[-_ ]?holder|example|redacted|hidden|masked"
    r"|(?:your|my|our|the|some|new|old|insert|enter|put)[-_ ]?\w{0,16}[-_ ]?"
    r"(?:pass|key|token|secret|pwd|credential|here)"
    r"|x{3,}|\*{3,}|\.{3,}|-{4,}|0{6,}|todo|dummy|\[secret:",
    re.IGNORECASE,
)
_NO_SECRET = re.compile(
    r"(?:test|fake|sample|demo|foo|bar|baz|none|null|true|false|undefined|string|str"
    r"|user|admin|root|guest|anonymous|default|empty|optional|required|value"
    rf"|{_PASSWORD}|secret|token|key|pass)[-_]?\d{{0,2}}",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"\$\{\w|\$\(\w+|\{\{|\{[\w.!:]*\}|<[^>]*>|%\(\w+\)|%[sdr]\b|\A\$\w+\Z|\A%\w+%\Z"
    r"|\\[wdsSWDb]|\A\$[\d.]|\(\?[:=!<P]|\[[^\]]*\w-\w[^\]]*\]"
)
_EXPRESSION = re.compile(
    r"[A-Za-z_$@][\w$]*(?:(?:\.|::|->)[A-Za-z_$][\w$]*)+"  # `self.token`
    r"|(?:[a-z][a-z0-9+.-]*:/|~?/|\./|\.\./|arn:)[^\s!]*"  # a path, a URL
    r"|[\w./-]*\.[a-z]{2,5}"  # a file
)
_PIECES = re.compile(r"[-_./:@,=+]+")
_WORD = re.compile(
    r"[A-Z]?[a-z]*\d{0,3}|[A-Z]+\d{0,3}|\d{1,8}|(?:[A-Z]?[a-z]{2,})+\d{0,2}"
)
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_BLANK = re.compile(r"\s")
_SYMBOL = re.compile(r"[!@#$%^&*?~]")


class _Place(NamedTuple):
    """A value beside a name."""

    start: int
    end: int
    is_quoted: bool
    is_setting: bool = False
    """`DB_PASSWORD=…`, alone on its line: whatever follows is meant as it stands."""


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
        if _is_secret(value, place, is_password=hit[0] in _PASSWORDS):
            behind = place.end
            yield Span(place.start, place.end, CREDENTIAL)
    yield from _in_other_places(text, low)


def _in_other_places(text: str, low: str) -> Iterator[Span]:
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
        place = _Place(*match.span(name), is_quoted=False)
        return _is_secret(value, place, is_password=True)
    return name == "coded" or not (is_wordy(value) or is_stand_in(value))


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


def _value_after(text: str, start: int, end: int) -> _Place | None:
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
        return _Place(*quoted.span("value"), is_quoted=True)
    bare = _BARE.match(text, link.end())
    if quoted or bare is None or not _may_be_bare(text, link["op"], bare):
        return None
    first, last = bare.span("value")
    while text[last - 1] in ".:?":
        last -= 1
    is_setting = (
        name.isupper()
        and text[link.end("suffix") : link.end()] == "="
        and text[last : last + 1] in ("", "\n", "\r")
    )
    return _Place(first, last, is_quoted=False, is_setting=is_setting)


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


def _value_before(text: str, start: int) -> _Place | None:
    """Return the value in `"…" == password`."""
    start = _name_start(text, start)
    if "=" not in text[max(0, start - 3) : start]:
        return None
    match = _REVERSED.search(text, max(0, start - 220), start)
    return None if match is None else _Place(*match.span("value"), is_quoted=True)


def _is_secret(value: str, place: _Place, *, is_password: bool) -> bool:
    return (
        _has_the_shape(value, place, is_password=is_password)
        and not _EXPRESSION.fullmatch(value)
        and not is_stand_in(value)
    )


def _has_the_shape(value: str, place: _Place, *, is_password: bool) -> bool:
    if len(value) < 6 or not _LETTER.search(value) or _BLANK.search(value):
        return False
    digits = len(_DIGIT.findall(value))
    if not is_password:
        return len(value) >= 8 and digits >= 2 and not is_wordy(value)
    if digits or place.is_setting or not place.is_quoted:
        return digits > 0 or place.is_setting
    return bool(_SYMBOL.search(value)) or (value.isalpha() and len(value) >= 12)


def is_stand_in(value: str) -> bool:
    """Return whether a value only stands where a secret would be."""
    return bool(
        _NO_SECRET.fullmatch(value)
        or _PLACEHOLDER.search(value)
        or _TEMPLATE.search(value)
        or len(set(value)) <= 2
    )


def is_wordy(value: str) -> bool:
    """Return whether a value is made of words and small numbers."""
    return all(_WORD.fullmatch(piece) for piece in _PIECES.split(value))
