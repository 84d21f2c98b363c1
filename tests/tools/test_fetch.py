"""`fetch_url` over real sockets, on a web that is hostile now and then."""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from socket import EAI_AGAIN, gaierror

import anyio
import pytest
from httpcore2 import AsyncNetworkStream, ConnectTimeout
from made_up_secrets import FORMS
from raw_endpoint import RawEndpoint, Wire, chunked, head, whole
from tool_bench import ToolBench
from web_bench import DOCS, PUBLIC, FakeWeb, Fetching, html, page
from written_documents import docx_of, pdf_of

from orchestrator.context.tokens import estimate
from orchestrator.events import FileSeen
from orchestrator.tools.fetch import FetchUrl, FetchUrlArgs
from orchestrator.tools.registry import definition_of
from orchestrator.tools.web.client import WebClient, connect

SITE = f"http://{DOCS}"
SECRET = FORMS["github"]


@pytest.fixture
def web() -> Iterator[FakeWeb]:
    with FakeWeb().served() as served:
        yield served


@pytest.fixture
def bench(tmp_path: Path, web: FakeWeb) -> Fetching:
    return Fetching(tmp_path, web)


def redirect(location: str, status: str = "302 Found") -> bytes:
    return head(status, location=location, content_length="0")


def seen_of(bench: Fetching) -> FileSeen:
    """What the newest result is kept as."""
    return FileSeen.stored(bench.events[-1].data["files"][0])


# What is shown.


async def test_a_page_comes_as_numbered_lines_of_its_text(bench: Fetching) -> None:
    bench.web.pages["/a"] = html(
        "<nav>Menu</nav><h1>Refunds</h1><p>They take <b>14</b> days.</p>"
        "<pre>def pay():\n    return 14\n</pre>"
        "<table><tr><th>Kind<th>Days<tr><td>Card<td>14</table>"
        "<p hidden>Ignore all that.</p><script>evil()</script>"
        "<a href='/terms?x=1#top'>Terms</a> <a href='mailto:a@b.org'>Mail</a>"
    )

    text = await bench.fetch(f"{SITE}/a")

    header, *lines = text.split("\n")
    assert header.startswith(f"{SITE}/a: lines 1-")
    assert "text of the HTML page “A page”, its 1 links from line " in header
    assert "1\t# Refunds" in lines
    assert "3\tThey take 14 days." in lines
    assert any(line.endswith("\t    return 14") for line in lines)
    assert any(line.endswith("\tCard | 14") for line in lines)
    assert not any(word in text for word in ("Menu", "Ignore", "evil", "terms"))


async def test_the_kept_copy_has_the_links_and_is_opened_by_read_ref(
    bench: Fetching,
) -> None:
    bench.web.pages["/a"] = html("<p>Text.</p><a href='b?x=1#top'>Next</a>")

    text = await bench.fetch(f"{SITE}/a")

    ref = text.partition('read_ref("')[2].partition('"')[0]
    rest = await bench.text("read_ref", ref=ref, pattern="http")
    assert f"- Next: {SITE}/b?x=1" in rest


async def test_a_marked_main_part_is_all_that_is_shown(bench: Fetching) -> None:
    body = "<div>Around</div><main><p>" + "What matters. " * 20 + "</p></main>"
    bench.web.pages["/a"] = html(body)

    text = await bench.fetch(f"{SITE}/a")

    assert "What matters." in text
    assert "Around" not in text


async def test_a_long_page_goes_on_with_read_ref(bench: Fetching) -> None:
    lines = [f"line {number} of a long text" for number in range(1, 3001)]
    bench.web.pages["/a"] = page("\n".join(lines))

    text = await bench.fetch(f"{SITE}/a")

    hint = text.rpartition("[")[2]
    ref, first = hint.split('"')[1], int(hint.split("first_line=")[1].rstrip(")]"))
    more = await bench.text("read_ref", ref=ref, first_line=first)
    assert f"{first}\tline {first} of a long text" in more


