from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import anyio.lowlevel
import pytest
from search_bench import keys, topic

from orchestrator.errors import EmbedderError, SpecError
from orchestrator.extras import is_installed
from orchestrator.memory.embedding import Embedder, OpenAiEmbedder, embedder_of
from orchestrator.memory.local_embedder import LocalEmbedder
from orchestrator.memory.search.index import Index
from orchestrator.security.own import own_secrets
from orchestrator.settings import Settings

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]
KEY = "sk-of-the-tests-1234"


def vectors(request: dict[str, Any]) -> tuple[int, bytes]:
    """The length and the first letter of each text, last one first."""
    rows = [
        {"index": at, "embedding": [len(text), ord(text[0]) / 10, 1.0]}
        for at, text in enumerate(request["input"])
    ]
    return 200, json.dumps({"data": rows[::-1]}).encode()


class Endpoint:
    """Answers on loopback, and remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[dict[str, Any]] = []
        self.heads: list[dict[str, str]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.requests.append(json.loads(body))
                endpoint.heads.append({"path": self.path, **dict(self.headers)})
                status, said = answer(endpoint.requests[-1])
                self.send_response(status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @contextmanager
    def serving(self) -> Iterator[Endpoint]:
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()


class TestEndpoint:
    def test_vectors_come_in_the_order_of_the_texts(self) -> None:
        with Endpoint(vectors).serving() as endpoint:
            embedder = OpenAiEmbedder(f"{endpoint.url}/", "small", KEY)

            found = embedder.embed(["abc", "b", "海"])

        assert [vector[0] for vector in found] == [3, 1, 1]
        assert endpoint.requests == [{"model": "small", "input": ["abc", "b", "海"]}]
        assert endpoint.heads[0]["path"] == "/v1/embeddings"
        assert endpoint.heads[0]["Authorization"] == f"Bearer {KEY}"

    def test_many_texts_are_several_requests(self) -> None:
        with Endpoint(vectors).serving() as endpoint:
            found = OpenAiEmbedder(endpoint.url, "m").embed(["x"] * 130)

        assert len(found) == 130
        assert [len(each["input"]) for each in endpoint.requests] == [64, 64, 2]
        assert "Authorization" not in endpoint.heads[0]

    @pytest.mark.parametrize(
        "body",
        [
            b"no json",
            b"[]",
            b"{}",
            b'{"data": []}',
            b'{"data": [{"index": 1, "embedding": [1]}]}',
            b'{"data": [{"index": 0, "embedding": []}]}',
            b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
            b'{"data": [{"index": 0, "embedding": [NaN]}]}',
            b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1}]}',
        ],
    )
    def test_what_holds_no_vectors_is_an_error(self, body: bytes) -> None:
        with (
            Endpoint(lambda _: (200, body)).serving() as endpoint,
            pytest.raises(EmbedderError, match="endpoint"),
        ):
            OpenAiEmbedder(endpoint.url, "m").embed(["x"])

    def test_vectors_of_two_sizes_are_an_error(self) -> None:
        def answer(_: object) -> tuple[int, bytes]:
            rows = [{"index": at, "embedding": [1.0] * (at + 1)} for at in range(2)]
            return 200, json.dumps({"data": rows}).encode()

        with (
            Endpoint(answer).serving() as endpoint,
            pytest.raises(EmbedderError, match="not of one size"),
        ):
            OpenAiEmbedder(endpoint.url, "m").embed(["x", "y"])

    def test_a_refusal_is_told_without_the_key(self) -> None:
        def answer(_: object) -> tuple[int, bytes]:
            return 401, f"bad key {KEY}\n".encode() + b"x" * 500

        with (
            Endpoint(answer).serving() as endpoint,
            pytest.raises(EmbedderError) as caught,
        ):
            OpenAiEmbedder(endpoint.url, "m", KEY).embed(["x"])

        assert str(caught.value).startswith("the endpoint answers 401: bad key ***")
        assert len(str(caught.value)) < 300

    def test_nobody_there_is_an_error(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}"
            with pytest.raises(EmbedderError, match="cannot be reached"):
                OpenAiEmbedder(url, "m").embed(["x"])

    def test_an_answer_is_waited_for_so_long(self) -> None:
        ended = Event()

        def answer(_: object) -> tuple[int, bytes]:
            ended.wait()
            return 200, b""

        with Endpoint(answer).serving() as endpoint:
            embedder = OpenAiEmbedder(endpoint.url, "m", limit_s=0.1)
            with pytest.raises(EmbedderError, match=r"did not answer within 0\.1 s"):
                embedder.embed(["x"])
            ended.set()

    async def test_it_may_be_asked_where_an_event_loop_runs(self) -> None:
        await anyio.lowlevel.checkpoint()
        with Endpoint(vectors).serving() as endpoint:
            assert len(OpenAiEmbedder(endpoint.url, "m").embed(["x"])) == 1

    def test_an_index_works_on_while_the_endpoint_is_down(self, tmp_path: Path) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{unused.getsockname()[1]}"
            index = Index(tmp_path / "x.sqlite", OpenAiEmbedder(url, "m"))

            index.replace(topic(("release train", "Every Thursday.")), (1,))

            assert keys(index, "release train") == ["release train"]
            assert "cannot be reached" in index.notice


class TestChoosing:
    def test_none_is_the_default(self) -> None:
        assert embedder_of(Settings.load({}), {}) is None

    def test_the_local_one(self) -> None:
        settings = Settings.load({"ORCHESTRATE_EMBEDDER": "local"})
        if not is_installed("semantic"):
            with pytest.raises(SpecError, match=r"\[semantic\]"):
                embedder_of(settings, {})
            return
        found: Embedder | None = embedder_of(settings, {})

        assert isinstance(found, LocalEmbedder)

    def test_an_endpoint(self) -> None:
        env = {
            "ORCHESTRATE_EMBEDDER": "openai:text-small",
            "ORCHESTRATE_EMBEDDER_URL": "https://me:word@api.example.com/v1",
            "ORCHESTRATE_EMBEDDER_KEY": KEY,
        }
        found = embedder_of(Settings.load(env), env)

        assert isinstance(found, OpenAiEmbedder)
        assert found.name == "openai:text-small@api.example.com"
        assert KEY not in repr(Settings.load(env))
        assert KEY in own_secrets(env)

    @pytest.mark.parametrize(
        ("embedder", "url"),
        [
            ("remote", ""),
            ("openai:", "https://a.example"),
            ("openai", "https://a.example"),
            ("local:x", ""),
            ("openai:m", ""),
            ("openai:m", "api.example.com"),
            ("openai:m", "ftp://api.example.com"),
            ("openai:m", "https://a b"),
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, embedder: str, url: str) -> None:
        with pytest.raises(SpecError, match="ORCHESTRATE_EMBEDDER"):
            Settings.load(
                {"ORCHESTRATE_EMBEDDER": embedder, "ORCHESTRATE_EMBEDDER_URL": url}
            )


@pytest.mark.slow
def test_the_local_encoder_knows_what_belongs_together() -> None:
    embedder = LocalEmbedder()

    asked, told, other, odd = embedder.embed(
        ["When do we ship?", "我们什么时候发布？", "The cat sleeps.", "\ud800 \0"]
    )

    assert len(asked) == len(odd) == 512
    near = sum(a * b for a, b in zip(asked, told, strict=True))
    far = sum(a * b for a, b in zip(asked, other, strict=True))
    assert near > far + 0.2
