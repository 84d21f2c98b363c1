"""Say what a failed model call means: one table from what was told to a kind."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from orchestrator.errors import ModelError, ModelErrorKind
from orchestrator.messages import clean_text

__all__ = ["Failure", "bounded", "classify", "retry_after"]

MAX_MESSAGE_CHARS = 4000
"""Of what an endpoint said. Who shows it cuts more, once no secret is in it."""
# An address may hold a password, and its query a key.
_USERINFO: Final = re.compile(r"(?<=://)[^\s/?#\"'<>]*@")
_QUERY: Final = re.compile(r"(://[^\s?#\"'<>]*)\?[^\s\"'<>)\]]*")
_OF_TOKENS: Final = string.ascii_letters + string.digits + "+/=_-.~%:@"


@dataclass(frozen=True, slots=True)
class Failure:
    """What the service told, whatever way it came.

    Attributes:
        status: HTTP status; 200 for an error inside a stream.
        type: `error.type`, or "".
        code: `error.details.error_code`, or "".
        message: the service's own words.
        retry_after_s: seconds it asked to wait, or None.
    """

    status: int
    type: str = ""
    code: str = ""
    message: str = ""
    retry_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    """One row: it fits if any of its conditions holds."""

    kind: ModelErrorKind
    statuses: frozenset[int] = frozenset()
    types: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    text: re.Pattern[str] | None = None
    """Counts only for the statuses that a wrong request gets."""

    def fits(self, failure: Failure) -> bool:
        return (
            failure.status in self.statuses
            or failure.type in self.types
            or failure.code in self.codes
            or (
                self.text is not None
                and failure.status in _WRONG_REQUEST
                and self.text.search(failure.message) is not None
            )
        )


# 200: the error came inside a stream.
_WRONG_REQUEST: Final = frozenset({200, 400, 403, 413, 422})

# The first row that fits wins, so the special ones come first. Wordings of other
# servers with the same API are among the patterns.
_RULES: Final = (
    _Rule(
        "quota_exhausted",
        statuses=frozenset({402}),
        types=frozenset({"billing_error"}),
        codes=frozenset(
            {"enforced_spend_limit_reached", "contract_spend_limit_reached"}
        ),
        text=re.compile(
            r"spend(ing)?[ _]limit|credit balance|usage limits?\b", re.IGNORECASE
        ),
    ),
    _Rule(
        "auth",
        statuses=frozenset({401, 403}),
        types=frozenset({"authentication_error", "permission_error"}),
        codes=frozenset({"organization_on_hold"}),
    ),
    _Rule(
        "too_long",
        statuses=frozenset({413}),
        types=frozenset({"request_too_large", "exceed_context_size_error"}),
        text=re.compile(
            r"prompt is too long|exceeds? (the )?(available |maximum )?context"
            r"|maximum context length|context (window|length|size) (is )?exceeded"
            r"|(longer|greater) than the (model's )?context length"
            r"|context length of only|input is too long for"
            r"|`max_new_tokens` must be <=",
            re.IGNORECASE,
        ),
    ),
    _Rule(
        "thinking_bound",
        text=re.compile(
            r"invalid `?signature`? in `?thinking"
            r"|`?thinking`?( or `redacted_thinking`)? blocks?\b.*"
            r"\b(modified|bound|must remain)"
            r"|expected `thinking` or `redacted_thinking`",
            re.IGNORECASE | re.DOTALL,
        ),
    ),
    _Rule(
        "rate_limited",
        statuses=frozenset({429}),
        types=frozenset({"rate_limit_error"}),
    ),
    _Rule(
        "overloaded",
        statuses=frozenset({529}),
        types=frozenset({"overloaded_error"}),
    ),
    # Whatever type they give it: such a status will not pass.
    _Rule("invalid", statuses=frozenset({400, 404, 405, 422, 501})),
    _Rule(
        "transient",
        statuses=frozenset({408, 409, 425}),
        types=frozenset({"api_error", "timeout_error", "conflict_error"}),
        codes=frozenset({"request_body_timeout"}),
    ),
    _Rule("invalid", types=frozenset({"invalid_request_error", "not_found_error"})),
)


def classify(failure: Failure) -> ModelError:
    """Return the error that `failure` means.

    What no row knows: 5xx and errors inside a stream may pass, other statuses will not.
    """
    kind: ModelErrorKind = next(
        (rule.kind for rule in _RULES if rule.fits(failure)),
        "invalid" if 300 <= failure.status < 500 else "transient",
    )
    detail = failure.code or failure.type or f"http_{failure.status}"
    message = bounded(failure.message) or f"status {failure.status} without a message"
    return ModelError(kind, message, failure.retry_after_s, detail)


def bounded(text: str) -> str:
    """Return `text` on one line, at most 4,000 characters, its addresses bare.

    Control characters are replaced. Addresses lose user, password and query. A word
    that would be cut is left out, since half a key can be told by nobody.
    """
    head = " ".join(clean_text(text[: 4 * MAX_MESSAGE_CHARS]).split())
    if len(head) > MAX_MESSAGE_CHARS or len(text) > 4 * MAX_MESSAGE_CHARS:
        head = head[: MAX_MESSAGE_CHARS - 1].rstrip(_OF_TOKENS) + "…"
    return _QUERY.sub(r"\1", _USERINFO.sub("", head))


# Headers of one name are joined by a comma; one also stands behind a date's weekday.
_BETWEEN_VALUES: Final = re.compile(r"(?<!day)(?<!Mon|Tue|Wed|Thu|Fri|Sat|Sun),")


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that the service asks to wait, 0 or more, or None.

    `retry-after` holds seconds (also with a fraction) or an HTTP date, `retry-after-ms`
    milliseconds. Where several times are told, the latest holds. One that has passed is
    0; what is none is left out.

    Args:
        headers: of the response; names in lower case, or a mapping that ignores case.
        now: time of day, in UTC.
    """
    told = [_seconds(each, now) for each in _each(headers.get("retry-after", ""))]
    for each in _each(headers.get("retry-after-ms", "")):
        milliseconds = _number(each)
        told.append(None if milliseconds is None else max(milliseconds / 1000, 0.0))
    return max((each for each in told if each is not None), default=None)


def _each(header: str) -> list[str]:
    """Return the values of a header that may have come several times."""
    return [each.strip() for each in _BETWEEN_VALUES.split(header) if each.strip()]


def _seconds(told: str, now: datetime) -> float | None:
    seconds = _number(told)
    return _until(told, now) if seconds is None else max(seconds, 0.0)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _until(date: str, now: datetime) -> float | None:
    try:
        at = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    return max((at - now).total_seconds(), 0.0)
