from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from orchestrator.errors import OutsideWorkspace, ToolError
from orchestrator.security.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in (
        "README.md",
        "src/app.py",
        "src/auth/token.py",
        "src/auth/[id]/page.tsx",
        "docs/guide.md",
        "docs/图.md",
        "secrets/key.pem",
        "deep/er/key.pem",
    ):
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "other.txt").write_text("not yours")
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("src/app.py", "src/app.py"),
        ("./src//auth/../app.py", "src/app.py"),
        ("src/", "src"),
        ("", "."),
        (".", "."),
        ("docs/图.md", "docs/图.md"),
        ("not/there.py", "not/there.py"),
    ],
)
def test_a_path_inside_is_resolved(root: Path, path: str, found: str) -> None:
    workspace = Workspace(root)

    resolved = workspace.resolve(path)

    assert resolved.is_absolute()
    assert workspace.relative(resolved) == found


def test_an_absolute_path_inside_the_root_is_fine(root: Path) -> None:
    workspace = Workspace(root)

    assert workspace.relative(workspace.resolve(str(root / "src"))) == "src"


@pytest.mark.parametrize(
    "path", ["..", "../outside/other.txt", "src/../../outside", "/etc/passwd", "/"]
)
def test_a_path_that_leads_out_is_refused_by_the_name_it_was_given(
    root: Path, path: str
) -> None:
    with pytest.raises(OutsideWorkspace) as caught:
        Workspace(root).resolve(path)

    assert str(caught.value).startswith(f"`{path}` is outside the workspace; only")


def test_a_folder_with_the_same_beginning_is_outside(root: Path) -> None:
    root.with_name("root2").mkdir()

    with pytest.raises(OutsideWorkspace):
        Workspace(root).resolve("../root2")


def test_links_out_are_refused_and_links_inside_work(root: Path) -> None:
    (root / "out").symlink_to(root.parent / "outside")
    (root / "out.txt").symlink_to("../outside/other.txt")
    (root / "in").symlink_to("src/auth")
    workspace = Workspace(root)

    for path in ("out", "out/other.txt", "out.txt", "src/../out/other.txt"):
        with pytest.raises(OutsideWorkspace):
            workspace.resolve(path)
    assert workspace.resolve_file("in/token.py") == root / "src/auth/token.py"


def test_a_root_that_is_a_link_works_by_both_names(root: Path) -> None:
    link = root.with_name("link")
    link.symlink_to(root)
    workspace = Workspace(link)

    for path in ("src/app.py", str(link / "src/app.py"), str(root / "src/app.py")):
        assert workspace.relative(workspace.resolve(path)) == "src/app.py"
    assert workspace.relative(link / "src") == "src"


def test_a_link_to_nowhere_is_a_missing_file(root: Path) -> None:
    (root / "dangling").symlink_to("none.txt")
    (root / "dangling_out").symlink_to("../none.txt")

    with pytest.raises(ToolError, match="no file `dangling`"):
        Workspace(root).resolve_file("dangling")
    with pytest.raises(OutsideWorkspace):
        Workspace(root).resolve("dangling_out")


def test_a_loop_of_links_hides_no_way_out(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    (root / "out").symlink_to("../outside")
    workspace = Workspace(root)

    for path in ("loop/../out/other.txt", "loop/../out"):
        with pytest.raises(OutsideWorkspace):
            workspace.resolve(path)
    with pytest.raises(ToolError, match="`loop` is a link that leads nowhere"):
        workspace.resolve_file("loop")
    with pytest.raises(ToolError, match="cannot read `loop/x`: Too many levels"):
        workspace.resolve_file("loop/x")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("a\0b", "holds a NUL character"),
        ("a\ud83d", "holds half a character"),
        ("x" * 256, "too long for a path"),
        ("图" * 100, "too long for a path"),
        ("a/" * 2100, "too long for a path"),
    ],
)
def test_what_is_no_path_is_refused_in_a_bounded_message(
    root: Path, path: str, problem: str
) -> None:
    with pytest.raises(ToolError, match=problem) as caught:
        Workspace(root).resolve(path)

    assert len(str(caught.value)) < 350
    assert str(caught.value).isprintable()


