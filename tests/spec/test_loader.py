from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.errors import NotYet, SpecError
from orchestrator.spec.loader import (
    blame,
    dump_task,
    legal_name,
    load_task,
    task_from_objective,
)
from orchestrator.spec.task import Task


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "README.md").write_text("about\n")
    return tmp_path


def load(folder: Path, text: str, **overrides: str) -> Task:
    path = folder / "my task.yaml"
    path.write_text(text, encoding="utf-8")
    return load_task(path, {k.replace("__", "."): v for k, v in overrides.items()})


FULL = """\
name: auth-survey
objective: >
  Explain how requests are authenticated.
questions:
  - Where are tokens checked?
workspace: ./sub
constraints:
  - Do not open anything under secrets/.
context: []
deliverable:
  format: json
  max_tokens: 3000
  schema: {type: object, properties: {a: {$ref: "#/$defs/x"}}, $defs: {x: {}}}
model: {lead: claude-sonnet-5-5, subagents: offline}
effort: high
fallback_model: null
agents: [explorer, reviewer]
allow: []
tools: []
mcp_servers: {}
memory: {scope: none, runs: false}
skills: []
redact: [secrets]
limits: {usd: 2.0, tokens: 3_000_000, minutes: 30, turns: 200, subagents: 24,
         concurrency: 8, depth: 1, max_output_tokens: 8192,
         call_s: 600, silence_s: 90, stall_s: 300, outage_s: 300}
context_policy: {preset: long, clip_tokens: 1000}
"""


def test_a_task_with_every_field_is_read(folder: Path) -> None:
    task = load(folder, FULL)

    assert task.name == "auth-survey"
    assert task.objective == "Explain how requests are authenticated.\n"
    assert task.workspace == (folder / "sub").resolve()
    assert task.effort.lead == task.effort.subagents == "high"
    assert task.model.subagents == "offline"
    assert task.context_policy.clip_tokens == 1000
    assert task.limits.tokens == 3_000_000


def test_an_objective_is_enough_and_the_rest_has_defaults(folder: Path) -> None:
    task = load(folder, "objective: look\n")

    assert task.name == "my-task"
    assert task.workspace == folder.resolve()
    assert task.agents == ("explorer",)
    assert task.limits.usd == 2.0


BAD = [
    # text, line, field, words
    ("objektive: x", 1, "objektive", "did you mean `objective`"),
    ("questions: []", 1, "objective", "is missing; say what is wanted"),
    ("objective:", 1, "objective", "is empty; say what is wanted"),
    ("objective: '  '", 1, "objective", "found only blanks"),
    ("objective: 5", 1, "objective", "must be text, found the number 5"),
    ("objective: yes", 1, "objective", "must be text, found `true`"),
    ("objective: [a]", 1, "objective", "must be text, found a list of 1"),
    ("objective: x\nlimit: {usd: 3}", 2, "limit", "did you mean `limits`"),
    ("objective: x\nzzz: 1", 2, "zzz", "allowed: agents"),
    ("objective: x\nlimits:\n  turn: 3", 3, "limits.turn", "did you mean `turns`"),
    ("objective: x\nlimits:\n  usd: -3", 3, "limits.usd", "must be more than 0"),
    ("objective: x\nlimits:\n  usd: yes", 3, "limits.usd", "must be a number"),
    ("objective: x\nlimits:\n  usd: .inf", 3, "limits.usd", "finite"),
    ("objective: x\nlimits:\n  usd: .nan", 3, "limits.usd", "must be"),
    ("objective: x\nlimits:\n  turns: 2.5", 3, "limits.turns", "whole number"),
    ("objective: x\nlimits:\n  turns: many", 3, "limits.turns", "text `many`"),
    ("objective: x\nlimits:\n  turns:", 3, "limits.turns", "is empty"),
    ("objective: x\nlimits: 5", 2, "limits", "must be a mapping"),
    ("objective: x\nname: a b", 2, "name", "letters a-z, digits and dashes"),
    ("objective: x\nquestions: where", 2, "questions", "must be a list"),
    ("objective: x\nquestions:\n- a\n- Where: b", 4, "questions.1", "colon"),
    ("objective: x\nquestions:\n- ' '", 3, "questions.0", "blank"),
    ("objective: x\nconstraints: [1]", 2, "constraints.0", "must be text"),
    ("objective: x\nworkspace: nope", 2, "workspace", "does not exist"),
    ("objective: x\nworkspace: README.md", 2, "workspace", "is a file"),
    ("objective: x\nworkspace: 5", 2, "workspace", "path"),
    ("objective: x\ncontext: [gone.md]", 2, "context.0", "does not exist"),
    ("objective: x\ncontext: [sub]", 2, "context.0", "is a folder"),
    ("objective: x\ncontext: [../x]", 2, "context.0", "outside the workspace"),
    ("objective: x\ncontext: [/etc/passwd]", 2, "context.0", "outside"),
    ("objective: x\nmodel: {leed: a}", 2, "model.leed", "did you mean `lead`"),
    ("objective: x\nmodel: [a]", 2, "model", "must be a mapping"),
    ("objective: x\neffort: hgh", 2, "effort", "did you mean `high`"),
    ("objective: x\nagents: [lead]", 2, "agents.0", "the lead itself"),
    ("objective: x\nallow: [shel]", 2, "allow.0", "did you mean `shell`"),
    ("objective: x\nallow: [{shell: yes}]", 2, "allow.0.shell", "must be one of ask"),
    ("objective: x\ndeliverable: {format: xml}", 2, "deliverable.format", "markdown"),
    ("objective: x\ndeliverable: {schema: {}}", 2, "deliverable.schema", "json"),
    ("- a", 1, "", "must hold `key: value` lines"),
    ("just text", 1, "", "found the text `just text`"),
    ("objective: x\nobjective: y", 2, "objective", "given twice"),
    ("objective: find this: that", 1, "objective", 'objective: "find this: that"'),
]


