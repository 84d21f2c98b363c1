"""What every module of the package keeps to, where no linter looks."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "orchestrator"
MAX_LINES = 400
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def assigned_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from (each.id for each in node.targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def holds_code(tree: ast.Module) -> bool:
    """Whether there is more than a docstring and the import from `__future__`."""
    return any(
        not isinstance(node, ast.Expr)
        and not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
        for node in tree.body
    )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_module_is_short_says_what_it_offers_and_does_not_import_the_root(
    path: Path,
) -> None:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)

    assert source.count("\n") <= MAX_LINES
    assert "orchestrator" not in set(imported_names(tree))
    assert ast.get_docstring(tree)
    if holds_code(tree) and path.name != "__main__.py":
        assert "__all__" in set(assigned_names(tree))


def test_every_top_level_module_has_its_layer() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers")
    listed = [name.strip() for layer in layers for name in layer.split("|")]
    optional = {name.strip("()") for name in listed if name.startswith("(")}
    there = {
        path.stem
        for path in PACKAGE.iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").is_file())
        and path.stem != "__init__"
    }

    assert len(listed) == len(set(listed))
    assert there - optional == set(listed) - {f"({name})" for name in optional}


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in MODULES}

    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("folder", ["agents", "prompts"])
def test_data_folders_hold_text_only(folder: str) -> None:
    """A Python file there also makes `pip install -e .` fail, in other words."""
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file()]

    assert files
    assert [name_of(path) for path in files if path.suffix != ".md"] == []
