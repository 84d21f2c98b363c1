"""What is kept: each change judged by itself, on what is on disk at that moment."""

from __future__ import annotations

from dataclasses import replace

import pytest
from memory_desk import AUTHOR, Desk

from orchestrator.memory.entries import Earlier, Place, parse_topic
from orchestrator.memory.keeping import Drop, Outcome, Put
from orchestrator.memory.rules import FORGOTTEN, PERSONS

TOKENS = "Access tokens live 15 minutes."
KEY = "Token lifetime"


def test_a_new_entry_is_a_file_a_person_can_read(desk: Desk) -> None:
    (desk.work / "tokens.py").write_text("A = 15\nB = 30\n")
    put = Put("auth.md", KEY, TOKENS, (Place("tokens.py", 1, 2),), 0.9, "About auth.")

    assert desk.keep(put) == [Outcome(KEY, "auth.md", "new")]
    text = desk.read("auth.md")
    check = parse_topic(text, "auth.md").entries[0]
    assert text == (
        "# Auth\n\nAbout auth.\n\n## Token lifetime\n\n"
        "Access tokens live 15 minutes.\n\n"
        "- when: 2026-11-29\n- confidence: 0.9\n"
        f"- source: {AUTHOR.source} (check {check.check})\n"
        f"- evidence: tokens.py:1-2 (check {check.evidence[0].seal})\n"
    )
    assert len(check.evidence[0].seal) == 8
    assert not check.is_by_a_person
    assert desk.read("MEMORY.md").endswith(
        "<!-- topics -->\n\n- [auth.md](auth.md): About auth. "
        "(1 entry, newest 2026-11-29)\n"
    )
    assert desk.read(".index/.gitignore") == "*\n"


def test_writing_a_key_again_keeps_the_old_value_as_history(desk: Desk) -> None:
    for number in range(5):
        desk.day = f"2026-11-0{number + 1}"
        key = ["Token lifetime", "token_LIFETIME"][number % 2]
        outcome = desk.put(key, f"Tokens live {number} minutes.")

    assert outcome == Outcome(KEY, "auth.md", "updated")
    known = desk.memory().with_key("token-lifetime")
    assert known is not None
    assert known.entry.value == "Tokens live 4 minutes."
    assert known.entry.was == (
        Earlier("Tokens live 3 minutes.", "2026-11-04"),
        Earlier("Tokens live 2 minutes.", "2026-11-03"),
        Earlier("Tokens live 1 minutes.", "2026-11-02"),
    )


def test_an_entry_stays_in_its_file_whatever_topic_is_named(desk: Desk) -> None:
    desk.put(KEY, TOKENS, "auth.md")

    assert desk.put(KEY, "Other.", "tokens.md").topic == "auth.md"
    assert not (desk.folder / "tokens.md").exists()


def test_the_same_value_again_is_newer_and_no_surer(desk: Desk) -> None:
    desk.keep(Put("auth.md", KEY, TOKENS, confidence=0.5))
    desk.day = "2026-12-24"

    assert desk.put(KEY, f"  {TOKENS}\n") == Outcome(KEY, "auth.md", "same")
    known = desk.memory().with_key(KEY)
    assert known is not None
    assert (known.entry.when, known.entry.confidence) == ("2026-12-24", 0.5)
    assert known.entry.was == ()
    assert not known.entry.is_by_a_person


def test_other_bytes_of_the_file_stay(desk: Desk) -> None:
    mine = "\ufeff# Mine\r\n\r\nabout \r\n\r\n\r\n## By hand  \r\n\r\n* x\t\r\n\r\n\r\n"
    desk.write("auth.md", mine)

    desk.put(KEY, TOKENS)

    text = desk.read("auth.md")
    assert text.startswith(mine)
    assert "\n" not in text.replace("\r\n", "")
    desk.put(KEY, "Other.")
    assert desk.read("auth.md").startswith(mine)
    assert desk.keep(Drop(KEY, "wrong")) == [
        Outcome(KEY, "auth.md", "dropped", "wrong")
    ]
    assert desk.read("auth.md").rstrip() == mine.rstrip()


