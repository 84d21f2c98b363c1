"""Look at what is installed, configured and reachable; never at a secret's value."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from orchestrator.access import (
    BASE_URL,
    credential_problem,
    credential_source,
    endpoint_problem,
)
from orchestrator.cli.knocking import State, knock
from orchestrator.errors import EmbedderError, SpecError, StoreError
from orchestrator.extras import how_to_install
from orchestrator.memory.embedding import embedder_of
from orchestrator.models.price_file import own_prices
from orchestrator.security.sandbox import available
from orchestrator.settings import Settings
from orchestrator.store.layout import check_writable

__all__ = ["Check", "examine"]

DEFAULT_URL = "https://api.anthropic.com"
PACKAGE = "orchestrator"
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:.*extra == ['\"](?P<extra>[\w-]+))?")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    found: str


def examine(env: Mapping[str, str], runs_dir: Path) -> Iterator[Check]:
    """Yield one check after the other.

    Args:
        env: the environment.
        runs_dir: where runs would be written; a file is written there and removed.
    """
    version = platform.python_version()
    yield Check("python", "ok" if sys.version_info >= (3, 11) else "problem", version)
    yield from _packages()
    yield _ripgrep()
    yield _sandbox()
    source = credential_source(env)
    yield _credentials(env, source)
    yield from _settings(Settings.load(env), env)
    yield _endpoint(env, is_needed=bool(source))
    yield _runs(runs_dir)


def _settings(settings: Settings, env: Mapping[str, str]) -> Iterator[Check]:
    """Yield what holds for all runs; of what may be unset only what is set."""
    yield Check(
        "models",
        "ok",
        f"lead {settings.lead_model}, subagents {settings.subagent_model}",
    )
    at_once = f"at most {settings.max_connections} of one model at once"
    yield Check("requests", "ok", at_once)
    if settings.endpoint_lacks:
        left_out = ", ".join(f"`{each}`" for each in settings.endpoint_lacks)
        yield Check("endpoint lacks", "ok", f"{left_out}: left out of every request")
    if settings.prices is not None:
        yield _prices(settings.prices)
    if settings.embedder:
        yield _embedder(settings, env)
    if settings.memory_dir is not None:
        yield Check("memory", "ok", f"in {settings.memory_dir}")


def _prices(path: Path) -> Check:
    try:
        own = own_prices(path)
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
    except (SpecError, OSError) as error:
        return Check("prices", "problem", str(error))
    dated = max((price.date for price in own.values()), default="")
    day = f"newest of {dated}" if dated else f"changed on {changed}"
    entries = "1 entry" if len(own) == 1 else f"{len(own)} entries"
    return Check("prices", "ok" if own else "note", f"{path}: {entries}, {day}")


def _embedder(settings: Settings, env: Mapping[str, str]) -> Check:
    """Ask it for one vector; memory is searched by words where it has none."""
    name = settings.embedder
    try:
        embedder = embedder_of(settings, env)
        vectors = embedder.embed(["memory"]) if embedder is not None else []
    except (EmbedderError, SpecError) as error:
        return Check("embedder", "problem", f"{name}: {error}")
    return Check("embedder", "ok", f"{name}: vectors of {len(vectors[0])} numbers")


def _credentials(env: Mapping[str, str], source: str) -> Check:
    if problem := credential_problem(env):
        return Check("credentials", "problem", problem)
    missing = "none: runs use the offline model; set ANTHROPIC_API_KEY for another"
    if BASE_URL in env:
        missing += f" ({BASE_URL} is not used without a key)"
    return Check("credentials", "ok" if source else "note", source or missing)


def _packages() -> Iterator[Check]:
    """Yield the package and what it needs; of an extra only what is missing in it."""
    yield Check(PACKAGE, "ok", metadata.version(PACKAGE))
    missing: dict[str, list[str]] = {}
    for written in metadata.requires(PACKAGE) or ():
        found = _REQUIREMENT.match(written)
        if found is None:
            continue
        name, extra = found["name"], found["extra"]
        lost = missing.setdefault(extra, []) if extra else []
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            lost.append(name)
            if not extra:
                yield Check(name, "problem", "not installed")
        else:
            if not extra:
                yield Check(name, "ok", version)
    for extra, names in missing.items():
        found_out = "installed"
        if names:
            found_out = f"{', '.join(names)} not installed; {how_to_install(extra)}"
        yield Check(f"extra {extra}", "note" if names else "ok", found_out)


def _ripgrep() -> Check:
    beside = Path(sys.executable).with_name("rg")
    found = str(beside) if beside.is_file() else shutil.which("rg")
    if found is None:
        return Check("ripgrep", "problem", "no `rg` beside python or on the path")
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            [found, "--version"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Check("ripgrep", "problem", f"{found} does not run: {error}")
    return Check("ripgrep", "ok", done.stdout.partition("\n")[0])


def _sandbox() -> Check:
    """Only tasks that allow `shell` or start MCP servers need one."""
    why = available()
    return (
        Check("sandbox", "note", why) if why else Check("sandbox", "ok", "bwrap works")
    )


def _endpoint(env: Mapping[str, str], *, is_needed: bool) -> Check:
    problem = endpoint_problem(env[BASE_URL]) if BASE_URL in env else ""
    if problem:
        return Check("endpoint", "problem", problem)
    return Check(
        "endpoint", *knock(env.get(BASE_URL, DEFAULT_URL), is_needed=is_needed)
    )


def _runs(runs_dir: Path) -> Check:
    was_there = runs_dir.exists()
    try:
        check_writable(runs_dir)
    except StoreError as error:
        return Check("runs folder", "problem", str(error))
    if not was_there:
        with suppress(OSError):  # a run may have begun there meanwhile
            runs_dir.rmdir()
    return Check("runs folder", "ok", f"{runs_dir} can be written")
