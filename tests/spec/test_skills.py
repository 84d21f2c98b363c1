from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import SpecError
from orchestrator.spec.first_messages import workspace_text
from orchestrator.spec.skills import MAX_SKILLS, find_skills


def write(folder: Path, name: str = "pdf-forms", **keys: str) -> Path:
    given = {"name": name, "description": f"Fills in {name}.", **keys}
    front = "\n".join(f"{key}: {value}" for key, value in given.items() if value)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\n{front}\n---\n\n# How\n\nCarefully.\n")
    return folder


def test_a_folder_is_a_skill_or_holds_some(tmp_path: Path) -> None:
    one = write(tmp_path / "one", "one")
    write(tmp_path / "more" / "b", "b")
    write(tmp_path / "more" / "a", "a")

    found = find_skills([one, tmp_path / "more"])

    assert [each.name for each in found] == ["one", "a", "b"]
    assert found[0].folder == one


def test_keys_of_other_programs_are_legal_and_grant_nothing(tmp_path: Path) -> None:
    write(tmp_path, **{"allowed-tools": "Bash(rm *)", "license": "MIT"})

    [skill] = find_skills([tmp_path])

    assert not hasattr(skill, "allowed_tools")


def test_agents_are_told_of_each_in_one_line(tmp_path: Path) -> None:
    write(tmp_path, description="'Fills in forms.\n\n  Use it for PDF.'")

    text = workspace_text("shop", ["Top level: `a`"], find_skills([tmp_path]))

    assert "\n- `skill:pdf-forms`: Fills in forms. Use it for PDF." in text
    assert "skill" not in workspace_text("shop", ["Top level: `a`"])


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"description": ""}, "description"),
        ({"name": "PDF Forms"}, "name"),
        ({"name": "-x"}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"description": "'" + "x" * 1025 + "'"}, "description"),
        ({"description": "[1"}, "YAML"),
    ],
)
def test_a_broken_one_is_named_with_its_file(
    tmp_path: Path, keys: dict[str, str], words: str
) -> None:
    write(tmp_path / "bad", **keys)

    with pytest.raises(SpecError) as caught:
        find_skills([tmp_path / "bad"])

    assert caught.value.file.endswith("bad/SKILL.md")
    assert words.lower() in str(caught.value).lower()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# Just text\n", "does not start with `---`"),
        ("---\nname: a\n", "second `---` is missing"),
        ("---\nname: a\ndescription: b\n---\n", "after `---` is empty"),
        ("---\n- a\n---\nx\n", "`key: value`"),
    ],
)
def test_a_file_that_is_no_skill_says_what_one_looks_like(
    tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "SKILL.md").write_text(text)

    with pytest.raises(SpecError, match=words):
        find_skills([tmp_path])


def test_none_two_of_a_name_and_too_many_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="holds no"):
        find_skills([tmp_path])
    with pytest.raises(SpecError, match="is no folder"):
        find_skills([tmp_path / "gone"])
    write(tmp_path / "a"), write(tmp_path / "b")
    with pytest.raises(SpecError, match="two skills are named `pdf-forms`"):
        find_skills([tmp_path / "a", tmp_path / "b"])
    for number in range(MAX_SKILLS + 1):
        write(tmp_path / "many" / str(number), f"s{number}")
    with pytest.raises(SpecError, match=f"allowed are {MAX_SKILLS}"):
        find_skills([tmp_path / "many"])
