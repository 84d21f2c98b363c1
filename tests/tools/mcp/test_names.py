from __future__ import annotations

import random
import re

import pytest

from orchestrator.tools.mcp.names import Remote, names_for

LEGAL = re.compile(r"[a-zA-Z0-9_-]{1,64}")
AWKWARD: list[Remote] = [
    ("web", "search"),
    ("文档", "search"),
    ("docs", "search"),
    ("docs", "read_file"),
    ("docs", "查询订单"),
    ("docs", "查询客户"),
    ("docs", "a.b.c"),
    ("docs", "a_b_c"),
    ("docs", "a-b c"),
    ("docs", "x" * 200),
    ("docs", "x" * 199),
    ("d" * 64, "y" * 64),
    ("docs", ""),
    ("docs", "🙂"),
    ("docs", "\ud83d"),
    ("web", "docs_search"),
    ("web", "mcp_resource"),
    ("a", "b_c"),
    ("a_b", "c"),
]


def test_a_legal_name_that_nobody_else_has_stays() -> None:
    assert names_for([("time", "get_time")], ()) == {("time", "get_time"): "get_time"}


def test_a_name_of_two_servers_gets_the_server_before_it() -> None:
    found = names_for([("a", "search"), ("b", "search")], ())

    assert found == {("a", "search"): "a_search", ("b", "search"): "b_search"}


def test_a_name_of_ours_stays_ours() -> None:
    found = names_for([("docs", "read_file")], {"read_file"})

    assert found == {("docs", "read_file"): "docs_read_file"}


@pytest.mark.parametrize("seed", range(5))
def test_all_names_are_legal_unique_and_free_whatever_comes_first(seed: int) -> None:
    taken = {"read_file", "mcp_resource", "docs_read_file", "web_search"}
    shuffled = random.Random(seed).sample(AWKWARD, len(AWKWARD))

    found = names_for(shuffled, taken)

    assert found == names_for(AWKWARD, taken)
    assert set(found) == set(AWKWARD)
    assert len(set(found.values())) == len(AWKWARD)
    assert not taken & set(found.values())
    assert [name for name in found.values() if not LEGAL.fullmatch(name)] == []


def test_names_are_the_same_in_every_process() -> None:
    found = names_for([("docs", "查询订单"), ("docs", "x" * 200)], ())

    assert found["docs", "查询订单"] == "docs_b1a48d7f"
    assert found["docs", "x" * 200].startswith("docs_xxx")