@pytest.mark.parametrize(("text", "line", "field", "words"), BAD, ids=str)
def test_a_bad_task_is_one_message_with_file_line_field_and_what_is_allowed(
    folder: Path, text: str, line: int, field: str, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        load(folder, text)

    error = caught.value
    assert error.file.endswith("my task.yaml")
    assert (error.line, error.field) == (line, field)
    assert words in error.message
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    "line",
    [
        "redact: [personal]",
        "redact: []",
    ],
)
def test_a_field_whose_feature_is_not_there_is_refused(folder: Path, line: str) -> None:
    with pytest.raises(NotYet, match="not yet") as caught:
        load(folder, f"objective: x\n{line}\n")

    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("{type: objekt}", "no valid JSON Schema"),
        ("{$ref: 'https://example.org/s'}", "leads nowhere"),
        ("{$ref: '#/$defs/gone'}", "leads nowhere"),
        ("{$schema: 'urn:x'}", "unknown JSON Schema version"),
        ("{$schema: 5}", "must be text"),
    ],
)
def test_a_result_schema_must_be_usable(folder: Path, schema: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        load(folder, f"objective: x\ndeliverable: {{format: json, schema: {schema}}}")


def test_several_faults_are_named_in_one_message(folder: Path) -> None:
    with pytest.raises(SpecError, match=r"also wrong: `name`, `limits\.usd`"):
        load(folder, "objective: x\nlimit: 1\nname: a b\nlimits: {usd: -1}")


class TestSet:
    def test_values_are_yaml_and_keys_are_dotted(self, folder: Path) -> None:
        task = load(
            folder,
            "objective: x\nlimits: {turns: 9}",
            limits__usd="5",
            questions="[a, b]",
            deliverable="{format: json}",
        )

        assert (task.limits.usd, task.limits.turns) == (5, 9)
        assert task.questions == ("a", "b")
        assert task.deliverable.format == "json"

    def test_text_is_taken_as_it_stands(self, folder: Path) -> None:
        task = load(folder, "objective: x", objective="Find: this [or that]", name="5")

        assert task.objective == "Find: this [or that]"
        assert task.name == "5"

    def test_one_role_of_a_short_form_can_be_changed(self, folder: Path) -> None:
        task = load(folder, "objective: x\nmodel: big", model__subagents="small")

        assert (task.model.lead, task.model.subagents) == ("big", "small")

    @pytest.mark.parametrize(
        ("key", "value", "words"),
        [
            ("limits.usd", "lots", "from `--set limits.usd=lots`"),
            ("lmits.usd", "5", "did you mean `limits`"),
            ("questions", "[a, b", "cannot read the value"),
            ("objective.x", "1", "has no key `x`"),
            ("limits..usd", "1", "expected `--set key=value`"),
            ("name", "", "is empty"),
        ],
    )
    def test_a_bad_one_is_named(
        self, folder: Path, key: str, value: str, words: str
    ) -> None:
        path = folder / "t.yaml"
        path.write_text("objective: x")

        with pytest.raises(SpecError) as caught:
            load_task(path, {key: value})

        assert words in str(caught.value)
        assert caught.value.line == 0


class TestContext:
    def test_the_guide_of_the_workspace_comes_first(self, folder: Path) -> None:
        (folder / "CLAUDE.md").write_text("c")
        assert load(folder, "objective: x").context == ("CLAUDE.md",)
        (folder / "AGENTS.md").write_text("a")
        assert load(folder, "objective: x").context == ("AGENTS.md",)
        assert load(
            folder, "objective: x\ncontext: [README.md, ./README.md, AGENTS.md]"
        ).context == ("AGENTS.md", "README.md")

    def test_an_empty_list_leaves_the_guide_out(self, folder: Path) -> None:
        (folder / "AGENTS.md").write_text("a")
        assert load(folder, "objective: x\ncontext: []").context == ()

    def test_a_guide_that_links_out_of_the_workspace_is_not_taken(
        self, folder: Path
    ) -> None:
        (folder / "README.md").rename(folder / "outside.md")
        (folder / "sub" / "AGENTS.md").symlink_to(folder / "outside.md")
        assert load(folder, "objective: x\nworkspace: sub").context == ()

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (b"x" * 40_000, "at most 32,000 bytes"),
            (b"\xff\xfe\x00", "not UTF-8"),
            (b"a\0b", "is not text"),
        ],
    )
    def test_what_is_big_or_no_text_is_refused(
        self, folder: Path, data: bytes, words: str
    ) -> None:
        (folder / "AGENTS.md").write_bytes(data)
        with pytest.raises(SpecError, match=words):
            load(folder, "objective: x")

    def test_all_of_them_together_are_bounded(self, folder: Path) -> None:
        for i in range(4):
            (folder / f"{i}.md").write_text("x" * 30_000)
        with pytest.raises(SpecError, match="in all"):
            load(folder, "objective: x\ncontext: [0.md, 1.md, 2.md, 3.md]")


