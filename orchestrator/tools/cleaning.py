"""Make the output of a tool fit for a context: no codes, no blobs, no false marks.

All of it keeps line ends where they are, so that line numbers stay true.
"""

from __future__ import annotations

import re

from orchestrator.messages import clean_text
from orchestrator.security.untrusted import defused

__all__ = ["clean"]

MIN_BLOB_CHARS = 200
"""Shorter ones may be digests, ids and names."""
# Long paths and names consist of words, runs of small letters; of what is encoded a
# seventh is in such runs. From this length on, any mixture will do.
_LONG_CHARS = 1000
_MAX_WORDS = 0.33

# Terminal codes: CSI (colours, cursor), OSC (titles, links; ended by BEL or ST, or cut
# at the line end), DCS and its kin, and the two-character ones.
_CODES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"
    r"|\x1b[ -/]*[0-~]"
)
_OVERSTRUCK = re.compile(r"[^\n\x08]\x08")
_BLOB_CHARS = r"A-Za-z0-9+/_\-"
_BLOB = re.compile(
    rf"(?<![{_BLOB_CHARS}])[{_BLOB_CHARS}]{{{MIN_BLOB_CHARS},}}+={{0,2}}"
)
# Wrapped as in mails and PEM files: lines, or `\n` in a JSON text, of one length.
_WRAPPED = re.compile(
    r"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{56,}+(?:\\r\\n|\\n|\n)){3,}+"
    r"[A-Za-z0-9+/]*+={0,2}"
)
_WINDOW = re.compile(rf"[{_BLOB_CHARS}=\\\n]*")
_LETTERS = re.compile(r"[a-z]{3,}")
_WRAP = re.compile(r"\\r\\n|\\n|\n")


def clean(text: str, *, own_marks: bool = False) -> str:
    """Return `text` without what must not enter a context.

    Terminal codes go, a line that was redrawn with carriage returns keeps its last
    state, NULs, lone surrogates and control characters become U+FFFD, and long base64
    becomes a note with its size. Cleaning twice changes nothing. LF stays; CR LF
    becomes LF. Marks of the program that it imitates are defused.

    Args:
        text: of a file, a command, a server, a tool.
        own_marks: the marks in it are the program's own, and stay.
    """
    if "\x1b" in text or "\x9b" in text:
        text = _CODES.sub("", text)
        # What is left of broken ones must not become a code in the steps below.
        text = text.replace("\x1b", "\ufffd").replace("\x9b", "\ufffd")
    if "\r" in text:
        text = "\n".join(map(_last_state, text.split("\n")))
    if "\x08" in text:
        text = _without_overstrikes(text)
    text = clean_text(text)
    if not own_marks:
        text = defused(text)
    if _may_hold_blob(text):
        text = _BLOB.sub(_note, text)
        text = _WRAPPED.sub(_wrapped_note, text)
    return text


def _may_hold_blob(text: str) -> bool:
    """Look at windows that any blob must fill; some 50 times cheaper than the search.

    A stretch of `MIN_BLOB_CHARS` covers at least one aligned window of half that size.
    """
    size = MIN_BLOB_CHARS // 2
    for start in range(0, len(text) - size + 1, size):
        if _WINDOW.fullmatch(text, start, start + size):
            return True
    return False


def _last_state(line: str) -> str:
    if "\r" not in line:
        return line
    states = [state for state in line.split("\r") if state]
    return states[-1] if states else ""


def _without_overstrikes(text: str) -> str:
    """Apply backspaces, as in bold manual pages and spinners."""
    for _ in range(8):
        shorter = _OVERSTRUCK.sub("", text)
        if shorter == text:
            break
        text = shorter
    return text


def _note(match: re.Match[str]) -> str:
    blob = match[0]
    if not _looks_encoded(blob):
        return blob
    return f"[base64 left out: {len(blob):,} characters]"


def _wrapped_note(match: re.Match[str]) -> str:
    blob = match[0]
    lengths = {len(part) for part in _WRAP.split(blob)[:-1]}
    size = sum(map(len, _WRAP.split(blob)))
    # One length for all lines but the last: a list of long names is not like that.
    if size < MIN_BLOB_CHARS or len(lengths) != 1 or not _looks_encoded(blob):
        return blob
    return f"[base64 left out: {size:,} characters]" + "\n" * blob.count("\n")


def _looks_encoded(blob: str) -> bool:
    is_mixed = (
        any(char.isdigit() for char in blob)
        and blob != blob.lower()
        and blob != blob.upper()
    )
    if not is_mixed or len(blob) >= _LONG_CHARS:
        return is_mixed
    return sum(map(len, _LETTERS.findall(blob))) <= _MAX_WORDS * len(blob)
