"""What an agent once saw is found again by words of any language, ids first."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import pytest
from planted_documents import FORMS, planted

from orchestrator.context.history_search import SNIPPET_TOKENS, HistoryIndex, search
from orchestrator.context.tokens import estimate

TEXTS = {
    "h1.1": "2026-11-02 INFO queue drained\n2026-11-02 WARN ticket OPS-4471 is open",
    "h2.1": "ticket OPS-44712 was closed\nopen the queue again",
    "h3.1": "def get_user_name(session):\n    return session.userName",
    "h4.1": "每次退款不超过四十元。\n库存由仓库系统管理。",
    "h5.1": "The gateway refuses tokens that are older than an hour.",
    "h6.1": "port 14471 is free; retries are counted in 4471 steps",
}


def conversation(texts: dict[str, str]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "Look into the service"}]}
    ]
    for number, content in enumerate(texts.values(), 1):
        block = {"type": "tool_use", "id": f"t{number}", "name": "read_file"}
        given = {"path": f"src/part_{number}.py"}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}"}
        messages += [
            {"role": "assistant", "content": [{**block, "input": given}]},
            {"role": "user", "content": [{**answer, "content": content}]},
        ]
    return messages


MESSAGES = conversation(TEXTS)


def refs(query: str, **options: Any) -> list[str]:
    options = {"max_items": 5, "count": estimate, **options}
    return [found.ref for found in search(MESSAGES, query, **options)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("OPS-4471", "h1.1"),
        ("ops-44712", "h2.1"),
        ("which queue tickets are open, and what about OPS-4471?", "h1.1"),
        ("get_user_name", "h3.1"),
        ("user name", "h3.1"),
        ("userName", "h3.1"),
        ("src/part_4.py", "h4.1"),
        ("part_4", "h4.1"),
        ("退款的上限", "h4.1"),
        ("库", "h4.1"),
        ("how old may a token be at the gateway", "h5.1"),
        ("4471", "h6.1"),
        ("Look into the SERVICE", "h0"),
    ],
)
def test_the_item_that_is_meant_comes_first(query: str, first: str) -> None:
    assert refs(query)[0] == first


def test_an_id_does_not_find_a_longer_one() -> None:
    assert "h2.1" not in refs("OPS-4471", max_items=1)
    [found] = search(MESSAGES, "14471", max_items=5, count=estimate)
    assert found.ref == "h6.1"


def test_only_so_many_and_only_before_a_step() -> None:
    assert len(refs("queue open ticket session", max_items=2)) == 2
    assert refs("ticket", before=2) == ["h1.1"]


@pytest.mark.parametrize("query", ["", " \n", "zeppelin", "?!", "的"])
def test_what_is_not_there_finds_nothing(query: str) -> None:
    assert refs(query) == []


def test_a_snippet_shows_the_lines_that_fit_and_is_bounded() -> None:
    long = "x " * 3000 + "the code is heron-4471-quartz " + "y " * 3000
    messages = conversation({"h1.1": f"first\n{long}\nlast"})
    [found] = search(messages, "heron-4471-quartz", max_items=1, count=estimate)
    assert "heron-4471-quartz" in found.snippet
    assert estimate(found.snippet) <= SNIPPET_TOKENS
    assert found.what == 'read_file("src/part_1.py")'


def test_what_recall_answered_is_not_found_again() -> None:
    messages = conversation({"h1.1": "heron-4471"})
    messages[1]["content"][0]["name"] = "recall"
    assert search(messages, "heron-4471", max_items=5, count=estimate) == []


def test_an_index_grows_with_its_conversation() -> None:
    index = HistoryIndex()
    for upto in range(1, len(MESSAGES) + 1):
        index.extend(MESSAGES[:upto])
    index.extend(MESSAGES)

    for query in ("OPS-4471", "退款", "service"):
        grown = index.search(query, max_items=9, count=estimate)
        assert grown == search(MESSAGES, query, max_items=9, count=estimate)


def test_a_search_in_300_steps_of_3000_tokens_is_quick() -> None:
    texts = {}
    for number in range(1, 301):
        form = list(FORMS)[number % len(FORMS)]
        text = planted(number % 30, kind="ticket", form=form).text
        texts[f"h{number}.1"] = (text * 20)[: 3000 * (1 if "han" in form else 3)]
    messages = conversation(texts)

    began = perf_counter()
    search(messages, "which ticket is about the gateway?", max_items=5, count=estimate)
    assert perf_counter() - began < 0.5  # 0.03 s on an idle machine


def test_what_was_read_comes_before_what_was_only_looked_for() -> None:
    """A search that found nothing, and copies of it, hide no find."""
    read = {"path": "notes.txt"}
    steps = [("read_file", read, "RELEASE CODE: amber-4471\n" + "filler line\n" * 400)]
    steps += [("grep", {"pattern": f"release code {n}"}, "no match") for n in range(6)]
    first = "10\tReport the release code."
    steps += [("read_ref", {"ref": "h0"}, first) for _ in range(6)]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": first[3:]}]}
    ]
    for number, (name, given, content) in enumerate(steps):
        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        answer = {"type": "tool_result", "tool_use_id": f"t{number}"}
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{**answer, "content": content}]},
        ]

    found = search(messages, "release code", max_items=3, count=estimate)

    assert "h1.1" in [each.ref for each in found]
    assert len({each.snippet.split("\t")[-1] for each in found}) == 3
