from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.access import (
    bare_url,
    check_access,
    credential_problem,
    credential_source,
    endpoint_problem,
    has_credentials,
)
from orchestrator.errors import SpecError


class TestCredentials:
    @pytest.mark.parametrize(
        "env",
        [
            {"ANTHROPIC_API_KEY": "k"},
            {"ANTHROPIC_AUTH_TOKEN": "t"},
            {"ANTHROPIC_PROFILE": "work"},
            {
                "ANTHROPIC_FEDERATION_RULE_ID": "r",
                "ANTHROPIC_ORGANIZATION_ID": "o",
                "ANTHROPIC_IDENTITY_TOKEN_FILE": "f",
            },
        ],
        ids=lambda env: next(iter(env)),
    )
    def test_found_in_the_environment(
        self, tmp_path: Path, env: dict[str, str]
    ) -> None:
        assert has_credentials({"HOME": str(tmp_path), **env})

    def test_none_found(self, tmp_path: Path) -> None:
        assert not has_credentials({"HOME": str(tmp_path), "ANTHROPIC_API_KEY": " "})

    @pytest.mark.parametrize("name", ["default", "work"])
    def test_found_as_a_profile_on_disk(self, tmp_path: Path, name: str) -> None:
        configs = tmp_path / ".config/anthropic/configs"
        configs.mkdir(parents=True)
        (configs / f"{name}.json").write_text("{}")
        env = {"HOME": str(tmp_path)}
        assert has_credentials(env) == (name == "default")
        (configs.parent / "active_config").write_text(f"{name}\n")
        assert name in credential_source(env)

    def test_the_config_folder_can_be_elsewhere(self, tmp_path: Path) -> None:
        (tmp_path / "configs").mkdir()
        (tmp_path / "configs/default.json").write_text("{}")
        assert has_credentials({"ANTHROPIC_CONFIG_DIR": str(tmp_path)})

    def test_the_value_is_never_named(self) -> None:
        assert "k-123" not in credential_source({"ANTHROPIC_API_KEY": "k-123"})

    @pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
    @pytest.mark.parametrize("value", ["sk-x\n", "sk\r\n-x", "s\x00k-x", "s\tk-x"])
    def test_what_no_header_can_carry_is_found_beforehand(
        self, name: str, value: str
    ) -> None:
        problem = credential_problem({name: value})
        assert problem == f"`{name}` holds a line end (or other control character)"
        with pytest.raises(SpecError, match=name):
            check_access({name: value})

    def test_one_that_is_not_sent_may_be_anything(self) -> None:
        both = {"ANTHROPIC_API_KEY": "sk-x", "ANTHROPIC_AUTH_TOKEN": "t\n"}
        assert credential_problem(both) == ""


class TestEndpoints:
    @pytest.mark.parametrize(
        "url",
        [
            "https://api.anthropic.com",
            "http://127.0.0.1:8080/",
            "HTTP://[::1]:8080/proxy/v2",
            "http://me:p%40ss@proxy.example/v1/anthropic",
            "http://localhost:65535/v11",
        ],
    )
    def test_an_address_of_http_is_one(self, url: str) -> None:
        assert endpoint_problem(url) == ""
        check_access({"ANTHROPIC_BASE_URL": url})

    @pytest.mark.parametrize(
        ("url", "shown", "why"),
        [
            ("127.0.0.1:18731", "`127.0.0.1:18731`", "must begin with http://"),
            ("localhost:80", "`localhost:80`", "must begin with http://"),
            ("api.example", "`api.example`", "must begin with http://"),
            ("htp://h:1", "`htp://h:1`", "must begin with http://"),
            ("http://", "`http://`", "names no host"),
            ("http://:80", "`http://:80`", "names no host"),
            ("http://h:99999", "`http://h:99999`", "from 1 to 65535"),
            ("http://h:0", "`http://h:0`", "from 1 to 65535"),
            ("http://127.0.0.1:abc", "`http://127.0.0.1:abc`", "from 1 to 65535"),
            ("http://[::1", "`http://[::1`", "not legal"),
            ("", "empty", "unset it"),
            ("  ", "`  `", "unset it"),
            ("http://h:1\n", "`http://h:1\ufffd`", "line end"),
            ("http://h o:1", "`http://h o:1`", "blank"),
            ("http://h:1?key=secret", "`http://h:1`", "the query"),
            ("http://h:1#secret", "`http://h:1`", "the query"),
            ("http://h:1/v1", "`http://h:1/v1`", "leave out `/v1`"),
            ("http://h:1/a/v1/", "`http://h:1/a/v1/`", "leave out `/v1`"),
            ("http://h/v1/messages", "`http://h/v1/messages`", "`/v1/messages`"),
        ],
    )
    def test_another_one_is_told_with_what_is_allowed(
        self, url: str, shown: str, why: str
    ) -> None:
        problem = endpoint_problem(url)
        assert problem.startswith(f"`ANTHROPIC_BASE_URL` is {shown}: ")
        assert why in problem
        assert "allowed is" in problem
        assert "secret" not in problem
        with pytest.raises(SpecError, match="ANTHROPIC_BASE_URL"):
            check_access({"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": url})

    @pytest.mark.parametrize(
        "url",
        [
            "htp://me:secret@h",
            "me:secret@h:1",
            "http://me:se/cret@h",
            "http://me:se#cret@h",
            "http://me:secret@h:x",
            "http://me:secret@[h",
            "http://h/v1?a=secret",
        ],
    )
    def test_what_may_be_secret_in_it_is_never_shown(self, url: str) -> None:
        problem = endpoint_problem(url)
        assert problem
        assert "cret" not in problem
        assert "cret" not in bare_url(url)