def test_bytes_that_are_no_text_stay(desk: Desk) -> None:
    desk.write("auth.md", "")
    (desk.folder / "auth.md").write_bytes(b"# T\n\n## By hand\n\n\xff\xfe caf\xe9\n")

    assert desk.put(KEY, TOKENS).what == "new"
    data = (desk.folder / "auth.md").read_bytes()
    assert data.startswith(b"# T\n\n## By hand\n\n\xff\xfe caf\xe9\n")
    assert [k.entry.key for k in desk.memory().recall(["access tokens live"])] == [KEY]


@pytest.mark.parametrize(
    "change", [Put("a.md", "Deploys", "On Fridays."), Drop("Deploys")]
)
def test_what_a_person_wrote_is_not_changed(desk: Desk, change: Put | Drop) -> None:
    desk.write("ops.md", "## Deploys\n\nOnly on Tuesdays.\n")

    assert desk.keep(change) == [Outcome("Deploys", "ops.md", "refused", PERSONS)]
    assert desk.read("ops.md") == "## Deploys\n\nOnly on Tuesdays.\n"
    assert desk.put("deploys", "Only on  Tuesdays.").what == "same"


def test_what_a_person_changed_is_a_persons(desk: Desk) -> None:
    desk.put(KEY, TOKENS)
    desk.write("auth.md", desk.read("auth.md").replace("15", "20"))

    assert desk.put(KEY, "Tokens live 5 minutes.").why == PERSONS
    assert "20 minutes" in desk.read("auth.md")


@pytest.mark.parametrize(
    ("put", "why"),
    [
        (Put("a.md", "k", " \n"), "no value"),
        (Put("a.md", " - ", "v"), "no key"),
        (Put("a.md", "k" * 121, "v"), "120 characters"),
        (Put("a.md", "k", "v" * 4001), "4,000 characters"),
        (Put("a.md", "k", "The tests are failing right now."), "“right now”"),
        (Put("a.md", "k", "The key is sk-secret."), "holds a secret"),
        (Put("../a.md", "k", "v"), "no path"),
        (Put("/etc/a.md", "k", "v"), "no path"),
        (Put("a.txt", "k", "v"), "`.md`"),
        (Put(".index/a.md", "k", "v"), "hidden"),
        (Put("a/b/c/d.md", "k", "v"), "2 folders deep"),
        (Put("memory.md", "k", "v"), "written by the program"),
        (Put("a\n.md", "k", "v"), "no path"),
    ],
    ids=lambda each: each.key[:10] if isinstance(each, Put) else each,
)
def test_what_may_not_be_kept_is_refused_with_the_reason(
    desk: Desk, put: Put, why: str
) -> None:
    desk.redacted = {"sk-secret": "[secret:key:00112233]"}
    fine = Put("b.md", "Fine", "This one lasts.")

    refused, kept = desk.keep(put, fine)

    assert refused.what == "refused"
    assert why in refused.why
    assert kept.what == "new"
    assert desk.keys() == ["Fine"]


def test_headings_of_a_value_stay_below_its_own(desk: Desk) -> None:
    value = "One.\n\n## Part\n\n```\n## code\n```\n\n- when: it rains"
    desk.put("k", value)

    (known,) = desk.memory().entries()
    assert known.entry.value == value.replace("## Part", "### Part")
    assert not known.entry.is_by_a_person


def test_near_duplicates_become_one(desk: Desk) -> None:
    desk.put(KEY, "Tokens live 15 minutes after the login of a user.")
    desk.day = "2026-11-30"
    (outcome,) = desk.keep(
        Put("x.md", "access token lifetime", "Access tokens live 15 minutes after the "
            "login of the user.")
    )  # fmt: skip

    assert outcome.what == "merged"
    assert (outcome.key, outcome.topic) == (KEY, "auth.md")
    (known,) = desk.memory().entries()
    assert known.entry.value.startswith("Access tokens live 15 minutes")
    assert known.entry.was[0].value.startswith("Tokens live 15 minutes")
    assert known.entry.when == "2026-11-30"


