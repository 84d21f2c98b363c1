"""Taking entries in: only what is newer, never over a person's, never a secret."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from orchestrator.memory.entries import Earlier, Entry, Place, check_of
from orchestrator.memory.exchange import Record
from orchestrator.memory.keeping import Author, Put
from orchestrator.memory.memory import Memory

KEY, OLD, NEW = "Token lifetime", "Ten minutes.", "Fifteen minutes."
SECRET = "sk-ant-api03-" + "Zq8Xw2" * 14


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    """An empty scope, on 29 November."""
    return Memory(
        tmp_path / "memory",
        workspace=tmp_path,
        redact=lambda text: text.replace(SECRET, "[secret:api-key:0a1b2c3d]"),
        today=lambda: "2026-11-29",
    )


def entry(value: str = NEW, when: str = "2026-11-30", **fields: Any) -> Entry:
    """What another memory has, by a run there."""
    told: dict[str, Any] = {
        "source": "run-9/a1", "check": check_of(fields.get("key", KEY), value), **fields
    }  # fmt: skip
    return Entry(**{"key": KEY, "value": value, "when": when, **told})


def by_hand(value: str = NEW, when: str = "") -> Entry:
    return Entry(KEY, value, when)


def took(memory: Memory, other: Entry, topic: str = "auth.md") -> tuple[str, str]:
    (outcome,) = memory.take_in([Record(topic, "Access", "How.", other)])
    return outcome.what, outcome.why


def here(memory: Memory, key: str = KEY) -> Entry:
    known = memory.with_key(key)
    assert known is not None
    return known.entry


def keep(memory: Memory, value: str = OLD, **fields: Any) -> None:
    memory.keep([Put("tokens.md", KEY, value, **fields)], Author("run-1", "a2"))


def write_by_hand(memory: Memory, value: str = OLD) -> None:
    memory.folder.mkdir(exist_ok=True)
    (memory.folder / "mine.md").write_text(f"## {KEY}\n\n{value}\n")


def test_a_new_one_comes_with_its_date_source_and_topic(memory: Memory) -> None:
    other = entry(confidence=0.7, used="2026-11-30", was=(Earlier("Five.", ""),))

    assert took(memory, other) == ("new", "")

    assert here(memory) == other
    assert not here(memory).is_by_a_person
    (topic,) = memory.topics()
    assert (topic.path, topic.title, topic.description) == ("auth.md", "Access", "How.")


def test_a_topic_that_is_there_keeps_its_words(memory: Memory) -> None:
    memory.keep(
        [Put("auth.md", "Other", "Text.", description="Mine.")], Author("r", "a")
    )

    took(memory, entry())

    assert memory.topics()[0].description == "Mine."
    assert memory.topics()[0].title == "Auth"


@pytest.mark.parametrize(
    ("other", "what"),
    [
        pytest.param(entry(), "updated", id="newer"),
        pytest.param(entry(when="2026-11-29"), "same", id="as new"),
        pytest.param(entry(when="2026-11-28"), "same", id="older"),
        pytest.param(entry(when=""), "same", id="without a date"),
        pytest.param(by_hand(), "updated", id="a person's"),
        pytest.param(by_hand(when="2026-11-28"), "same", id="a person's, older"),
    ],
)
def test_only_what_is_newer_takes_the_place(
    memory: Memory, other: Entry, what: str
) -> None:
    keep(memory)

    found, why = took(memory, other)

    assert (found, bool(why)) == (what, what == "same")
    assert here(memory).value == (NEW if what == "updated" else OLD)


def test_the_history_of_both_is_kept_and_the_place_and_spelling(memory: Memory) -> None:
    keep(memory, "Five minutes.")
    keep(memory)
    was = (Earlier("Twelve.", "2026-11-30"), Earlier("One.", "2026-01-01"))

    took(memory, entry(key="token_lifetime", was=was, when="2026-12-01"))

    assert here(memory).key == KEY
    assert [each.value for each in here(memory).was] == [
        "Twelve.", OLD, "Five minutes."
    ]  # fmt: skip
    assert not here(memory).is_by_a_person
    assert [topic.path for topic in memory.topics()] == ["tokens.md"]


def test_the_same_value_with_a_newer_date_is_no_history(memory: Memory) -> None:
    keep(memory)

    assert took(memory, entry(OLD)) == ("updated", "")

    assert (here(memory).when, here(memory).was) == ("2026-11-30", ())


@pytest.mark.parametrize("other", [entry(), by_hand()], ids=["run", "person"])
def test_what_a_person_wrote_here_stays(memory: Memory, other: Entry) -> None:
    write_by_hand(memory)
    before = (memory.folder / "mine.md").read_bytes()

    assert took(memory, other) == ("same", "a person wrote or changed it here")

    assert (memory.folder / "mine.md").read_bytes() == before


def test_whose_it_is_comes_with_it(memory: Memory) -> None:
    keep(memory)

    took(memory, by_hand())

    assert here(memory).is_by_a_person


def test_what_evidence_was_is_known_in_the_other_place_too(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    keep(memory, evidence=(Place("a.py", 1),))
    there = Memory(
        tmp_path / "there", workspace=tmp_path, redact=str, today=lambda: "2026-11-30"
    )
    took(there, here(memory))
    (tmp_path / "a.py").write_text("x = 2\n")

    known = there.with_key(KEY)

    assert known is not None
    assert known.state == "changed"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        pytest.param(entry(f"It is {SECRET}."), "holds a secret", id="secret"),
        pytest.param(by_hand(f"It is {SECRET}."), "holds a secret", id="a person's"),
        pytest.param(entry("x" * 4001), "its value has over 4,000", id="long value"),
        pytest.param(entry(key="k" * 121), "its key has over 120", id="long key"),
    ],
)
def test_what_must_not_come_in_is_refused(
    memory: Memory, other: Entry, why: str
) -> None:
    what, told = took(memory, other)

    assert what == "refused"
    assert told.startswith(why)
    assert memory.entries() == []


@pytest.mark.parametrize("topic", ["MEMORY.md", "a/../b.md", ".x.md"])
def test_a_path_that_is_no_topic_is_refused(memory: Memory, topic: str) -> None:
    assert took(memory, entry(), topic)[0] == "refused"
    assert memory.topics() == []


def test_a_secret_in_an_earlier_value_is_left_out(memory: Memory) -> None:
    took(memory, entry(was=(Earlier(f"It is {SECRET}.", ""), Earlier("Five.", ""))))

    assert here(memory).was == (Earlier("Five.", ""),)


def test_a_persons_may_be_long(memory: Memory) -> None:
    assert took(memory, by_hand("x" * 5_000)) == ("new", "")


@pytest.mark.parametrize("key", [KEY, "Another name"])
def test_what_was_forgotten_does_not_come_back(memory: Memory, key: str) -> None:
    keep(memory)
    memory.forget([KEY])

    what, why = took(memory, entry(OLD, key=key))

    assert what == "refused"
    assert why.startswith("forgotten")


def test_others_write_meanwhile_and_nothing_is_lost(tmp_path: Path) -> None:
    def opened() -> Memory:
        folder = tmp_path / "memory"
        return Memory(folder, workspace=None, redact=str, today=lambda: "2026-11-29")

    def keeps(name: str) -> None:
        for number in range(5):
            put = Put("all.md", f"{name} {number}", f"The value of {name} is {number}.")
            opened().keep([put], Author("run-1", name))

    records = [
        Record("all.md", "", "", entry(f"Number {number}.", key=f"key {number}"))
        for number in range(450)
    ]
    threads = [threading.Thread(target=keeps, args=(name,)) for name in ("b", "c")]
    for thread in threads:
        thread.start()
    outcomes = opened().take_in(records)
    for thread in threads:
        thread.join()

    assert {each.what for each in outcomes} == {"new"}
    assert len(opened().entries()) == 460
