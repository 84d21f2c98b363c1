"""The memory commands: their very texts, and what they may not change."""

from __future__ import annotations

from typing import Any

import pytest
from memory_desk import AUTHOR, Desk

from orchestrator.errors import ToolError
from orchestrator.memory.commands import Commands
from orchestrator.memory.entries import Earlier, parse_topic
from orchestrator.memory.keeping import Author
from orchestrator.memory.rules import FORGOTTEN, PERSONS

PATH = "/memories/auth.md"
TEXT = "# Auth\n\nAbout auth.\n\n## Token lifetime\n\nTokens live 15 minutes.\n"
BY_HAND = "## Deploys\n\nOnly on Tuesdays.\n"


@pytest.fixture
def commands(desk: Desk) -> Commands:
    return desk.memory().commands(AUTHOR)


def run(commands: Commands, command: str, **args: Any) -> str:
    return commands.run({"command": command, **args})


def refused(commands: Commands, command: str, **args: Any) -> str:
    with pytest.raises(ToolError) as caught:
        run(commands, command, **args)
    return str(caught.value)


def make(commands: Commands, path: str = PATH, text: str = TEXT) -> None:
    told = run(commands, "create", path=path, file_text=text)
    assert told == f"File created successfully at: {path}"


class TestView:
    def test_a_folder_lists_two_levels_with_sizes(
        self, desk: Desk, commands: Commands
    ) -> None:
        desk.write("auth.md", "x" * 100)
        desk.write("api/large.md", "x" * 1536)
        desk.write("api/v1/deep.md", "x")
        desk.write("api/v1/.hidden.md", "x")
        desk.write("node_modules/no.md", "x")
        desk.write("picture.png", "x")
        desk.write("MEMORY.md", "x")

        head, own, *lines = run(commands, "view", path="/memories").split("\n")

        assert head == (
            "Here're the files and directories up to 2 levels deep in /memories, "
            "excluding hidden items and node_modules:"
        )
        assert own.endswith("\t/memories")
        assert [line.split("\t")[1] for line in lines] == [
            "/memories/MEMORY.md",
            "/memories/api/",
            "/memories/api/large.md",
            "/memories/api/v1/",
            "/memories/auth.md",
        ]
        assert "100B\t/memories/auth.md" in lines
        assert "1.5K\t/memories/api/large.md" in lines
        inner = run(commands, "view", path="/memories/api/")
        assert "\n1B\t/memories/api/v1/deep.md" in inner

    def test_nothing_yet_is_an_empty_folder_and_makes_none(
        self, desk: Desk, commands: Commands
    ) -> None:
        assert run(commands, "view", path="/memories").endswith("\n0B\t/memories")
        assert not desk.folder.exists()

    def test_a_file_has_numbered_lines(self, desk: Desk, commands: Commands) -> None:
        desk.write("auth.md", "# A\r\n\r\nb\n")

        assert run(commands, "view", path=PATH) == (
            "Here's the content of /memories/auth.md with line numbers:\n"
            "     1\t# A\n     2\t\n     3\tb"
        )
        assert run(commands, "view", path=PATH, view_range=[2, -1]).endswith(
            "numbers:\n     2\t\n     3\tb"
        )
        assert run(commands, "view", path=PATH, view_range=[3, 99])[-1] == "b"

    @pytest.mark.parametrize("view_range", [[0, 1], [2, 1], [4, 5], [1], ["a", "b"], 3])
    def test_a_range_that_is_none_is_refused(
        self, desk: Desk, commands: Commands, view_range: object
    ) -> None:
        desk.write("auth.md", "a\nb\nc\n")

        told = refused(commands, "view", path=PATH, view_range=view_range)
        assert told.startswith(f"Invalid `view_range` parameter: {view_range}. ")

    def test_a_long_file_is_cut_at_a_line_and_says_so(
        self, desk: Desk, commands: Commands
    ) -> None:
        desk.write("auth.md", "".join(f"line {n} {'x' * 100}\n" for n in range(300)))

        text = run(commands, "view", path=PATH)

        *_, last, told = text.split("\n")
        number = int(last.split("\t")[0])
        assert len(text) < 16_200
        assert told == (
            f"[cut at 16,000 characters, before line {number + 1} of 300; view the "
            "rest with `view_range`]"
        )
        rest = run(commands, "view", path=PATH, view_range=[number + 1, -1])
        assert f"\n{number + 1:>6}\tline {number} " in rest

    def test_too_many_lines_are_refused_in_the_documents_words(
        self, desk: Desk, commands: Commands
    ) -> None:
        desk.write("auth.md", "\n" * 1_000_001)

        assert refused(commands, "view", path=PATH) == (
            "File /memories/auth.md exceeds maximum line limit of 999,999 lines."
        )

    def test_secrets_that_a_person_wrote_are_not_shown(
        self, desk: Desk, commands: Commands
    ) -> None:
        desk.write("auth.md", "## Key\n\nsk-1\n")
        desk.redacted = {"sk-1": "[secret:key:00112233]"}

        assert "sk-1" not in run(commands, "view", path=PATH)

    def test_what_is_not_there_is_said(self, commands: Commands) -> None:
        assert refused(commands, "view", path="/memories/no.md") == (
            "The path /memories/no.md does not exist. Please provide a valid path."
        )


