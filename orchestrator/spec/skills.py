"""Skills: folders with a `SKILL.md`, in the open format that coding agents share.

An agent is told of each in one line, and opens what it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from orchestrator.errors import SpecError
from orchestrator.spec.complaints import complaints, describe
from orchestrator.spec.document import Document, parse, read_source
from orchestrator.spec.frontmatter import split_front

__all__ = ["FILE", "MAX_SKILLS", "Skill", "find_skills"]

FILE = "SKILL.md"
MAX_SKILLS = 50
"""Every agent carries a line for each."""
MAX_BYTES = 200_000


class _Front(BaseModel):
    """What we use of the settings. Others are legal, and none grants anything."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: Annotated[
        str, StringConstraints(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=64)
    ]
    description: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)
    ]


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    Attributes:
        name: small letters, digits, dashes.
        description: what it is for and when to use it, on one line.
        folder: absolute; its files may be read, its scripts run in the sandbox.
    """

    name: str
    description: str
    folder: Path


def find_skills(folders: Sequence[Path]) -> tuple[Skill, ...]:
    """Return the skills in `folders`, in their order.

    Args:
        folders: absolute; each a skill, or a folder of skills.

    Raises:
        SpecError: there is none, one is broken, or two have one name; `field` names
            the entry.
    """
    found: dict[str, Skill] = {}
    for index, folder in enumerate(folders):
        field = f"skills.{index}"
        for path in _files(folder, field):
            skill = _read(path, field)
            if skill.name in found:
                raise SpecError(
                    f"two skills are named `{skill.name}`: {found[skill.name].folder} "
                    f"and {skill.folder}",
                    field=field,
                )
            found[skill.name] = skill
    if len(found) > MAX_SKILLS:
        raise SpecError(
            f"found {len(found)} skills, allowed are {MAX_SKILLS}: every agent carries "
            "a line for each",
            field="skills",
        )
    return tuple(found.values())


def _files(folder: Path, field: str) -> Iterator[Path]:
    if (folder / FILE).is_file():
        yield folder / FILE
        return
    below = sorted(folder.glob(f"*/{FILE}")) if folder.is_dir() else []
    if not below:
        what = "holds no" if folder.is_dir() else "is no folder with a"
        raise SpecError(f"`{folder}` {what} `{FILE}`", field=field)
    yield from below


def _read(path: Path, field: str) -> Skill:
    try:
        document = _front(path)
        read = _Front.model_validate(document.value)
    except SpecError as error:
        raise SpecError(error.message, str(path), error.line, field) from error
    except ValidationError as error:
        where, message = complaints(error, model=_Front, data=document.value)[0]
        line = document.line_of(where)
        raise SpecError(message, str(path), line, ".".join(map(str, where))) from error
    return Skill(read.name, " ".join(read.description.split()), path.parent.resolve())


def _front(path: Path) -> Document:
    """Return the settings of a skill."""
    text = read_source(path, what="skill", max_bytes=MAX_BYTES).replace("\r\n", "\n")
    front, _ = split_front(text, str(path), what="a skill", body="what it says")
    document = parse(front, file=str(path), first_line=2)
    if not isinstance(document.value, dict):
        raise SpecError(
            "the part between the `---` lines must hold `key: value` lines, found "
            f"{describe(document.value)}",
            str(path),
            2,
        )
    return document
