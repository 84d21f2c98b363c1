"""Commands that look at tasks, profiles and tools, and spend nothing.

Imports stand inside the commands: the time in which a command starts is part of the
contract, and pydantic alone would take most of it.
"""
# ruff: noqa: PLC0415 - see above

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from orchestrator.cli.options import json_option, runs_dir_option
from orchestrator.cli.output import print_json, safe, safe_lines
from orchestrator.errors import SpecError

__all__ = ["agents", "check", "doctor", "init", "overrides_of", "schema", "tools"]

TASK_FILE = click.argument("task_file", type=click.Path(path_type=Path))
SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a field of the task (`limits.usd=5`); may be repeated.",
)


def overrides_of(settings: tuple[str, ...]) -> dict[str, str]:
    """Return the values of `--set` by field; the last one of a field wins.

    Raises:
        SpecError: one is not `key=value`.
    """
    overrides: dict[str, str] = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise SpecError(
                f"found `--set {setting[:80]}`; expected `--set key=value`, such as "
                "`--set limits.usd=5`"
            )
        overrides[key.strip()] = value
    return overrides


@click.command()
@TASK_FILE
@click.option("--model", metavar="MODEL", help="anthropic:<id>, <id>, or offline.")
@SET
@json_option
def check(
    task_file: Path, model: str | None, settings: tuple[str, ...], as_json: bool
) -> None:
    """Check a task file; show what it would run with and cost.

    Spends nothing, and needs no credentials.
    """
    from orchestrator.cli.check_report import check_lines, check_task

    overrides = overrides_of(settings)
    if model is not None:
        overrides["model"] = model
    with redirect_stdout(sys.stderr):  # what modules of the user's print
        report = check_task(task_file, overrides, os.environ, Path.cwd())
    if as_json:
        print_json(report)
        return
    for line in check_lines(report):
        click.echo(safe_lines(line))


@click.command()
@click.argument("file", type=click.Path(path_type=Path), default="task.yaml")
def init(file: Path) -> None:
    """Write a starter task to FILE (default task.yaml); never over another file."""
    from orchestrator.cli.starter import STARTER

    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(STARTER)
    except FileExistsError as error:
        raise SpecError("is there already; name another file", str(file)) from error
    except OSError as error:
        raise SpecError(f"cannot be written: {error.strerror}", str(file)) from error
    click.echo(f"wrote {file}; next: orchestrate check {file}", err=True)


# What `--json` of these commands prints has a schema; `events`: a line of the log.
_WITH_SCHEMA = (
    "task", "show", "logs", "runs", "transcript", "context", "diff", "notes", "replay",
    "memory", "events",
)  # fmt: skip


@click.command()
@click.argument("of", type=click.Choice(_WITH_SCHEMA), default="task")
def schema(of: str) -> None:
    """Print a JSON Schema: of the task file, for editors, or of JSON that is printed.

    OF is a command, for what it prints with --json, or `events`, for the lines of
    events.jsonl. Within a version (`v`) fields are only added.
    """
    if of == "task":
        from orchestrator.spec.task_schema import task_schema

        print_json(task_schema())
        return
    from orchestrator.inspection.shapes import schema_of

    print_json(schema_of(of))


@click.command()
@click.option(
    "--task",
    "task_file",
    type=click.Path(path_type=Path),
    help="Look beside this task file too.",
)
@json_option
def agents(task_file: Path | None, as_json: bool) -> None:
    """List agent profiles, and which file each is from."""
    from orchestrator.cli.profile_table import profile_lines, profile_rows
    from orchestrator.spec.profiles import discover

    cwd = Path.cwd()
    found = discover(task_file.absolute().parent if task_file else cwd, cwd)
    if as_json:
        print_json(
            {
                "profiles": profile_rows(found),
                "shadowed": [
                    {"name": each.name, "source": each.source, "winner": each.winner}
                    for each in found.shadowed
                ],
                "problems": [str(problem) for problem in found.problems],
                "notices": found.notices,
            }
        )
        return
    for line in profile_lines(profile_rows(found)):
        click.echo(safe_lines(line))
    for each in found.shadowed:
        text = f"not used: {each.source} ({each.name} is taken from {each.winner})"
        click.echo(safe(text))
    for problem in found.problems:
        click.echo(safe(f"problem: {problem}"), err=True)
    for notice in found.notices:
        click.echo(safe(f"note: {notice}"), err=True)


@click.command()
@json_option
def tools(as_json: bool) -> None:
    """List the tools that agents can be given, and the tokens they cost."""
    from dataclasses import asdict

    from orchestrator.cli.tool_table import BY_DEPTH, tool_rows

    rows = tool_rows()
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    wide = len(BY_DEPTH) + 1
    click.echo(f"{'tool':<16}{'who':<{wide}}{'effects':<12}{'tokens':>6}  what it does")
    for row in rows:
        head = f"{row.name:<16}{row.who:<{wide}}{row.effects:<12}{row.tokens:>6}"
        click.echo(safe_lines(f"{head}  {row.description}"))
    click.echo(
        "By depth: from `limits.depth: 2` on, those whose profile lists `delegate`."
    )


@click.command()
@runs_dir_option
@json_option
def doctor(runs_dir: Path, as_json: bool) -> int:
    """Show what is installed, configured and reachable; 1 if something is wrong."""
    from dataclasses import asdict

    from orchestrator.cli.doctor import examine

    checks = []
    for each in examine(os.environ, runs_dir):
        checks.append(each)
        if not as_json:
            click.echo(safe_lines(f"{each.state:<8} {each.name:<18} {each.found}"))
    if as_json:
        print_json([asdict(each) for each in checks])
    return int(any(each.state == "problem" for each in checks))
