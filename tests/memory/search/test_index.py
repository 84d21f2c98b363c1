from __future__ import annotations

import contextlib
import multiprocessing
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_bench import index_of, keys, topic

from orchestrator.errors import StoreError
from orchestrator.memory.entries import folded_key
from orchestrator.memory.search.index import Index

ORDERS = (
    ("order 4471", "Refunded in full on request."),
    ("order 4472", "Waits for a new address in Graz."),
    ("token lifetime", "Access tokens live 15 minutes."),
    ("部署流程", "先把百分之五的流量切到新版本。"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".index" / "search.sqlite"


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return index_of(tmp_path, *ORDERS)


def ids(path: Path) -> dict[str, int]:
    """The row of each entry: another one, where it was written again."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT key, id FROM entries").fetchall())


class TestFinding:
    def test_the_best_comes_first(self, index: Index) -> None:
        (found,) = index.find(["How long do access tokens live?"])

        assert (found.topic, found.key, found.by) == (
            "notes.md",
            "token lifetime",
            ("words",),
        )
        assert found.score > 0

    def test_chinese_is_found_by_two_characters_and_by_one(self, index: Index) -> None:
        assert keys(index, "怎么部署？") == ["部署流程"]
        assert keys(index, "流量") == ["部署流程"]
        assert keys(index, "署") == ["部署流程"]

    def test_an_unknown_number_finds_nothing(self, index: Index) -> None:
        assert keys(index, "order 4473 refunded") == []
        assert keys(index, "order 4471") == ["order 4471"]

    def test_several_phrasings_are_one_question(self, index: Index) -> None:
        found = keys(index, "session expiry", "access tokens", "部署流程")

        assert set(found) == {"token lifetime", "部署流程"}

    def test_a_number_in_one_phrasing_holds_for_all(self, index: Index) -> None:
        assert keys(index, "order 4472", "refunded order") == ["order 4472"]

    def test_newer_ones_come_first_among_equals(self, path: Path) -> None:
        index = Index(path)
        for name, when in (("old", "2026-01-01"), ("new", "2026-03-01")):
            same = (f"limit {name}", "Uploads are bounded to 20 files.")
            index.replace(topic(same, path=f"{name}.md", when=when), (1,))

        assert keys(index, "bounded uploads") == ["limit new", "limit old"]

    def test_no_more_than_asked_for(self, path: Path) -> None:
        index = Index(path)
        index.replace(topic(*((f"fact {at}", "same words") for at in range(9))), (1,))

        assert len(index.find(["same words"])) == 5
        assert len(index.find(["same words"], most=2)) == 2

    def test_an_entry_counts_once_however_many_pieces_fit(self, path: Path) -> None:
        index = Index(path)
        value = "\n\n".join(f"### Part {at}\n\nBackups run at night." for at in "abc")
        index.replace(topic(("backups", value)), (1,))

        assert keys(index, "when do backups run?") == ["backups"]

    def test_an_empty_index_and_an_empty_question(self, path: Path) -> None:
        index = Index(path)

        assert index.find(["anything"]) == index.find([""]) == index.find([]) == []
        assert index.notice == ""

    @pytest.mark.parametrize(
        "query",
        [
            '"',
            "*",
            "a*",
            'NEAR("order" "token", 5)',
            "order OR token AND NOT x",
            "heading : order",
            "{heading body} : order",
            "^order",
            "-order",
            "(order",
            "order + token",
            "'; DROP TABLE entries; --",
            "order\0token",
            "\ud800\udc00 order \udfff",
            "\u202e\u200b",
            "%' OR 1=1",
            "order " * 20_000,
            "é" * 100_000,
            "部署" * 50_000,
        ],
        ids=lambda query: repr(query[:12]),
    )
    def test_all_of_a_query_is_data(self, index: Index, query: str) -> None:
        index.find([query])

        assert len(ids(index._file._path)) == len(ORDERS)

    def test_an_operator_is_a_word(self, index: Index) -> None:
        assert keys(index, "refunded NOT request") == keys(index, "refunded request")

    @given(st.text(max_size=40))
    def test_any_text_may_be_asked(self, query: str) -> None:
        ASKED.find([query])

    def test_scopes_are_apart(self, tmp_path: Path) -> None:
        one = index_of(tmp_path / "one", ("secret plan", "Only here."))
        other = index_of(tmp_path / "other", ("public plan", "Only there."))

        assert keys(one, "plan only here") == ["secret plan"]
        for trick in ("secret plan", "../one secret", "one.entries", "main.entries"):
            assert "secret plan" not in keys(other, trick)


@pytest.fixture(scope="module", autouse=True)
def _asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    global ASKED  # noqa: PLW0603 - hypothesis takes no fixture of a function
    ASKED = index_of(tmp_path_factory.mktemp("asked"), *ORDERS)
    yield
    ASKED.close()


ASKED: Index


class TestReplacing:
    def test_what_did_not_change_is_left_alone(self, index: Index, path: Path) -> None:
        before = ids(path)

        index.replace(topic(*ORDERS[:2], ("token lifetime", "Now 20 minutes.")), (2,))

        after = ids(path)
        assert after["order 4471"] == before["order 4471"]
        assert after["token lifetime"] != before["token lifetime"]
        assert "部署流程" not in after
        assert keys(index, "部署") == []
        assert keys(index, "tokens 15 minutes") == []
        assert keys(index, "token lifetime minutes") == ["token lifetime"]

    def test_a_new_date_alone_writes_no_text_anew(self, path: Path) -> None:
        index = Index(path)
        one, two = ("first limit", "20 files"), ("second limit", "20 files")
        index.replace(topic(one, path="a.md", when="2026-01-01"), (1,))
        index.replace(topic(two, path="b.md", when="2026-02-01"), (1,))
        before = ids(path)

        index.replace(topic(one, path="a.md", when="2026-03-01"), (2,))

        assert ids(path) == before
        assert keys(index, "limit files") == ["first limit", "second limit"]

    def test_a_key_twice_in_a_file(self, path: Path) -> None:
        index = Index(path)
        twice = topic(("limit", "20 files"), ("limit", "20 files"), ("limit", "9 MB"))

        index.replace(twice, (1,))
        index.replace(twice, (2,))

        assert len(index.find(["limit"])) == 3
        index.remove(["notes.md"])
        assert keys(index, "limit files") == []

    def test_stamps_say_what_rows_were_made_from(self, index: Index) -> None:
        index.replace(topic(path="empty.md"), (17, 0, 3))

        assert index.stamps() == {"notes.md": (1,), "empty.md": (17, 0, 3)}
        index.remove(["notes.md", "never.md"])
        assert index.stamps() == {"empty.md": (17, 0, 3)}

    def test_which_file_holds_a_key(self, index: Index) -> None:
        assert index.topic_of(folded_key("Order_4471")) == "notes.md"
        assert index.topic_of(folded_key("order 4473")) is None

    def test_odd_text_is_kept_out_of_trouble(self, path: Path) -> None:
        index = Index(path)
        index.replace(topic(("a\0b \ud800", 'x"\0\ud800* plain'), path="o'dd.md"), (1,))

        (found,) = index.find(["plain"])
        assert found.topic == "o'dd.md"
        index.remove(["o'dd.md"])
        assert index.find(["plain"]) == []


class TestErasing:
    def test_no_byte_of_it_is_left(self, tmp_path: Path) -> None:
        index = Index(tmp_path / "search.sqlite")
        secret = "zanzibarquux"
        entry = ("plan", f"The word is {secret} and {secret}ly said.")
        # Other processes have the file open.
        reader = Index(tmp_path / "search.sqlite")
        index.replace(topic(entry, *ORDERS), (1,))
        assert keys(reader, f"{secret} word said") == ["plan"]
        assert any(secret.encode() in raw for raw in bytes_beside(tmp_path))

        index.replace(topic(*ORDERS), (2,))
        index.compact()

        assert not any(secret.encode() in raw for raw in bytes_beside(tmp_path))
        assert keys(index, secret) == keys(reader, secret) == []
        assert keys(reader, "token lifetime") == ["token lifetime"]

    def test_what_was_replaced_before_is_gone_too(self, tmp_path: Path) -> None:
        index = Index(tmp_path / "search.sqlite")
        for word in ("firstsecret", "secondsecret", "lasting"):
            index.replace(topic(("plan", f"The word is {word}."), *ORDERS), (1,))

        index.compact()

        for hidden in (b"firstsecret", b"secondsecret"):
            assert not any(hidden in raw for raw in bytes_beside(tmp_path))


def bytes_beside(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.iterdir()]


class TestFiles:
    @pytest.mark.parametrize(
        "damage",
        [
            lambda path: path.write_bytes(b"no database at all, " * 500),
            lambda path: path.write_bytes(path.read_bytes()[:3000]),
            lambda path: executed(path, "DROP TABLE words"),
            lambda path: executed(path, "PRAGMA user_version = 99"),
            lambda path: executed(path, "PRAGMA user_version = 0"),
            lambda path: executed(path, "ALTER TABLE entries DROP COLUMN newest"),
        ],
        ids=["noise", "cut", "table", "newer", "older", "column"],
    )
    @pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
    def test_a_damaged_file_is_made_anew(
        self, index: Index, path: Path, damage: object, is_open: bool
    ) -> None:
        if not is_open:
            index.close()
        assert callable(damage)
        damage(path)
        for ending in ("-wal", "-shm"):
            if not is_open:
                Path(f"{path}{ending}").unlink(missing_ok=True)

        index.find(["order 4471"])
        fresh = Index(path)
        fresh.find(["order 4471"])
        if not fresh.stamps():
            fresh.replace(topic(*ORDERS), (1,))

        assert keys(fresh, "order 4471") == ["order 4471"]
        assert keys(index, "order 4471") == ["order 4471"]

    def test_an_empty_file_is_a_new_one(self, path: Path) -> None:
        path.parent.mkdir()
        path.touch()

        assert Index(path).stamps() == {}

    def test_what_cannot_be_opened_is_said(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("no folder")

        with pytest.raises(StoreError, match="index of memory cannot be used"):
            Index(tmp_path / "file" / "search.sqlite").find(["x"])

    def test_a_file_that_is_gone_is_made_anew(self, index: Index, path: Path) -> None:
        for each in path.parent.iterdir():
            each.unlink()

        assert index.stamps() == {}
        index.replace(topic(*ORDERS), (1,))
        assert keys(index, "order 4471") == ["order 4471"]

    def test_nothing_is_made_before_it_is_used(self, path: Path) -> None:
        Index(path).close()

        assert not path.parent.exists()

    def test_a_fork_goes_on_with_connections_of_its_own(self, index: Index) -> None:
        assert keys(index, "order 4471")
        child = os.fork()
        if not child:
            good = keys(index, "order 4471") == ["order 4471"]
            index.replace(topic(("child", "was here")), (9,))
            os._exit(0 if good else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

        assert keys(index, "child was here") == ["child"]
        index.replace(topic(*ORDERS), (10,))
        assert keys(index, "order 4472") == ["order 4472"]

    def test_many_threads_and_processes_write_and_search_at_once(
        self, path: Path
    ) -> None:
        context = multiprocessing.get_context("fork")
        processes = [context.Process(target=writes, args=(path, n)) for n in range(3)]
        index = Index(path)
        troubles: list[BaseException] = []

        def work(number: int) -> None:
            try:
                writes(path, number, index)
            except BaseException as error:  # noqa: BLE001 - shown below
                troubles.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(3, 6)]
        for process in processes:
            process.start()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for process in processes:
            process.join()

        assert troubles == []
        assert [process.exitcode for process in processes] == [0, 0, 0]
        assert len(index.stamps()) == 6
        for number in range(6):
            assert keys(index, f"fact{number} fact9") == [f"fact{number} number9"]

    def test_a_file_that_another_process_makes_now_is_waited_for(
        self, path: Path
    ) -> None:
        path.parent.mkdir()
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.05, other.close)
        timer.start()

        Index(path).replace(topic(("a", "b")), (1,))

        timer.join()
        assert len(Index(path).stamps()) == 1


def writes(path: Path, number: int, index: Index | None = None) -> None:
    index = index or Index(path)
    for at in range(10):
        fact = (f"fact{number} number{at}", f"says fact{at}")
        index.replace(topic(fact, path=f"{number}.md"), (at,))
        index.find([f"fact{number}"])


def executed(path: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(sql)
        connection.commit()