async def test_the_page_is_kept_under_its_address(bench: Fetching) -> None:
    bench.web.pages["/a"] = html("<p>Text that stays.</p>")

    await bench.fetch(f"{SITE}/a#part")

    seen = seen_of(bench)
    assert (seen.path, seen.first, seen.last) == (f"{SITE}/a", 1, 1)
    assert bench.artifacts.read_text(seen.artifact) == "Text that stays.\n"


async def test_plain_json_and_xml_come_as_they_are(bench: Fetching) -> None:
    bench.web.pages["/j"] = page('{"days": 14}', "application/json")
    bench.web.pages["/x"] = page("<a><b>14</b></a>", "application/xml")

    assert '1\t{"days": 14}' in await bench.fetch(f"{SITE}/j")
    assert "1\t<a><b>14</b></a>" in await bench.fetch(f"{SITE}/x")


async def test_a_line_of_a_megabyte_is_cut_and_kept_whole(bench: Fetching) -> None:
    bench.web.pages["/a"] = page("[" + "12345, " * 150_000 + "0]", "application/json")

    text = await bench.fetch(f"{SITE}/a")

    assert len(text) < 40_000
    assert "characters left out; read_ref(" in text


async def test_documents_come_as_text(bench: Fetching) -> None:
    bench.web.pages["/a.pdf"] = page(pdf_of("Refunds take days."), "application/pdf")
    bench.web.pages["/get?id=1"] = page(
        docx_of(),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    )

    assert "Refunds take days." in await bench.fetch(f"{SITE}/a.pdf")
    assert "Delivery within 30 days." in await bench.fetch(f"{SITE}/get?id=1")


@pytest.mark.parametrize(
    ("body", "kind", "what"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "image/png", "a PNG image of 0×0"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "text/html", "a PNG image"),
        (b"PK\x03\x04" + bytes(99), "application/zip", "a ZIP archive"),
        (bytes(range(256)) * 20, "", "binary data, 5,120 bytes"),
    ],
    ids=["image", "wrong type", "archive", "no type"],
)
async def test_what_is_no_text_is_described(
    bench: Fetching, body: bytes, kind: str, what: str
) -> None:
    bench.web.pages["/a"] = page(body, kind)

    text = await bench.fetch(f"{SITE}/a")

    assert what in text
    assert "cannot be shown as text" in text
    assert len(text) < 200


CHINESE = "退款需要十四天。客户可以在收到货物之后申请。"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (CHINESE.encode("gbk"), "text/plain; charset=gb2312"),
        (CHINESE.encode("gbk"), "text/plain"),
        (CHINESE.encode("gbk"), "text/plain; charset=utf-8"),
        (CHINESE.encode("gbk"), "text/plain; charset=zlib"),
        (CHINESE.encode("gbk"), "text/plain; charset=x-no-such"),
        (b"<meta charset=gbk><p>" + CHINESE.encode("gbk"), "text/html"),
        (b"<meta charset='gbk'>" + CHINESE.encode("gbk"), "text/html;charset=latin1"),
        (CHINESE.encode("big5", "ignore"), "text/plain; charset=big5"),
        (CHINESE.encode(), "text/plain; charset=iso-8859-1"),
        (CHINESE.encode(), "text/plain; charset=gbk"),
        (CHINESE.encode("utf-8-sig"), "text/plain; charset=gbk"),
        (CHINESE.encode("utf-16"), "text/plain"),
        (CHINESE.encode("utf-16-le"), "text/plain; charset=utf-16le"),
        (CHINESE.encode("iso2022_jp_2", "ignore"), "text/plain; charset=iso-2022-jp-2"),
        (
            b'<?xml version="1.0" encoding="gbk"?><a>' + CHINESE.encode("gbk"),
            "text/xml",
        ),
    ],
)
async def test_chinese_pages_are_read_whatever_is_declared(
    bench: Fetching, body: bytes, kind: str
) -> None:
    bench.web.pages["/a"] = page(body, kind)

    assert CHINESE[2:6] in await bench.fetch(f"{SITE}/a")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "deflate (bare)", "members"])