def test_special_files_are_refused_before_they_are_opened(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(root)  # the name of a socket has to be short
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
        workspace = Workspace(root)

        with pytest.raises(ToolError, match=r"`pipe` is a pipe \(FIFO\)"):
            workspace.resolve_file("pipe")
        with pytest.raises(ToolError, match="`socket` is a socket"):
            workspace.resolve_file("socket")
    with pytest.raises(ToolError, match="`null` is a device"):
        Workspace(Path("/dev")).resolve_file("null")


def test_a_folder_is_no_file(root: Path) -> None:
    with pytest.raises(ToolError, match="`src/` is a folder, not a file"):
        Workspace(root).resolve_file("src/")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("src/App.py", "; did you mean `src/app.py`"),
        ("readme.md", "; did you mean `README.md`"),
        ("src/zzzzzz", ""),
        ("src/app.py/x", ""),
        ("none/app.py", ""),
        ("secrets/kye.pem", ""),
    ],
)
def test_a_missing_file_is_told_with_names_like_it_that_may_be_seen(
    root: Path, path: str, hint: str
) -> None:
    workspace = Workspace(root, exclude=("secrets/key.pem",))

    with pytest.raises(ToolError) as caught:
        workspace.resolve_file(path)

    assert str(caught.value) == f"no file `{path}`{hint}"


def test_two_names_like_it_are_both_told(root: Path) -> None:
    (root / "src" / "apps.py").touch()

    with pytest.raises(
        ToolError, match=r"`src/apps.py` or `src/app.py`|app.py` or `src"
    ):
        Workspace(root).resolve_file("src/appz.py")


@pytest.mark.parametrize(
    ("entry", "path", "excluded"),
    [
        ("secrets", "secrets/key.pem", True),
        ("secrets/", "secrets", True),
        ("./secrets//", "secrets/key.pem", True),
        ("/secrets", "secrets/key.pem", True),
        ("secrets/**", "secrets/key.pem", True),
        ("*.pem", "deep/er/key.pem", True),
        ("deep/*/key.pem", "deep/er/key.pem", True),
        ("**/er", "deep/er/key.pem", True),
        ("deep/**/*.pem", "deep/er/key.pem", True),
        ("*.{pem,key}", "secrets/key.pem", True),
        ("{docs,secrets}/", "secrets/key.pem", True),
        ("secrets/k[a-e]y.pem", "secrets/key.pem", True),
        ("src/auth/[id]", "src/auth/[id]/page.tsx", True),
        ("docs/图.md", "docs/图.md", True),
        ("secret", "secrets/key.pem", False),
        ("key.pem", "secrets/key.pem", False),
        ("secrets/*/key.pem", "secrets/key.pem", False),
        ("SECRETS", "secrets/key.pem", False),
        ("../outside", "secrets/key.pem", False),
        ("", "secrets/key.pem", False),
    ],
)
def test_excluded_is_what_the_entry_means(
    root: Path, entry: str, path: str, excluded: bool
) -> None:
    workspace = Workspace(root, exclude=(entry,))

    assert workspace.allows(path) is not excluded
    if excluded:
        with pytest.raises(OutsideWorkspace, match="is excluded by the task"):
            workspace.resolve(path)
    else:
        workspace.resolve_file(path)


def test_an_absolute_entry_is_taken_relative_to_the_root(root: Path) -> None:
    workspace = Workspace(root, exclude=(str(root / "secrets"),))

    assert not workspace.allows("secrets/key.pem")
    assert workspace.allows("docs/guide.md")


def test_a_link_to_something_excluded_is_excluded(root: Path) -> None:
    (root / "innocent.txt").symlink_to("secrets/key.pem")

    with pytest.raises(OutsideWorkspace, match=r"`innocent.txt` is excluded"):
        Workspace(root, exclude=("secrets",)).resolve("innocent.txt")


