"""What is forgotten is in no file any more, and does not come back by a run."""

from __future__ import annotations

import json
import sqlite3

import pytest
from memory_desk import AUTHOR, Desk

from orchestrator.memory.keeping import Put
from orchestrator.memory.rules import FORGOTTEN, PERSONS
from orchestrator.memory.tombstones import Tombstones

KEY = "Wifi of the office"
OLD = "The password of the guests is Xylophon-77-old."
VALUE = "The password of the guests is Zirkonium-99-new."


def bytes_of(desk: Desk) -> bytes:
    """Return all bytes of all files of the scope."""
    files = [path for path in desk.folder.rglob("*") if path.is_file()]
    return b"\0".join(path.read_bytes() for path in files)


@pytest.fixture
def forgetting(desk: Desk) -> Desk:
    """An entry with history, quoted elsewhere, searched for, half-written once."""
    desk.put(KEY, OLD, "office.md")
    desk.put(KEY, VALUE, "office.md")
    desk.put("Doors", "The office has four doors.", "office.md")
    text = desk.read("office.md")
    quote = f"- was: {VALUE} (2026-01-01)\n- was: Something else. (2026-01-02)\n"
    desk.write("office.md", f"{text}{quote}")
    desk.write("mine.md", f"## Mine\n\nMy words.\n\n- was: {OLD} (2026-01-01)\n")
    assert desk.memory().recall(["Zirkonium"])
    desk.write(".office.md.0123456789ab.tmp", VALUE)
    return desk


def test_no_byte_of_it_is_left(forgetting: Desk) -> None:
    before = bytes_of(forgetting)
    assert b"Zirkonium" in before
    assert b"Xylophon" in before

    assert forgetting.memory().forget(["wifi_of the OFFICE", "no such"]) == [KEY]

    after = bytes_of(forgetting).lower()
    for word in (b"zirkonium", b"xylophon", b"wifi"):
        assert word not in after


def test_the_rest_stays_as_it_was(forgetting: Desk) -> None:
    before = forgetting.read("office.md")
    forgetting.memory().forget([KEY])

    start = before.index("## Doors")
    doors = before[start:].replace(f"- was: {VALUE} (2026-01-01)\n", "")
    assert forgetting.read("office.md") == f"# Office\n\n{doors}"
    assert forgetting.read("mine.md") == "## Mine\n\nMy words.\n\n"
    memory = forgetting.memory()
    assert [k.entry.key for k in memory.recall(["office doors"])] == ["Doors"]
    assert memory.recall(["Zirkonium password guests"]) == []


def test_it_does_not_come_back_by_key_value_or_old_value(forgetting: Desk) -> None:
    forgetting.memory().forget([KEY])

    for key, value in (
        (KEY, "Anything."),
        ("WIFI-of_the office", "Anything."),
        ("Other", VALUE),
        ("Other", f"  {VALUE.upper()}"),
        ("Other", OLD),
    ):
        assert forgetting.put(key, value).why == FORGOTTEN
    assert forgetting.put("Other", "Anything else.").what == "new"


def test_a_person_may_write_it_again(forgetting: Desk) -> None:
    forgetting.memory().forget([KEY])
    forgetting.write("office.md", f"## {KEY}\n\n{VALUE}\n")

    (known,) = forgetting.memory().recall(["Zirkonium"])
    assert known.entry.value == VALUE
    assert forgetting.put(KEY, VALUE).what == "same"
    assert forgetting.put(KEY, "Else.").why == PERSONS


def test_a_persons_entry_is_forgotten_too_in_every_file(desk: Desk) -> None:
    desk.write("a.md", "## Pin\n\nxylophone\n")
    desk.write("b.md", "## pin\n\nxylograph\n\n## Other\n\nv\n")

    assert sorted(desk.memory().forget(["PIN"])) == ["Pin", "pin"]
    assert desk.keys() == ["Other"]
    assert b"xylo" not in bytes_of(desk)  # no random key in hex holds that


def test_an_unfinished_forgetting_is_finished_by_the_next_writer(desk: Desk) -> None:
    desk.put(KEY, VALUE)
    memory = desk.memory()
    assert memory.recall(["Zirkonium"])
    # As after a kill: the files are done, the index is not.
    stones = Tombstones().with_more([KEY], [VALUE], is_under_way=True)
    desk.write(".forgotten", stones.text())
    (desk.folder / "auth.md").unlink()
    assert b"zirkonium" in bytes_of(desk).lower()

    desk.put("Other", "v", "other.md")

    assert b"zirkonium" not in bytes_of(desk).lower()
    assert not json.loads(desk.read(".forgotten"))["under_way"]


def test_the_list_of_what_was_forgotten_tells_nothing(desk: Desk) -> None:
    desk.put(KEY, VALUE)
    desk.memory().forget([KEY])
    text = desk.read(".forgotten")

    other = Tombstones().with_more([KEY], [VALUE], is_under_way=False)
    assert not set(json.loads(text)["marks"]) & other.marks
    assert Tombstones.parse(text).holds(KEY, "x")
    assert not Tombstones.parse(text).holds("k", "x")


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"marks": 3}', '{"secret": "zz", "marks": []}']
)
def test_a_damaged_list_holds_nothing_and_is_made_anew(desk: Desk, text: str) -> None:
    desk.put(KEY, VALUE)
    desk.write(".forgotten", text)
    desk.memory().forget([KEY])

    assert desk.put(KEY, VALUE).why == FORGOTTEN


def test_short_values_are_known_by_their_key_alone(desk: Desk) -> None:
    desk.put("Is it on", "yes")
    desk.memory().forget(["Is it on"])

    assert desk.put("Is it off", "yes").what == "new"


def test_many_are_forgotten_at_once(desk: Desk) -> None:
    memory = desk.memory()
    memory.keep(
        [Put("a.md", f"k{n}", f"Value {n} is here.") for n in range(30)], AUTHOR
    )

    assert len(memory.forget([f"k{n}" for n in range(29)])) == 29
    assert desk.keys() == ["k29"]
    link = sqlite3.connect(desk.folder / ".index" / "search.sqlite")
    assert link.execute("SELECT count(*) FROM entries").fetchone() == (1,)
    link.close()
