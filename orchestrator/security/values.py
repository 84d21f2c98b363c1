"""Which values can be secrets: no words, types, expressions or stand-ins."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["PASSWORD", "Value", "is_secret", "is_stand_in", "is_wordy"]

PASSWORD = "password|passwd|passwort|passphrase|passcode|pwd|密码|口令"  # noqa: S105 - names, no value
"""Names of what people choose themselves."""

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
    rf"|{PASSWORD}|secret|token|key|pass)[-_]?\d{{0,2}}",
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


class Value(NamedTuple):
    """A value beside a name."""

    start: int
    end: int
    is_quoted: bool
    is_setting: bool = False
    """`DB_PASSWORD=…`, alone on its line: whatever follows is meant as it stands."""


def is_secret(value: str, place: Value, *, is_password: bool) -> bool:
    """Return whether what stands in a place for secrets is one.

    Args:
        value: the text.
        place: where it stands.
        is_password: its name says that people choose it; others look random.
    """
    return (
        _has_the_shape(value, place, is_password=is_password)
        and not _EXPRESSION.fullmatch(value)
        and not is_stand_in(value)
    )


def _has_the_shape(value: str, place: Value, *, is_password: bool) -> bool:
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
