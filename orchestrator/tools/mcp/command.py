"""How the program of a server is started: in the sandbox, or as it is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.errors import SpecError
from orchestrator.security.sandbox import SYSTEM_PATH, Sandbox, outermost
from orchestrator.spec.mcp_servers import FIELD, McpServer
from orchestrator.tools.mcp.process import Command

__all__ = ["command_of", "hint_for"]

INHERITED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "USER",
)
"""What a server outside of the sandbox has of our environment."""
_FETCHERS = frozenset({"bunx", "npm", "npx", "pipx", "pnpm", "uv", "uvx"})
_PROJECT = ("package.json", "pyproject.toml", "node_modules", "pyvenv.cfg", ".venv")
_LEVELS_UP = 4


def command_of(
    name: str,
    server: McpServer,
    *,
    workspace: Path,
    sandbox: Sandbox | None,
    env: Mapping[str, str],
) -> Command:
    """Return how a server is started. May be called in any thread; looks at the disk.

    In the sandbox it sees the workspace, its own installation and what its `args` name
    by whole paths; its environment is a short list and what its entry gives.

    Args:
        name: of the server, for messages.
        server: its entry.
        workspace: folder that relative paths count from.
        sandbox: of the run; None: there is none, and only `sandbox: false` starts.
        env: our environment.

    Raises:
        SpecError: there is no such program or folder, or no sandbox.
        ToolError: the sandbox cannot be made.
    """
    cwd = (workspace / Path(server.cwd).expanduser()) if server.cwd else workspace
    if not cwd.is_dir():
        raise SpecError(
            f"`{server.cwd}` is no folder (looked for {cwd})",
            field=f"{FIELD}.{name}.cwd",
        )
    path = server.env.get("PATH") or env.get("PATH", os.defpath)
    program = _program(server.command, cwd, path)
    if program is None:
        raise SpecError(
            f"no program `{server.command}`; it is looked for on the PATH, and with a "
            f"slash in it from {cwd}",
            field=f"{FIELD}.{name}.command",
        )
    argv = [str(program), *server.args]
    if not server.sandbox:
        kept = {key: env[key] for key in INHERITED if key in env}
        return Command(argv, {**kept, **server.env}, cwd)
    if sandbox is None:
        raise SpecError(
            "there is no sandbox to start it in; install bubblewrap, or write "
            "`sandbox: false` to let it do whatever you may",
            field=f"{FIELD}.{name}.sandbox",
        )
    return _boxed(argv, server, cwd, sandbox, env)


def hint_for(server: McpServer, sandbox: Sandbox | None) -> str:
    """Return what may help a server that does not start, or ""."""
    name = Path(server.command).name
    is_cut_off = server.sandbox and sandbox is not None and not sandbox.network
    if name not in _FETCHERS or not is_cut_off:
        return ""
    return (
        f". `{name}` fetches what it starts, and the sandbox has no network: install "
        "the server and name its own command, or allow `network`"
    )


def _boxed(
    argv: Sequence[str],
    server: McpServer,
    cwd: Path,
    sandbox: Sandbox,
    env: Mapping[str, str],
) -> Command:
    program = Path(argv[0])
    home = Path(env.get("HOME", "/nonexistent"))
    root = sandbox.workspace.real_root
    visible = [
        place
        for place in _shown([*_places(program, home), *_named(argv[1:], home)])
        if not root.is_relative_to(place) and not place.is_relative_to(root)
    ]
    folders = (str(program.parent), os.path.dirname(os.path.realpath(program)))  # noqa: PTH120
    inner_path = ":".join([*dict.fromkeys(folders), SYSTEM_PATH])
    box = replace(
        sandbox,
        visible=(*sandbox.visible, *visible),
        env={"PATH": inner_path, **sandbox.env, **server.env},
    )
    made = box.command(argv, cwd=cwd)
    # What the environment holds must not stand in the list of processes.
    split = made.index("--")
    options = b"\0".join(os.fsencode(part) for part in made[1:split]) + b"\0"
    outer = {key: env[key] for key in ("PATH",) if key in env}
    return Command(
        [made[0], "--args", "{hidden}", *made[split:]], outer, cwd, hidden=options
    )


def _program(command: str, cwd: Path, path: str) -> Path | None:
    """Return the absolute path of a program, links kept: a venv's are what names it."""
    if "/" in command:
        written = cwd / Path(command).expanduser()
        found = Path(os.path.abspath(written))  # noqa: PTH100 - links kept
        return found if found.is_file() and os.access(found, os.X_OK) else None
    place = shutil.which(command, path=path)
    return Path(os.path.abspath(place)) if place else None  # noqa: PTH100


def _places(program: Path, home: Path) -> Iterator[Path]:
    """Yield what a program needs to see of its installation, besides /usr."""
    chain = {program, *_links(program)}
    for each in (*chain, *_interpreters(chain)):
        folder = each.parent
        root = folder.parent
        is_shared = home.is_relative_to(root) or root == home / ".local"
        if "node_modules" in each.parts:
            yield _above_modules(each)
        elif folder.name in ("bin", "shims") and not is_shared:
            yield root
        else:
            yield each
        config = root / "pyvenv.cfg"
        if config.is_file():
            yield from _base_of(config)


def _interpreters(chain: Iterable[Path]) -> Iterator[Path]:
    """Yield the programs that scripts name in their first line."""
    for script in chain:
        with script.open("rb") as file:
            start = file.read(256).partition(b"\n")[0]
        if start.startswith(b"#!"):
            named = Path(
                os.fsdecode(start[2:].split()[0] if start[2:].split() else b"")
            )
            if named.is_absolute() and named.exists():
                yield from {named, *_links(named)}


def _named(args: Sequence[str], home: Path) -> Iterator[Path]:
    """Yield what the arguments name by whole paths, with the project that it is of.

    A home is only shown where an argument is the home itself.
    """
    for arg in args:
        path = Path(os.path.realpath(arg)) if arg.startswith("/") else None
        if path is None or not path.exists():
            continue
        if path.is_dir():
            yield path
            continue
        if "node_modules" in path.parts:
            yield _above_modules(path)
            continue
        above = [
            each for each in path.parents[:_LEVELS_UP] if not home.is_relative_to(each)
        ]
        projects = [
            each for each in above if any((each / name).exists() for name in _PROJECT)
        ]
        yield next(iter([*projects, *above]), path)


def _above_modules(path: Path) -> Path:
    """Return the folder with the packages of Node.js that one of them lies among."""
    return Path(*path.parts[: path.parts.index("node_modules") + 1])


def _links(program: Path) -> Iterator[Path]:
    """Yield where a chain of links leads, step by step."""
    here = program
    for _ in range(20):
        if not here.is_symlink():
            break
        target = os.path.join(here.parent, os.readlink(here))  # noqa: PTH115, PTH118
        here = Path(os.path.normpath(target))
        yield here
    yield Path(os.path.realpath(program))


def _base_of(config: Path) -> Iterator[Path]:
    """Yield the installation that a virtual environment was made from."""
    for line in config.read_text(encoding="utf-8", errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home" and value.strip():
            yield Path(os.path.realpath(value.strip())).parent


def _shown(places: Iterable[Path]) -> list[Path]:
    """Return the places that no other covers, and that do not open up too much."""
    fit = {
        place
        for place in places
        if place.exists()
        and len(place.parts) > 2
        and not place.is_relative_to("/usr")
        and place.parts[1] not in ("proc", "sys", "dev")
    }
    return outermost(fit)
