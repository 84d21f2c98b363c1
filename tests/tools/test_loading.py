from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.errors import SpecError
from orchestrator.tools.loading import load_tools

MODULE = '''
from orchestrator import tool

def plain(text: str) -> str:
    """Give it back."""
    return text

@tool(name="named", effects="reads")
def other(text: str) -> str:
    """Give it back."""
    return text

class Full:
    """A tool."""
    name = "full"
    description = "Full."
    effects = "reads"
    timeout_s = 3
    from pydantic import BaseModel
    class Args(BaseModel):
        pass
    def run(self, args, context):
        return "x"

def no_words(a: str): return a
number = 7
def grep(a: str) -> str:
    """Taken."""
'''


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "shop_tools.py").write_text(MODULE)
    (tmp_path / "lonely_tools.py").write_text("import no_such_helper\n")
    (tmp_path / "broken_tools.py").write_text("raise OSError('disk')\n")
    yield tmp_path
    for name in ("shop_tools", "broken_tools"):
        sys.modules.pop(name, None)


def load(folder: Path, *names: str) -> list[str]:
    tools = load_tools(names, folders=(folder,), taken={"grep"})
    return [each.name for each in tools]


def test_functions_tools_and_classes_are_found_beside_the_task(folder: Path) -> None:
    before = list(sys.path)

    names = load(folder, "shop_tools:plain", "shop_tools:other", "shop_tools:Full")

    assert names == ["plain", "named", "full"]
    assert sys.path == before


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("shop_tools:gone", "no attribute 'gone'"),
        (
            "no_such_module_here:x",
            "there is no module `no_such_module_here`, installed or",
        ),
        (
            "lonely_tools:x",
            "`lonely_tools` needs `no_such_helper`, which is not installed",
        ),
        ("broken_tools:x", "OSError: disk"),
        ("shop_tools:no_words", "no docstring"),
        ("shop_tools:number", "neither function nor tool"),
        ("shop_tools:grep", "one of that name already"),
        ("lookup", "installed: none"),
        (":", "cannot be loaded"),
        ("../etc:x", "cannot be loaded"),
    ],
)
def test_a_bad_name_is_one_message_that_names_the_entry(
    folder: Path, name: str, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        load(folder, "shop_tools:plain", name)

    assert words in caught.value.message
    assert caught.value.field == "tools.1"
    assert "\n" not in caught.value.message


def test_a_tool_that_a_package_offers_goes_by_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = folder / "shop-1.0.dist-info"
    offered.mkdir()
    (offered / "METADATA").write_text("Name: shop\nVersion: 1.0\n")
    (offered / "entry_points.txt").write_text(
        "[orchestrator.tools]\nlookup = shop_tools:plain\n"
    )
    monkeypatch.syspath_prepend(str(folder))

    assert load(folder, "lookup") == ["plain"]
