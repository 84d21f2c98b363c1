"""Who may delegate, and what a user is told about it before a run."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.resources import data_root
from orchestrator.spec.delegating import depth_notices
from orchestrator.spec.limits import Limits
from orchestrator.spec.profile import Profile
from orchestrator.spec.profile_file import read_profile
from orchestrator.spec.profiles import DELEGATION, allowed_tools, asks_to_delegate

ALL = set(DELEGATION)


def profile(name: str = "a", **fields: Any) -> Profile:
    return Profile.model_validate(
        {"name": name, "description": "d", "prompt": "p", **fields}
    )


def delegation(
    tools: tuple[str, ...] | None,
    *disallowed: str,
    is_lead: bool = False,
    may_delegate: bool = True,
) -> set[str]:
    """Those of the four tools that an agent of such a profile has."""
    who = profile(tools=tools, disallowed_tools=disallowed)
    names = allowed_tools(who, is_lead=is_lead, may_delegate=may_delegate)
    return ALL & set(names)


class TestTools:
    def test_a_subagent_that_lists_delegate_has_all_four_while_depth_remains(
        self,
    ) -> None:
        assert delegation(("delegate", "grep")) == ALL
        assert delegation(("delegate", "grep"), may_delegate=False) == set()

    @pytest.mark.parametrize(
        "tools",
        [
            pytest.param(None, id="no list, or a star"),
            pytest.param(("grep",), id="a list without it"),
            pytest.param(("wait_for", "follow_up", "cancel"), id="only the others"),
        ],
    )
    def test_a_subagent_that_does_not_list_delegate_has_none(
        self, tools: tuple[str, ...] | None
    ) -> None:
        assert delegation(tools) == set()

    def test_what_is_disallowed_is_gone_and_without_delegate_all_is(self) -> None:
        assert delegation(("delegate",), "cancel") == ALL - {"cancel"}
        assert delegation(("delegate", "wait_for"), "delegate") == set()

    def test_a_lead_has_all_four_unless_its_list_leaves_delegate_out(self) -> None:
        assert delegation(None, is_lead=True, may_delegate=False) == ALL
        assert delegation(("delegate",), is_lead=True, may_delegate=False) == ALL
        assert delegation(("grep", "wait_for"), is_lead=True) == set()

    def test_only_tools_that_the_run_has_are_given(self) -> None:
        tools = allowed_tools(
            profile(), is_lead=True, available=["delegate", "finish", "grep"]
        )
        assert tools == ("delegate", "finish", "grep")

    def test_of_the_shipped_profiles_only_the_summarizer_delegates(self) -> None:
        found = {
            path.stem: asks_to_delegate(read_profile(path).profile)
            for path in (data_root() / "agents").glob("*.md")
        }
        del found["lead"]
        assert [name for name, asks in found.items() if asks] == ["summarizer"]


class TestNotices:
    SUMMARIZER = profile("summarizer", tools=("delegate",))
    EXPLORER = profile("explorer", tools=("grep",))

    def told(self, *profiles: Profile, **limits: int) -> list[str]:
        return list(depth_notices(Limits.model_validate(limits), profiles))

    def test_without_depth_it_is_said_once_that_they_work_alone(self) -> None:
        assert self.told(self.EXPLORER, self.SUMMARIZER) == [
            "`summarizer` can hand parts of the work to subagents from "
            "`limits.depth: 2` on; with 1 it works alone"
        ]
        other = profile("mine", tools=("delegate",))
        [line] = self.told(self.SUMMARIZER, other)
        assert line.startswith("`summarizer`, `mine` can hand")

    def test_a_profile_that_may_send_its_own_kind_is_named_with_what_bounds_it(
        self,
    ) -> None:
        [line] = self.told(self.SUMMARIZER, depth=3, subagents=40)
        assert "`summarizer` may send its own kind again" in line
        assert "`limits.depth` (3)" in line
        assert "`limits.subagents` (40" in line

    def test_nothing_is_said_where_nobody_delegates(self) -> None:
        assert self.told(self.EXPLORER, depth=3) == []
        assert self.told(self.SUMMARIZER, depth=0) == []
        assert self.told(self.SUMMARIZER, subagents=0) == []