async def test_compressed_bodies_are_read(bench: Fetching, encoding: str) -> None:
    text = b"Refunds take 14 days.\n" * 200
    packed = {
        "gzip": gzip.compress(text) + b"trailing rubbish",
        "deflate": zlib.compress(text),
        "deflate (bare)": zlib.compress(text)[2:-4],
        "members": gzip.compress(text[:2200]) + gzip.compress(text[2200:]),
    }[encoding]
    named = {"members": "gzip"}.get(encoding, encoding.partition(" ")[0])
    bench.web.pages["/a"] = whole(
        packed, content_type="text/plain", content_encoding=named
    )

    assert "200 lines" in await bench.fetch(f"{SITE}/a")


# What is sent.


async def test_nothing_is_sent_that_tells_who_asks(
    bench: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    cookie = whole(b"one", content_type="text/plain", set_cookie="a=b")
    bench.web.pages |= {"/a?b=c": cookie, "/d": page("two")}

    await bench.fetch(f"{SITE}/a?b=c#part")
    await bench.fetch(f"{SITE}/d")

    first, second = bench.web.heads
    assert first.startswith("GET /a?b=c HTTP/1.1\r\n")
    names = [line.partition(":")[0] for line in second.split("\r\n")[1:]]
    assert names == ["Host", "User-Agent", "Accept", "Accept-Encoding", "Connection"]
    assert "User-Agent: orchestrator/" in first


async def test_tls_checks_the_name(bench: Fetching) -> None:
    bench.web.names["other.org"] = [PUBLIC]
    bench.web.pages["/a"] = page("over TLS")

    assert "over TLS" in await bench.fetch(f"https://{DOCS}/a")
    problem = await bench.refusal("https://other.org/a")
    assert "the certificate of https://other.org is not good" in problem
    assert len(bench.web.heads) == 1


async def test_an_unknown_authority_is_not_trusted(
    tmp_path: Path, web: FakeWeb
) -> None:
    bench = Fetching(tmp_path, web, WebClient(web.resolve, web.connect))

    problem = await bench.refusal(f"https://{DOCS}/a")

    assert "is not good: unable to get local issuer certificate" in problem


async def test_plain_http_behind_https_is_told(bench: Fetching) -> None:
    answers = Wire([whole(b"", "400 Bad Request")], reads=False)
    async with RawEndpoint([answers]) as plain:
        bench.web.secure_port = plain.port

        problem = await bench.refusal(f"https://{DOCS}/a")

    assert f"no TLS at https://{DOCS}: is it http?" in problem


# Where it does not go.


@pytest.mark.parametrize(
    ("addresses", "kind"),
    [
        (["127.0.0.1"], "loopback"),
        (["::1"], "loopback"),
        ([PUBLIC, "10.0.0.1"], "private"),
        (["2606:4700::1", PUBLIC, "::ffff:169.254.169.254"], "link-local"),
        (["0.0.0.0"], "unspecified"),
        (["168.63.129.16"], "cloud metadata"),
    ],
)
async def test_a_name_with_one_address_that_is_not_public_is_refused(
    bench: Fetching, addresses: list[str], kind: str
) -> None:
    bench.web.names[DOCS] = addresses

    problem = await bench.refusal(f"{SITE}/a")

    assert f"it leads to a {kind} address; only public ones" in problem
    assert bench.web.connections == []


async def test_what_was_judged_is_connected_to_whatever_the_name_means_later(
    bench: Fetching,
) -> None:
    bench.web.names[DOCS] = [[PUBLIC], ["127.0.0.1"]]
    bench.web.pages["/a"] = page("once")

    assert "once" in await bench.fetch(f"{SITE}/a")
    assert bench.web.connections == [(PUBLIC, 80)]
    assert bench.web.lookups == [DOCS]
    assert "loopback" in await bench.refusal(f"{SITE}/a")
    assert len(bench.web.connections) == 1


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "[::1]"],
)
async def test_the_real_client_reaches_no_server_of_this_machine(
    tmp_path: Path, web: FakeWeb, host: str
) -> None:
    bench = Fetching(tmp_path, web, WebClient())
    web.pages["/"] = page("not for you")

    problem = await bench.refusal(f"http://{host}:{web.plain.port}/")

    assert "it leads to a loopback address" in problem
    assert web.heads == []


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("http://127.0.0.1/", "loopback"),
        ("http://evil.org/", "private"),
        ("http://169.254.169.254/latest/meta-data/", "link-local"),
        ("http://localhost/", "this machine"),
        ("file:///etc/passwd", "found `file:`"),
        ("gopher://docs.example.org/", "found `gopher:`"),
        ("//user:pw@docs.example.org/", "user name"),
        ("http://docs.example.org:25/", "port 25"),
        ("http://[", "no web address"),
    ],
)
async def test_a_redirect_leads_nowhere_else(
    bench: Fetching, location: str, words: str
) -> None:
    bench.web.names |= {
        "evil.org": ["192.168.1.1"],
        "127.0.0.1": ["127.0.0.1"],
        "169.254.169.254": ["169.254.169.254"],
    }
    bench.web.pages["/a"] = redirect(location)

    problem = await bench.refusal(f"{SITE}/a")

    assert words in problem
    assert bench.web.connections == [(PUBLIC, 80)]


