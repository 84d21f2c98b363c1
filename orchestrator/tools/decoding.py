"""Tell text from binary, and in which encoding a text is."""

from __future__ import annotations

import codecs
import importlib
import re

__all__ = ["decode", "describe_binary", "encoding_of"]

_SAMPLE_BYTES = 64 * 1024
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# The encodings that are met; the more there are to choose from, the worse the choice.
_GUESSED = [
    "gb18030",
    "big5",
    "cp932",
    "euc_jp",
    "euc_kr",
    "cp1252",
    "cp1251",
    "koi8_r",
]
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b"))
_BINARY_SHARE = 0.1
_SHORT_BYTES = 64
_FEW_BYTES = 4
_WIDE = re.compile(rb"[\x80-\xff]+")
_PAIRS = re.compile(rb"[\x81-\xfe][\x40-\xfe]")
# The 3,755 everyday characters of GB 2312, and its punctuation.
_EVERYDAY = re.compile(rb"[\xb0-\xd7\xa1\xa3][\xa1-\xfe]")
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (or an office document)"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"(\xb5/\xfd", "zstandard data"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"\x7fELF", "an ELF program or library"),
    (b"MZ", "a Windows program or library"),
    (b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    (b"\0asm", "a WebAssembly module"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\xd0\xcf\x11\xe0", "an old office document"),
    (b"OggS", "Ogg media"),
    (b"ID3", "an MP3 file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"PAR1", "a Parquet file"),
)


def encoding_of(data: bytes, *, is_whole: bool = True) -> str | None:
    """Return the Python name of the encoding of `data`, or None for binary data.

    Args:
        data: a file, or its start.
        is_whole: False: `data` may end within a character.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return encoding
    if b"\0" in data:
        return _utf16_without_mark(data)
    if data and len(data) - len(data.translate(None, _CONTROLS)) > (
        _BINARY_SHARE * len(data)
    ):
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=is_whole)
    except UnicodeDecodeError:
        return "utf-8" if _is_damaged_utf8(data) else _guess(data)
    return "utf-8"


def decode(data: bytes) -> str | None:
    """Return a whole file as text, or None if it is binary.

    What does not fit the encoding becomes U+FFFD.
    """
    encoding = encoding_of(data)
    return None if encoding is None else data.decode(encoding, "replace")


def describe_binary(head: bytes, size: int) -> str:
    """Return what a binary file is, from its first bytes, with its size."""
    kind = next((kind for mark, kind in _KINDS if head.startswith(mark)), "binary data")
    if kind == "a PNG image" and len(head) >= 24:
        width, height = (int.from_bytes(head[at : at + 4], "big") for at in (16, 20))
        kind += f" of {width}×{height} pixels"
    return f"{kind}, {size:,} bytes"


def _utf16_without_mark(data: bytes) -> str | None:
    """Return the byte order of UTF-16 that is mostly ASCII, or None."""
    sample = data[:_SAMPLE_BYTES]
    half = len(sample) // 2
    low, high = sample[0::2].count(0), sample[1::2].count(0)
    if half and high > 0.4 * half and low < 0.05 * half:
        return "utf-16-le"
    if half and low > 0.4 * half and high < 0.05 * half:
        return "utf-16-be"
    return None


def _is_damaged_utf8(data: bytes) -> bool:
    """Return whether most of what is not ASCII is UTF-8 all the same."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    wide = sum(map(len, re.findall(r"[^\x00-\x7f\ufffd]+", text)))
    return bad * 10 <= wide


def _guess(data: bytes) -> str:
    sample = data[:_SAMPLE_BYTES]
    # Loaded when it is needed: nearly all files are UTF-8.
    matches = importlib.import_module("charset_normalizer").from_bytes(
        sample, cp_isolation=_GUESSED, enable_fallback=False
    )
    best = matches.best()
    found = str(best.encoding) if best is not None else ""
    # A few Chinese words between ASCII are too little for statistics.
    wide = b"".join(_WIDE.findall(sample))
    if (len(wide) < _SHORT_BYTES or not found) and _is_everyday_chinese(wide):
        return "gb18030"
    if len(wide) < _FEW_BYTES:
        return "cp1252"  # an accent or two; anything else would be a wild guess
    return found or "cp1252"


def _is_everyday_chinese(wide: bytes) -> bool:
    pairs = _PAIRS.findall(wide)
    return (
        len(pairs) * 2 == len(wide)
        and len(pairs) > 1
        and sum(map(bool, map(_EVERYDAY.fullmatch, pairs))) >= 0.9 * len(pairs)
    )
