"""What a reply says: HTML and text in whatever encoding; the rest is described."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.errors import ToolError
from orchestrator.messages import shortened
from orchestrator.security.urls import WebAddress, joined
from orchestrator.tools.decoding import describe_binary, encoding_of
from orchestrator.tools.documents import kind_of, web_page
from orchestrator.tools.web.reply import Reply

__all__ = ["Reading", "document_kind", "read"]

_HEAD_BYTES = 4096
_MAX_LINKS = 300
_LINK_CHARS = 80
_TITLE_CHARS = 200
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_LOOKS_LIKE_HTML: Final = re.compile(
    rb"\s*(?:<!--.{0,2000}?-->\s*){0,9}<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_DECLARED: Final = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)"
    rb"|^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)
_NAMES: Final = re.compile(
    r"(?:utf-?8|utf-?16|iso-?8859|iso-?2022|latin|us-ascii|ascii|windows-?|cp\d|x-|ms|gb|"
    r"hz-|big5|euc|shift|sjis|koi8|ks_c|mac|tis)",
    re.IGNORECASE,
)
# What a label means on the web, where that is more than it says.
_WIDER: Final = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
_USUAL: Final = frozenset({"utf-8", "utf-8-sig"})
_MOST_DAMAGED = 0.02


@dataclass(frozen=True, slots=True)
class Reading:
    """What a page says.

    Attributes:
        text: all of it, links last; "" for what is no text.
        note: what its reader has to know, with its own comma in front; or what it is,
            where it is no text.
        lines: of the text, without the links.
    """

    text: str
    note: str
    lines: int | None = None


def document_kind(reply: Reply) -> str:
    """Return `pdf` or `docx`, or "" for everything else."""
    name = reply.address.target.partition("?")[0]
    if "wordprocessingml" in reply.headers.get("content-type", ""):
        name = "a.docx"
    kind = kind_of(name, reply.body[:_HEAD_BYTES])
    return kind if kind != "html" else ""


def read(reply: Reply) -> Reading:
    """Return what a reply says. It takes time with its size: call it in a thread.

    Raises:
        ToolError: it is HTML, and the library for it is not installed.
    """
    found = _decoded(reply)
    if found is None:
        return Reading("", describe_binary(reply.body[:_HEAD_BYTES], len(reply.body)))
    text, note = found
    if not _is_html(reply):
        return Reading(text, note)
    page = web_page(text)
    if page is None:
        return Reading(text, f"{note}, source of the HTML page")
    note += f", text of the HTML page{_titled(page.title)}"
    links = _links(page.links, reply.address)
    if not links or not page.text.strip():
        return Reading(page.text, note)
    lines = page.text.count("\n")
    listed = "\n".join(["", "Links:", *links, ""])
    note += f", its {len(links)} links from line {lines + 3} on"
    return Reading(page.text + listed, note, lines)


def _titled(title: str) -> str:
    return f" “{title[:_TITLE_CHARS]}”" if title else ""


def _is_html(reply: Reply) -> bool:
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _HTML:
        return True
    return kind in ("", "application/octet-stream") and bool(
        _LOOKS_LIKE_HTML.match(reply.body[:_HEAD_BYTES])
    )


def _links(links: Sequence[tuple[str, str]], base: WebAddress) -> list[str]:
    """Return the links that can be fetched, a line each."""
    found: dict[str, str] = {}
    for text, written in links:
        if written.startswith("#") or len(found) == _MAX_LINKS:
            continue
        try:
            address = str(joined(base, written))
        except ToolError:  # mail, scripts, files, hosts that are not public
            continue
        if address != str(base):
            found.setdefault(address, shortened(text, _LINK_CHARS))
    return [f"- {text or '(no text)'}: {address}" for address, text in found.items()]


def _decoded(reply: Reply) -> tuple[str, str] | None:
    """Return a body as text, with what to say of its encoding; None: it is no text."""
    encoding = _encoding(reply)
    if encoding is None:
        return None
    note = "" if encoding in _USUAL else f", decoded from {encoding}"
    return reply.body.decode(encoding, "replace"), note


def _encoding(reply: Reply) -> str | None:
    """Return the encoding of a body; None: it is no text.

    A byte order mark decides, then UTF-8 where it fits, then what is declared, unless
    too much of the body does not fit it; else it is guessed.
    """
    body, declared = reply.body, _declared(reply)
    guessed = encoding_of(body, is_whole=not reply.is_cut)
    is_sure = guessed is not None and guessed.startswith("utf")
    if not declared or (is_sure and not _is_seven_bit(declared, body)):
        return guessed
    if guessed is None and not declared.startswith("utf-16"):
        return None
    bad = body.decode(declared, "replace").count("\ufffd")
    return declared if bad <= _MOST_DAMAGED * len(body) else guessed


def _is_seven_bit(encoding: str, body: bytes) -> bool:
    """Return whether a text that looks like ASCII is not: it has escapes of its own."""
    return encoding.startswith(("iso2022", "hz")) and (b"\x1b" in body or b"~{" in body)


def _declared(reply: Reply) -> str:
    """Return the encoding that the header, or the page itself, declares, or ""."""
    label = _CHARSET.search(reply.headers.get("content-type", ""))
    inside = _DECLARED.search(reply.body[:_HEAD_BYTES])
    of_header = _known(label[1]) if label else ""
    of_page = _known((inside[1] or inside[2]).decode("ascii")) if inside else ""
    # Many servers say Latin-1 of whatever they send.
    is_vague = of_header in ("", _WIDER["iso8859-1"])
    return (of_page or of_header) if is_vague else of_header


def _known(label: str) -> str:
    """Return the Python name of an encoding, or "" for what is none of text."""
    if not _NAMES.match(label):  # Python's codecs have others, such as `zlib`
        return ""
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return ""
    return _WIDER.get(name, name)