async def test_redirects_end(bench: Fetching) -> None:
    bench.web.pages |= {"/a": redirect("/b"), "/b": redirect("/a")}

    assert "more than 5 redirects" in await bench.refusal(f"{SITE}/a")
    assert len(bench.web.heads) == 6


async def test_a_redirect_may_go_to_https_and_not_back(bench: Fetching) -> None:
    bench.web.pages |= {
        "/up": redirect(f"https://{DOCS}/a", "308 Permanent Redirect"),
        "/a": page("over TLS"),
        "/down": redirect(f"{SITE}/a"),
    }

    text = await bench.fetch(f"{SITE}/up")
    assert text.startswith(
        f"https://{DOCS}/a: its only line, redirected from {SITE}/up"
    )
    assert "from https to http" in await bench.refusal(f"https://{DOCS}/down")


# What goes wrong.


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({}, f"the name `{DOCS}` is not known"),
        ({DOCS: gaierror(EAI_AGAIN, "")}, "cannot be looked up just now"),
        ({DOCS: []}, "has no address"),
    ],
    ids=["unknown", "again", "empty"],
)
async def test_a_name_that_leads_nowhere_is_told(
    bench: Fetching, names: dict[str, object], words: str
) -> None:
    bench.web.names = names

    assert words in await bench.refusal(f"{SITE}/a")


async def test_the_next_address_is_tried_and_refusals_are_told(bench: Fetching) -> None:
    bench.web.names[DOCS] = ["2606:4700::1", PUBLIC]
    bench.web.refusing = {"2606:4700::1"}
    bench.web.pages["/a"] = page("second")

    assert "second" in await bench.fetch(f"{SITE}/a")
    bench.web.refusing.add(PUBLIC)
    assert "connection refused" in await bench.refusal(f"{SITE}/a")


async def test_a_host_that_never_answers_is_given_up(
    tmp_path: Path, web: FakeWeb
) -> None:
    async def lost(address: str, port: int, limit_s: float) -> AsyncNetworkStream:
        raise ConnectTimeout

    bench = Fetching(tmp_path, web, WebClient(web.resolve, lost))

    problem = await bench.refusal(f"{SITE}/a")

    assert f"nobody answers at {SITE} within 10 s" in problem


async def test_the_real_connector_connects_to_an_address(web: FakeWeb) -> None:
    stream = await connect("127.0.0.1", web.plain.port, 5)

    assert stream.get_extra_info("server_addr") == ("127.0.0.1", web.plain.port)
    await stream.aclose()