def test_two_of_one_call_that_say_the_same_become_one(desk: Desk) -> None:
    outcomes = desk.keep(
        Put("a.md", "access token lifetime", TOKENS),
        Put("a.md", "token lifetime", "Access tokens live for 15 minutes."),
    )

    assert [each.what for each in outcomes] == ["new", "merged"]
    assert len(desk.keys()) == 1


@pytest.mark.parametrize(
    "value",
    [
        "Access tokens live 16 minutes after the login.",
        "Access tokens do not live 15 minutes after the login.",
        "Access tokens live 15 minutes before the login.",
        "Access tokens live 15 minutes after the login of `admin`.",
        "Access tokens live 15 minutes after the logout.",
        "The login lives 15 minutes after access tokens.",
        "Access tokens live 15 minutes after the login in src/b.py.",
    ],
)
def test_what_differs_in_one_point_is_another_entry(desk: Desk, value: str) -> None:
    desk.put("token lifetime", "Access tokens live 15 minutes after the login.")

    assert desk.put("access token lifetime", value).what == "new"
    assert len(desk.keys()) == 2


def test_the_same_said_of_other_things_stays_twice(desk: Desk) -> None:
    desk.put("staging database", "It runs Postgres and is backed up each night.")

    outcome = desk.put(
        "production database", "It runs Postgres and is backed up each night."
    )
    assert outcome.what == "new"


def test_evidence_outside_of_the_workspace_is_not_read(desk: Desk) -> None:
    outside = desk.work.parent / "outside.txt"
    outside.write_text("secret\n")
    (desk.work / "link.txt").symlink_to(outside)
    (desk.work / "in.txt").write_text("in\n")
    places = (
        Place("../outside.txt", 1),
        Place("link.txt", 1),
        Place(str(outside), 1),
        Place(str(desk.work / "in.txt"), 1),
    )
    desk.keep(Put("a.md", "k", "v", places))

    (known,) = desk.memory().entries()
    seals = {place.path: bool(place.seal) for place in known.entry.evidence}
    assert seals == {
        "../outside.txt": False,
        "link.txt": False,
        str(outside): False,
        "in.txt": True,
    }
    assert known.state == "unknown"


def test_evidence_is_compared_with_the_files_of_now(desk: Desk) -> None:
    file = desk.work / "a.py"
    file.write_text("import x\nLIMIT = 15\nPAUSE = 2\n")
    desk.keep(Put("a.md", "k", "v", (Place("a.py", 2, 3),)))
    memory = desk.memory()

    def state() -> str:
        (known,) = memory.recall(["k v"]) or memory.entries()
        return known.state

    assert state() == "unchanged"
    file.write_text("import x\nLIMIT  =  15\n  PAUSE = 2\n")
    assert state() == "unchanged"
    file.write_text("import x\nimport y\n\nLIMIT = 15\nPAUSE = 2\n")
    assert state() == "moved"
    file.write_text("import x\nLIMIT = 16\nPAUSE = 2\n")
    assert state() == "changed"
    file.unlink()
    assert state() == "gone"


def test_the_worst_place_decides(desk: Desk) -> None:
    (desk.work / "a.py").write_text("a\n")
    (desk.work / "b.py").write_text("b\n")
    desk.keep(Put("a.md", "k", "v", (Place("a.py", 1), Place("b.py"))))
    (desk.work / "b.py").write_text("c\n")

    (known,) = desk.memory().entries()
    assert (known.state, known.is_stale) == ("changed", True)
    assert known.states == ("unchanged", "changed")


def test_lines_that_moved_are_named_where_they_are_now(desk: Desk) -> None:
    file = desk.work / "a.py"
    file.write_text("LIMIT = 15\nPAUSE = 2\n")
    desk.keep(Put("a.md", "k", "v", (Place("a.py", 1, 2),)))
    file.write_text("import x\n\n\nLIMIT = 15\nPAUSE = 2\n")

    (known,) = desk.memory().entries()
    (place,) = known.entry.evidence
    assert (known.state, known.states) == ("moved", ("moved",))
    assert (place.first, place.last) == (4, 5)
    assert "a.py:1-2" in desk.read("a.md")


