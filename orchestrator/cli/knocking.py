"""Whether an endpoint answers as a Messages API, found out without a key.

A request that holds nothing is sent where a run would send its own: a Messages API
refuses it in its own words, and nothing is spent.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Final, Literal

from orchestrator.access import bare_url

__all__ = ["State", "knock"]

State = Literal["ok", "note", "problem"]

REACH_S = 3.0
MAX_BYTES = 65_536
_PATH: Final = "/v1/messages"
_REFUSED: Final = frozenset({400, 401, 403, 422})
_BUSY: Final = frozenset({408, 429, 500, 502, 503, 504, 529})
_HEADERS: Final = {
    "content-type": "application/json",
    "accept-encoding": "identity",
    "anthropic-version": "2023-06-01",
}


class _Stays(urllib.request.HTTPRedirectHandler):
    """Follows nobody: requests of a run are not sent on either."""

    def redirect_request(self, *_: object) -> None:
        """Return no request."""


def knock(url: str, *, is_needed: bool) -> tuple[State, str]:
    """Return how the endpoint at `url` answers: whether that will do, and in words.

    Args:
        url: a base URL that is one; user and password in it are not sent.
        is_needed: runs would use it, so that it is a problem if it will not do.
    """
    shown = bare_url(url).rstrip("/")
    bad: State = "problem" if is_needed else "note"
    request = urllib.request.Request(  # noqa: S310 - http or https: it was checked
        shown + _PATH, data=b"{}", headers=_HEADERS, method="POST"
    )
    opener = urllib.request.build_opener(_Stays)
    try:
        with opener.open(request, timeout=REACH_S) as response:
            status, said = response.status, response.read(MAX_BYTES)
    except urllib.error.HTTPError as error:
        with error:
            status, said = error.code, _read(error)
    except (OSError, ValueError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        return bad, f"{shown} does not answer: {reason}"
    why = _unlike(status, said)
    if why and status in (401, 403) and "@" in url:
        return "note", f"{shown} answers, but to nobody without the password in its URL"
    if why:
        return bad, f"{shown} answers, but not as a Messages API: {why}"
    if status in _BUSY:
        return "note", f"{shown} answers, but with status {status} just now"
    return "ok", f"{shown} answers as a Messages API"


def _read(error: urllib.error.HTTPError) -> bytes:
    try:
        return error.read(MAX_BYTES)
    except (OSError, ValueError, HTTPException):
        return b""  # the status has come


def _unlike(status: int, said: bytes) -> str:
    """Return what no Messages API would answer to an empty request, or ""."""
    is_of_api = status in _BUSY or (status in _REFUSED and _is_error(said))
    if is_of_api or (status == 404 and _is_error(said, is_strict=True)):
        return ""
    return f"`POST {_PATH}` gives status {status}" + (
        "; is this its address?" if status in (404, 405, 501) else ""
    )


def _is_error(said: bytes, *, is_strict: bool = False) -> bool:
    """Return whether a body tells an error in JSON.

    Args:
        said: the body.
        is_strict: it must have the form of Anthropic's own; other servers leave the
            outer part out, or say what is wrong in a way of their framework.
    """
    try:
        told = json.loads(said)
    except (ValueError, RecursionError):
        return False
    if not isinstance(told, dict):
        return False
    if is_strict:
        return told.get("type") == "error" and isinstance(told.get("error"), dict)
    return bool(told.get("error") or told.get("detail") or told.get("message"))
