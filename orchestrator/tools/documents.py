"""Text of PDF, DOCX and HTML files, by the optional extra `documents`.

The libraries are loaded when the first such file is read, never before.
"""

from __future__ import annotations

import importlib
import io
import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import ToolError
from orchestrator.extras import how_to_install
from orchestrator.messages import one_line
from orchestrator.tools.markup import WebPage, is_too_deep, page_of_html, text_of_html

__all__ = [
    "HOW_TO_INSTALL",
    "Extracted",
    "extract",
    "is_installed",
    "kind_of",
    "web_page",
]

HOW_TO_INSTALL = f"the user can install it {how_to_install('documents')}"
_MODULES = {"pdf": "pypdf", "docx": "docx", "html": "selectolax.lexbor"}
_REMARK_CHARS = 100


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a file says.

    Attributes:
        text: all of it.
        note: what its reader has to know, with its own comma in front; or "".
    """

    text: str
    note: str = ""


def is_installed(kind: str) -> bool:
    """Return whether the library for `pdf`, `docx` or `html` is there."""
    return _load(_MODULES[kind]) is not None


def kind_of(name: str, head: bytes) -> str:
    """Return `pdf`, `docx`, `html`, or "" for everything else.

    Args:
        name: of the file.
        head: its first bytes; they decide between a document and a misnamed file.
    """
    suffix = name.lower().rpartition(".")[2]
    if head.startswith(b"%PDF-"):
        return "pdf"
    if suffix == "docx" and head.startswith(b"PK\x03\x04"):
        return "docx"
    if suffix in ("html", "htm", "xhtml"):
        return "html"
    return ""


def extract(kind: str, data: bytes, decoded: str | None) -> Extracted | None:
    """Return the text of a document, or None where it is to be read as plain text.

    Args:
        kind: `pdf`, `docx` or `html`.
        data: the whole file.
        decoded: the file as text, for HTML.

    Raises:
        ToolError: the library is not installed, or the document cannot be read.
    """
    if kind == "html":
        parser = _load(_MODULES[kind])
        if parser is None or decoded is None or is_too_deep(decoded):
            return None
        return Extracted(text_of_html(parser, decoded), ", text of the HTML file")
    module = _load(_MODULES[kind])
    if module is None:
        raise ToolError(
            f"reading {kind.upper()} files needs an optional package that is not "
            f"installed ({HOW_TO_INSTALL}); go on without this file and say so"
        )
    readers: dict[str, Callable[[Any, bytes], str]] = {"pdf": _pdf, "docx": _docx}
    try:
        with _remarks() as remarks:
            text = readers[kind](module, data)
    except ToolError:
        raise
    except Exception as error:
        # What these libraries raise on broken files has no common base.
        raise ToolError(
            f"this {kind.upper()} file cannot be read: {type(error).__name__}: "
            f"{str(error)[:200]}"
        ) from error
    note = f", text of the {kind.upper()} file"
    if remarks:
        said = one_line(remarks[0], _REMARK_CHARS)
        note += f", which is damaged and may lack parts ({said})"
    return Extracted(text, note)


def web_page(text: str) -> WebPage | None:
    """Return what a page of the web says, or None where its source is to be read.

    Args:
        text: HTML.

    Raises:
        ToolError: the library is not installed.
    """
    parser = _load(_MODULES["html"])
    if parser is None:
        raise ToolError(
            "reading HTML pages needs an optional package that is not installed "
            f"({HOW_TO_INSTALL}); go on without this page and say so"
        )
    return None if is_too_deep(text) else page_of_html(parser, text)


@contextmanager
def _remarks() -> Iterator[list[str]]:
    """Gather what pypdf logs in this thread, instead of having it printed."""
    found: list[str] = []
    here = threading.get_ident()

    class Gather(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.thread == here:
                found.append(record.getMessage())

    library = logging.getLogger("pypdf")
    library.propagate = False
    gather = Gather(logging.WARNING)
    library.addHandler(gather)
    try:
        yield found
    finally:
        library.removeHandler(gather)


def _load(name: str) -> Any:  # noqa: ANN401 - a module, or None
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _pdf(pypdf: Any, data: bytes) -> str:  # noqa: ANN401 - a module
    reader = pypdf.PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise ToolError("this PDF file is locked by a password")
    pages = [
        f"[page {number}]\n{(page.extract_text() or '').strip()}"
        for number, page in enumerate(reader.pages, 1)
    ]
    if not any(page.partition("\n")[2] for page in pages):
        raise ToolError(
            f"this PDF file has {len(pages)} pages but no text; it may be a scan"
        )
    return "\n\n".join(pages) + "\n"


def _docx(docx: Any, data: bytes) -> str:  # noqa: ANN401 - a module
    document = docx.Document(io.BytesIO(data))
    return "\n".join(_docx_lines(document)) + "\n"


def _docx_lines(document: Any) -> Iterator[str]:  # noqa: ANN401 - a document
    for block in document.iter_inner_content():
        if hasattr(block, "rows"):
            for row in block.rows:
                cells = dict.fromkeys(cell.text.strip() for cell in row.cells)
                yield " | ".join(cell.replace("\n", " ") for cell in cells)
            continue
        style = block.style.name if block.style is not None else ""
        level = re.fullmatch(r"Heading (\d)", style or "")
        yield ("#" * int(level[1]) + " " if level else "") + block.text
