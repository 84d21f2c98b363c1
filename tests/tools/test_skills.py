from __future__ import annotations

import os
from pathlib import Path

import pytest
from tool_bench import ToolBench

from orchestrator.spec.skills import Skill
from orchestrator.tools.calls import CallSpec
from orchestrator.tools.refs import ReadRef
from orchestrator.tools.registry import Registry
from orchestrator.tools.skills import Skills

SKILL = "---\nname: forms\ndescription: Fills in forms.\n---\n\n# How\n\nCarefully.\n"


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    folder = tmp_path / "forms"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    (folder / "fields.md").write_text("\n".join(f"field {n}" for n in range(3000)))
    (folder / "scripts" / "fill.py").write_text("print('filled')\n")
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(40))
    (tmp_path / "outside.txt").write_text("canary")
    (folder / "out.md").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(folder / "pipe")
    bench = ToolBench(tmp_path)
    skills = Skills([Skill("forms", "Fills in forms.", folder)], runs_scripts=True)
    bench.executor.registry = Registry([ReadRef(skills)])
    return bench


async def opened(bench: ToolBench, ref: str, **arguments: object) -> str:
    call = CallSpec("t1", "read_ref", {"ref": ref, **arguments})
    [result] = await bench.run(call, allowed=["read_ref"])
    return ("ERROR " if result.is_error else "") + str(result.content)


async def test_a_skill_is_opened_with_its_other_files_named(bench: ToolBench) -> None:
    text = await opened(bench, "skill:forms")

    assert "Carefully." in text
    assert "`fields.md`" in text
    assert "`scripts/fill.py`" in text
    assert f"{bench.folder / 'forms'}" in text


async def test_scripts_are_not_offered_where_nothing_can_run_them(
    bench: ToolBench,
) -> None:
    skill = Skill("forms", "Fills in forms.", bench.folder / "forms")
    bench.executor.registry = Registry([ReadRef(Skills([skill], runs_scripts=False))])

    assert "`bash`" not in await opened(bench, "skill:forms")


async def test_files_come_page_by_page_and_by_pattern(bench: ToolBench) -> None:
    page = await opened(bench, "skill:forms/fields.md", first_line=2000, max_lines=2)
    hits = await opened(bench, "skill:forms/fields.md", pattern="field 77$")

    assert "2000\tfield 1999" in page
    assert "78\tfield 77" in hits


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("skill:form", "there are: `skill:forms`"),
        ("skill:", "there are: `skill:forms`"),
        ("skill:forms/gone.md", "no file `gone.md`"),
        ("skill:forms/out.md", "outside"),
        ("skill:forms/../outside.txt", "outside"),
        ("skill:forms//etc/passwd", "outside"),
        ("skill:forms/logo.png", "no text"),
        ("skill:forms/pipe", "a pipe"),
        ("skill:forms/scripts", "a folder"),
    ],
)
async def test_what_is_no_file_of_a_skill_is_refused(
    bench: ToolBench, ref: str, words: str
) -> None:
    text = await opened(bench, ref)

    assert text.startswith("ERROR")
    assert words in text
    assert "canary" not in text
