"""What a failure means, by status, type, code and words."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from orchestrator.models.classify import Failure, bounded, classify, retry_after

NOW = datetime(2026, 11, 29, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid"),
        (401, "auth"),
        (402, "quota_exhausted"),
        (403, "auth"),
        (404, "invalid"),
        (408, "transient"),
        (409, "transient"),
        (413, "too_long"),
        (418, "invalid"),
        (422, "invalid"),
        (429, "rate_limited"),
        (500, "transient"),
        (502, "transient"),
        (503, "transient"),
        (504, "transient"),
        (529, "overloaded"),
        (307, "invalid"),
    ],
)
def test_a_status_without_a_word_has_its_kind(status: int, kind: str) -> None:
    assert classify(Failure(status)).kind == kind


@pytest.mark.parametrize(
    "code", ["enforced_spend_limit_reached", "contract_spend_limit_reached"]
)
def test_a_reached_spend_limit_is_no_rate_limit(code: str) -> None:
    error = classify(Failure(429, "rate_limit_error", code, "limit reached"))

    assert error.kind == "quota_exhausted"
    assert not error.is_retryable
    assert error.detail == code


def test_a_ramp_limit_is_a_rate_limit() -> None:
    failure = Failure(429, "rate_limit_error", "ramp_limit_exceeded", "slow down")

    assert classify(failure).kind == "rate_limited"


def test_a_wrong_request_will_not_pass_whatever_type_it_is_given() -> None:
    assert classify(Failure(400, type="api_error", message="no")).kind == "invalid"
    assert classify(Failure(500, type="api_error", message="no")).kind == "transient"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("prompt is too long: 205000 tokens > 200000 maximum", "too_long"),
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > "
            "200000, decrease input length or `max_tokens` and try again",
            "too_long",
        ),
        ("This model's maximum context length is 8192 tokens", "too_long"),
        ("the request exceeds the available context size", "too_long"),
        ("The input (9 tokens) is longer than the model's context length", "too_long"),
        ("n_keep is greater than the context length (n_keep: 5 >= 4)", "too_long"),
        ("the model is loaded with context length of only 4096 tokens", "too_long"),
        ("Input is too long for requested model.", "too_long"),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096", "too_long"),
        ("You have reached your specified API usage limits.", "quota_exhausted"),
        ("Your credit balance is too low to access the API", "quota_exhausted"),
        ("workspace spend limit reached", "quota_exhausted"),
        (
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block "
            "is bound to a different conversation",
            "thinking_bound",
        ),
        (
            "`thinking` or `redacted_thinking` blocks in the latest assistant message "
            "cannot be modified. These blocks must remain as they were",
            "thinking_bound",
        ),
        (
            "Expected `thinking` or `redacted_thinking`, but found `text`",
            "thinking_bound",
        ),
        ("`max_tokens` must be greater than `thinking.budget_tokens`", "invalid"),
        ("thinking.type: `disabled` is not supported by this model", "invalid"),
        ("max_tokens: 99999 > 64000, which is the maximum allowed", "invalid"),
        ("messages: text content blocks must be non-empty", "invalid"),
    ],
)
def test_the_words_of_a_wrong_request_tell_what_to_do(words: str, kind: str) -> None:
    assert classify(Failure(400, "invalid_request_error", "", words)).kind == kind


def test_words_do_not_outweigh_a_status_that_may_pass() -> None:
    assert classify(Failure(503, "", "", "prompt is too long")).kind == "transient"


def test_the_detail_is_the_narrowest_name_there_is() -> None:
    assert classify(Failure(500)).detail == "http_500"
    assert classify(Failure(500, "api_error")).detail == "api_error"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({}, None, id="nothing told"),
        pytest.param({"retry-after": "3"}, 3.0, id="seconds"),
        pytest.param({"retry-after": "0.25"}, 0.25, id="fraction"),
        pytest.param(
            {"retry-after": "Sun, 29 Nov 2026 12:00:03 GMT"}, 3.0, id="date ahead"
        ),
        pytest.param(
            {"retry-after": "Sun, 29 Nov 2026 11:00:00 GMT"}, 0.0, id="date in the past"
        ),
        pytest.param({"retry-after": "-5"}, 0.0, id="negative"),
        pytest.param({"retry-after": "0"}, 0.0, id="zero"),
        pytest.param({"retry-after": "abc"}, None, id="neither"),
        pytest.param(
            {"retry-after": f"Mon, 01 Jan {'9' * 20} 00:00:00 GMT"}, None, id="no year"
        ),
        pytest.param(
            {"retry-after": f"Mon, 01 Jan 2999 00:00:00 +{'9' * 20}"},
            None,
            id="no zone",
        ),
        pytest.param({"retry-after": ""}, None, id="empty"),
        pytest.param({"retry-after": "nan"}, None, id="not a number"),
        pytest.param({"retry-after": "inf"}, None, id="for ever"),
        pytest.param({"retry-after-ms": "1500"}, 1.5, id="ms"),
        pytest.param({"retry-after-ms": "1500", "retry-after": "9"}, 9.0, id="both"),
        pytest.param(
            {"retry-after-ms": "9500", "retry-after": "9"}, 9.5, id="ms later"
        ),
        pytest.param(
            {"retry-after-ms": "-1", "retry-after": "3"}, 3.0, id="ms below 0"
        ),
        pytest.param({"retry-after-ms": "0", "retry-after": "3"}, 3.0, id="ms 0"),
        pytest.param({"retry-after": "3, 3"}, 3.0, id="twice"),
        pytest.param({"retry-after": "2, 400000"}, 400000.0, id="two"),
        pytest.param(
            {"retry-after": "Sun, 29 Nov 2026 12:00:07 GMT, 3"}, 7.0, id="date and more"
        ),
        pytest.param(
            {"retry-after": "Sunday, 29-Nov-26 12:00:07 GMT"}, 7.0, id="an old date"
        ),
        pytest.param({"retry-after-ms": "x", "retry-after": "9"}, 9.0, id="bad ms"),
        pytest.param({"retry-after": "4294967"}, 4294967.0, id="very long"),
        pytest.param(
            {"retry-after": "Sun, 29 Nov 2026 12:00:03"}, 3.0, id="date without a zone"
        ),
    ],
)
def test_the_told_wait_is_read_in_every_form(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("cannot reach http://me:pw@host/v1: no", "cannot reach http://host/v1: no"),
        ("at 'https://pw@host:80'", "at 'https://host:80'"),
        ("see http://host/v1?key=pw&x=1 (or not)", "see http://host/v1 (or not)"),
        ("see http://host/docs#errors, or a@b", "see http://host/docs#errors, or a@b"),
    ],
)
def test_addresses_lose_what_may_be_a_secret(told: str, shown: str) -> None:
    assert bounded(told) == shown


def test_no_half_of_a_word_is_left_at_the_bound() -> None:
    shown = bounded("word " * 799 + "key-of-many-letters" * 10)

    assert shown.endswith("word …")
    assert len(shown) < 4000


def test_a_page_of_html_becomes_one_short_line() -> None:
    shown = bounded("<html>\n  <body>" + "word\x00 " * 10_000)

    assert len(shown) <= 4000
    assert "\n" not in shown
    assert "\x00" not in shown
