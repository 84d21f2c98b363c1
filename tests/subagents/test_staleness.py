from __future__ import annotations

import os
from pathlib import Path

import pytest
from tool_bench import ToolBench

from orchestrator.agent.outside import Staleness
from orchestrator.events import Event, ToolEnded
from orchestrator.findings import Evidence, Findings, Item
from orchestrator.ids import sha256
from orchestrator.security.workspace import Workspace
from orchestrator.subagents.sightings import Sightings
from orchestrator.subagents.staleness import stale, stale_note
from orchestrator.tools.extraction import MAX_DOCUMENT_BYTES

QUOTE = "a quote that is long enough to count"


def read(root: Path, *names: str) -> dict[str, str]:
    return {name: sha256((root / name).read_bytes()) for name in names}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    for name in ("src/a.py", "src/b.py", "docs/c.md"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"this is {name}\n")
    return root


def test_files_that_stayed_are_not_stale(root: Path) -> None:
    sources = read(root, "src/a.py", "docs/c.md")

    (root / "src/b.py").write_text("somebody else's")
    os.utime(root / "src/a.py", ns=(0, 0))
    (root / "docs/c.md").write_text((root / "docs/c.md").read_text())

    assert stale(Workspace(root), sources) == {}


def test_changed_and_lost_files_are_told_apart(root: Path) -> None:
    sources = read(root, "src/a.py", "src/b.py", "docs/c.md")

    (root / "src/a.py").write_text("THIS IS src/a.py\n")
    (root / "docs/c.md").unlink()

    assert stale(Workspace(root), sources) == {
        "src/a.py": "changed",
        "docs/c.md": "gone",
    }


def test_what_can_no_longer_be_opened_is_gone(root: Path, tmp_path: Path) -> None:
    sources = read(root, "src/a.py", "src/b.py", "docs/c.md")
    secret = tmp_path / "secret"
    secret.write_bytes((root / "src/a.py").read_bytes())
    for name in sources:
        (root / name).unlink()

    (root / "src/a.py").symlink_to(secret)  # a way out of the workspace
    (root / "src/b.py").mkdir()
    os.mkfifo(root / "docs/c.md")

    assert stale(Workspace(root), sources) == dict.fromkeys(sources, "gone")


def test_a_file_out_of_scope_is_gone(root: Path) -> None:
    sources = read(root, "src/a.py", "docs/c.md")

    assert stale(Workspace(root, exclude=("docs",)), sources) == {"docs/c.md": "gone"}


def test_a_file_that_grew_beyond_all_bounds_has_changed(root: Path) -> None:
    sources = read(root, "src/a.py")
    with (root / "src/a.py").open("r+b") as file:
        file.truncate(50 * MAX_DOCUMENT_BYTES)

    assert stale(Workspace(root), sources) == {"src/a.py": "changed"}


def test_results_addresses_and_unknown_versions_are_no_files(root: Path) -> None:
    sources = {
        "art_0123456789ab": "0" * 64,
        "https://example.org/page": "0" * 64,
        "src/a.py": "",
    }

    assert stale(Workspace(root), sources) == {}


@pytest.mark.parametrize(
    "name", ["中文 名.md", "[id].tsx", "a:12-14", "a\nb", "x" * 300]
)
def test_odd_names_are_looked_up_as_they_are(root: Path, name: str) -> None:
    sources = {name: sha256(b"odd")}
    workspace = Workspace(root)

    assert stale(workspace, sources) == {name: "gone"}
    if len(name) < 256:
        (root / name).write_bytes(b"odd")
        assert stale(workspace, sources) == {}


async def test_what_the_tools_say_they_saw_is_fresh_until_it_changes(
    tmp_path: Path,
) -> None:
    bench = ToolBench(tmp_path)
    files = {
        "plain.py": b"import os\nprint(1)\n",
        "windows.txt": "Erste Zeile\r\nzweite \xfc\r\n".encode("cp1252"),
        "page.html": b"<html><body><p>Tokens last an hour.</p></body></html>",
        "key.env": b"TOKEN=ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\n",
    }
    for name, data in files.items():
        bench.write(name, data)
        await bench.text("read_file", path=name)
    bench.write("found.md", "Tokens last an hour.\n")
    await bench.text("grep", pattern="Tokens")
    sources = sources_of(bench.events)

    assert set(sources) == {*files, "found.md"}
    assert stale(bench.workspace, sources) == {}
    for name in sources:
        bench.write(name, b"something else\n")
    assert stale(bench.workspace, sources) == dict.fromkeys(sources, "changed")


def sources_of(events: list[Event]) -> dict[str, str]:
    sightings = Sightings()
    for event in events:
        if event.kind == ToolEnded.KIND:
            sightings.apply(event)
    return {path: seen[-1].sha256 for path, seen in sightings.of("a1").items()}


def found(*sources: str) -> Findings:
    items = tuple(
        Item(
            claim="One fact, in a sentence.",
            evidence=tuple(
                Evidence(source=each, quote=QUOTE) for each in of_item.split(", ")
            ),
        )
        for of_item in sources
    )
    return Findings(status="complete", summary="What was found.", items=items)


def test_the_note_names_each_file_with_its_items() -> None:
    findings = found("src/a.py:1-2", "b.md:3", "src/a.py:9, src/a.py:12, c.md:1")
    files: dict[str, Staleness] = {"src/a.py": "changed", "b.md": "gone"}

    note = stale_note(findings, files, agent="a2")

    assert note == (
        "changed since it was read: `src/a.py` (a2#1, a2#3); gone since it was read: "
        "`b.md` (a2#2)"
    )


def test_items_of_a_follow_up_are_numbered_on() -> None:
    note = stale_note(found("a.py:1"), {"a.py": "changed"}, agent="a7", first_item=5)

    assert note == "changed since it was read: `a.py` (a7#5)"


def test_where_nothing_is_stale_nothing_is_said() -> None:
    assert stale_note(found("a.py:1"), {}, agent="a1") == ""


def test_a_file_of_items_that_were_cut_is_named_alone_and_last() -> None:
    files: dict[str, Staleness] = {"cut.py": "changed", "a.py": "changed"}

    note = stale_note(found("a.py:1"), files, agent="a1")

    assert note == "changed since it was read: `a.py` (a1#1), `cut.py`"


def test_the_note_stays_short_whatever_is_stale() -> None:
    names = [f"{'deep/' * 80}{n}`\n.py" for n in range(500)]
    every = ", ".join(f"{name}:1" for name in names[:30])
    findings = found(*[every] * 500)
    files: dict[str, Staleness] = dict.fromkeys(names, "changed")

    note = stale_note(findings, files | {"x": "gone"}, agent="a1")

    assert len(note) < 2500
    assert "\n" not in note
    assert "and 490 more files; gone since it was read: `x`" in note
