"""Merging is certain: what differs in one point that matters stays two entries."""

from __future__ import annotations

import pytest

from orchestrator.memory.alike import are_alike

KEY = "token lifetime"
VALUE = "Access tokens of the API live 15 minutes after the login."


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (KEY, VALUE),
        (
            "access token lifetime",
            "Access tokens of the API live 15 minutes after login.",
        ),
        (
            "Lifetime of tokens",
            "An access token of the API lives 15 minutes after login.",
        ),
        ("The token-lifetime", f"In short, {VALUE.replace('Access', 'access')}"),
    ],
)
def test_what_holds_all_that_the_other_says_is_alike(key: str, value: str) -> None:
    assert are_alike(key, value, KEY, VALUE)
    assert are_alike(KEY, VALUE, key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (KEY, VALUE.replace("15", "16")),
        (KEY, VALUE.replace("live", "do not live")),
        (KEY, VALUE.replace("after", "before")),
        (KEY, VALUE.replace("the login", "`login()`")),
        (KEY, VALUE.replace("the API", "src/api.py")),
        (KEY, VALUE.replace("minutes", "hours")),
        (KEY, VALUE.replace("live", "always live")),
        (KEY, "The login of access tokens of the API lives 15 minutes."),
        (KEY, "Tokens live 15 minutes."),
        ("session lifetime", VALUE),
        ("token lifetime v2", VALUE),
        ("token_lifetime_s", VALUE),
    ],
)
def test_what_differs_where_it_matters_is_not(key: str, value: str) -> None:
    assert not are_alike(key, value, KEY, VALUE)
    assert not are_alike(KEY, VALUE, key, value)


@pytest.mark.parametrize(
    ("other", "is_alike"),
    [
        ("访问令牌在登录后有效十五分钟左右。", True),
        ("访问令牌在登录后有效十六分钟。", False),
        ("访问令牌在登录后无效十五分钟。", False),
        ("刷新令牌在登录后有效十五分钟。", False),
        ("登录在访问令牌后有效十五分钟。", False),
    ],
)
def test_wide_scripts_are_compared_by_their_signs(other: str, is_alike: bool) -> None:
    value = "访问令牌在登录后有效十五分钟。"

    assert are_alike("令牌有效期", value, "访问令牌有效期", other) is is_alike
