from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import SpecError
from orchestrator.security.redaction import Redactor
from orchestrator.spec.mcp_files import with_files
from orchestrator.spec.mcp_secrets import notices, secret_values
from orchestrator.spec.mcp_servers import McpServer, mcp_servers

TOKEN = "ghp-not-really-0123456789"


def one(entry: dict[str, Any], **env: str) -> McpServer:
    return mcp_servers({"s": entry}, env)["s"]


def fault(entry: dict[str, Any], **env: str) -> SpecError:
    with pytest.raises(SpecError) as caught:
        mcp_servers({"s": entry}, env)
    return caught.value


def test_the_common_form_is_understood() -> None:
    server = one(
        {
            "command": "npx",
            "args": ["-y", "@org/server", "--port", 80],
            "env": {"TOKEN": "${GH_TOKEN}", "DEBUG": True, "LEVEL": "${LEVEL:-info}"},
            "autoApprove": ["x"],
        },
        GH_TOKEN=TOKEN,
    )

    assert server.type == "stdio"
    assert server.args == ("-y", "@org/server", "--port", "80")
    assert server.env == {"TOKEN": TOKEN, "DEBUG": "true", "LEVEL": "info"}
    assert server.sandbox
    assert TOKEN not in repr(server)


@pytest.mark.parametrize("kind", ["http", "streamable-http", "streamableHttp", None])
def test_an_address_is_spoken_to_over_http(kind: str | None) -> None:
    entry = {
        "url": "https://x.example/mcp",
        "headers": {"Authorization": "Bearer ${T}"},
    }

    server = one(entry if kind is None else {**entry, "type": kind}, T="secret")

    assert server.type == "http"
    assert server.headers == {"Authorization": "Bearer secret"}


def test_a_disabled_server_needs_nothing() -> None:
    entry = {"command": "x", "env": {"A": "${NOT_SET}"}, "disabled": True}

    assert mcp_servers({"s": entry}, {}) == {}


@pytest.mark.parametrize(
    ("entry", "field", "says"),
    [
        ({}, "mcp_servers.s", "needs `command` (a program) or `url`"),
        ({"command": "a", "url": "http://b"}, "mcp_servers.s", "has both"),
        ({"comand": "a"}, "mcp_servers.s.comand", "did you mean `command`?"),
        ({"command": "a", "only": []}, "mcp_servers.s.only", "allowed: args"),
        ({"command": "a", "args": "b"}, "mcp_servers.s.args", "must be a list"),
        ({"command": "a", "call_s": 0}, "mcp_servers.s.call_s", "more than 0"),
        ({"command": "a", "start_s": 1e9}, "mcp_servers.s.start_s", "600"),
        ({"type": "sse", "url": "http://b"}, "mcp_servers.s.type", "before 2025"),
        ({"type": "ws", "url": "http://b"}, "mcp_servers.s.type", "stdio, http"),
        ({"url": "ftp://b"}, "mcp_servers.s", "starts with http"),
        ({"command": "a", "env": {"K": "${NO}"}}, "mcp_servers.s.env.K", "`NO` is not"),
        ({"command": "a", "args": ["x", "${NOPE}"]}, "mcp_servers.s.args.1", "`NOPE`"),
        ({"url": "http://${NOPE}"}, "mcp_servers.s.url", "`NOPE`"),
        ({"command": "a", "env": {"K": "[secret:credential:0123abcd]"}},
         "mcp_servers.s.env.K", "set the environment variable `K`"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_field(
    entry: dict[str, Any], field: str, says: str
) -> None:
    error = fault(entry)

    assert error.field == field
    assert says in error.message


def test_a_secret_that_the_run_did_not_keep_comes_from_the_environment() -> None:
    server = one({"command": "a", "env": {"K": "[secret:credential:0123abcd]"}}, K="x")

    assert server.env == {"K": "x"}


class TestFile:
    def write(self, folder: Path, data: object) -> None:
        (folder / ".mcp.json").write_text(json.dumps(data))

    def test_a_server_is_taken_from_a_file_and_ours_wins(self, tmp_path: Path) -> None:
        self.write(tmp_path, {"mcpServers": {
            "git": {"command": "git-server", "env": {"A": "${A}"}},
            "evil": {"command": "rm"},
        }})  # fmt: skip

        found = with_files({"git": {"file": ".mcp.json", "call_s": 5}}, tmp_path)

        taken = {"command": "git-server", "env": {"A": "${A}"}, "call_s": 5}
        assert found == {"git": taken}

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("{", "`mcp_servers.gits.file`: .*json:1: is not JSON"),
            ("[]", "must hold an object `mcpServers`"),
            ('{"mcpServers": {"git": {}}}', "has no server `gits`; did you mean `git`"),
            ('{"servers": {"gits": 5}}', "must be an object"),
        ],
    )
    def test_a_wrong_file_is_told(self, tmp_path: Path, text: str, says: str) -> None:
        (tmp_path / ".mcp.json").write_text(text)

        with pytest.raises(SpecError, match=says):
            with_files({"gits": {"file": ".mcp.json"}}, tmp_path)

    def test_a_missing_file_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(SpecError, match="no such file of MCP servers"):
            with_files({"git": {"file": "nope.json"}}, tmp_path)


class TestSecrets:
    def test_values_that_are_secret_are_known_in_every_form(self) -> None:
        raw = {
            "a": {
                "command": "x",
                "env": {"PASSWORD": 'open "sesame"', "NODE_ENV": "production",
                        "DIR": "${HOME}/data", "GIT_AUTHOR_NAME": "Jane Doe-Smith"},
                "args": ["--token", "${GH_TOKEN}", "${HOME}", "--id", "${WORD}"],
            },
            "b": {
                "url": "https://user:hunter2hunter2@h.example/",
                "headers": {"Authorization": "Bearer abcdefgh12",
                            "Accept": "text/html, x"},
            },
        }  # fmt: skip

        env = {"GH_TOKEN": TOKEN, "HOME": "/home/somebody", "WORD": "q8" * 14}

        values = set(secret_values(raw, env))

        assert {TOKEN, 'open "sesame"', 'open \\"sesame\\"', "abcdefgh12", "q8" * 14,
                "hunter2hunter2"} <= values  # fmt: skip
        told = " ".join(values)
        for plain in ("production", "somebody", "Jane", "text/html"):
            assert plain not in told

    def test_what_is_wrong_is_passed_over(self) -> None:
        assert secret_values({"a": {"env": 5, "args": 7, "url": 3}}, {}) == ()

    def test_the_redactor_knows_them(self) -> None:
        values = secret_values({"a": {"env": {"API_KEY": "opensesame"}}}, {})

        assert "opensesame" not in Redactor(b"s", own=values).redact("say opensesame")


def test_a_person_is_told_what_is_not_obvious() -> None:
    told = [
        *notices(
            {
                "a": {
                    "command": "x",
                    "sandbox": False,
                    "timeout": 5,
                    "alwaysAllow": [],
                },
                "b": {"url": "http://x", "headers": {"X-Api-Key": "abc"}},
                "c": {"command": "x", "env": {"TOKEN": "${T}"}},
                "d": {"command": "x", "sandbox": False, "disabled": True},
            }
        )
    ]

    assert [each.split(":")[0] for each in told] == [
        "MCP server `a`",
        "MCP server `a` runs outside the sandbox (`sandbox",
        "MCP server `b`",
    ]
    assert "`alwaysAllow`, `timeout` not used here; the limit of a call" in told[0]
    assert "abc" not in told[2]
