"""A topic file and its entries: read tolerantly, written back byte for byte.

An entry that nobody changed keeps its very text (`raw`); one that the program makes or
changes has none, and is written in the program's form.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Final

from orchestrator.memory.fences import outside_fences
from orchestrator.messages import whole_chars

__all__ = [
    "MAX_WAS",
    "Earlier",
    "Entry",
    "Place",
    "Topic",
    "changed",
    "check_of",
    "entry_starts",
    "folded",
    "folded_key",
    "heading",
    "parse_place",
    "parse_topic",
    "place_text",
    "same_key",
    "title_of",
    "topic_text",
]

MAX_WAS: Final = 3
"""Earlier values that an entry keeps, the newest."""
CHECK_CHARS: Final = 8
_HEADING: Final = re.compile(r"##[ \t]+(.*?\S)(?:[ \t]+#+)?[ \t]*")
_TITLE: Final = re.compile(r"#[ \t]+(.*?\S)(?:[ \t]+#+)?[ \t]*")
_FIELD: Final = re.compile(
    r"[-*][ \t]+(when|confidence|source|evidence|used|was)[ \t]*:[ \t]*(.*?)[ \t]*"
)
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_SOURCE: Final = re.compile(r"(.*?)(?:[ \t]*\(check ([0-9a-f]{8})\))?")
_PLACE: Final = re.compile(
    r"`?(.+?)(?::L?(\d{1,9})(?:-L?(\d{1,9}))?)?`?(?:[ \t]*\(check ([0-9a-f]{8})\))?"
)
_WAS: Final = re.compile(r"(.*?)(?:[ \t]*\((\d{4}-\d{2}-\d{2})\))?")
_BLANKS: Final = re.compile(r"[\s_-]+")
_TO_BLANKS: Final = {ord("_"): " ", ord("-"): " "}


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file that an entry rests on.

    Attributes:
        path: relative to the workspace.
        first: 1-based; 0: the whole file.
        last: 1-based, included; 0: as `first`.
        seal: short hash of the lines as they were when the entry was written.
    """

    path: str
    first: int = 0
    last: int = 0
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A value that an entry had before, in one line; `when`: the day it was written."""

    value: str
    when: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One fact.

    Attributes:
        key: names it; unique in a scope.
        value: Markdown.
        when: `YYYY-MM-DD`, or "".
        confidence: 0 to 1, or None.
        source: `<run id>/<agent id>`.
        evidence: what it rests on.
        used: the day on which somebody was last shown it.
        was: earlier values, newest first.
        check: hash of key and value as the program wrote them.
        raw: its text in the file; "": it is written anew.
    """

    key: str
    value: str
    when: str = ""
    confidence: float | None = None
    source: str = ""
    evidence: tuple[Place, ...] = ()
    used: str = ""
    was: tuple[Earlier, ...] = ()
    check: str = ""
    raw: str = field(default="", compare=False, repr=False)

    @property
    def is_by_a_person(self) -> bool:
        """Whether a person wrote it, or changed what the program wrote."""
        return not self.source or self.check != check_of(self.key, self.value)


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic file.

    Attributes:
        path: relative to the scope's folder.
        title: of its `# ` heading, else from its name.
        description: its first paragraph, in one line.
        entries: in the order of the file.
        head: its text before the first entry; None: written from title and description.
        is_crlf: its lines end like those of Windows.
    """

    path: str
    title: str
    description: str
    entries: tuple[Entry, ...] = ()
    head: str | None = field(default=None, compare=False, repr=False)
    is_crlf: bool = field(default=False, compare=False)


def folded_key(key: str) -> str:
    """Return what two spellings of one key have in common."""
    if key.isascii():  # nearly all are, and files hold many
        return " ".join(key.translate(_TO_BLANKS).split()).lower()
    # The index holds no half characters, which stand for bytes that are no UTF-8.
    plain = unicodedata.normalize("NFKC", whole_chars(key))
    return _BLANKS.sub(" ", plain).strip().casefold()


def same_key(one: str, other: str) -> bool:
    """Return whether two keys are one, whatever their case, blanks, `_` and `-`."""
    return folded_key(one) == folded_key(other)


def folded(text: str) -> str:
    """Return a text in one line, each run of white space as one blank."""
    return " ".join(text.split())


def check_of(key: str, value: str) -> str:
    """Return the short hash that tells whether the program wrote this."""
    lines = (line.rstrip() for line in value.strip().split("\n"))
    return _short_hash("\0".join((key.strip(), "\n".join(lines))))


def title_of(path: str) -> str:
    """Return a title for a topic file that has none."""
    stem = path.rpartition("/")[2].removesuffix(".md")
    words = re.sub(r"[-_\s]+", " ", stem).strip()
    return words[:1].upper() + words[1:] or path


def place_text(place: Place) -> str:
    """Return a place as `path`, `path:first` or `path:first-last`."""
    if not place.first:
        return place.path
    last = f"-{place.last}" if place.last > place.first else ""
    return f"{place.path}:{place.first}{last}"


def parse_place(text: str) -> Place | None:
    """Return the place that `path[:first[-last]] [(check …)]` names, or None."""
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        return None
    path, first, last, seal = match.groups()
    start, end = int(first or 0), int(last or 0)
    return Place(path.strip(), start, max(end, start), seal or "")


def parse_topic(text: str, path: str) -> Topic:
    """Return what a topic file holds. No text is too odd: what is unknown is kept.

    Args:
        text: all of it.
        path: relative to the scope's folder.
    """
    lines = text.split("\n")
    starts = entry_starts(lines)
    bounds = [*starts, len(lines)]
    head_lines = lines[: bounds[0]]
    title, description = _head(head_lines, path)
    entries = tuple(
        _entry(lines[start:end], is_last=end == len(lines))
        for start, end in zip(starts, bounds[1:], strict=True)
    )
    head = "\n".join(head_lines) + ("\n" if starts and head_lines else "")
    return Topic(path, title, description, entries, head, "\r\n" in text)


def topic_text(topic: Topic) -> str:
    """Return the text of a topic file; what was not changed is as it was."""
    end = "\r\n" if topic.is_crlf else "\n"
    is_new = topic.head is None
    parts = [_with_ends(_head_text(topic), end) if is_new else topic.head or ""]
    for entry in topic.entries:
        text = entry.raw or _with_ends(_entry_text(entry), end)
        before = parts[-1]
        if before and (is_new or not entry.raw):
            parts.append(_gap(before, end))
        is_new = not entry.raw
        parts.append(text)
    return "".join(parts)


def changed(entry: Entry, **fields: object) -> Entry:
    """Return an entry with other fields, to be written anew."""
    return replace(entry, raw="", **fields)  # type: ignore[arg-type]


def entry_starts(lines: Sequence[str]) -> list[int]:
    """Return the numbers of the lines that begin an entry, counted from 0."""
    numbered: Iterable[tuple[int, str]] = enumerate(lines)
    if any("```" in line or "~~~" in line for line in lines):  # few files have any
        numbered = outside_fences(lines)
    return [
        number for number, line in numbered if line.startswith("##") and heading(line)
    ]


def heading(line: str) -> str:
    """Return the key that a line begins an entry with, or ""."""
    match = _HEADING.fullmatch(line.removesuffix("\r"))
    return match[1] if match else ""


def _head(lines: Sequence[str], path: str) -> tuple[str, str]:
    """Return title and description."""
    title, paragraph = "", list[str]()
    for line in lines:
        plain = line.strip().lstrip("\ufeff")
        if not title and (match := _TITLE.fullmatch(plain)) is not None:
            title = match[1]
            if paragraph:
                break
        elif plain:
            paragraph.append(plain)
        elif paragraph:
            break
    return title or title_of(path), folded(" ".join(paragraph))


def _entry(lines: list[str], *, is_last: bool) -> Entry:
    raw = "\n".join(lines) + ("" if is_last else "\n")
    body = [line.removesuffix("\r") for line in lines[1:]]
    while body and not body[-1].strip():
        body.pop()
    fields: list[tuple[str, str]] = []
    while body and (match := _FIELD.fullmatch(body[-1])) is not None:
        fields.append((match[1], match[2]))
        body.pop()
    fields.reverse()
    return _with_fields(heading(lines[0]), "\n".join(body).strip("\n"), fields, raw)


def _with_fields(
    key: str, value: str, fields: Sequence[tuple[str, str]], raw: str
) -> Entry:
    said: dict[str, list[str]] = {}
    for name, text in fields:
        said.setdefault(name, []).append(text)
    source, check = _source(said)
    return Entry(
        key=key,
        value=value.rstrip(),
        when=_day(said, "when"),
        confidence=_confidence(said),
        source=source,
        evidence=tuple(_places(said.get("evidence", ()))),
        used=_day(said, "used"),
        was=tuple(_earlier(text) for text in said.get("was", ())),
        check=check,
        raw=raw,
    )


def _day(said: dict[str, list[str]], name: str) -> str:
    for text in said.get(name, ()):
        if (match := _DAY.match(text)) is not None:
            try:
                return date.fromisoformat(match[0]).isoformat()
            except ValueError:
                return ""
    return ""


def _confidence(said: dict[str, list[str]]) -> float | None:
    for text in said.get("confidence", ()):
        try:
            value = float(text)
        except ValueError:
            return None
        return value if 0 <= value <= 1 else None
    return None


def _source(said: dict[str, list[str]]) -> tuple[str, str]:
    for text in said.get("source", ()):
        if (match := _SOURCE.fullmatch(text)) is not None:
            return match[1], match[2] or ""
    return "", ""


def _places(texts: Sequence[str]) -> Iterator[Place]:
    for text in texts:
        parts = [part.strip() for part in text.split(", ")]
        is_list = all(
            " " not in part and ("." in part or "/" in part) for part in parts
        )
        for part in parts if is_list else [text]:
            if part and (place := parse_place(part)) is not None:
                yield place


def _earlier(text: str) -> Earlier:
    match = _WAS.fullmatch(text)
    return Earlier(match[1], match[2] or "") if match else Earlier(text, "")


def _head_text(topic: Topic) -> str:
    description = f"\n{topic.description}\n" if topic.description else ""
    return f"# {topic.title}\n{description}"


def _entry_text(entry: Entry) -> str:
    lines = [f"## {entry.key}", "", entry.value, ""]
    if entry.when:
        lines.append(f"- when: {entry.when}")
    if entry.confidence is not None:
        lines.append(f"- confidence: {entry.confidence:g}")
    if entry.source:
        check = f" (check {entry.check})" if entry.check else ""
        lines.append(f"- source: {entry.source}{check}")
    for place in entry.evidence:
        seal = f" (check {place.seal})" if place.seal else ""
        lines.append(f"- evidence: {place_text(place)}{seal}")
    if entry.used:
        lines.append(f"- used: {entry.used}")
    for each in entry.was[:MAX_WAS]:
        when = f" ({each.when})" if each.when else ""
        lines.append(f"- was: {each.value}{when}")
    return "\n".join(lines).rstrip("\n") + "\n"


def _with_ends(text: str, end: str) -> str:
    return text if end == "\n" else text.replace("\n", end)


def _gap(before: str, end: str) -> str:
    """Return what is missing for a blank line behind `before`."""
    if not before.endswith("\n"):
        return end * 2
    last = before[:-1].rpartition("\n")[2]
    return end if last.strip() else ""


def _short_hash(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:CHECK_CHARS]
