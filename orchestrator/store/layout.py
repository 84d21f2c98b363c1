"""Where everything of a run lies on disk, and how runs are found by name."""

from __future__ import annotations

import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import StoreError, UnknownRun
from orchestrator.ids import safe_name
from orchestrator.store.disk import store_error, sync_folder, write_beside

__all__ = [
    "DEFAULT_RUNS_DIR",
    "RunFolder",
    "check_writable",
    "create",
    "find_run",
    "is_run",
    "list_runs",
]

DEFAULT_RUNS_DIR = Path("runs")
PROBE_BYTES = 1 << 20  # less room than this and no run gets far
_RUN_ID = re.compile(r"\d{8}-\d{6}-.+")
_SHOWN_RUNS = 5
_IGNORE = b"# Runs are data; made by orchestrator.\n*\n"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run; only names, nothing is read."""

    path: Path

    @property
    def id(self) -> str:
        """Return the run's id."""
        return self.path.name

    @property
    def handle(self) -> str:
        """Return what the run is called on a command line, here and now.

        Its id, where commands look for runs by themselves; else its path.
        """
        is_default = self.path.parent.absolute() == DEFAULT_RUNS_DIR.absolute()
        return self.id if is_default else str(self.path)

    @property
    def events(self) -> Path:
        """Return the log: the truth, from which all else can be rebuilt."""
        return self.path / "events.jsonl"

    @property
    def progress(self) -> Path:
        """Return the notes, for people."""
        return self.path / "progress.md"

    @property
    def report(self) -> Path:
        """Return the report."""
        return self.path / "report.md"

    @property
    def result(self) -> Path:
        """Return the result, where the task asked for JSON."""
        return self.path / "result.json"

    def earlier_report(self, number: int) -> Path:
        """Return the report before a further question, counted from 1."""
        return self.path / f"report.{number}.md"

    def earlier_reports(self) -> list[Path]:
        """Return the reports before further questions that are there, in order."""
        found: list[Path] = []
        while (path := self.earlier_report(len(found) + 1)).exists():
            found.append(path)
        return found

    def earlier_result(self, number: int) -> Path:
        """Return the result before a further question, counted from 1."""
        return self.path / f"result.{number}.json"

    @property
    def run_json(self) -> Path:
        """Return state, times and totals; replaced as a whole."""
        return self.path / "run.json"

    @property
    def snapshot(self) -> Path:
        """Return what of a long log is known already; it can be made anew."""
        return self.path / "snapshot.json"

    @property
    def task(self) -> Path:
        """Return the task as resolved."""
        return self.path / "task.yaml"

    @property
    def inputs(self) -> Path:
        """Return the folder with copies of profiles and prompts."""
        return self.path / "inputs"

    @property
    def artifacts(self) -> Path:
        """Return the folder of large contents."""
        return self.path / "artifacts"

    @property
    def agents(self) -> Path:
        """Return the folder that holds one folder per agent."""
        return self.path / "agents"

    @property
    def lock(self) -> Path:
        """Return the file that the one writer locks."""
        return self.path / "lock"

    @property
    def output(self) -> Path:
        """Return what a process in the background printed."""
        return self.path / "output.log"

    @property
    def control(self) -> Path:
        """Return the folder through which a live run is steered."""
        return self.path / "control"

    def agent(self, agent_id: str) -> Path:
        """Return the folder of an agent: `lead`, `a1`, …, safe on every system."""
        return self.agents / safe_name(agent_id)


def check_writable(runs_dir: Path) -> bool:
    """Make sure that runs can be written below `runs_dir`, which is made if missing.

    It really writes a file, since permission bits do not tell: root ignores them, and
    a disk may be full. What it made is removed again when it fails.

    Returns:
        Whether it made the folder.

    Raises:
        StoreError: one line with the path, the reason and what to do.
    """
    made = _make(runs_dir)
    try:
        probe = write_beside(runs_dir / "probe", b"\0" * PROBE_BYTES)
        probe.unlink()
    except OSError as error:
        _unmake(made)
        raise store_error("write runs to", runs_dir, error) from error
    return bool(made)