@pytest.mark.parametrize(
    ("include", "allowed", "refused"),
    [
        (
            ("src/auth",),
            (".", "src", "src/auth", "src/auth/token.py", "src/auth/new.py"),
            ("src/app.py", "docs", "README.md"),
        ),
        (
            ("**/*.md",),
            (".", "src", "docs/guide.md", "README.md"),
            ("src/app.py", "none"),
        ),
        (("*.py",), ("src/app.py", "src/auth/token.py", "docs"), ("docs/guide.md",)),
        (
            ("docs/*.md", "src/app.py"),
            ("docs", "docs/guide.md", "src/app.py"),
            ("deep",),
        ),
        ((".",), (".", "src/app.py"), ()),
        (("",), (), ("src/app.py",)),
    ],
)
def test_in_scope_is_what_is_included_and_the_folders_on_the_way(
    root: Path,
    include: tuple[str, ...],
    allowed: tuple[str, ...],
    refused: tuple[str, ...],
) -> None:
    workspace = Workspace(root, include=include)

    assert [path for path in allowed if not workspace.allows(path)] == []
    for path in refused:
        assert not workspace.allows(path)
        with pytest.raises(OutsideWorkspace, match="outside your scope; allowed: "):
            workspace.resolve(path)


def test_a_long_scope_is_told_shortened(root: Path) -> None:
    workspace = Workspace(root, include=tuple(f"d{n}" for n in range(11)))

    with pytest.raises(OutsideWorkspace, match=r"allowed: d0, d1, .*d7 and 3 more"):
        workspace.resolve("src/app.py")


def test_a_narrowed_workspace_sees_no_more_than_the_one_it_came_from(
    root: Path,
) -> None:
    outer = Workspace(root, include=("src",), exclude=("src/app.py",))

    inner = outer.narrowed(("src/auth", "docs"), ("*.tsx",))

    assert inner.allows("src/auth/token.py")
    for path in ("docs/guide.md", "src/app.py", "src/auth/[id]/page.tsx"):
        assert not inner.allows(path)
    assert inner.narrowed(exclude=("src/auth/token.py",)).include == inner.include
    assert Workspace(root).narrowed(("docs",)).allows("docs/guide.md")
    assert outer.narrowed() == outer


def test_case_does_not_help_where_the_file_system_ignores_it(root: Path) -> None:
    # The other spelling of the root leads to the same folder, as on macOS.
    root.with_name("ROOT").symlink_to(root)
    workspace = Workspace(root, exclude=("Secrets",))

    assert not workspace.allows("sEcReTs/key.pem")


def test_the_root_of_the_file_system_can_be_a_workspace() -> None:
    workspace = Workspace(Path("/"), exclude=("proc",))

    assert workspace.resolve("/dev/null") == Path("/dev/null")
    assert not workspace.allows("proc/self")


def test_a_path_outside_has_no_relative_name(root: Path) -> None:
    with pytest.raises(OutsideWorkspace, match="is outside the workspace"):
        Workspace(root).relative(root / ".." / "outside")


def test_very_many_alternatives_do_no_harm(root: Path) -> None:
    entry = "{a,b}" * 30

    assert Workspace(root, exclude=(entry,)).allows("src/app.py")


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        (".", "part"),
        ("src", "part"),
        ("src/auth", "whole"),
        ("src/auth/token.py", "whole"),
        ("src/app.py", "hidden"),
        ("docs", "part"),
        ("docs/guide.md", "whole"),
        ("secrets", "hidden"),
        ("deep/er/key.pem", "hidden"),
    ],
)
def test_a_view_tells_what_is_whole_and_what_only_leads_there(
    root: Path, path: str, seen: str
) -> None:
    workspace = Workspace(
        root, include=("src/auth", "docs/*.md", "deep"), exclude=("*.pem", "secrets")
    )
    assert workspace.view(path) == seen