def test_being_shown_is_noted_once_a_day(desk: Desk) -> None:
    desk.put(KEY, TOKENS)
    desk.write("ops.md", "## Deploys\n\nOnly on Tuesdays.\n")
    desk.day = "2026-12-01"
    memory = desk.memory()
    memory.touch([KEY, "Deploys", "nothing of the kind"])
    before = (desk.folder / "auth.md").stat().st_ino
    memory.touch([KEY])

    assert (desk.folder / "auth.md").stat().st_ino == before
    assert "- used: 2026-12-01\n" in desk.read("auth.md")
    assert desk.read("ops.md") == "## Deploys\n\nOnly on Tuesdays.\n"
    assert [k.entry.is_by_a_person for k in memory.entries()] == [False, True]


def test_lines_do_not_vouch_for_what_a_person_made_of_an_entry(desk: Desk) -> None:
    (desk.work / "tokens.py").write_text("A = 15\n")
    desk.keep(Put("auth.md", KEY, TOKENS, (Place("tokens.py", 1, 1),)))
    (before,) = desk.memory().entries()
    desk.write("auth.md", desk.read("auth.md").replace("15 minutes", "10 minutes"))
    (edited,) = desk.memory().entries()
    (desk.work / "tokens.py").write_text("B = 30\n")
    (stale,) = desk.memory().entries()

    states = [each.state for each in (before, edited, stale)]
    assert states == ["unchanged", "unknown", "changed"]


def test_a_full_topic_takes_no_more_and_says_what_to_do(desk: Desk) -> None:
    text = "".join(f"## k{number}\n\nv\n\n" for number in range(500))
    desk.write("full.md", text)
    desk.write("large.md", "x" * 199_990 + "\n\n## a\n\nb\n")

    for path in ("full.md", "large.md"):
        before = desk.read(path)
        refused = desk.put("one more", "Does not fit.", path)
        assert refused.what == "refused"
        assert "put it into another topic" in refused.why
        assert desk.read(path) == before


def test_a_file_that_is_too_large_is_read_as_far_as_it_goes(desk: Desk) -> None:
    text = "## first\n\nv\n\n" + "".join(
        f"## k{n}\n\n{'v' * 1000}\n\n" for n in range(400)
    )
    desk.write("large.md", text)

    memory = desk.memory()
    assert memory.with_key("first") is not None
    assert 150 < len(memory.entries()) < 250
    assert desk.put("first", "other").what == "refused"
    assert desk.read("large.md") == text


@pytest.mark.slow
def test_too_many_files_are_said_and_not_added_to(desk: Desk) -> None:
    for number in range(2_000):
        desk.write(f"t{number}.md", f"## k{number}\n\nv\n")

    assert "there are 2,000 topic files already" in desk.put("k", "v", "u.md").why
    assert desk.put("new", "v", "t0.md").what == "new"
    desk.write("u.md", "## by hand\n\nv\n")
    memory = desk.memory()
    assert len(memory.topics()) == 2_000
    assert memory.notice == "only 2,000 topic files are read"
    assert "nothing more is written" in desk.put("new", "w", "t0.md").why


def test_code_that_is_not_closed_is_closed(desk: Desk) -> None:
    desk.put("one", "Run\n\n```sh\nmake")
    desk.put("two", "```\n## no key\n```")

    one, two = desk.memory().entries()
    assert one.entry.value == "Run\n\n```sh\nmake\n```"
    assert two.entry.value == "```\n## no key\n```"


def test_code_that_a_person_left_open_is_not_closed_by_ours(desk: Desk) -> None:
    text = "## by hand\n\n```\nmake\n"
    desk.write("auth.md", text)

    refused = desk.put("two", "```\nmake test\n```")

    assert refused.why == (
        "`auth.md` cannot be written: a block of code in it is not closed"
    )
    assert desk.read("auth.md") == text
    assert desk.put("two", "No code.").what == "new"


