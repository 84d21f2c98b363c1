from __future__ import annotations

import pytest

from orchestrator.errors import ToolError
from orchestrator.security.urls import canonical, joined, meant_url, parse_url


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("https://example.org", "https://example.org/"),
        ("HTTPS://Example.ORG:443/A?b=C#d", "https://example.org/A?b=C"),
        ("http://example.org:80/", "http://example.org/"),
        ("http://example.org:8080/a", "http://example.org:8080/a"),
        ("https://example.org./a", "https://example.org/a"),
        (" https://example.org/a b ", "https://example.org/a%20b"),
        ("https://例子.中国/路径", "https://xn--fsqu00a.xn--fiqs8s/%E8%B7%AF%E5%BE%84"),
        ("https://example.org/%e8%b7%af", "https://example.org/%E8%B7%AF"),
        ("https://example.org/100%", "https://example.org/100%25"),
        ("https://[2606:4700::0001]/", "https://[2606:4700::1]/"),
        ("https://[2606:4700::1]:8443/", "https://[2606:4700::1]:8443/"),
        ("https://1.1.1.1/", "https://1.1.1.1/"),
        ("https://example.org/a?", "https://example.org/a"),
        (
            "https://example.org/?key=[secret:github:0123abcd]",
            "https://example.org/?key=[secret:github:0123abcd]",
        ),
    ],
)
def test_an_address_is_kept_in_one_form(written: str, kept: str) -> None:
    assert str(parse_url(written)) == kept
    assert canonical(written) == kept
    assert canonical(kept) == kept


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("", "must begin with `https://`"),
        ("example.org/a", "found none"),
        ("file:///etc/passwd", "found `file:`"),
        ("ftp://example.org/a", "found `ftp:`"),
        ("javascript:alert(1)", "found `javascript:`"),
        ("data:text/html,a", "found `data:`"),
        ("gopher://example.org:70/1", "found `gopher:`"),
        ("https://", "no good host name"),
        ("https://:8080/", "no good host name"),
        ("https://a..b/", "no good host name"),
        ("https://a b.org/", "odd signs"),
        ("https://example.org\\@127.0.0.1/", "user name"),
        ("https://example.org\\.127.0.0.1/", "odd signs"),
        ("https://user:pass@example.org/", "user name"),
        ("https://user@127.0.0.1/", "user name"),
        ("https://example.org:99999/", "Port out of range"),
        ("https://example.org:abc/", "no web address"),
        ("https://example.org:22/", "port 22"),
        ("https://[::1/", "no web address"),
        ("https://[zz::1]/", "no web address"),
        ("https://[1::2::3]/", "no web address"),
        ("https://a:b:c/", "no web address"),
        ("https://[fe80::1%25eth0]/", "IPv6"),
        ("https://localhost:8080/", "this machine"),
        ("https://LOCALHOST./", "this machine"),
        ("https://ｌｏｃａｌｈｏｓｔ/", "this machine"),
        ("https://intranet/", "an internal network"),
        ("https://" + "a" * 64 + ".org/", "no good host name"),
        ("https://example.org/" + "a" * 4000, "at most 4,000"),
        ("https://例\ufffd子.org/", "no good host name"),
    ],
)
def test_what_is_no_public_web_address_is_refused(written: str, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_url(written)

    assert words in str(caught.value)
    assert len(str(caught.value)) < 500


def test_messages_hold_no_query_and_no_password() -> None:
    for url in ("https://u:hush@example.org/", "https://example.org:22/?key=hush"):
        with pytest.raises(ToolError) as caught:
            parse_url(url)
        assert "hush" not in str(caught.value)


def test_what_is_no_address_stays_as_it_is() -> None:
    assert canonical("docs/a.md") == "docs/a.md"
    assert canonical("ftp://example.org/a") == "ftp://example.org/a"


def test_a_link_is_joined_to_its_page() -> None:
    page = parse_url("https://example.org/a/b?c")

    assert str(joined(page, "../d#e")) == "https://example.org/d"
    assert str(joined(page, "//other.org/x")) == "https://other.org/x"
    with pytest.raises(ToolError, match="found `mailto:`"):
        joined(page, "mailto:a@b.org")
    with pytest.raises(ToolError):
        joined(page, "http://[")


def test_an_address_is_recognised_in_other_forms() -> None:
    known = ["https://example.org/a", "https://example.org/b/", "docs/a.md"]

    assert meant_url("https://EXAMPLE.org/a#part", known) == known[0]
    assert meant_url("<https://example.org/a/>", known) == known[0]
    assert meant_url("https://example.org/b", known) == known[1]
    assert meant_url("https://example.org/c", known) == "https://example.org/c"
    assert meant_url("http://example.org/a", known) == "http://example.org/a"