def create(runs_dir: Path, run_id: str) -> RunFolder:
    """Make the folder of a new run, with its subfolders.

    A new folder of runs gets a `.gitignore`, so that neither git nor a search takes
    old runs for material. Nothing is left behind when it fails.

    Raises:
        StoreError: one line with the path, the reason and what to do.
    """
    is_new = check_writable(runs_dir)
    folder = RunFolder(runs_dir / run_id)
    try:
        folder.path.mkdir()
    except FileExistsError as error:
        raise StoreError(f"a run `{run_id}` exists already in `{runs_dir}`") from error
    except OSError as error:
        raise store_error("make the run folder", folder.path, error) from error
    try:
        for part in (folder.inputs, folder.agents, folder.artifacts, folder.control):
            part.mkdir()
        if is_new:
            (runs_dir / ".gitignore").write_bytes(_IGNORE)
        sync_folder(folder.path)
        sync_folder(runs_dir)
    except OSError as error:
        shutil.rmtree(folder.path, ignore_errors=True)
        raise store_error("make the run folder", folder.path, error) from error
    return folder


def is_run(path: Path) -> bool:
    """Return whether a folder is that of a run, wherever it lies."""
    try:
        return (path / "events.jsonl").is_file() and (path / "run.json").is_file()
    except OSError:
        return False


def list_runs(runs_dir: Path) -> list[RunFolder]:
    """Return the runs in `runs_dir`, newest first; none if there is no such folder.

    Raises:
        StoreError: the folder cannot be read.
    """
    try:
        found = [RunFolder(path) for path in runs_dir.iterdir() if _is_run(path)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise store_error("read the runs in", runs_dir, error) from error
    return sorted(found, key=_age_key, reverse=True)


def find_run(runs_dir: Path, name: str) -> RunFolder:
    """Return the run that `name` means.

    Args:
        runs_dir: where runs lie.
        name: an id, a unique beginning of one, the path of a run folder (or of a file
            directly in it), or `last`.

    Raises:
        UnknownRun: no run answers to it, or more than one.
    """
    runs = list_runs(runs_dir)
    if name == "last":
        if not runs:
            raise UnknownRun(f"there are no runs in `{runs_dir}` yet")
        return runs[0]
    exact = [run for run in runs if run.id == name]
    found = exact or [run for run in runs if name and run.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    if not found and (by_path := _by_path(name)):
        return by_path
    shown = ", ".join(run.id for run in (found or runs)[:_SHOWN_RUNS])
    more = len(found or runs) - _SHOWN_RUNS
    if more > 0:
        shown += f" and {more} more"
    if found:
        raise UnknownRun(f"`{name}` begins {len(found)} runs: {shown}")
    there = f"newest: {shown}" if runs else "there are none yet"
    raise UnknownRun(f"no run `{name}` in `{runs_dir}`; {there}")


def _by_path(name: str) -> RunFolder | None:
    with suppress(OSError, ValueError):
        path = Path(name).expanduser().absolute()
        for folder in (path, path.parent):
            if name and _is_run(folder):
                return RunFolder(folder)
            if path.is_dir():
                break
    return None


def _is_run(path: Path) -> bool:
    if path.name.startswith((".", "batch-")) or not path.is_dir():
        return False
    return bool(_RUN_ID.fullmatch(path.name)) or (path / "events.jsonl").is_file()


def _age_key(run: RunFolder) -> tuple[str, int, str]:
    """Order by the time in the id, then by when the task was written.

    Two runs may begin in the same second.
    """
    at = run.task if run.task.is_file() else run.path
    try:
        written = at.stat().st_mtime_ns
    except FileNotFoundError:  # it was deleted a moment ago
        written = 0
    return run.id[:15], written, run.id


def _make(runs_dir: Path) -> list[Path]:
    """Make a folder and those above it; return the new ones, outermost first."""
    made: list[Path] = []
    try:
        above = [path for path in (runs_dir, *runs_dir.parents) if not path.is_dir()]
        for path in reversed(above):
            path.mkdir(exist_ok=True)  # raises where a file is in its place
            made.append(path)
    except OSError as error:
        _unmake(made)
        raise store_error("write runs to", runs_dir, error) from error
    return made


def _unmake(made: list[Path]) -> None:
    for path in reversed(made):
        with suppress(OSError):
            path.rmdir()