class TestCreate:
    def test_entries_are_stamped(self, desk: Desk, commands: Commands) -> None:
        (desk.work / "a.py").write_text("x = 15\n")
        make(
            commands,
            text=f"{TEXT}\n- evidence: a.py:1\n- confidence: 0.8\n- source: me/you\n"
            "- when: 1999-01-01\n- used: 1999-01-01\n- was: nothing. (1999-01-01)\n",
        )

        topic = parse_topic(desk.read("auth.md"), "auth.md")
        (entry,) = topic.entries
        assert (topic.title, topic.description) == ("Auth", "About auth.")
        assert (entry.when, entry.confidence) == ("2026-11-29", 0.8)
        assert (entry.source, entry.used, entry.was) == (AUTHOR.source, "", ())
        assert [bool(place.seal) for place in entry.evidence] == [True]
        assert not entry.is_by_a_person
        assert [k.entry.key for k in desk.memory().recall(["tokens live"])] == [
            entry.key
        ]
        assert "[auth.md](auth.md): About auth. (1 entry" in desk.read("MEMORY.md")

    def test_a_file_that_is_there_is_not_overwritten(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands)
        before = desk.read("auth.md")

        told = refused(commands, "create", path=PATH, file_text="## a\n\nb\n")
        assert told == f"Error: File {PATH} already exists"
        assert desk.read("auth.md") == before

    @pytest.mark.parametrize(
        ("text", "title"),
        [("# Only a title\n", "Only a title"), ("# T\n\nAnd a line about it.", "T"),
         ("# T\nAnd a line about it.", "T")],
    )  # fmt: skip
    def test_a_title_and_a_line_are_a_topic_without_entries(
        self, desk: Desk, commands: Commands, text: str, title: str
    ) -> None:
        make(commands, text=text)

        assert [about.title for about in desk.memory().topics()] == [title]

    def test_text_before_a_title_gets_one(self, desk: Desk, commands: Commands) -> None:
        make(commands, path="/memories/api/rate-limits.md", text="## a\n\nb\n")

        assert desk.read("api/rate-limits.md").startswith(
            "# Rate limits\n\n## a\n\nb\n"
        )

    @pytest.mark.parametrize(
        "text",
        ["- Likes tabs\n- Uses pytest", "Just words.", "# T\n\nOne.\n\nTwo.",
         "# T\n\n- x", f"# T\n\n{'word ' * 100}"],
    )  # fmt: skip
    def test_text_of_no_entry_is_refused_with_the_form(
        self, desk: Desk, commands: Commands, text: str
    ) -> None:
        told = refused(commands, "create", path=PATH, file_text=text)

        assert "text that belongs to no entry" in told
        assert "`## key`" in told
        assert not (desk.folder / "auth.md").exists()

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            (
                "## a\n\nThe build is failing right now.\n",
                "`a`: not lasting: “right now”",
            ),
            ("## a\n\nsk-1\n", "`a`: holds a secret"),
            (f"## a\n\n{'v' * 4001}\n", "`a`: its value has over 4,000 characters"),
            ("## a\n\n## b\n\nw\n", "`a`: it has no value"),
            ("## a\n\nv\n\n## A\n\nw\n", "it is there twice"),
            ("## gone for good\n\nv\n", f"`gone for good`: {FORGOTTEN}"),
            ("## elsewhere\n\nv\n", "it is in `/memories/x.md`; update it there"),
            ("# sk-1\n\n## a\n\nv\n", "first lines hold a secret"),
            ("# T\n\nTests fail right now.\n\n## a\n\nv\n", "in its first lines, not"),
        ],
    )
    def test_one_entry_that_may_not_be_refuses_the_whole(
        self, desk: Desk, commands: Commands, text: str, why: str
    ) -> None:
        desk.put("gone for good", "any value", "y.md")
        desk.memory().forget(["gone for good"])
        desk.put("elsewhere", "w", "x.md")
        desk.redacted = {"sk-1": "[secret:key:00112233]"}
        fine = "## fine\n\nIt lasts.\n\n"

        told = refused(
            commands, "create", path=PATH,
            file_text=text if text.startswith("#") and "# T" in text else text + fine,
        )  # fmt: skip

        assert told.startswith("nothing was written: ")
        assert why in told
        assert not (desk.folder / "auth.md").exists()

    @pytest.mark.parametrize(
        "path",
        [
            "/memories/../x.md", "/memories/a/../../x.md", "/memories/%2e%2e/x.md",
            "/memories/%2E%2E%2fx.md", "/memories/a\\..\\x.md", "/memories/x\0.md",
            "/etc/x.md", "x.md", "/memoriesx/x.md", "", "/memories/.index/x.md",
            "/memories/.hidden.md", "/memories/a/.b/x.md", "/memories/./x.md",
            "/memories/%252e%252e/x.md", "/memories/\n/x.md", "~/x.md",
            "/memories/link/x.md", "/memories/link.md", "/memories/gone.md",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("command", ["view", "create", "delete", "rename"])
    def test_no_path_leads_out(
        self, desk: Desk, commands: Commands, path: str, command: str
    ) -> None:
        outside = desk.work / "outside"
        outside.mkdir()
        (outside / "x.md").write_text("## secret\n\nof another\n")
        desk.folder.mkdir(parents=True)
        (desk.folder / "link").symlink_to(outside)
        (desk.folder / "link.md").symlink_to(outside / "x.md")
        (desk.folder / "gone.md").symlink_to(desk.work / "nowhere.md")
        args = {
            "view": {"path": path},
            "create": {"path": path, "file_text": "## a\n\nb\n"},
            "delete": {"path": path},
            "rename": {"old_path": path, "new_path": "/memories/new.md"},
        }

        told = refused(commands, command, **args[command])

        assert "of another" not in told
        assert (outside / "x.md").read_text() == "## secret\n\nof another\n"
        assert not (desk.work / "nowhere.md").exists()
        assert sorted(p.name for p in outside.iterdir()) == ["x.md"]
        assert not (desk.folder / "new.md").exists()

    @pytest.mark.parametrize(
        "path",
        ["/memories/a.txt", "/memories/a", "/memories", "/memories/MEMORY.md",
         "/memories/a/b/c/d.md"],
    )  # fmt: skip
    def test_only_topic_files_are_made(self, commands: Commands, path: str) -> None:
        assert "nothing was written" in refused(
            commands, "create", path=path, file_text="## a\n\nb\n"
        )


class TestStrReplace:
    def test_a_value_is_updated_with_its_history(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands)
        desk.day = "2026-12-01"
        told = run(commands, "str_replace", path=PATH, old_str="15", new_str="20")

        assert told == (
            "The memory file has been edited. Here is the snippet showing the change "
            "(with line numbers):\n"
            "     5\t## Token lifetime\n     6\t\n     7\tTokens live 20 minutes.\n"
            "     8\t\n     9\t- when: 2026-12-01\n    10\t- source: "
            f"{told.split('source: ')[1]}"
        )
        (entry,) = parse_topic(desk.read("auth.md"), "auth.md").entries
        assert entry.was == (Earlier("Tokens live 15 minutes.", "2026-11-29"),)
        assert not entry.is_by_a_person

    def test_a_missing_new_str_takes_the_text_out(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands, text=f"{TEXT}\n## Other\n\nv\n")
        text = desk.read("auth.md")
        run(commands, "str_replace", path=PATH, old_str=text[text.index("## Other") :])

        assert desk.keys() == ["Token lifetime"]

    def test_a_file_whose_last_entry_goes_stays(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands)
        text = desk.read("auth.md")
        run(commands, "str_replace", path=PATH, old_str=text[text.index("## ") :])
        run(commands, "insert", path=PATH, insert_line=3, insert_text="## b\n\nc")

        assert desk.read("auth.md").startswith("# Auth\n\nAbout auth.\n\n## b\n\nc\n")
        assert desk.keys() == ["b"]

    def test_the_errors_are_those_of_the_documents(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands, text="## a\n\nx y\nx z\n")

        for old, why in [
            ("nope", f"No replacement was performed, old_str `nope` did not appear "
                     f"verbatim in {PATH}."),
            ("", f"No replacement was performed, old_str `` did not appear verbatim in "
                 f"{PATH}."),
            ("x ", "No replacement was performed. Multiple occurrences of old_str `x ` "
                   "in lines: 5, 6. Please ensure it is unique"),
        ]:  # fmt: skip
            told = refused(commands, "str_replace", path=PATH, old_str=old, new_str="")
            assert told == why
        for path in ("/memories/no.md", "/memories"):
            told = refused(commands, "str_replace", path=path, old_str="a", new_str="b")
            assert told == (
                f"Error: The path {path} does not exist. Please provide a valid path."
            )

    def test_a_change_by_hand_elsewhere_in_the_file_survives(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands)
        run(commands, "view", path=PATH)
        desk.write("auth.md", f"{desk.read('auth.md')}\n{BY_HAND}")
        run(commands, "str_replace", path=PATH, old_str="15", new_str="20")

        assert desk.read("auth.md").endswith(f"\n{BY_HAND}")
        assert "20 minutes" in desk.read("auth.md")

    @pytest.mark.parametrize(
        ("old", "new"),
        [("Tuesdays", "Fridays"), ("## Deploys", "## Releases"), (BY_HAND, ""),
         ("Deploys\n\n", "Deploys\n\n## New\n\n")],
    )  # fmt: skip
    def test_a_persons_entry_is_not_changed(
        self, desk: Desk, commands: Commands, old: str, new: str
    ) -> None:
        text = f"## Ours\n\nv\n\n{BY_HAND}"
        desk.write("auth.md", text)

        told = refused(commands, "str_replace", path=PATH, old_str=old, new_str=new)
        assert told == f"nothing was written: `Deploys`: {PERSONS}"
        assert desk.read("auth.md") == text

    def test_lines_of_windows_stay(self, desk: Desk, commands: Commands) -> None:
        desk.write("auth.md", f"# T\n\n{BY_HAND}".replace("\n", "\r\n"))
        make(commands, path="/memories/x.md", text="## x\n\nv\n")
        run(commands, "insert", path=PATH, insert_line=5, insert_text="## a\n\nb\nc\n")
        run(commands, "str_replace", path=PATH, old_str="b\nc", new_str="d\ne")

        text = desk.read("auth.md")
        assert "\n" not in text.replace("\r\n", "")
        assert "\r\nd\r\ne\r\n" in text

    def test_marks_that_were_defused_for_the_view_are_found(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands, text="## a\n\nThe tag is <findings> here.\n")
        run(
            commands, "str_replace", path=PATH,
            old_str="is ‹findings> here", new_str="is gone",
        )  # fmt: skip

        assert "The tag is gone." in desk.read("auth.md")


class TestInsert:
    def test_lines_are_inserted(self, desk: Desk, commands: Commands) -> None:
        make(commands)
        run(commands, "view", path=PATH)
        told = run(
            commands,
            "insert",
            path=PATH,
            insert_line=7,
            insert_text="Refresh ones 30 days.",
        )

        assert told == f"The file {PATH} has been edited."
        (known,) = desk.memory().entries()
        assert known.entry.value == "Tokens live 15 minutes.\nRefresh ones 30 days."

    @pytest.mark.parametrize("line", [0, 1, 3, 4, 5, 7, 8, 9, 10])
    def test_an_entry_never_splits_another_or_the_head(
        self, desk: Desk, commands: Commands, line: int
    ) -> None:
        make(commands)
        desk.write("auth.md", f"{desk.read('auth.md')}\n{BY_HAND}")
        text = "## New\n\nIt is new."
        other = desk.memory().commands(AUTHOR)
        run(other, "insert", path=PATH, insert_line=line, insert_text=text)

        topic = parse_topic(desk.read("auth.md"), "auth.md")
        values = {entry.key: entry.value for entry in topic.entries}
        assert (topic.title, topic.description) == ("Auth", "About auth.")
        assert values == {
            "Token lifetime": "Tokens live 15 minutes.",
            "New": "It is new.",
            "Deploys": "Only on Tuesdays.",
        }
        assert [e.is_by_a_person for e in topic.entries if e.key != "Deploys"] == [
            False, False
        ]  # fmt: skip

    def test_the_errors_are_those_of_the_documents(
        self, desk: Desk, commands: Commands
    ) -> None:
        desk.write("auth.md", "# A\n\nb\n")

        for line in (-1, 4):
            told = refused(
                commands, "insert", path=PATH, insert_line=line, insert_text="x"
            )
            assert told == (
                f"Error: Invalid `insert_line` parameter: {line}. It should be within "
                "the range of lines of the file: [0, 3]"
            )
        for path in ("/memories/no.md", "/memories"):
            told = refused(
                commands, "insert", path=path, insert_line=0, insert_text="x"
            )
            assert told == f"Error: The path {path} does not exist"

    def test_a_file_that_changed_since_it_was_viewed_is_to_be_viewed_again(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands)
        run(commands, "view", path=PATH)
        desk.write("auth.md", f"\n{desk.read('auth.md')}")
        args = {"path": PATH, "insert_line": 7, "insert_text": "More."}

        assert refused(commands, "insert", **args) == (
            f"nothing was written: {PATH} changed since you viewed it; view it again"
        )
        run(commands, "view", path=PATH)
        run(commands, "insert", **{**args, "insert_line": 8})
        (known,) = desk.memory().entries()
        assert known.entry.value == "Tokens live 15 minutes.\nMore."

    def test_another_agent_has_its_own_view(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands)
        other = desk.memory().commands(AUTHOR)
        run(other, "insert", path=PATH, insert_line=0, insert_text="## b\n\nc")

        told = refused(
            commands, "insert", path=PATH, insert_line=0, insert_text="## d\n\ne"
        )
        assert "changed since you viewed it" in told


class TestDelete:
    def test_a_file_and_a_folder_go(self, desk: Desk, commands: Commands) -> None:
        make(commands)
        make(commands, path="/memories/api/v1/a.md", text="## a\n\nzebra\n")
        make(commands, path="/memories/api/b.md", text="## b\n\nw\n")

        assert run(commands, "delete", path=PATH) == f"Successfully deleted {PATH}"
        run(commands, "delete", path="/memories/api")
        assert desk.keys() == []
        assert sorted(p.name for p in desk.folder.iterdir()) == [".index", "MEMORY.md"]
        assert desk.memory().recall(["zebra"]) == []
        assert "api" not in desk.read("MEMORY.md")

    def test_what_holds_a_persons_entry_stays(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands, path="/memories/api/a.md")
        desk.write("api/b.md", BY_HAND)

        for path in ("/memories/api", "/memories/api/b.md"):
            told = refused(commands, "delete", path=path)
            assert told == (
                f"nothing was deleted: `Deploys` in /memories/api/b.md: {PERSONS}"
            )
        assert len(desk.keys()) == 2

    def test_the_words_of_a_person_without_entries_stay_too(
        self, desk: Desk, commands: Commands
    ) -> None:
        desk.write("auth.md", "# Notes\n\nFirst.\n\nSecond, by hand.\n")

        assert "a person" in refused(commands, "delete", path=PATH)

    def test_the_root_and_what_is_not_there(self, commands: Commands) -> None:
        for path in ("/memories", "/memories/"):
            assert "Cannot delete" in refused(commands, "delete", path=path)
        told = refused(commands, "delete", path="/memories/no.md")
        assert told == "Error: The path /memories/no.md does not exist"
        told = refused(commands, "delete", path="/memories/MEMORY.md")
        assert "written by the program" in told


class TestRename:
    def test_a_file_moves_with_a_persons_entry(
        self, desk: Desk, commands: Commands
    ) -> None:
        desk.write("auth.md", BY_HAND)
        new = "/memories/ops/deploys.md"

        told = run(commands, "rename", old_path=PATH, new_path=new)
        assert told == f"Successfully renamed {PATH} to {new}"
        assert desk.read("ops/deploys.md") == BY_HAND
        memory = desk.memory()
        assert [known.topic for known in memory.recall(["Tuesdays"])] == [
            "ops/deploys.md"
        ]
        assert "- [ops/deploys.md]" in desk.read("MEMORY.md")
        assert "[auth.md]" not in desk.read("MEMORY.md")
        assert desk.put("Deploys", "x").topic == "ops/deploys.md"

    def test_a_folder_moves_with_its_files(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands, path="/memories/a/x.md")
        run(commands, "rename", old_path="/memories/a", new_path="/memories/b")

        assert [about.path for about in desk.memory().topics()] == ["b/x.md"]
        assert not (desk.folder / "a").exists()

    def test_the_errors_are_those_of_the_documents(
        self, desk: Desk, commands: Commands
    ) -> None:
        make(commands)
        make(commands, path="/memories/b.md", text="## b\n\nc\n")

        told = refused(commands, "rename", old_path="/memories/no.md", new_path=PATH)
        assert told == "Error: The path /memories/no.md does not exist"
        told = refused(commands, "rename", old_path=PATH, new_path="/memories/b.md")
        assert told == "Error: The destination /memories/b.md already exists"
        for old, new in (
            ("/memories", "/memories/x"),
            ("/memories/MEMORY.md", "/memories/x.md"),
            (PATH, "/memories/MEMORY.md"),
            (PATH, "/memories/x.txt"),
            (PATH, "/memories/../x.md"),
        ):
            refused(commands, "rename", old_path=old, new_path=new)
        assert sorted(p.name for p in desk.folder.glob("*.md")) == [
            "MEMORY.md", "auth.md", "b.md"
        ]  # fmt: skip


@pytest.mark.parametrize(
    "args",
    [{}, {"command": "explode"}, {"command": "view"},
     {"command": "create", "path": PATH},
     {"command": "insert", "path": PATH, "insert_text": "x", "insert_line": "1"},
     {"command": "rename", "old_path": PATH}],
)  # fmt: skip
def test_a_call_that_makes_no_sense_is_told(
    commands: Commands, args: dict[str, Any]
) -> None:
    with pytest.raises(ToolError):
        commands.run(args)


def test_a_folder_that_cannot_be_written_is_told(
    desk: Desk, commands: Commands
) -> None:
    desk.folder.parent.mkdir()
    desk.folder.write_text("a file")

    assert "cannot be written" in refused(
        commands, "create", path=PATH, file_text="## a\n\nb\n"
    )


def test_what_others_of_the_run_wrote_keeps_its_lines_and_not_its_words(
    desk: Desk,
) -> None:
    text = "# Paper\n\n## One\n\nIt is 1.\n\n## Two\n\nIt is 2.\n"
    desk.memory().commands(Author("run", "a1")).run(
        {"command": "create", "path": "/memories/p.md", "file_text": text}
    )
    lead = desk.memory().commands(Author("run", "lead"))
    seen = {"command": "view", "path": "/memories/p.md"}
    shown = lead.run(seen)
    more = {"insert_line": 99, "insert_text": "## Three\n\nIt is 3.\n"}
    count = (desk.folder / "p.md").read_text().count("\n")
    lead.run({**seen, "command": "insert", **more, "insert_line": count})
    change = {"old_str": "It is 3.", "new_str": "It is 4."}
    changed = lead.run({**seen, "command": "str_replace", **change})
    later = desk.memory().commands(Author("later", "lead")).run(seen)

    assert "# Paper" in shown
    assert "It is" not in shown
    assert shown.count("another agent of this run wrote") == 2
    assert "It is 4." in changed
    assert "It is 2." not in changed
    assert shown.count("\n") == count
    assert all(f"It is {number}." in later for number in (1, 2, 4))
