from __future__ import annotations

import os
from pathlib import Path

import pytest
from brief_samples import lay_workspace, problems, samples
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.brief import MAX_BRIEF_CHARS, Brief, BriefDeliverable, Scope
from orchestrator.brief.paths import Tree, missing_paths
from orchestrator.brief.unseen import unseen
from orchestrator.brief.vague import is_vague, is_vague_form
from orchestrator.security.workspace import Workspace

OBJECTIVE = "Which functions check a token, and what happens when one has expired?"
GOOD = Brief(title="Token checks", objective=OBJECTIVE)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return lay_workspace(tmp_path_factory.mktemp("service"))


@pytest.mark.parametrize(
    ("name", "size", "passed_at_most"),
    [("bad", 40, 2), ("fresh_bad", 20, 1), ("second_bad", 20, 1), ("third_bad", 20, 1)],
)
def test_bad_briefs_are_refused(
    workspace: Workspace, name: str, size: int, passed_at_most: int
) -> None:
    passed = [
        sample.why
        for sample in samples(name)
        if not problems(sample.brief, workspace, sample.others)
    ]

    assert len(samples(name)) == size
    assert len(passed) <= passed_at_most, passed


@pytest.mark.parametrize(
    ("name", "size"), [("good", 40), ("fresh_good", 20), ("second_good", 20)]
)
def test_good_briefs_pass(workspace: Workspace, name: str, size: int) -> None:
    refused = {
        sample.why: found
        for sample in samples(name)
        if (found := problems(sample.brief, workspace, sample.others))
    }

    assert len(samples(name)) == size
    assert len(refused) <= size // 20, refused


def test_every_refusal_says_what_to_mend(workspace: Workspace) -> None:
    for sample in samples("bad"):
        for problem in problems(sample.brief, workspace, sample.others):
            assert len(problem) > 30
            assert "\n" not in problem
            assert len(problem) < 400


def test_an_empty_objective_is_refused(workspace: Workspace) -> None:
    brief = Brief(title="x", objective=" \n")

    assert problems(brief, workspace) == [
        "`objective` is empty: say what to find out, and why"
    ]


def test_an_unknown_profile_is_refused_with_the_known_ones(
    workspace: Workspace,
) -> None:
    brief = GOOD.model_copy(update={"agent": "explorr"})

    assert problems(brief, workspace) == [
        "no profile `explorr`; `agent` may be: `explorer`, `reviewer`"
    ]


def test_a_document_in_place_of_a_brief_is_refused(workspace: Workspace) -> None:
    brief = GOOD.model_copy(update={"background": "Fact. " * MAX_BRIEF_CHARS})

    (problem,) = problems(brief, workspace)

    assert "characters" in problem


def test_twins_are_refused(workspace: Workspace) -> None:
    twin = Brief(title="TOKEN checks!", objective=OBJECTIVE)

    (problem,) = problems(twin, workspace, [GOOD])

    assert "same" in problem


def test_same_title_with_other_questions_is_no_twin(workspace: Workspace) -> None:
    one = GOOD.model_copy(update={"questions": ("Which key is used?",)})
    two = GOOD.model_copy(update={"questions": ("Where is expiry checked?",)})

    assert problems(one, workspace, [two]) == []


def test_same_title_with_another_objective_is_no_twin(workspace: Workspace) -> None:
    other = GOOD.model_copy(update={"objective": "Which keys sign a token?"})

    assert problems(GOOD, workspace, [other]) == []


def test_a_brief_is_not_its_own_twin(workspace: Workspace) -> None:
    assert problems(GOOD, workspace, [GOOD]) == []


@pytest.mark.parametrize("tokens", [99, 4001, -1])
def test_the_size_of_findings_has_bounds(tokens: int) -> None:
    with pytest.raises(ValidationError):
        BriefDeliverable(max_tokens=tokens)


def test_only_title_and_objective_are_needed() -> None:
    brief = Brief(title="t", objective="o")

    assert brief.deliverable.max_tokens == 1200
    assert brief.agent == "explorer"
    with pytest.raises(ValidationError):
        Brief.model_validate({"title": "t", "objective": "o", "hints": []})


@pytest.mark.parametrize(
    ("include", "exclude", "words"),
    [
        pytest.param(("service/gone",), (), "is not in the workspace", id="missing"),
        pytest.param(("service/auht",), (), "`service/auth` meant", id="misspelt"),
        pytest.param(("/etc",), (), "outside", id="outside"),
        pytest.param(("*.rs",), (), "fits no file", id="glob"),
        pytest.param(("",), (), "is empty", id="empty"),
        pytest.param(("service/",), ("service",), "nothing", id="excluded"),
    ],
)
def test_a_scope_that_shows_nothing_is_refused(
    workspace: Workspace, include: tuple[str, ...], exclude: tuple[str, ...], words: str
) -> None:
    brief = GOOD.model_copy(update={"scope": Scope(include=include, exclude=exclude)})

    (problem,) = problems(brief, workspace)

    assert words in problem


