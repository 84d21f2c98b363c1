"""Find what clearly is a path in a text, and tell whether the workspace has it."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

__all__ = ["MAX_ENTRIES", "SKIPPED", "Tree", "missing_paths"]

MAX_ENTRIES = 50_000
"""Entries of the workspace that are looked at for a name."""
MAX_NAMES_COMPARED = 5_000
MAX_FILES_SEARCHED = 3_000
MAX_FILE_BYTES = 500_000

SKIPPED = frozenset(
    {".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__", ".tox"}
)
"""Folders that hold nothing of the project itself."""

_EXTENSIONS = (
    "py pyi ipynb js jsx mjs cjs ts tsx vue svelte java kt kts scala groovy go rs c cc "
    "cpp cxx h hh hpp cs fs swift m mm rb php pl lua r jl ex exs erl hs ml clj dart "
    "zig sh bash zsh ps1 bat sql proto thrift graphql md mdx rst txt adoc tex csv tsv "
    "json jsonl json5 yaml yml toml ini cfg conf xml html htm css scss sass less lock "
    "log pdf docx doc xlsx xls pptx ppt odt epub png jpg jpeg svg gif tf gradle cmake "
    "mk service properties env patch diff parquet sqlite db"
)
_EXT = "(?:" + "|".join(sorted(_EXTENSIONS.split(), key=len, reverse=True)) + ")"
_HAS_EXTENSION = re.compile(rf".*[^./\\]\.{_EXT}", re.IGNORECASE)
_MIXED_PATH = re.compile(rf"[\w./\\+@-]+?\.{_EXT}(?![A-Za-z0-9_])", re.IGNORECASE)
_ASCII_RUN = re.compile(r"[A-Za-z0-9_./\\+@:#-]+")

# Names with an extension that are products, sites or short forms.
_NO_FILE = re.compile(
    r"(?:[A-Z]\w*|node|next|nuxt|vue|react|three|d3|express|ember|backbone|chart|moment"
    r"|alpine|solid|p5|plotly|discord|electron|deno|web3)\.(?:js|ts)|asp\.net|docs\.rs"
    r"|(?:\w\.){1,4}\w",
)
_NO_PATH = re.compile(
    r":\d+/|[*<>{}$|=&%^?!\"…]|\.\.\.|//|\A[-@~]|YYYY|\bpath/to/|\bxxx\b"
)
_MIME = re.compile(r"(?:application|text|image|audio|video|multipart|font|message)/")
_BRANCH = re.compile(r"(?:origin|upstream|feature|release|hotfix|bugfix|refs)/")
_SITE = re.compile(
    r"(?:[\w-]+\.)+(?:com|org|net|io|dev|cn|edu|gov|ai|app|me|us|uk|de)(?::\d+)?/",
    re.IGNORECASE,
)
_HOME = re.compile(r"/(?:home|Users|root)/\w|[A-Za-z]:[\\/]\w")
_SUFFIX = re.compile(r"(?:::\w.*|#L?\d+.*|:L?\d+(?:[-–:]L?\d+)*)\Z")

_REMOVED = re.compile(r"[A-Za-z][\w+.-]*://\S+|\bwww\.\S+|[\w.+-]+@[\w-]+\.[\w.-]+")
_TOKEN = re.compile(
    r"`(?P<code>[^`\s]+)`|(?P<word>[^\s`,\uff0c。;\uff1b\uff1a!\uff01?\uff1f、|"
    r"'\"“”‘’()\uff08\uff09「」《》【】]+)"
)
_FOLDER_BEFORE = re.compile(
    r"(?:\b(?:folder|directory|dir)|目录|文件夹)\W*\Z", re.IGNORECASE
)
_FOLDER_AFTER = re.compile(
    r"\A\W{0,2}(?:(?:sub)?(?:folder|director(?:y|ies))\b|子?目录|文件夹)", re.IGNORECASE
)
_EXAMPLE_BEFORE = re.compile(
    r"(?:\b(?:(?:is|are) there|there (?:is|are|was))|\b(?:such as|e\.g\.|for example|"
    r"for "
    r"instance"
    r"|if any|removed|deleted|missing|absent|create|write|add|former|formerly|renamed "
    r"from)\b|有没有|是否有|是否存在|例如|比如|诸如|譬如|已?删除的?|新建|缺少|"
    r"缺失)[^.。\n]{0,25}\Z",
    re.IGNORECASE,
)
_EXAMPLE_AFTER = re.compile(
    r"\A[`\s,]*(?:exists?\b|is missing|is absent|was (?:re)?moved|was deleted|was "
    r"renamed"
    r"|has been (?:removed|deleted)|does(?: not|n't) exist|no longer|or similar"
    r"|是否存在|不存在|已不存在|已?被?删除|已经?移除|之类|等类似)",
    re.IGNORECASE,
)


class Missing(NamedTuple):
    """A path that is not there, and the closest one that is, or ""."""

    path: str
    closest: str


class Tree:
    """The names in a workspace, read once and only when asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._entries: list[str] | None = None
        self._is_whole = True

    @property
    def entries(self) -> list[str]:
        """Return files and folders below the root, up to `MAX_ENTRIES`."""
        if self._entries is None:
            self._entries = list(self._walk())
        return self._entries

    @property
    def is_whole(self) -> bool:
        """Whether `entries` holds all there is."""
        return len(self.entries) < MAX_ENTRIES

    def _walk(self) -> Iterator[str]:
        found = 0
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(set(folders) - SKIPPED)
            base = Path(folder).relative_to(self.root).as_posix()
            for name in [*folders, *sorted(files)]:
                if found >= MAX_ENTRIES:
                    return
                found += 1
                yield name if base == "." else f"{base}/{name}"

    def exists(self, path: str) -> bool:
        """Tell whether `path` is there, from the root or below any folder."""
        plain = path.replace("\\", "/").strip("/")
        while plain.startswith("./"):
            plain = plain[2:]
        if not plain or self.is_there(plain):
            return True
        return any(entry.endswith("/" + plain) for entry in self.entries)

    def is_there(self, path: str) -> bool:
        """Tell whether `path` is there, from the root."""
        try:
            return (self.root / path).exists()
        except (OSError, ValueError):
            return False

    def is_folder(self, name: str) -> bool:
        """Tell whether `name` is a folder directly below the root."""
        try:
            return bool(name) and (self.root / name).is_dir()
        except (OSError, ValueError):
            return False

    def is_file(self, path: str) -> bool:
        """Tell whether `path` is a file, from the root."""
        return (self.root / path).is_file()

    def mentions(self, name: str) -> bool:
        """Tell whether a file says `name`, as one that a program writes or reads."""
        wanted = name.encode("utf-8", "surrogatepass")
        searched = 0
        for entry in self.entries:
            try:
                path = self.root / entry
                if path.is_file() and path.stat().st_size <= MAX_FILE_BYTES:
                    searched += 1
                    if wanted in path.read_bytes():
                        return True
            except OSError:
                continue
            if searched >= MAX_FILES_SEARCHED:
                return True  # nothing can be said about so many files
        return False

    def closest(self, path: str) -> str:
        """Return the entry whose name is most like that of `path`, or ""."""
        name = path.replace("\\", "/").rstrip("/").rpartition("/")[2].casefold()
        names: dict[str, str] = {}
        for entry in self.entries[:MAX_NAMES_COMPARED]:
            names.setdefault(entry.rpartition("/")[2].casefold(), entry)
        close = difflib.get_close_matches(name, names, n=1, cutoff=0.75)
        return names[close[0]] if close else ""


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    is_code: bool
    """Stood between back-quotes."""
    names_folder: bool
    """The word beside it is `folder` or the like."""


