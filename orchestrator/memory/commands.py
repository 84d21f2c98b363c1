"""The API's memory commands, on the topic files of one scope, for one agent.

Their texts are those of the API's documents. What a model writes is stamped with its
day and source; what a person wrote is not changed by it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.errors import StoreError, ToolError
from orchestrator.memory.batch import Batch
from orchestrator.memory.catalog import Loaded
from orchestrator.memory.edits import Edit, is_title_alone, with_inserted
from orchestrator.memory.entries import Topic, topic_text
from orchestrator.memory.folder import INDEX_PAGE, Changed
from orchestrator.memory.forgetting import forgotten_in
from orchestrator.memory.keeping import Author
from orchestrator.memory.others import without_others
from orchestrator.memory.paths import ROOT, file_path, folder_path, refuse_index, within
from orchestrator.memory.rules import PERSONS
from orchestrator.memory.scope import BUSY, TRIES, Scope
from orchestrator.memory.viewing import MAX_LINES, listing_text, numbered, snippet
from orchestrator.security.untrusted import SIGN, as_written

__all__ = ["Commands"]

_MISSING: Final = "The path {path} does not exist. Please provide a valid path."
_STAMP: Final = re.compile(r"[-*] (?:when|source|used|was): ")
_STALE: Final = "nothing was written: {path} changed since you viewed it; view it again"


@dataclass(slots=True)
class Commands:
    """What one agent does with memory.

    Attributes:
        scope: of the files.
        author: the agent.
        entries_alone: it writes entries, and nothing above them.
    """

    scope: Scope
    author: Author
    entries_alone: bool = False
    _seen: dict[str, str] = field(default_factory=dict)
    """Path → digest of the text that the agent saw of it, or wrote, last."""

    def run(self, args: Mapping[str, Any]) -> str:
        """Carry one command out.

        Args:
            args: `command`, and what it takes.

        Returns:
            The text that says it is done, as the API's documents word it.

        Raises:
            ToolError: it is not done; the text says why.
        """
        commands: dict[str, Callable[[Mapping[str, Any]], str]] = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._str_replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }
        name = str(args.get("command"))
        if name not in commands:
            raise ToolError(f"there is no command `{name}`: {', '.join(commands)}")
        try:
            return commands[name](args)
        except StoreError as error:
            told = str(error).replace(str(self.scope.disk.root), ROOT)
            raise ToolError(told) from error

    def _view(self, args: Mapping[str, Any]) -> str:
        path = _text(args, "path")
        relative = within(path)
        listed = listing_text(self.scope.disk.root, path, relative)
        if listed is not None:
            return listed
        if not relative.endswith(".md"):
            raise ToolError(_MISSING.format(path=path))
        loaded = self.scope.catalog.load(relative)
        if loaded.text.found is None:
            raise ToolError(_MISSING.format(path=path))
        if loaded.text.is_cut and self.scope.disk.lines_of(relative) > MAX_LINES:
            raise ToolError(
                f"File {path} exceeds maximum line limit of {MAX_LINES:,} lines."
            )
        self._saw(relative, loaded.text.text)
        shown = self._shown(relative, loaded.text.text)
        return numbered(path, shown, args.get("view_range"), is_cut=loaded.text.is_cut)

    def _create(self, args: Mapping[str, Any]) -> str:
        path, text = _text(args, "path"), _text(args, "file_text")
        relative = file_path(path)

        def change(batch: Batch) -> None:
            if self._is_anything(relative):
                raise ToolError(f"Error: File {path} already exists")
            before = batch.topic(relative)
            self._write(batch, before, text)

        self._changed(change)
        return f"File created successfully at: {path}"

    def _str_replace(self, args: Mapping[str, Any]) -> str:
        path, old = _text(args, "path"), _text(args, "old_str")
        new = _text(args, "new_str") if args.get("new_str") is not None else ""
        relative = within(path)
        shown: list[str] = []

        def change(batch: Batch) -> None:
            loaded = self._there(
                batch, relative, f"Error: {_MISSING.format(path=path)}"
            )
            refuse_index(relative)
            text = loaded.text.text
            replaced = _replaced(path, text, old, new)
            written = self._write(batch, loaded.topic, replaced)
            shown[:] = [
                snippet(self._shown(relative, text), self._shown(relative, written))
            ]

        self._changed(change)
        what = "The memory file has been edited. Here is the snippet showing the change"
        return f"{what} (with line numbers):\n{shown[0]}"

    def _insert(self, args: Mapping[str, Any]) -> str:
        path, more = _text(args, "path"), _text(args, "insert_text")
        at = args.get("insert_line")
        if not isinstance(at, int):
            raise ToolError("`insert` takes `insert_line`, a number of lines")
        relative = within(path)

        def change(batch: Batch) -> None:
            loaded = self._there(
                batch, relative, f"Error: The path {path} does not exist"
            )
            refuse_index(relative)
            text = loaded.text.text
            count = text.count("\n") + (not text.endswith("\n") and bool(text))
            if not 0 <= at <= count:
                raise ToolError(
                    f"Error: Invalid `insert_line` parameter: {at}. It should be "
                    f"within the range of lines of the file: [0, {count}]"
                )
            if self._seen.get(relative, _digest(text)) != _digest(text):
                raise ToolError(_STALE.format(path=path))
            self._write(batch, loaded.topic, with_inserted(text, at, more))

        self._changed(change)
        return f"The file {path} has been edited."

    def _delete(self, args: Mapping[str, Any]) -> str:
        path = _text(args, "path")
        relative = within(path)
        if not relative:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        refuse_index(relative)

        def change(batch: Batch) -> None:
            paths = self._files(batch, relative)
            if not paths:
                raise ToolError(f"Error: The path {path} does not exist")
            for each in paths:
                if why := batch.why_cut(each):
                    raise ToolError(f"nothing was deleted: {why}")
                if kept := _persons(batch.topic(each)):
                    raise ToolError(
                        f"nothing was deleted: {kept} in {ROOT}/{each}: {PERSONS}"
                    )
            for each in paths:
                batch.remove(each)

        self._changed(change)
        return f"Successfully deleted {path}"

    def _rename(self, args: Mapping[str, Any]) -> str:
        old, new = _text(args, "old_path"), _text(args, "new_path")
        before = within(old)
        if not before:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        refuse_index(before)

        def change(batch: Batch) -> None:
            paths = self._files(batch, before)
            if not paths:  # what is no topic is a person's
                raise ToolError(f"Error: The path {old} does not exist")
            is_file = before in batch.listing.files
            after = file_path(new) if is_file else folder_path(new)
            for each in paths:  # what lies in a folder, too, stays a topic
                file_path(f"{ROOT}/{after}{each[len(before) :]}")
            if self._is_anything(after):
                raise ToolError(f"Error: The destination {new} already exists")
            try:
                batch.move(before, after, paths)
            except FileExistsError as error:
                message = f"Error: The destination {new} already exists"
                raise ToolError(message) from error

        self._changed(change)
        return f"Successfully renamed {old} to {new}"

    def _changed(self, change: Callable[[Batch], None]) -> None:
        """Make a change under the lock, anew where a person was faster."""
        for _ in range(TRIES):
            try:
                with self.scope.batch() as batch:
                    change(batch)
            except Changed:
                continue
            return
        raise ToolError(f"nothing was written: {BUSY}")

    def _write(self, batch: Batch, before: Topic, text: str) -> str:
        """Write what a new text makes of a topic, and return the text that it has."""
        edit = Edit(
            self.scope,
            batch,
            forgotten_in(self.scope.disk),
            self.author.source,
            self.scope.seals(),
            entries_alone=self.entries_alone,
        )
        topic = edit.topic(before, text)
        if why := batch.set_topic(topic):
            raise ToolError(f"nothing was written: {why}")
        batch.commit(topic.path, keeps_empty=True)
        written = topic_text(topic)
        self._saw(topic.path, written)
        return written

    def _shown(self, relative: str, text: str) -> str:
        """Return the text of a file as the agent may see it, line by line."""
        if relative == INDEX_PAGE:
            return self.scope.redact(text)
        return self.scope.redact(without_others(text, relative, self.author))

    def _there(self, batch: Batch, relative: str, missing: str) -> Loaded:
        if not relative.endswith(".md"):
            raise ToolError(missing)
        batch.topic(relative)
        loaded = self.scope.catalog.load(relative)
        if loaded.text.found is None:
            raise ToolError(missing)
        return loaded

    def _files(self, batch: Batch, relative: str) -> list[str]:
        """Return the topic files that a path means: one, or all of a folder."""
        if relative in batch.listing.files:
            return [relative]
        return [p for p in batch.listing.files if p.startswith(f"{relative}/")]

    def _is_anything(self, relative: str) -> bool:
        return self.scope.disk.is_there(relative)

    def _saw(self, path: str, text: str) -> None:
        self._seen[path] = _digest(text)


def _text(args: Mapping[str, Any], name: str) -> str:
    value = args.get(name)
    if not isinstance(value, str):
        raise ToolError(f"`{args.get('command')}` takes `{name}`, a text")
    return value


def _replaced(path: str, text: str, old: str, new: str) -> str:
    """Return a text with the one place of `old` replaced.

    Raises:
        ToolError: there is none, or more than one.
    """
    if "\r\n" in text:
        old = old.replace("\r\n", "\n").replace("\n", "\r\n")
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    if old not in text and SIGN in old:
        old = as_written(old)  # as it was shown, with marks defused
    places = _places(text, old)
    if not places:
        raise ToolError(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in "
            f"{path}."
        )
    if len(places) > 1:
        # What the program added to an entry is not what is meant.
        places = [
            at for at in places if not _STAMP.match(text, _line(text, at))
        ] or places
    if len(places) > 1:
        lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in places)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in "
            f"lines: {lines}. Please ensure it is unique"
        )
    return f"{text[: places[0]]}{new}{text[places[0] + len(old) :]}"


def _places(text: str, old: str) -> list[int]:
    places, at = list[int](), text.find(old) if old else -1
    while at >= 0:
        places.append(at)
        at = text.find(old, at + 1)
    return places


def _line(text: str, at: int) -> int:
    """Return where the line of a place begins."""
    return text.rfind("\n", 0, at) + 1


def _persons(topic: Topic) -> str:
    """Return what of a topic a person wrote, or ""."""
    for entry in topic.entries:
        if entry.is_by_a_person:
            return f"`{entry.key}`"
    is_ours = topic.entries or is_title_alone(topic.head or "")
    return "" if is_ours else "the text"


def _digest(text: str) -> str:
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()
