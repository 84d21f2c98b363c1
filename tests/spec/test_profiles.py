from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import SpecError
from orchestrator.resources import data_root
from orchestrator.spec.foreign import available_tools
from orchestrator.spec.profile import Profile
from orchestrator.spec.profile_file import read_profile
from orchestrator.spec.profiles import LEAD, allowed_tools, discover, select

GOOD = "---\nname: {name}\ndescription: d\n---\nprompt of {name}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("task/agents", "cwd/agents", "cwd/.claude/agents"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def write(folder: Path, front: str, body: str = "You look.") -> Path:
    path = folder / "scout.md"
    path.write_text(f"---\nname: scout\ndescription: d\n{front}\n---\n{body}\n")
    return path


def read(folder: Path, front: str) -> Profile:
    return read_profile(write(folder, front)).profile


@pytest.mark.parametrize(
    "path", sorted((data_root() / "agents").glob("*.md")), ids=lambda p: p.stem
)
def test_every_shipped_profile_is_valid_and_whole(path: Path) -> None:
    file = read_profile(path)

    assert file.profile.name == path.stem
    assert not file.ignored_keys
    assert not file.dropped_tools
    assert file.profile.tools is not None
    is_lead = path.stem == LEAD
    tools = allowed_tools(file.profile, is_lead=is_lead, may_delegate=True)
    assert set(tools) == set(file.profile.tools)


def test_no_code_lies_among_the_shipped_files() -> None:
    for folder in ("agents", "prompts"):
        assert not [
            path
            for path in (data_root() / folder).rglob("*")
            if path.is_file() and path.suffix != ".md"
        ]


