"""Names for runs, agents and files: sortable, unique, safe on every system."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from datetime import datetime

__all__ = [
    "AGENT_REFERENCE",
    "HISTORY_REFERENCE",
    "LEAD",
    "REFERENCE",
    "SKILL_PREFIX",
    "artifact_id",
    "reference_of",
    "run_id",
    "safe_name",
    "sha256",
]

LEAD = "lead"
"""Id of the agent that leads a run; subagents are `a1`, `a2`, …"""
REFERENCE = re.compile(r"art_[0-9a-f]{12}")
"""The form of what `artifact_id` returns."""
HISTORY_REFERENCE = re.compile(r"h(\d{1,6})(?:\.(\d{1,4}))?", re.ASCII)
"""`h12`: step 12 of an agent's own conversation; `h12.2`: its second call; whole."""
AGENT_REFERENCE = re.compile(r"a[1-9]\d{0,5}", re.ASCII)
"""`a2`: findings of a subagent; whole."""
SKILL_PREFIX = "skill:"
"""`skill:pdf`, `skill:pdf/forms.md`: a skill of the task, a file of it."""

MAX_NAME_CHARS = 48
_RESERVED = {"con", "prn", "aux", "nul"} | {
    f"{device}{n}" for device in ("com", "lpt") for n in range(10)
}


def sha256(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def artifact_id(data: bytes) -> str:
    """Return the reference of a stored content: `art_` and 12 hex digits."""
    return "art_" + sha256(data)[:12]


def safe_name(name: str) -> str:
    """Return `name` as a file name that every system accepts, 1 to 48 characters.

    Letters and digits of any script stay; all else becomes a dash. A name that
    had to be changed carries six hex digits of the true one, so that two different
    names never meet.
    """
    folded = unicodedata.normalize("NFC", name)
    dashed = re.sub(r"[^\w]+", "-", folded).strip("-_").lower()[:MAX_NAME_CHARS]
    if dashed == folded and dashed not in _RESERVED:
        return dashed
    mark = sha256(name.encode("utf-8", "surrogatepass"))[:6]
    stem = dashed[: MAX_NAME_CHARS - 7].rstrip("-") or "x"
    return f"{stem}-{mark}"


def run_id(name: str, at: datetime, *, salt: bytes) -> str:
    """Return a run id that sorts by time: `20261129-201500-auth-survey-7f3a`.

    Args:
        name: the task's name; letters, digits and dashes.
        at: start of the run, in UTC; to the second.
        salt: random bytes, so that two runs of one second differ.
    """
    mark = sha256(salt + name.encode())[:4]
    return f"{at:%Y%m%d-%H%M%S}-{name}-{mark}"


def reference_of(step: int, *, place: int = 0) -> str:
    """Return what opens a step of an agent's conversation, or one call of it.

    Args:
        step: from 1; 0: the first user message.
        place: of the call among those of its step, from 1; 0: the whole step, and the
            call where it is the only one.
    """
    return f"h{step}.{place}" if place else f"h{step}"