def test_a_key_that_was_moved_by_hand_is_found_where_it_is(desk: Desk) -> None:
    memory = desk.memory()
    memory.keep([Put("a.md", KEY, TOKENS), Put("a.md", "Other", "v")], AUTHOR)
    text = desk.read("a.md")
    start, end = text.index("## Token"), text.index("## Other")
    desk.write("b.md", text[start:end])
    desk.write("a.md", text[:start] + text[end:])

    (outcome,) = memory.keep([Put("a.md", KEY, "Other value.")], AUTHOR)

    assert (outcome.what, outcome.topic) == ("updated", "b.md")
    assert KEY not in desk.read("a.md")


def test_an_empty_topic_of_ours_goes_and_a_persons_stays(desk: Desk) -> None:
    desk.put("one", "v", "ours.md")
    desk.write("theirs.md", "# Theirs\n\nSome words.\n\nAnd more words.\n")
    desk.put("two", "v", "theirs.md")
    desk.keep(Drop("one"), Drop("two"))

    assert not (desk.folder / "ours.md").exists()
    assert desk.read("theirs.md").startswith(
        "# Theirs\n\nSome words.\n\nAnd more words.\n"
    )
    assert "ours.md" not in desk.read("MEMORY.md")


def test_what_was_forgotten_is_refused_by_key_and_by_value(desk: Desk) -> None:
    desk.put(KEY, TOKENS)
    desk.memory().forget([KEY])

    for put in (Put("x.md", "token-lifetime", "Other."), Put("x.md", "Other", TOKENS)):
        assert desk.keep(put)[0].why == FORGOTTEN
    assert desk.put("Other", "An other value.").what == "new"


def test_nothing_to_change_makes_nothing(desk: Desk) -> None:
    assert desk.keep() == []
    assert desk.memory().recall(["x"]) == []
    assert desk.memory().topics() == []
    assert desk.memory().entries() == []
    assert desk.memory().with_key("x") is None
    assert desk.memory().tidy_if_due() == []
    desk.memory().touch(["x"])
    assert not desk.folder.parent.exists()


def test_the_page_keeps_what_a_person_wrote_above_its_mark(desk: Desk) -> None:
    desk.put("one", "v", "b.md")
    page = desk.read("MEMORY.md")
    desk.write("MEMORY.md", page.replace("# Memory", "# Ours\n\nAsk Ann first.", 1))
    desk.put("two", "v", "a.md")

    page = desk.read("MEMORY.md")
    assert page.startswith("# Ours\n\nAsk Ann first.\n")
    assert page.index("[a.md]") < page.index("[b.md]")
    desk.write("MEMORY.md", "Only my words.\n")
    desk.put("two", "v2", "a.md")
    assert desk.read("MEMORY.md").startswith(
        "Only my words.\n\n<!-- topics -->\n\n- [a.md]"
    )
    assert "[b.md]" in desk.read("MEMORY.md")


def test_a_search_brings_the_page_up_to_date_with_files_by_hand(desk: Desk) -> None:
    desk.put("one", "v", "b.md")
    desk.write("api/c.md", "# C\n\nAbout c.\n\n## zebra\n\nstripes\n")
    (desk.folder / "b.md").unlink()

    assert [k.entry.key for k in desk.memory().recall(["zebra stripes"])] == ["zebra"]
    assert "- [api/c.md](api/c.md): About c. (1 entry)\n" in desk.read("MEMORY.md")
    assert "b.md" not in desk.read("MEMORY.md")


def test_a_confidence_that_is_none_is_left_out(desk: Desk) -> None:
    put = Put("a.md", "k", "v", confidence=0.123456)
    desk.keep(put, replace(put, key="l", value="w", confidence=7))

    assert [k.entry.confidence for k in desk.memory().entries()] == [0.12, None]