class TestOneFile:
    def test_all_fields_are_read(self, tmp_path: Path) -> None:
        profile = read(
            tmp_path,
            "tools: [grep, read_file]\ndisallowedTools: glob\nmodel: opus\n"
            "effort: low\nmaxTurns: 9\nlimits: {usd: 0.5, turns: 12}",
        )

        assert profile.tools == ("grep", "read_file")
        assert profile.disallowed_tools == ("glob",)
        assert profile.model == "claude-opus-5-5"
        assert profile.effort == "low"
        assert (profile.limits.turns, profile.limits.usd) == (9, 0.5)
        assert profile.prompt == "You look."
        assert len(profile.sha256) == 64

    def test_foreign_tools_and_models_are_mapped(self, tmp_path: Path) -> None:
        file = read_profile(
            write(
                tmp_path,
                "tools: Read, Grep, Glob, LS, Bash, Edit, WebSearch, mcp__x__y\n"
                "model: inherit\ncolor: red\npermissionMode: bypassPermissions\n"
                "hooks: {PreToolUse: []}",
            )
        )

        assert file.profile.tools == (
            "read_file", "grep", "glob", "list_dir", "bash", "edit_file",
        )  # fmt: skip
        assert file.profile.model is None
        assert file.dropped_tools == ("WebSearch", "mcp__x__y")
        assert set(file.ignored_keys) == {"color", "permissionMode", "hooks"}

    def test_a_narrowed_tool_is_not_widened(self, tmp_path: Path) -> None:
        profile = read(
            tmp_path,
            "tools: Read, Bash(git log:*), Agent(worker)\n"
            "disallowedTools: Grep(secret)",
        )

        assert profile.tools == ("read_file",)
        assert profile.disallowed_tools == ("grep",)

    def test_other_spellings_of_tools_hold(self, tmp_path: Path) -> None:
        assert read(tmp_path, "allowed-tools: Read").tools == ("read_file",)
        assert read(tmp_path, "disallowed_tools: Read").disallowed_tools == (
            "read_file",
        )

    @pytest.mark.parametrize("tools", ["'*'", "all", "['*']"])
    def test_a_star_means_all_tools(self, tmp_path: Path, tools: str) -> None:
        assert read(tmp_path, f"tools: {tools}").tools is None

    def test_an_empty_list_of_tools_is_not_all_of_them(self, tmp_path: Path) -> None:
        profile = read(tmp_path, "tools: []")

        assert profile.tools == ()
        assert allowed_tools(profile, is_lead=False) == (
            "read_ref", "recall", "submit_findings", "update_notes",
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("key", "value", "limit"),
        [
            ("max_turns", "7", ("turns", 7)),
            ("maxSteps", "7", ("turns", 7)),
            ("timeout_mins", "3", ("minutes", 3)),
        ],
    )
    def test_limits_under_foreign_names_hold(
        self, tmp_path: Path, key: str, value: str, limit: tuple[str, int]
    ) -> None:
        limits = read(tmp_path, f"{key}: {value}").limits
        assert getattr(limits, limit[0]) == limit[1]

    @pytest.mark.parametrize(
        ("front", "line", "words"),
        [
            ("maxTurn: 5", 4, "did you mean `maxTurns`"),
            ("limit: {usd: 1}", 4, "did you mean `limits`"),
            ("maxCost: 1", 4, "looks like a limit"),
            ("allowed-tools: Read\ntools: grep", 4, "means the same as `tools`"),
            ("allowed-tools: [raed_file]", 4, "did you mean `read_file`"),
            ("denied: Read", 4, "looks like a limit"),
            ("limits: {turn: 5}", 4, "did you mean `turns`"),
            ("limits:\n  usd: free", 5, "must be a number"),
            ("limits: {usd: null}", 4, "is empty"),
            ("limits: 5", 4, "must be a mapping"),
            ("maxTurns: none", 4, "whole number"),
            ("maxTurns: 0", 4, "1 or more"),
            ("tools: [raed_file]", 4, "did you mean `read_file`"),
            ("tools: [WebSearch]", 4, "none of WebSearch exists here"),
            ("tools:", 4, "is empty"),
            ("tools: 5", 4, "must be a list"),
            ("effort: hgh", 4, "did you mean `high`"),
            ("model: 5", 4, "must be text"),
            ("model: openai:gpt-5", 4, "of another provider"),
            ("model: a\nmodel: b", 5, "given twice"),
        ],
    )
    def test_no_profile_starts_with_fewer_limits_than_written(
        self, tmp_path: Path, front: str, line: int, words: str
    ) -> None:
        with pytest.raises(SpecError) as caught:
            read(tmp_path, front)

        assert caught.value.line == line
        assert words in caught.value.message

    def test_an_unquoted_colon_is_named_with_the_way_out(self, tmp_path: Path) -> None:
        path = tmp_path / "a.md"
        path.write_text("---\nname: a\ndescription: Use for: a, b\n---\nbody\n")

        with pytest.raises(SpecError) as caught:
            read_profile(path)

        assert str(path) in str(caught.value)
        assert caught.value.line == 3
        assert 'description: "Use for: a, b"' in str(caught.value)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("just text", "does not start with `---`"),
            ("---\nname: a\n", "the second `---` is missing"),
            ("---\nname: a\ndescription: d\n---\n \n", "system prompt after"),
            ("---\nname: a\n---\nbody", "is missing; say in a line"),
            ("---\n- a\n---\nbody", "must hold `key: value` lines"),
            ("", "is empty"),
        ],
    )
    def test_a_file_that_is_no_profile_says_what_is_missing(
        self, tmp_path: Path, text: str, words: str
    ) -> None:
        path = tmp_path / "a.md"
        path.write_text(text)
        with pytest.raises(SpecError, match=words):
            read_profile(path)

    def test_line_ends_of_other_systems_are_read(self, tmp_path: Path) -> None:
        path = tmp_path / "a.md"
        path.write_bytes(b"\xef\xbb\xbf---\r\ndescription: d\r\n---\r\nbody\r\n")
        profile = read_profile(path).profile
        assert (profile.name, profile.prompt) == ("a", "body")