class TestDump:
    def test_a_dumped_task_loads_as_the_same_task(self, folder: Path) -> None:
        (folder / "AGENTS.md").write_text("a")
        for text in (FULL, "objective: x", "objective: x\ncontext: [README.md]"):
            task = load(folder, text)
            again = load(folder / "sub", dump_task(task))
            assert again == task

    def test_a_default_in_dollars_stays_a_default(self, folder: Path) -> None:
        unset = load(folder, dump_task(load(folder, "objective: x")))
        written = load(
            folder, dump_task(load(folder, "objective: x\nlimits: {usd: 2}"))
        )
        assert "usd" not in unset.limits.model_fields_set
        assert "usd" in written.limits.model_fields_set

    def test_secrets_are_redacted_where_a_redactor_is_given(self, folder: Path) -> None:
        task = load(folder, "objective: use hunter2 to look")
        text = dump_task(task, redact=lambda text: text.replace("hunter2", "[secret]"))
        assert "hunter2" not in text
        assert yaml.safe_load(text)["objective"] == "use [secret] to look"

    @given(
        objective=st.text(
            st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1
        ).filter(str.strip)
    )
    @settings(
        max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    def test_any_objective_survives(self, folder: Path, objective: str) -> None:
        task = task_from_objective(objective, folder, {})
        assert load(folder, dump_task(task)) == task


class TestObjective:
    def test_a_task_of_one_sentence_is_named_after_it(self, folder: Path) -> None:
        task = task_from_objective("Where are the tokens checked?", folder, {})
        assert task.name == "Where-are-the-tokens-checked"
        assert task.workspace == folder.resolve()

    def test_a_blank_one_is_refused(self, folder: Path) -> None:
        with pytest.raises(SpecError, match="objective"):
            task_from_objective(" \n", folder, {})
        with pytest.raises(SpecError, match="objective"):
            task_from_objective("", folder, {})

    def test_a_missing_workspace_is_refused(self, folder: Path) -> None:
        with pytest.raises(SpecError, match="does not exist"):
            task_from_objective("x", folder / "gone", {})

    def test_overrides_hold(self, folder: Path) -> None:
        task = task_from_objective("x", folder, {"limits.usd": "1", "model": "offline"})
        assert task.limits.usd == 1
        assert task.model.lead == "offline"


@given(st.text())
def test_a_name_is_always_legal(words: str) -> None:
    assert Task(objective="x", name=legal_name(words)).name


def test_a_name_of_other_scripts_falls_back(folder: Path) -> None:
    assert legal_name("认证调查") == "task"


@pytest.mark.parametrize(
    ("field", "overrides", "words"),
    [
        ("agents", {}, "t.yaml:2: `agents`: wrong"),
        ("model.lead", {}, "t.yaml:3: `model.lead`: wrong"),
        ("model.lead", {"model": "b"}, "`model.lead`: wrong (from `--set model=b`)"),
        ("limits.usd", {}, "`limits.usd`: wrong"),
    ],
)
def test_what_is_found_late_is_still_named_with_its_line(
    folder: Path, field: str, overrides: dict[str, str], words: str
) -> None:
    path = folder / "t.yaml"
    path.write_text("objective: x\nagents: [scout]\nmodel: a\n")

    error = blame(SpecError("wrong", field=field), path, overrides)

    assert str(error).removeprefix(f"{folder}/") == words


def test_an_error_that_names_its_file_is_left_alone(folder: Path) -> None:
    error = SpecError("wrong", "agents/a.md", 3, "tools")
    assert blame(error, folder / "t.yaml", {}) is error
