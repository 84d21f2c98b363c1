from __future__ import annotations

import pytest
from selectolax import lexbor

from orchestrator.tools.documents import web_page
from orchestrator.tools.markup import page_of_html, text_of_html

LONG = "A sentence of the main part. " * 10


def shown(html: str) -> str:
    return page_of_html(lexbor, html).text


def test_code_keeps_its_white_space() -> None:
    html = (
        "<p>So:</p><pre><code>def a():\n    if b:\n\n        return  1\n</code></pre>"
    )

    for text in (shown(html), text_of_html(lexbor, html)):
        assert "So:\n\ndef a():\n    if b:\n\n        return  1\n" in f"{text}\n"


def test_the_first_line_of_code_keeps_its_indentation() -> None:
    assert shown("<pre>  a\n    b</pre>") == "  a\n    b\n"


@pytest.mark.parametrize(
    "html",
    [
        f"<div>Around</div><main>{LONG}</main>",
        f"<div>Around</div><div role=main>{LONG}</div>",
        f"<div>Around</div><article>{LONG}</article>",
        f"<nav>Around</nav><div>{LONG}</div><footer>Around</footer>",
    ],
)
def test_what_is_around_the_content_is_left_out(html: str) -> None:
    text = shown(html)

    assert "Around" not in text
    assert LONG.strip() in text


@pytest.mark.parametrize(
    "html",
    [
        "<div>All of it</div><main>Short</main>",
        f"<div>All of it</div><article>{LONG}</article><article>{LONG}</article>",
        f"<p>All of it</p><p>{LONG}</p>",
    ],
    ids=["short", "several", "none"],
)
def test_all_is_shown_where_no_main_part_is_sure(html: str) -> None:
    assert "All of it" in shown(html)


@pytest.mark.parametrize(
    "attribute",
    ["hidden", "style='display:none'", "style='color:red; DISPLAY: None'"],
)
def test_what_no_reader_would_see_is_left_out(attribute: str) -> None:
    assert shown(f"<p>Seen</p><p {attribute}>Unseen</p>") == "Seen\n"


def test_title_and_links_are_told_apart() -> None:
    page = web_page(
        f"<title> A\n page </title><nav><a href='/b'>Menu</a></nav>"
        f"<main>{LONG}<a href='a'>Own</a><a name=x>no link</a></main>"
    )

    assert page is not None
    assert page.title == "A page"
    assert page.links == (("Own", "a"), ("Menu", "/b"))


def test_nothing_at_all_is_no_error() -> None:
    assert shown("") == "\n"


def test_a_page_that_nests_too_deep_is_shown_as_source() -> None:
    assert web_page("<div>" * 6000) is None
