"""Cut numbered lines of a file into units: a sentence, a list item, a row, a statement.

Each unit knows its lines and what stands around it: its headings, and the words that
it cannot be read without (the intro of its list, the head of its table, the rest of
its paragraph).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from orchestrator.models.offline.words import is_question

__all__ = ["Page", "Unit", "units"]

# Lines of a docstring that are told with its definition.
DOC_LINES = 5
PROSE = (".md", ".markdown", ".txt", ".rst", ".html", ".htm", ".adoc", ".pdf", ".docx")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_UNDERLINE = re.compile(r"^\s*(={3,}|-{3,}|~{3,})\s*$")
_NUMBERED_HEAD = re.compile(
    r"^\s{0,3}(?:\d+(?:\.\d+)*[.)、]?|\(\d+\)|[一二三四五六七八九十]+[、.．]|第.{1,3}[章节条])"
    r"\s*(\S.{0,48})$"
)
_ITEM = re.compile(r"^(\s*)(?:[-*+•–]|\d+[.)、]|\(\d+\)|\d{1,2}:\d{2})\s+\S")
_INDENTED_ITEM = re.compile(r"^\s+[-*+•]\s+\S")
_LABELLED = re.compile(r"^[\w \u3400-\u9fff]{1,14}[:：]\s*\S|^\*\*[^*]{1,30}\*\*")
_TAG = re.compile(
    r"</?(?:h[1-6]|d[dlt]|p|li|[ou]l|div|span|[abi]|em|strong|small|br|hr|t[dhr]|table|"
    r"body|html|head|title|meta|link|code|pre|section|main)\b[^>]*>",
    re.I,
)
_HTML_HEAD = re.compile(r"<(h[1-6]|dt|title)\b", re.I)
_SENTENCE = re.compile(
    r"(?<=[。！？])|(?<=[.!?])(?=\s+[\"'“(*`]*[A-Z0-9\u4e00-\u9fff])"
)
_NOT_AN_END = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|no|Nr|Mr|Dr|St|cf)|\b[A-Z]|^\d+)\.$"
)
_ENDS = tuple(".!?;,。！？；，")
_DEFINES = re.compile(
    r"^\s*(?:export\s+)?(?:async\s+)?(?:def|class|function|func|fn|struct|interface|"
    r"type|enum|trait|impl|const)\s+\w"
)
_COMMENT = ("#", "//", "* ", "/*")
# `Args:` above, and `path: where it lies` within a docstring.
_SECTION = re.compile(r"(?:Args|Attributes|Returns|Raises|Yields|Note|Examples?):")
_PARAGRAPH = re.compile(r"\w+: |" + _SECTION.pattern)
_DOCSTRING = ('"""', "'''", 'r"""')
_CLOSES = (")", "]", "}", '"""', "'''")


