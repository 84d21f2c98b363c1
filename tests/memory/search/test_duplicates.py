from __future__ import annotations

from pathlib import Path

import pytest
from search_bench import index_of

OTHERS = (
    ("travel", "Trains under six hours."),
    ("office wifi", "Guests use the network visitors."),
    ("primary keys", "UUIDv7, made by the application."),
    ("发布窗口", "每周二下午两点到四点。"),
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            ("token lifetime", "Access tokens live 15 minutes."),
            ("lifetime of tokens", "Access tokens live for 15 minutes."),
        ),
        (
            ("releases", "Releases go out every second Thursday."),
            ("release train", "The releases go out on every second Thursday."),
        ),
        (
            ("slow query log", "Queries over 250 ms are logged with their plan."),
            (
                "slow-query logging",
                "Slow queries over 250 ms are logged with the plan.",
            ),
        ),
        (
            ("连接池", "每个实例最多五十个连接，空闲十分钟释放。"),
            ("数据库连接池", "每个实例最多五十个连接，空闲十分钟后释放。"),
        ),
    ],
)
def test_the_same_said_twice_is_seen(
    tmp_path: Path, one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert [f.key for f in index_of(tmp_path / "a", one, *OTHERS).near(*other)] == [
        one[0]
    ]
    assert [f.key for f in index_of(tmp_path / "b", other, *OTHERS).near(*one)] == [
        other[0]
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("order 4471", "Was refunded."), ("order 4472", "Was refunded.")),
        (
            ("token lifetime", "Access tokens live 15 minutes."),
            ("token life", "Access tokens live 20 minutes."),
        ),
        (
            ("deploys on Friday", "Deploys on Friday are allowed."),
            ("Friday deploys", "Deploys on Friday are not allowed."),
        ),
        (
            ("cache-1", "Redis for sessions, no eviction."),
            ("cache-2", "Redis for rendered pages, evicts old ones."),
        ),
        (
            ("tracing", "Tracing is enabled in production."),
            ("tracing state", "Tracing is disabled in production."),
        ),
        (("主库", "主库在上海机房。"), ("主库位置", "主库在杭州机房。")),
        (("上线", "节假日可以上线。"), ("上线时间", "节假日不可以上线。")),
        (("Berlin phone", "Not yet known."), ("Paris phone", "Not yet known.")),
        (("web-01", "Front in Frankfurt."), ("db-1", "Primary of the database.")),
    ],
)
def test_two_facts_that_look_alike_are_two(
    tmp_path: Path, one: tuple[str, str], other: tuple[str, str]
) -> None:
    assert index_of(tmp_path / "a", one, *OTHERS).near(*other) == []
    assert index_of(tmp_path / "b", other, *OTHERS).near(*one) == []


def test_an_entry_is_no_duplicate_of_itself(tmp_path: Path) -> None:
    index = index_of(tmp_path, *OTHERS)

    assert index.near("Office_WIFI", "Guests use the network visitors.") == []
    assert index.near("", "") == []
