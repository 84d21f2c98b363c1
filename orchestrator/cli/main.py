"""`orchestrate`: finds the command, loads only that one, turns errors into statuses.

Exit status: 0 done, 1 failed, 2 wrong usage or input, 3 partial, 70 a bug, 75
parked, 124 not over in time, 130 interrupted. A command returns its status as an
int, or None for 0.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from orchestrator.cli.exits import (
    EXIT_BUG,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_PIPE,
    EXIT_USAGE,
)
from orchestrator.cli.output import safe_lines, silence
from orchestrator.errors import OrchestratorError, RunBusy, SpecError, UnknownRun

__all__ = ["main"]

_RUN = "orchestrator.cli.run_command"
_SPEC = "orchestrator.cli.spec_commands"
_CONTROL = "orchestrator.cli.control_commands"
_STEER = "orchestrator.cli.steer_command"
_WAIT = "orchestrator.cli.wait_command"
_RUNS = "orchestrator.cli.runs_reader"
_SHOW = "orchestrator.cli.show_reader"
_LOGS = "orchestrator.cli.log_reader"
_CONTEXT = "orchestrator.cli.context_reader"
_REPLAY = "orchestrator.cli.replay_command"
_TRANSCRIPT = "orchestrator.cli.transcript_reader"
_MEMORY = "orchestrator.cli.memory_commands"

# The help stands here, so that `--help` loads no command.
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Run": {
        "run": (f"{_RUN}:run", 'Run a task file, or --objective "TEXT".'),
        "resume": (
            f"{_RUN}:resume",
            "Go on with a run: paused, stopped, killed, parked, partial.",
        ),
        "ask": (f"{_RUN}:ask", "Put a further question to a finished run."),
        "wait": (f"{_WAIT}:wait", "Wait for a run to end; print its report."),
    },
    "Look at a run (RUN: an id, the start of one, a path, or `last`)": {
        "runs": (f"{_RUNS}:runs", "List runs with state, tokens and dollars."),
        "show": (f"{_SHOW}:show", "How a run stands: agents, cost, what is missing."),
        "logs": (f"{_LOGS}:logs", "What happened, one line an event; --follow."),
        "notes": (
            "orchestrator.cli.notes_reader:notes",
            "The notes the lead keeps (progress.md).",
        ),
        "transcript": (f"{_TRANSCRIPT}:transcript", "An agent's whole conversation."),
        "context": (f"{_CONTEXT}:context", "What filled the context, turn by turn."),
        "replay": (f"{_REPLAY}:replay", "Run it again from its record, and compare."),
        "diff": (f"{_CONTEXT}:diff", "What a compaction kept, dropped and summarised."),
    },
    "Steer a live run": {
        "steer": (f"{_STEER}:steer", "Tell the lead something, at its next step."),
        "pause": (f"{_CONTROL}:pause", "Send nothing more until `resume`."),
        "stop": (f"{_CONTROL}:stop", "Stop a run gently, or one subagent: --agent."),
    },
    "What outlives a run": {
        "memory": (f"{_MEMORY}:memory", "What runs learned: list, search, forget, …"),
    },
    "Prepare": {
        "init": (f"{_SPEC}:init", "Write a starter task file."),
        "check": (f"{_SPEC}:check", "Check a task file; spends nothing."),
        "schema": (
            f"{_SPEC}:schema",
            "JSON Schema: of the task file, of printed JSON.",
        ),
        "agents": (f"{_SPEC}:agents", "Agent profiles, and which file each is from."),
        "tools": (f"{_SPEC}:tools", "Tools that agents can be given."),
        "doctor": (f"{_SPEC}:doctor", "What is installed, configured and reachable."),
    },
}
COMMANDS = {
    name: entry for section in SECTIONS.values() for name, entry in section.items()
}


class _LazyGroup(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, name = entry[0].partition(":")
        command = getattr(importlib.import_module(module), name)
        if not isinstance(command, click.Command):
            raise TypeError(f"`{entry[0]}` is not a command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            raise click.UsageError(_unknown(name), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        del ctx
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl(
                    [(f"{name:<10}", text) for name, (_, text) in commands.items()]
                )


def _unknown(name: str) -> str:
    shown = "".join(char if char.isprintable() else "?" for char in name[:40])
    # Loaded only here: it costs a few milliseconds.
    difflib = importlib.import_module("difflib")
    close = difflib.get_close_matches(name, COMMANDS, n=1)
    guess = f" Did you mean `{close[0]}`?" if close else ""
    return f"no command `{shown}`.{guess} There are: {', '.join(COMMANDS)}."


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        metadata = importlib.import_module("importlib.metadata")
        print(f"orchestrate {metadata.version('orchestrator')}")
        ctx.exit()


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: orchestrate init, then orchestrate run TASK.yaml",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def _cli() -> None:
    """Give a task to a lead agent that sends out subagents.

    Each subagent explores in a fresh context of its own; findings with checked
    evidence come back and become a report.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Args:
        argv: arguments without the program's name; None: those of the process.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks must not end the command.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    status = 0
    try:
        status = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has gone (`| head`): nothing to say, and nobody to say it to.
        silence(sys.stdout)
        return EXIT_PIPE
    except OSError as error:  # its disk is full
        silence(sys.stdout)
        return status or _complain(_os_words(error), "", EXIT_FAILED)
    return status


def _open_closed_streams() -> None:
    """Put a sink where the caller closed stdout or stderr (`>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # For the whole life of the process.
            sink = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
            setattr(sys, name, sink)


def _run(argv: list[str]) -> int:
    status = EXIT_BUG
    try:
        with _cli.make_context("orchestrate", argv) as ctx:
            result: Any = _cli.invoke(ctx)
        status = result if isinstance(result, int) else 0
    except click.exceptions.Exit as leave:
        status = leave.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        status = EXIT_USAGE
    except click.ClickException as error:
        status = _complain(error.format_message(), _help_hint(error), EXIT_USAGE)
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        status = EXIT_INTERRUPTED
    except (SpecError, UnknownRun, RunBusy) as error:
        status = _complain(str(error), "", EXIT_USAGE)
    except OrchestratorError as error:
        status = _complain(str(error), "", EXIT_FAILED)
    except BrokenPipeError:
        raise
    except OSError as error:
        status = _complain(_os_words(error), "", EXIT_FAILED)
    except Exception:  # noqa: BLE001 - the last frame there is: shown whole, own status
        traceback.print_exc()
        print("error: this is a bug in orchestrate", file=sys.stderr)
    return status


def _complain(message: str, hint: str, status: int) -> int:
    with suppress(OSError):  # where stderr goes may be what is full
        print(f"error: {safe_lines(message.strip())}", file=sys.stderr)
        if hint:
            print(f"hint: {hint}", file=sys.stderr)
    return status


def _help_hint(error: click.ClickException) -> str:
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    return f"`{ctx.command_path} --help`" if ctx is not None else ""


def _os_words(error: OSError) -> str:
    where = f": `{error.filename}`" if error.filename else ""
    return f"{error.strerror or error}{where}"