def missing_paths(text: str, tree: Tree) -> list[Missing]:
    """Return what clearly is a path in `text` and is not in the workspace.

    Prose (`and/or`), addresses, routes, globs, placeholders, examples and questions
    whether a file exists are left alone.
    """
    missing: dict[str, None] = {}
    for token in _tokens(text):
        for path in _judged(token, tree):
            missing.setdefault(path)
    return [Missing(path, tree.closest(path)) for path in missing]


def _tokens(text: str) -> Iterator[_Token]:
    plain = _REMOVED.sub(" ", text)
    for match in _TOKEN.finditer(plain):
        before, after = plain[: match.start()][-60:], plain[match.end() :][:60]
        if _EXAMPLE_BEFORE.search(before) or _EXAMPLE_AFTER.match(after):
            continue
        names_folder = bool(_FOLDER_BEFORE.search(before) or _FOLDER_AFTER.match(after))
        code = match["code"]
        yield _Token(code or match["word"], code is not None, names_folder)


def _judged(token: _Token, tree: Tree) -> Iterator[str]:
    """Yield the paths in `token` that are missing."""
    text = _SUFFIX.sub("", token.text.rstrip(".,;:!?…)]>'\"").lstrip("([<'\""))
    if not text.isascii():
        yield from _judged_mixed(text, token, tree)
    elif _is_clear(text, token, tree) and not _is_known(text, tree):
        yield text