@dataclass(frozen=True, slots=True)
class Page:
    """Lines of one file, as they were shown, by number."""

    path: str
    lines: dict[int, str]

    @property
    def is_prose(self) -> bool:
        """Whether it is text for people rather than code."""
        name = self.path.rsplit("/", 1)[-1].lower()
        return name.endswith(PROSE) or "." not in name

    def quote(self, first: int, last: int) -> str:
        """Return the lines word for word."""
        return "\n".join(
            self.lines.get(number, "") for number in range(first, last + 1)
        )


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest stretch of a page that says something by itself."""

    first: int
    last: int
    text: str
    heads: tuple[str, ...] = ()
    """Headings above it, the outermost first; in code, what it is nested in."""
    near: str = ""
    """What it cannot be read without: intro, table head, rest of the paragraph."""
    before: str = ""
    """The sentence before it in the same paragraph."""
    defines: bool = False
    """It is a definition in code."""
    asks: bool = False
    """It is a question or a heading, so that it answers nothing."""


def units(page: Page) -> list[Unit]:
    """Return the units of `page` in order."""
    return list(_prose(page) if page.is_prose else _code(page))


# ---- text for people ----------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """Where the walk over a page stands."""

    heads: list[tuple[int, str]] = field(default_factory=list)
    block: list[tuple[int, str]] = field(default_factory=list)
    intro: str = ""
    table_head: str = ""

    def open_heading(self, level: int, text: str) -> None:
        """Put a heading in force; it ends those of its own level and below."""
        while self.heads and self.heads[-1][0] >= level:
            self.heads.pop()
        self.heads.append((level, text))
        self.intro = self.table_head = ""

    @property
    def titles(self) -> tuple[str, ...]:
        """Return the headings in force, the outermost first."""
        return tuple(text for _level, text in self.heads)


def _prose(page: Page) -> Iterator[Unit]:
    reader = _Reader()
    numbers = sorted(page.lines)
    for place, number in enumerate(numbers):
        line = page.lines[number]
        after = page.lines.get(number + 1, "")
        text = _plain(line)
        if not text or _UNDERLINE.match(line):
            yield from _flush(reader)
            if not text:
                reader.table_head = ""
            continue
        level = _heading_level(
            number, line, text, (after, _next_text(page, numbers, place))
        )
        if level:
            yield from _flush(reader)
            reader.open_heading(level, text)
            yield Unit(number, number, text, reader.titles[:-1], asks=True)
        elif line.lstrip().startswith("|"):
            yield from _flush(reader)
            yield from _row(reader, number, line, after)
        else:
            if _ITEM.match(line) or _LABELLED.match(text):
                yield from _flush(reader)
            reader.block.append((number, line))
    yield from _flush(reader)


def _plain(line: str) -> str:
    text = _TAG.sub(" ", line) if "<" in line else line
    heading = _HEADING.match(text)
    return (heading.group(2) if heading else text).strip().strip("*_").strip()


def _next_text(page: Page, numbers: list[int], place: int) -> str:
    for number in numbers[place + 1 : place + 4]:
        if page.lines[number].strip():
            return page.lines[number]
    return ""


def _heading_level(number: int, line: str, text: str, below: tuple[str, str]) -> int:
    """Return 1 (outermost) to 9 for a heading or a question, else 0.

    Args:
        number: of the line.
        line: as it is.
        text: of the line, without marks.
        below: the next line, and the next one that is not blank.
    """
    after, next_text = below
    heading, tag = _HEADING.match(line), _HTML_HEAD.search(line)
    level = 0
    if heading:
        level = len(heading.group(1))
    elif _UNDERLINE.match(after) and not line.lstrip().startswith("|"):
        level = 1 if len(text) < 90 else 0
    elif tag:
        name = tag.group(1).lower()
        level = int(name[1]) if name[1:].isdigit() else 9 if name == "dt" else 1
    elif is_question(text) and len(text) < 160 and _begins_block(line):
        level = 9
    elif number == 1 and len(text) <= 80 and not text.endswith(_ENDS):
        level = 1
    elif _INDENTED_ITEM.match(after) and not _ITEM.match(line) and line[:1].strip():
        level = 8
    elif _is_numbered_heading(line, text, next_text):
        level = 7
    return level


def _is_numbered_heading(line: str, text: str, next_text: str) -> bool:
    numbered = _NUMBERED_HEAD.match(line)
    if numbered is None or text.endswith(_ENDS) or not next_text:
        return False
    is_short = len(numbered.group(1).encode()) <= 48
    return is_short and not _NUMBERED_HEAD.match(next_text)


def _begins_block(line: str) -> bool:
    return bool(
        re.match(r"\s*(?:\*\*|__|[-*] |问|Q[:.]|\d+[.)]|<|[A-Z\u4e00-\u9fff*])", line)
    )


def _row(reader: _Reader, number: int, line: str, after: str) -> Iterator[Unit]:
    cells = [cell.strip(" *`") for cell in line.strip().strip("|").split("|")]
    if not "".join(cells).strip("-: "):
        return
    if re.match(r"^\s*\|[\s:|-]+\|\s*$", after):
        reader.table_head = " ".join(cells)
        return
    text = " – ".join(cell for cell in cells if cell)
    near = f"{reader.intro} {reader.table_head}".strip()
    yield Unit(number, number, text, reader.titles, near)


def _flush(reader: _Reader) -> Iterator[Unit]:
    block, reader.block = reader.block, []
    if not block:
        return
    first_line = block[0][1]
    titles = reader.titles
    if _ITEM.match(first_line):
        sentences = _sentences(block)
        whole = " ".join(text for _first, _last, text in sentences)
        yield from _with_neighbours(sentences, titles, f"{reader.intro} {whole}")
        return
    sentences = _sentences(block)
    whole = " ".join(text for _first, _last, text in sentences)
    last = sentences[-1][2] if sentences else ""
    reader.intro = last if last.endswith((":", "：", "—")) else ""
    yield from _with_neighbours(sentences, titles, whole)


def _with_neighbours(
    sentences: list[tuple[int, int, str]], titles: tuple[str, ...], near: str
) -> Iterator[Unit]:
    before = ""
    for first, last, text in sentences:
        yield Unit(first, last, text, titles, near, before, asks=is_question(text))
        before = text


def _sentences(block: list[tuple[int, str]]) -> list[tuple[int, int, str]]:
    """Return (first line, last line, text) of each sentence of a block."""
    found: list[tuple[int, int, str]] = []
    text, first = "", 0
    for number, line in block:
        for piece in _SENTENCE.split(_plain_item(line)):
            if not piece.strip():
                continue
            first = first or number
            glue = "" if _ends_in_han(text) else " "
            text = f"{text}{glue}{piece.strip()}" if text else piece.strip()
            if text.endswith(tuple("。！？.!?")) and not _NOT_AN_END.search(text):
                found.append((first, number, text))
                text, first = "", 0
    if text:
        found.append((first, block[-1][0], text))
    return found


def _plain_item(line: str) -> str:
    text = _TAG.sub(" ", line) if "<" in line else line
    return re.sub(r"^\s*(?:[-*+•>]\s+|\d+[.)]\s+)", "", text).strip()


def _ends_in_han(text: str) -> bool:
    return bool(text) and text[-1] >= "\u2e80"


# ---- code ---------------------------------------------------------------------------


@dataclass(slots=True)
class _CodeReader:
    """Where the walk over code stands."""

    stack: list[tuple[int, str]] = field(default_factory=list)
    """(indent, text) of the lines that the current one is nested in."""
    found: list[Unit] = field(default_factory=list)
    comment: list[tuple[int, str]] = field(default_factory=list)
    indent: int = 0
    """Of the comment or docstring."""
    is_docstring: bool = False

    def heads(self, indent: int) -> tuple[str, ...]:
        """Return what a line of this indent is nested in, the outermost first."""
        return tuple(text for above, text in self.stack if above < indent)

    def document(self, indent: int, words: str) -> None:
        """Add the first words of a docstring to the definition they belong to."""
        for place in range(len(self.stack) - 1, -1, -1):
            above, text = self.stack[place]
            if above < indent:
                if _DEFINES.match(text) and "\n" not in text:
                    self.stack[place] = (above, f"{text}\n{words}")
                return

    def describe(self) -> None:
        """Close a comment or docstring: each of its sentences is a unit."""
        block, self.comment = self.comment, []
        if not block:
            return
        sentences = _sentences(block)
        whole = " ".join(text for _first, _last, text in sentences)
        last = self.found[-1] if self.found else None
        above = last.text if last and last.last == block[0][0] - 1 else ""
        near = f"{above} {whole}"
        self.found += _with_neighbours(sentences, self.heads(self.indent), near)

    def state(self, number: int, line: str, text: str) -> None:
        """Take in a statement; it may be what the next lines are nested in."""
        indent = len(line) - len(line.lstrip())
        is_end = text.startswith(_CLOSES)
        while self.stack and self.stack[-1][0] >= indent and not is_end:
            self.stack.pop()
        defines = bool(_DEFINES.match(line))
        heads = self.heads(indent)
        self.found.append(Unit(number, number, text, heads, defines=defines))
        if not is_end:
            self.stack.append((indent, text))


def _code(page: Page) -> Iterator[Unit]:
    reader = _CodeReader()
    for number in sorted(page.lines):
        line = page.lines[number]
        text = line.strip()
        quotes = text.count('"""') + text.count("'''")
        indent = len(line) - len(line.lstrip())
        starts = text.startswith(_DOCSTRING) and not reader.is_docstring
        words = text.strip("\"'").lstrip("#/* ").strip()
        if starts:
            reader.describe()
            reader.indent = indent
            reader.is_docstring = quotes == 1
            if words:
                reader.document(indent, words)
                reader.comment.append((number, words))
        elif reader.is_docstring:
            reader.is_docstring = not quotes
            if not words or _PARAGRAPH.match(words):
                reader.describe()
            if words and not _SECTION.fullmatch(words):
                reader.comment.append((number, words))
        elif text.startswith(_COMMENT):
            if not reader.comment:
                reader.indent = indent
            reader.comment.append((number, words))
        else:
            reader.describe()
            if text:
                reader.state(number, line, text)
    reader.describe()
    yield from _with_next(reader.found)


def _with_next(found: list[Unit]) -> Iterator[Unit]:
    """Give a statement what is said above and below it; a definition its docstring."""
    for place, unit in enumerate(found):
        if unit.near:
            yield unit
            continue
        above = found[place - 1] if place else None
        below = found[place + 1] if place + 1 < len(found) else None
        if unit.defines:
            yield _documented(unit, found[place + 1 : place + 12])
            continue
        near = [
            other.text
            for other in (above, below)
            if other and other.near and abs(other.first - unit.first) <= 2
        ]
        yield replace(unit, near=" ".join(near))


def _documented(unit: Unit, below: list[Unit]) -> Unit:
    """Return a definition that reaches to the end of its docstring's first lines."""
    said: list[Unit] = []
    for other in below:
        inside = other.heads[-1].split("\n")[0] if other.heads else ""
        if other.near and unit.text == inside:
            if said and other.first > said[0].first + DOC_LINES:
                break
            said.append(other)
        elif said or other.defines:
            break
    if not said:
        return unit
    text = " ".join([unit.text, *(other.text for other in said)])
    return replace(unit, last=said[-1].last, text=text)
