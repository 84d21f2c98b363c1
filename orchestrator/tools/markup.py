"""The text of HTML: what is read, line by line, without its markup.

The parser is handed in, since it belongs to an optional extra.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from orchestrator.messages import one_line

__all__ = ["WebPage", "is_too_deep", "page_of_html", "text_of_html"]

_SKIPPED_TAGS = [
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "head > *:not(title)",
]
# What a browser does not show: orders to machines that no person would notice.
_HIDDEN = ["[hidden]", "[style*='display:none' i]", "[style*='display: none' i]"]
_AROUND_CONTENT = ["nav", "footer", "[role=navigation]", "[role=contentinfo]"]
_MAIN = ("main", "[role=main]", "article")
_MIN_MAIN_CHARS = 200
_BLOCK_TAGS = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote br dd details div dl dt fieldset figcaption "
        "figure footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol option p pre "
        "section summary table tbody tfoot thead title tr ul",
    )
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_TIGHT_TAGS = frozenset({"br", "dd", "dt", "li", "option", "tr"})
_CELLS = frozenset({"td", "th"})
_BLANK_LINES = re.compile(r"\n{3,}")
# Parsing takes time that grows with the square of the depth.
_MAX_DEPTH = 5000
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# They hold nothing, or end where the next one begins.
_FLAT_TAGS = frozenset(
    re.findall(
        r"\w+",
        "area base br col dd dt embed hr img input li link meta option p param source "
        "td th tr track wbr",
    )
)


@dataclass(frozen=True, slots=True)
class WebPage:
    """What a page of the web says.

    Attributes:
        title: on one line; "" if it has none.
        text: of its main part, where it marks one, else of all but the navigation.
        links: text and address, as they are written; those of the main part first.
    """

    title: str
    text: str
    links: tuple[tuple[str, str], ...]


class _AsWritten(str):
    """A text whose white space means something."""

    __slots__ = ()


def is_too_deep(text: str) -> bool:
    """Tell whether the elements of a page nest so deep that parsing would not end."""
    if text.count("<") <= _MAX_DEPTH:
        return False
    depth = 0
    still_open: dict[str, int] = {}
    for slash, written in _TAG.findall(text):
        tag = written.lower()
        if tag in _FLAT_TAGS:
            continue
        count = still_open.get(tag, 0)
        if not slash:
            still_open[tag] = count + 1
            depth += 1
            if depth > _MAX_DEPTH:
                return True
        elif count:
            still_open[tag] = count - 1
            depth -= 1
    return False


def text_of_html(parser: Any, text: str) -> str:  # noqa: ANN401 - a module
    """Return all that an HTML file says.

    Args:
        parser: the module `selectolax.lexbor`.
        text: HTML, not too deep.
    """
    tree = parser.LexborHTMLParser(text)
    _drop(tree, _SKIPPED_TAGS)
    return _text_below(tree.root)


def page_of_html(parser: Any, text: str) -> WebPage:  # noqa: ANN401 - a module
    """Return what a page says, without what is around its content.

    Args:
        parser: the module `selectolax.lexbor`.
        text: HTML, not too deep.
    """
    tree = parser.LexborHTMLParser(text)
    found = tree.css_first("title")
    title = one_line(found.text()) if found is not None else ""
    links = _links(tree)
    _drop(tree, [*_SKIPPED_TAGS, "head", *_HIDDEN])
    main = _main(tree)
    if main is None:
        _drop(tree, _AROUND_CONTENT)
        main = tree.root
    own = _links(main) if main is not None else []
    return WebPage(title, _text_below(main), tuple(dict.fromkeys([*own, *links])))


def _main(tree: Any) -> Any:  # noqa: ANN401 - a node, or None
    """Return the one element that a page marks as its content."""
    for selector in _MAIN:
        found = tree.css(selector)
        if len(found) == 1 and len(found[0].text()) >= _MIN_MAIN_CHARS:
            return found[0]
    return None


def _links(node: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - a tree or a node
    return [
        (one_line(each.text()), each.attributes.get("href") or "")
        for each in node.css("a[href]")
    ]


def _drop(tree: Any, selectors: Sequence[str]) -> None:  # noqa: ANN401 - a tree
    for selector in selectors:
        for node in tree.css(selector):
            node.decompose()


def _text_below(root: Any) -> str:  # noqa: ANN401 - a node, or None
    parts: list[str] = []
    if root is not None:
        _collect(root, parts)
    written = [
        _as_written(group) if is_so else _flowed(group)
        for is_so, group in groupby(parts, lambda part: isinstance(part, _AsWritten))
    ]
    return _BLANK_LINES.sub("\n\n", "".join(written)).strip("\n") + "\n"


def _as_written(parts: Iterable[str]) -> str:
    lines = [line.rstrip() for part in parts for line in part.split("\n")]
    return "\n".join(["", *lines, ""])


def _flowed(parts: Iterable[str]) -> str:
    lines = "".join(parts).split("\n")
    return "\n".join(" ".join(line.split()).removesuffix(" |") for line in lines)


def _collect(root: Any, parts: list[str]) -> None:  # noqa: ANN401 - a node
    """Add the text below `root`; without recursion, since pages may nest deeply."""
    todo: list[Any] = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        tag = node.tag
        if tag == "-text":
            parts.append((node.text(deep=False) or "").replace("\n", " "))
            continue
        if tag == "pre":
            parts.append(_AsWritten(node.text()))
            continue
        if tag in _CELLS:
            todo.append(" | ")
        elif tag in _BLOCK_TAGS:
            parts.append("\n" + _HEADINGS.get(tag, ""))
            if tag not in _TIGHT_TAGS:
                todo.append("\n")
        todo.extend(reversed(list(node.iter(include_text=True))))