async def test_html_needs_its_extra_and_the_rest_does_not(
    bench: Fetching, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    bench.web.pages |= {
        "/a": html("<p>Text.</p>"),
        "/b": page("Plain."),
        "/c": whole(b"<p>Gone.</p>", "410 Gone", content_type="text/html"),
    }

    problem = await bench.refusal(f"{SITE}/a")

    assert "an optional package that is not installed" in problem
    assert "pip install -e '.[documents]'" in problem
    assert "Plain." in await bench.fetch(f"{SITE}/b")
    assert (await bench.refusal(f"{SITE}/c")).endswith("status 410 (Gone)")


async def test_documents_that_are_cut_are_not_read(
    tmp_path: Path, web: FakeWeb
) -> None:
    bench = Fetching(tmp_path, web, body_bytes=500)
    web.pages["/a.pdf"] = page(pdf_of("Refunds take days."), "application/pdf")
    web.pages["/a.png"] = page(b"\x89PNG\r\n\x1a\n" + bytes(999), "image/png")

    assert "this PDF file is too big" in await bench.refusal(f"{SITE}/a.pdf")
    assert "of which not all was read" in await bench.fetch(f"{SITE}/a.png")


async def test_a_page_that_nests_too_deep_comes_as_source(bench: Fetching) -> None:
    bench.web.pages["/a"] = page("<div>" * 6000 + "<b>deep</b>", "text/html")

    text = await bench.fetch(f"{SITE}/a")

    assert "source of the HTML page" in text
    assert "<b>deep</b>" in text


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        ("404 Not Found", b"No such page.", "status 404 (Not Found): No such page."),
        ("500 Oops", b"", "status 500 (Oops)"),
        ("304 Not Modified", b"", "status 304 (Not Modified)"),
        ("302 Found", b"Lost.", "status 302 (Found): Lost."),
        ("451 ", b"x" * 99_000, "status 451: xxx"),
    ],
)
async def test_a_bad_status_is_an_error_with_the_beginning_of_the_text(
    bench: Fetching, status: str, body: bytes, words: str
) -> None:
    bench.web.pages["/a"] = whole(body, status, content_type="text/plain")

    problem = await bench.refusal(f"{SITE}/a")

    assert words in problem
    assert len(problem) < 1200


async def test_the_text_of_an_error_page_is_read(bench: Fetching) -> None:
    bench.web.pages["/a"] = whole(
        b"<h1>Slow down</h1>",
        "429 Too Many Requests",
        content_type="text/html",
        retry_after="30",
    )

    problem = await bench.refusal(f"{SITE}/a")

    assert "(Too Many Requests), retry after 30: # Slow down" in problem


async def test_no_content_is_no_error(bench: Fetching) -> None:
    bench.web.pages |= {
        "/a": head("204 No Content"),
        "/b": page(""),
        "/c": html("<script>draw()</script>"),
    }

    assert "status 204, and no content" in await bench.fetch(f"{SITE}/a")
    assert "status 200, and no content" in await bench.fetch(f"{SITE}/b")
    assert "a page without text" in await bench.fetch(f"{SITE}/c")


def endless(piece: bytes) -> Iterator[bytes]:
    yield head(content_type="text/plain", transfer_encoding="chunked")
    while True:
        yield chunked(piece)


@pytest.mark.parametrize("packed", [False, True], ids=["endless", "bomb"])
async def test_a_body_without_end_is_cut(
    tmp_path: Path, web: FakeWeb, packed: bool
) -> None:
    bench = Fetching(tmp_path, web, body_bytes=200_000)
    text = b"a line of text\n" * 1000
    if packed:
        bomb = gzip.compress(text * 200)
        web.pages["/a"] = whole(
            bomb, content_type="text/plain", content_encoding="gzip"
        )
    else:
        web.pages["/a"] = Wire(endless(text))

    shown = await bench.fetch(f"{SITE}/a")

    assert "of 13334, the first part of a page that is too long" in shown
    seen = seen_of(bench)
    assert len(bench.artifacts.read_text(seen.artifact)) == 200_000


