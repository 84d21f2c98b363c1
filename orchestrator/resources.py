"""Find the agent and prompt files that ship with the package.

In a wheel they lie in `orchestrator/_data/`; in a checkout they are the
top-level folders `agents/` and `prompts/`.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["data_root", "read_text"]

_PACKAGE = Path(__file__).resolve().parent


def data_root(package: Path = _PACKAGE) -> Path:
    """Return the folder that holds `agents/` and `prompts/`.

    Args:
        package: folder of this package.

    Raises:
        FileNotFoundError: neither a built package nor a checkout of this
            project holds them.
    """
    bundled = package / "_data"
    if bundled.is_dir():
        return bundled
    checkout = package.parent
    # The marker matters: beside an installed package, `agents/` may be
    # someone else's importable package.
    if (checkout / "pyproject.toml").is_file() and (checkout / "agents").is_dir():
        return checkout
    raise FileNotFoundError(f"no agent and prompt files beside {package}")


def read_text(relative: str) -> str:
    """Return the text of a shipped file, such as `prompts/brief.md`.

    Raises:
        FileNotFoundError: no such file ships with the package.
    """
    return (data_root() / relative).read_text(encoding="utf-8")