def test_what_the_task_excludes_cannot_be_in_scope(workspace: Workspace) -> None:
    narrow = workspace.narrowed(exclude=("service/billing",))
    scope = Scope(include=("service/billing",))

    (problem,) = problems(GOOD.model_copy(update={"scope": scope}), narrow)

    assert "excluded" in problem


@pytest.mark.parametrize(
    "text",
    [
        "and/or, TCP/IP, read/write, 24/7, n/a, I/O, km/h",
        "/v1/messages and POST /users/{id}/orders.json and /healthz",
        "https://x.org/a/b.py and localhost:8080/a.html and me@x.org",
        "`a/b` and x/y tests, client/server, origin/main, feature/new-login",
        "src/**/*.py, *.md, `tests/test_*.py`, <name>/x.py, $HOME/x.yaml",
        "v1.2/3.4, Python 3.11, 2026/11/29, node.js, Next.js, e.g. this, i.e. that",
        "foo.bar, requests.adapters, os.path.join, asyncio.subprocess",
        "application/json, text/html, image/png",
        "@types/node, --config=x.yaml, path/to/file.py",
        "service/auth/token.py:12-14 and ./README.md and auth/token.py and docs/",
        "is there a SECURITY.md? if any, and files such as tox.ini",
        "service/auth/ and `service\\auth\\token.py`",
        "请看docs/部署手册.md和service/auth/token.py里的说明",
    ],
)
def test_what_is_no_missing_path_is_left_alone(workspace: Workspace, text: str) -> None:
    assert missing_paths(text, Tree(workspace.root)) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param("in service/auth/jwt.py?", "service/auth/jwt.py", id="plain"),
        pytest.param("in `jwt.py:12`", "jwt.py", id="name with line"),
        pytest.param("see service/auth/old", "service/auth/old", id="below a folder"),
        pytest.param("the lib/core folder", "lib/core", id="called a folder"),
        pytest.param("all of lib/", "lib/", id="slash at the end"),
        pytest.param("`a/b/c`", "a/b/c", id="three names as code"),
        pytest.param("../other/x.py", "../other/x.py", id="upwards"),
        pytest.param("/home/me/x/y.py", "/home/me/x/y.py", id="somebody's home"),
        pytest.param("请看src/a.py中的逻辑", "src/a.py", id="in Chinese text"),
        pytest.param("根据文档/说明.md回答", "根据文档/说明.md", id="Chinese name"),
    ],
)
def test_what_clearly_is_a_path_must_exist(
    workspace: Workspace, text: str, path: str
) -> None:
    assert [each.path for each in missing_paths(text, Tree(workspace.root))] == [path]


def test_the_closest_name_is_offered(workspace: Workspace) -> None:
    (missing,) = missing_paths("service/auth/tokens.py", Tree(workspace.root))

    assert missing.closest == "service/auth/token.py"


@pytest.mark.parametrize(
    "text",
    [
        "Which profile does the first run use, and what is in cell a1?",
        "Compare the files of this release (`v2`) with those of `v1`.",
        "Which checks happen before the token is read?",
        "Modules above 400 lines, and how they were before 2020.",
        "As described in docs/api.md, codes are unique.",
        "What did the last run of the job write to `log.txt`?",
    ],
)
def test_ordinary_words_are_no_reference(text: str) -> None:
    assert unseen(text) == ""


def test_a_pointer_may_have_its_name_before_it() -> None:
    assert unseen("Who calls this function?")
    assert unseen("Who calls this function?", "It is about `check_token`.") == ""


@pytest.mark.parametrize("form", ["", "a table: key, default", "每条规则一项"])
def test_a_form_that_says_something_is_fine(form: str) -> None:
    assert not is_vague_form(form)


def test_a_question_makes_up_for_a_vague_objective() -> None:
    assert is_vague("Look into auth")
    assert is_vague("Look into auth", ("Anything else?", "有什么问题吗"[:5]))
    assert not is_vague("Look into auth", ("Which key signs a token?",))


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_judged(objective: str, background: str) -> None:
    brief = Brief(title="t", objective=objective, background=background)

    problems(brief, Workspace(Path(os.devnull).parent / "fd"))


def test_judging_is_quick_on_hostile_text(workspace: Workspace) -> None:
    for piece in ("a/", "a.", "the ", "[", "`", "a.py ", "中", "file that we ", "../"):
        problems(Brief(title="t", objective=piece * 1000), workspace)


def test_a_file_that_the_workspace_speaks_of_need_not_be_there(tmp_path: Path) -> None:
    (tmp_path / "writer.py").write_text('OUT = "events.jsonl"\n', encoding="utf-8")
    tree = Tree(tmp_path)

    assert missing_paths("When is events.jsonl written?", tree) == []
    assert missing_paths("events.jsonl何时写入", tree) == []
    assert [each.path for each in missing_paths("log.jsonl", tree)] == ["log.jsonl"]


@pytest.mark.parametrize(
    "text",
    [
        "What does the first agent see when another agent is still running?",
        "Where are the lead's notes written, and by which agent?",
        "How are findings of a subagent shortened, and is the previous message kept?",
    ],
)
def test_agents_may_be_the_subject(text: str) -> None:
    assert unseen(text) == ""
