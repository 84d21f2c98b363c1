"""The text of a file for changing it: every byte that is not changed stays as it is."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass

from orchestrator.errors import ToolError
from orchestrator.tools.decoding import describe_binary, encoding_of

__all__ = ["LINE_END", "FileText", "line_end", "refuse_unwritable"]

LINE_END = re.compile(r"\r\n|\n|\r")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, and how it is written as bytes.

    Attributes:
        text: as it is in the file, line ends included; bytes that are no UTF-8 are
            half characters in it, which become the same bytes again.
        encoding: Python name.
        mark: the bytes before the text that tell its encoding, or none.
    """

    text: str = ""
    encoding: str = "utf-8"
    mark: bytes = b""

    @classmethod
    def of(cls, name: str, data: bytes) -> FileText:
        """Return the text of a file.

        Raises:
            ToolError: it is binary, or would not come out of this as it is.
        """
        encoding = encoding_of(data)
        if encoding is None:
            what = describe_binary(data, len(data))
            raise ToolError(f"`{name}` is {what}; only text files can be changed")
        mark, encoding = next(
            (each for each in _MARKS if data.startswith(each[0])), (b"", encoding)
        )
        try:
            text = data[len(mark) :].decode(encoding, _errors(encoding))
        except UnicodeDecodeError:
            text = None
        if text is None or mark + text.encode(encoding, _errors(encoding)) != data:
            raise ToolError(
                f"`{name}` is not wholly in {encoding}, as most of it is; a change "
                "would damage the rest, so it is left as it is"
            )
        return cls(text, encoding, mark)

    @property
    def line_end(self) -> str:
        """Return what ends most of its lines; LF where it has only one."""
        return line_end(self.text) or "\n"

    def encoded(self, text: str) -> bytes:
        """Return the bytes of another text for the same file.

        Raises:
            ToolError: the encoding of the file has no such character, or nobody would
                take the bytes for a text.
        """
        try:
            data = self.mark + text.encode(self.encoding, _errors(self.encoding))
        except UnicodeEncodeError as error:
            char = text[error.start]
            raise ToolError(
                f"the file is in {self.encoding}, which has no `{char}` "
                f"(U+{ord(char):04X}); use characters that it has"
            ) from error
        if data and encoding_of(data) is None:
            raise ToolError(
                "the new content would not be a text: it holds too many control "
                "characters"
            )
        return data


def line_end(text: str) -> str:
    """Return what ends most lines of a text; "": it has no line end."""
    if "\r" not in text:
        return "\n" if "\n" in text else ""
    found = Counter(LINE_END.findall(text[:_SAMPLE_CHARS]))
    return found.most_common(1)[0][0] if found else "\n"


def refuse_unwritable(name: str, text: str) -> None:
    """Refuse what no text file can hold.

    Args:
        name: of the argument.
        text: its value.

    Raises:
        ToolError: it holds a NUL or half a character.
    """
    if "\0" in text:
        raise ToolError(f"`{name}` holds a NUL character; only text can be written")
    if _SURROGATE.search(text):
        raise ToolError(f"`{name}` holds half a character (a lone surrogate)")


def _errors(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "strict"