def _judged_mixed(text: str, token: _Token, tree: Tree) -> Iterator[str]:
    """Judge text in which Chinese words may stand before and behind a path."""
    if _NO_PATH.search(text):
        return
    rest = text
    for match in _MIXED_PATH.finditer(text):
        path = match[0]
        rest = rest.replace(path, " ")
        tail = re.search(r"[!-~]+\Z", path)
        # Only the extension is ASCII where the name itself is Chinese.
        has_name = tail is not None and not tail[0].startswith(".")
        ascii_path = tail[0] if tail and has_name else ""
        if "/" not in path and _NO_FILE.fullmatch(ascii_path):
            continue
        if any(tree.exists(path[at:]) for at in range(len(path) - 1)):
            continue
        if "/" not in path and tree.mentions(ascii_path or path):
            continue
        if "/" in path or tree.is_whole:
            yield ascii_path.lstrip("/") or path
    for run in _ASCII_RUN.findall(rest):
        if "/" in run.strip("/"):
            folder = bool(re.search(re.escape(run) + r"\W?(?:子?目录|文件夹)", rest))
            inner = _Token(run, token.is_code, token.names_folder or folder)
            yield from _judged(inner, tree)


def _is_clear(text: str, token: _Token, tree: Tree) -> bool:
    """Tell whether ASCII `text` can hardly be anything but a path."""
    if _NO_PATH.search(text) or _MIME.match(text) or _SITE.match(text):
        return False
    if _HOME.match(text):
        return bool(_HAS_EXTENSION.fullmatch(text))
    parts = [part for part in re.split(r"[/\\]", text) if part not in ("", ".")]
    if all(re.fullmatch(r"[\d.]*", part) for part in parts):
        return False
    if not _HAS_EXTENSION.fullmatch(text):
        return _is_clear_folder(text, parts, token, tree)
    if len(parts) == 1:
        return not _NO_FILE.fullmatch(text) and tree.is_whole
    return not text.startswith("/") or tree.is_folder(parts[0])


def _is_clear_folder(text: str, parts: list[str], token: _Token, tree: Tree) -> bool:
    is_plain = all(re.fullmatch(r"[\w.+@-]+", part) for part in parts)
    if "/" not in text or text.startswith("/") or not is_plain:
        return False
    if parts[0] == "..":
        return True
    if _BRANCH.match(text) and not tree.is_folder(parts[0]):
        return False
    if text.endswith("/"):
        return len(parts[0]) > 1 and not text[0].isdigit()
    if len(parts) > 1 and tree.is_folder(parts[0]):
        return not all(tree.is_there(part) for part in parts)
    return len(parts) > 1 and (token.names_folder or (token.is_code and len(parts) > 2))


def _is_known(text: str, tree: Tree) -> bool:
    if _HOME.match(text) or text.startswith(".."):
        try:
            path = Path(os.path.realpath(tree.root / text))
            return path.exists() and path.is_relative_to(os.path.realpath(tree.root))
        except (OSError, ValueError):
            return False
    return tree.exists(text) or ("/" not in text and tree.mentions(text))
