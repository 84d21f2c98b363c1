"""Read one `agents/*.md`: frontmatter into settings, body into the system prompt."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.errors import SpecError
from orchestrator.ids import sha256
from orchestrator.settings import bare_model
from orchestrator.spec.complaints import complaints, describe, nearest
from orchestrator.spec.document import Document, parse, read_source
from orchestrator.spec.foreign import (
    FOREIGN_KEYS,
    FOREIGN_MODELS,
    FOREIGN_TOOLS,
    LIMIT_KEYS,
    OUR_TOOLS,
    SAME_KEYS,
)
from orchestrator.spec.frontmatter import split_front
from orchestrator.spec.limits import AgentLimits
from orchestrator.spec.profile import Profile

__all__ = ["FOREIGN_FOLDER", "ProfileFile", "claimed_name", "read_profile"]

MAX_BYTES = 200_000
OUR_KEYS = (
    "name", "description", "tools", "disallowedTools", "model", "effort", "maxTurns",
    "limits",
)  # fmt: skip
FOREIGN_FOLDER = ".claude"
# Other programs read a description to the end of its line, colons and all.
_DESCRIPTION = re.compile(r"^(description:[ \t]+)(?![\"'|>])(.+)$", re.MULTILINE)
_RENAMED = {"disallowed_tools": "disallowedTools"}


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """One profile, and what of its file was not taken over."""

    profile: Profile
    ignored_keys: tuple[str, ...] = ()
    dropped_tools: tuple[str, ...] = ()


def claimed_name(path: Path) -> str:
    """Return the name that a broken file would have had, as far as it can be seen."""
    try:
        head = path.read_bytes()[:4000].decode("utf-8", errors="replace")
    except OSError:
        return path.stem
    found = re.search(r"^name:[ \t]*[\"']?([^\"'#\r\n]+)", head, re.MULTILINE)
    return found[1].strip() if found and found[1].strip() else path.stem


def read_profile(path: Path, *, source: str = "") -> ProfileFile:
    """Return the profile in `path`.

    Args:
        path: the file.
        source: how to name the file to the user; default: its path.

    Raises:
        SpecError: the file is broken: with line and the way out.
    """
    file = source or str(path)
    try:
        text = read_source(path, what="profile", max_bytes=MAX_BYTES)
    except SpecError as error:
        raise SpecError(error.message, file, error.line) from error
    front, body = split_front(
        text.replace("\r\n", "\n"), file, what="a profile", body="the system prompt"
    )
    if path.parent.parent.name == FOREIGN_FOLDER:
        front = _DESCRIPTION.sub(_in_quotes, front)
    document = parse(front, file=file, first_line=2)
    if not isinstance(document.value, dict):
        raise SpecError(
            "the part between the `---` lines must hold `key: value` lines, found "
            f"{describe(document.value)}",
            file,
            2,
        )
    reader = _Reader(document)
    data = reader.settings(path.stem)
    data |= {"prompt": body, "source": file, "sha256": sha256(path.read_bytes())}
    try:
        profile = Profile.model_validate(data)
    except ValidationError as error:
        where, message = complaints(error, model=Profile, data=data)[0]
        named = (_RENAMED.get(str(where[0]), where[0]), *where[1:]) if where else ()
        raise reader.error(message, *named) from error
    return ProfileFile(profile, tuple(reader.ignored), tuple(reader.dropped))


def _in_quotes(line: re.Match[str]) -> str:
    """Return a description as YAML takes it, whatever it holds."""
    return f"{line[1]}{json.dumps(line[2], ensure_ascii=False)}"


class _Reader:
    """Maps the frontmatter to the fields of `Profile`."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.data: dict[str, Any] = document.value
        self.ignored: list[str] = []
        self.dropped: list[str] = []

    def error(self, message: str, *where: str | int) -> SpecError:
        field = ".".join(str(step) for step in where)
        line = self.document.line_of(where)
        return SpecError(message, self.document.file, line, field)

    def _rename(self) -> None:
        """Take keys that others write for ours under our own name."""
        for theirs, ours in SAME_KEYS.items():
            if theirs not in self.data:
                continue
            if ours in self.data:
                raise self.error(f"means the same as `{ours}`; keep one", theirs)
            self.data[ours] = self.data.pop(theirs)
            for where, line in list(self.document.lines.items()):
                if where[:1] == (theirs,):
                    self.document.lines[(ours, *where[1:])] = line

    def settings(self, stem: str) -> dict[str, Any]:
        self._rename()
        self._check_keys()
        settings: dict[str, Any] = {
            "name": self._text("name") or stem,
            "description": self._text("description"),
            "limits": self._limits(),
        }
        if not settings["description"]:
            raise self.error(
                "is missing; say in a line what the agent is for: the lead chooses "
                "by it",
                "description",
            )
        if "tools" in self.data and not self._all_tools():
            settings["tools"] = self._tools("tools")
        if "disallowedTools" in self.data:
            settings["disallowed_tools"] = self._tools("disallowedTools")
        if model := self._text("model"):
            settings["model"] = self._model(model)
        if effort := self._text("effort"):
            settings["effort"] = effort
        return settings

    def _check_keys(self) -> None:
        for key in self.data:
            if key in OUR_KEYS or key in LIMIT_KEYS:
                continue
            if key in FOREIGN_KEYS:
                self.ignored.append(key)
                continue
            # A key that looks like one of ours must not be read over: it may be a
            # limit, or the list of tools.
            close = nearest(key, (*OUR_KEYS, *LIMIT_KEYS))
            if close:
                raise self.error(f"unknown key; did you mean `{close}`?", key)
            if re.search(
                r"max|limit|timeout|budget|allow|den[iy]|tool", key, re.IGNORECASE
            ):
                raise self.error(
                    "unknown key that looks like a limit; write limits as "
                    f"`limits: {{{', '.join(AgentLimits.model_fields)}}}` or "
                    "`maxTurns`, and tools as `tools` or `disallowedTools`",
                    key,
                )
            self.ignored.append(key)

    def _text(self, key: str) -> str:
        value = self.data.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(
                f"must be text, found {describe(value)}; put it in quotes", key
            )
        return " ".join(value.split())

    def _model(self, written: str) -> str | None:
        if written.lower() in FOREIGN_MODELS:
            return FOREIGN_MODELS[written.lower()]
        try:
            return bare_model(written)
        except SpecError as error:
            raise self.error(error.message, "model") from error

    def _limits(self) -> AgentLimits:
        limits = self._agent_limits(self.data.get("limits", {}), "limits")
        for key, name in LIMIT_KEYS.items():
            if key in self.data:
                value = {name: self.data[key]}
                limits = limits.narrowed(self._agent_limits(value, key))
        return limits

    def _agent_limits(self, value: object, key: str) -> AgentLimits:
        try:
            limits = AgentLimits.model_validate(value)
        except ValidationError as error:
            where, message = complaints(error, model=AgentLimits, data=value)[0]
            rest = where if key == "limits" else ()
            raise self.error(message, key, *rest) from error
        for name in limits.model_fields_set:
            if getattr(limits, name) is None:
                raise self.error("is empty; give a number", key, name)
        return limits

    def _all_tools(self) -> bool:
        value = self.data["tools"]
        return value in ("*", "all", ["*"])

    def _tools(self, key: str) -> tuple[str, ...]:
        value = self.data[key]
        if isinstance(value, str):
            written = _comma_split(value)
        elif isinstance(value, list) and all(isinstance(each, str) for each in value):
            written = [each.strip() for each in value]
        elif value is None:
            raise self.error("is empty; list tools, or leave the key out", key)
        else:
            raise self.error(
                "must be a list of tool names, or names with commas between, found "
                f"{describe(value)}",
                key,
            )
        names: list[str] = []
        for i, tool in enumerate(written):
            name = self._tool(tool, key, i)
            if name is None:
                self.dropped.append(tool)
            elif name not in names:
                names.append(name)
        if written and not names and key == "tools":
            raise self.error(
                f"none of {', '.join(written)} exists here; known tools: "
                f"{', '.join(sorted(OUR_TOOLS))}",
                key,
            )
        return tuple(names)

    def _tool(self, written: str, key: str, index: int) -> str | None:
        """Return our name for a tool, or None for one that we do not have.

        A pattern narrows a tool (`Bash(git log *)`). We cannot narrow it in the same
        way: so it is not granted, and where it is forbidden, all of it is. That goes
        for `Agent(worker)` too: which profiles may be sent is the task's to say.
        """
        bare, has_pattern, _pattern = written.partition("(")
        bare = bare.strip()
        if has_pattern and key == "tools":
            return None
        if bare in OUR_TOOLS:
            return bare
        if bare in FOREIGN_TOOLS:
            return FOREIGN_TOOLS[bare]
        if bare.startswith("mcp__"):
            return None
        close = nearest(bare, OUR_TOOLS)
        if close:
            raise self.error(
                f"unknown tool `{bare}`; did you mean `{close}`?", key, index
            )
        return bare if key == "disallowedTools" else None  # one of the user's own


def _comma_split(text: str) -> list[str]:
    """Split at commas outside of parentheses."""
    parts = re.split(r",(?![^(]*\))", text)
    return [part.strip() for part in parts if part.strip()]