class TestDiscovery:
    def put(self, path: Path, name: str = "") -> None:
        path.write_text(GOOD.format(name=name or path.stem))

    def test_the_nearest_file_wins_and_the_others_are_listed(
        self, folder: Path
    ) -> None:
        for place in ("task/agents", "cwd/agents", "cwd/.claude/agents"):
            self.put(folder / place / "explorer.md")

        found = discover(folder / "task", folder / "cwd")

        assert found.files["explorer"] == folder / "task/agents/explorer.md"
        assert [each.source for each in found.shadowed] == [
            "agents/explorer.md",
            ".claude/agents/explorer.md",
            str(data_root() / "agents/explorer.md"),
        ]
        assert {"lead", "explorer", "reviewer"} <= set(found.profiles)

    def test_one_broken_file_leaves_the_others_usable(self, folder: Path) -> None:
        agents = folder / "cwd/agents"
        self.put(agents / "one.md")
        (agents / "two.md").write_text("---\ndescription: Use for: a, b\n---\nx")
        self.put(agents / "three.md")

        found = discover(folder / "task", folder / "cwd")

        assert {"one", "three"} <= set(found.profiles)
        assert "two" not in found.profiles
        assert [str(problem).split(":")[:2] for problem in found.problems] == [
            ["agents/two.md", "2"]
        ]

    def test_a_broken_file_is_not_replaced_by_a_weaker_one(self, folder: Path) -> None:
        (folder / "task/agents/mine.md").write_text(
            "---\nname: explorer\ndescription: d\nmaxTurn: 3\n---\nx"
        )
        found = discover(folder / "task", folder / "cwd")

        with pytest.raises(SpecError, match="maxTurns"):
            select(["explorer"], found)
        assert "reviewer" in select(["reviewer"], found).subagents

    def test_a_missing_profile_is_told_with_what_exists(self, folder: Path) -> None:
        found = discover(folder / "task", folder / "cwd")
        with pytest.raises(
            SpecError, match="no profile `scout`; there are: explorer, r"
        ):
            select(["scout"], found)

    def test_what_was_read_over_is_one_notice(self, folder: Path) -> None:
        for name in ("a", "b"):
            (folder / f"cwd/.claude/agents/{name}.md").write_text(
                "---\ndescription: d\ncolor: red\ntools: Read, WebSearch\n---\nx"
            )
        found = discover(folder / "task", folder / "cwd")

        assert len(found.notices) == 1
        assert "color" in found.notices[0]
        assert "WebSearch" in found.notices[0]
        chosen = select(["a"], found)
        assert len(chosen.notices) == 1
        assert ".claude/agents/a.md" in chosen.notices[0]

    def test_a_foreign_description_may_hold_colons_and_marks(
        self, folder: Path
    ) -> None:
        text = (
            "Use it to review. Examples: <example>Context: a # b, user: 'x'</example>"
        )
        (folder / "cwd/.claude/agents/critic.md").write_text(
            f"---\nname: critic\ndescription: {text}\ncolor: red\n---\nReview."
        )
        found = discover(folder / "task", folder / "cwd")

        assert not found.problems
        assert found.profiles["critic"].description == text

    def test_a_lead_of_another_program_is_not_taken(self, folder: Path) -> None:
        self.put(folder / "cwd/.claude/agents/lead.md")
        found = discover(folder / "task", folder / "cwd")

        assert found.files[LEAD] == data_root() / "agents/lead.md"
        assert "lead" in found.notices[0]

    def test_one_folder_under_two_names_is_read_once(self, folder: Path) -> None:
        self.put(folder / "cwd/agents/a.md")
        assert not discover(folder / "cwd", folder / "cwd").shadowed

    def test_readme_and_folders_are_no_profiles(self, folder: Path) -> None:
        (folder / "cwd/agents/README.md").write_text("about")
        (folder / "cwd/agents/x.md").mkdir()
        (folder / "cwd/agents/gone.md").symlink_to("nowhere")

        found = discover(folder / "task", folder / "cwd")

        assert [problem.file for problem in found.problems] == ["agents/gone.md"]


class TestAllowedTools:
    def profile(self, **fields: object) -> Profile:
        return Profile.model_validate(
            {"name": "a", "description": "d", "prompt": "p", **fields}
        )

    def test_without_depth_a_subagent_can_neither_delegate_nor_finish(self) -> None:
        tools = allowed_tools(
            self.profile(tools=["delegate", "finish", "grep"]), is_lead=False
        )
        assert set(tools) == {
            "grep",
            "read_ref",
            "recall",
            "submit_findings",
            "update_notes",
        }

    def test_the_hand_in_cannot_be_disallowed(self) -> None:
        profile = self.profile(disallowed_tools=["finish", "update_notes"])
        tools = allowed_tools(profile, is_lead=True)
        assert "finish" in tools
        assert "update_notes" not in tools
        assert "submit_findings" not in tools

    def test_what_the_run_does_not_have_is_left_out(self) -> None:
        available = available_tools((), has_memory=False)
        tools = allowed_tools(
            self.profile(tools=["memory", "grep"]), is_lead=False, available=available
        )
        assert "memory" not in tools