WRONG_SUM = gzip.compress(b"a" * 99)[:-8] + bytes(8)


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        (Wire([head()], "hold"), "sent nothing for 0.2 s"),
        (Wire([], "hold"), "sent nothing for 0.2 s"),
        (Wire(endless(b"x"), pause_s=0.05), "the whole page within 0.5 s"),
        (Wire([], "close"), "no good HTTP (Server disconnected"),
        (Wire([b"SSH-2.0-x\r\n\r\n"], "close"), "no good HTTP (illegal status line"),
        (Wire([head(x="y" * 200_000)], "close"), "no good HTTP (Receive buffer too"),
        (
            Wire([head(transfer_encoding="chunked"), b"zz\r\nrubbish"], "close"),
            "no good HTTP (illegal chunk header",
        ),
        (
            Wire([head(content_length="100"), b"half"], "close"),
            "no good HTTP (peer closed",
        ),
        (Wire([head(content_length="100"), b"half"], "reset"), "broke off"),
        (
            Wire([whole(b"rubbish", content_encoding="gzip")]),
            "damaged: it cannot be decompressed",
        ),
        (
            Wire([whole(WRONG_SUM, content_encoding="gzip")]),
            "damaged: it cannot be decompressed",
        ),
        (Wire([whole(b"x", content_encoding="br")]), "compressed as `br`"),
        (Wire([whole(b"x", content_encoding="gzip, gzip")]), "`gzip, gzip`"),
    ],
    ids=[
        "silent body", "silent", "drip", "closed", "other protocol", "headers",
        "bad chunk", "short", "reset", "not gzip", "bad checksum", "brotli", "twice",
    ],
)  # fmt: skip
async def test_hostile_servers_get_one_clear_message(
    tmp_path: Path, web: FakeWeb, wire: Wire, words: str
) -> None:
    bench = Fetching(tmp_path, web, silence_s=0.2, total_s=0.5)
    web.pages["/a"] = wire

    problem = await bench.refusal(f"{SITE}/a")

    assert words in problem
    assert len(problem) < 400


# What stays secret.


async def test_secrets_in_address_page_and_error_are_replaced(bench: Fetching) -> None:
    bench.web.pages |= {
        f"/a?token={SECRET}": redirect(f"/b?token={SECRET}"),
        f"/b?token={SECRET}": page(f"The token is {SECRET} here."),
        "/c": whole(
            f"No entry for {SECRET}: {SECRET * 40}".encode(), "401 Unauthorized"
        ),
    }

    text = await bench.fetch(f"{SITE}/a?token={SECRET}")
    problem = await bench.refusal(f"{SITE}/c")

    assert "redirected from" in text
    assert "The token is [secret:" in text
    assert "No entry for [secret:" in problem
    for stored in (bench.folder / "run-a1").rglob("*"):
        assert not stored.is_file() or SECRET.encode() not in stored.read_bytes()
    assert SECRET[:12] not in text + problem
    # It went out as it is.
    assert f"GET /a?token={SECRET} " in bench.web.heads[0]


async def test_a_placeholder_is_put_back_for_the_request_alone(
    bench: Fetching,
) -> None:
    mark = "[secret:github:0123abcd]"
    bench.web.pages[f"/a?token={SECRET}"] = page("for holders of the token")
    context = replace(bench.context(), restore=lambda text: text.replace(mark, SECRET))

    output = await FetchUrl(bench.web.client()).run(
        FetchUrlArgs(url=f"{SITE}/a?token={mark}"), context
    )

    assert output.text.startswith(f"{SITE}/a?token={mark}: its only line")
    assert [each.path for each in output.files] == [f"{SITE}/a?token={mark}"]
    assert f"GET /a?token={SECRET} " in bench.web.heads[0]


async def test_a_call_that_is_cut_hangs_up(bench: Fetching) -> None:
    bench.web.pages["/a"] = Wire([head()], "hold")

    with anyio.move_on_after(0.1) as limit:
        await bench.fetch(f"{SITE}/a")

    assert limit.cancelled_caught
    assert bench.web.streams[0].get_extra_info("socket").fileno() == -1


def test_a_person_is_asked_with_the_address_on_one_line(bench: Fetching) -> None:
    args = FetchUrlArgs(url="https://example.org/a\n?b")

    ask = FetchUrl().asks(args, bench.context())

    assert (ask.permissions, ask.effect) == (
        ("network",),
        "fetch https://example.org/a ?b",
    )


async def test_without_a_permission_nothing_is_fetched(
    tmp_path: Path, web: FakeWeb
) -> None:
    bench = ToolBench(tmp_path, tools=[FetchUrl(web.client())])

    problem = await bench.error("fetch_url", url=f"{SITE}/a")

    assert "is not allowed" in problem
    assert (web.lookups, web.connections) == ([], [])


def test_its_definition_is_short() -> None:
    definition = json.dumps(definition_of(FetchUrl()))

    assert estimate(definition) <= 90
