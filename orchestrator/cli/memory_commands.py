"""What outlives runs, for people: `memory list|show|search|forget|export|import`.

Imports stand inside the commands, so that `memory --help` starts as fast as `--help`.
"""
# ruff: noqa: PLC0415 - see above

from __future__ import annotations

import sys
from pathlib import Path

import click

from orchestrator.cli.memory_scope import Scope, scope_options
from orchestrator.cli.options import json_option
from orchestrator.cli.output import Style, is_terminal, safe, safe_lines
from orchestrator.errors import SpecError

__all__ = ["memory"]

DEFAULT_FOUND = 5
"""As agents get it."""


@click.group()
def memory() -> None:
    """Look at and change what runs have learned.

    It lies in Markdown files that you can edit, and what you write there wins.
    """


@memory.command("list")
@click.argument("topic", required=False)
@scope_options
@json_option
def list_topics(topic: str | None, scope: Scope, as_json: bool) -> None:
    """List the topics, or the entries of TOPIC."""
    if not scope.is_there:
        scope.tell_empty({"topics": [], "notice": ""} if as_json else None)
    elif topic is None:
        _list_topics(scope, as_json=as_json)
    else:
        _list_entries(scope, topic, as_json=as_json)


def _list_topics(scope: Scope, *, as_json: bool) -> None:
    from orchestrator.cli.memory_data import topic_dict
    from orchestrator.cli.memory_text import counted, topic_table

    store = scope.memory()
    topics = store.topics()
    notice = "; ".join(filter(None, [store.problem(), store.notice]))
    if as_json:
        shown = [topic_dict(each) for each in topics]
        scope.print_json(topics=shown, notice=notice)
        return
    if topics:
        for line in topic_table(topics, style=Style()):
            print(line)
    print(f"{counted(topics)} in {safe(str(scope.folder))}")
    if notice:
        print(f"note: {safe(notice)}", file=sys.stderr)


def _list_entries(scope: Scope, topic: str, *, as_json: bool) -> None:
    from orchestrator.cli.memory_data import entry_dict
    from orchestrator.cli.memory_lookup import topic_named
    from orchestrator.cli.memory_text import entry_table

    store = scope.memory()
    about = topic_named(store.topics(), topic)
    found = store.entries(about.path)
    if as_json:
        shown = [entry_dict(each) for each in found]
        scope.print_json(topic=about.path, entries=shown)
        return
    if about.description or about.title:
        print(safe(about.description or about.title), end="\n\n")
    for line in entry_table(found, style=Style()) if found else ():
        print(line)
    print(safe(str(scope.folder / about.path)))


@memory.command()
@click.argument("name", metavar="KEY|TOPIC")
@scope_options
@json_option
def show(name: str, scope: Scope, as_json: bool) -> None:
    """Show an entry with its history and evidence, or a topic file as it is."""
    from orchestrator.cli.memory_lookup import entry_named
    from orchestrator.memory.memory import About

    if not scope.is_there:
        raise SpecError(scope.emptiness)
    store = scope.memory()
    found = entry_named(store, name)
    if isinstance(found, About):
        _show_topic(scope, found.path, as_json=as_json)
        return
    path = str(scope.folder / found.topic)
    if as_json:
        from orchestrator.cli.memory_data import entry_dict

        shown = entry_dict(found)
        scope.print_json(path=path, entry=shown)
        return
    from orchestrator.cli.memory_text import entry_lines

    for line in entry_lines(found, path=path, style=Style()):
        print(line)


def _show_topic(scope: Scope, topic: str, *, as_json: bool) -> None:
    text = scope.text_of(topic)
    if as_json:
        path = str(scope.folder / topic)
        scope.print_json(path=path, topic=topic, text=text)
        return
    print(safe_lines(text), end="" if text.endswith("\n") else "\n")
    if is_terminal():
        print(safe(str(scope.folder / topic)), file=sys.stderr)


@memory.command()
@click.argument("queries", nargs=-1, required=True, metavar="QUERY...")
@click.option(
    "-n", "most", type=click.IntRange(1, 50), default=DEFAULT_FOUND, help="So many; 5."
)
@scope_options
@json_option
def search(queries: tuple[str, ...], most: int, scope: Scope, as_json: bool) -> None:
    """Show what agents would be given for QUERY, best first.

    Several queries are several phrasings of one question.
    """
    asked = list(queries)
    if not scope.is_there:
        nothing = {"queries": asked, "found": [], "notice": ""}
        scope.tell_empty(nothing if as_json else None)
        return
    store = scope.memory(searches=True)
    found = store.recall(queries, most=most)
    if as_json:
        from orchestrator.cli.memory_data import entry_dict

        shown = [entry_dict(each) for each in found]
        scope.print_json(queries=asked, found=shown, notice=store.notice)
        return
    from orchestrator.cli.memory_text import found_lines

    for line in found_lines(found, style=Style()):
        print(line)
    if not found:
        print("nothing fits", file=sys.stderr)
    if store.notice:
        print(f"note: {safe(store.notice)}", file=sys.stderr)


@memory.command()
@click.argument("keys", nargs=-1, metavar="KEY...")
@click.option("--topic", metavar="TOPIC", help="All entries of this topic.")
@click.option("--all", "is_all", is_flag=True, help="Everything in this scope.")
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask.")
@scope_options
@json_option
def forget(
    keys: tuple[str, ...],
    topic: str | None,
    is_all: bool,
    is_sure: bool,
    scope: Scope,
    as_json: bool,
) -> None:
    """Forget entries for good, with their history; no run learns them again.

    It asks before; without a terminal --yes is needed.
    """
    from orchestrator.cli.memory_changes import forget_keys, to_forget

    if sum((bool(keys), topic is not None, is_all)) != 1:
        raise click.UsageError("name keys, or --topic TOPIC, or --all")
    if not scope.is_there:
        raise SpecError(scope.emptiness)
    store = scope.memory()
    found = to_forget(store, keys, topic)
    gone = forget_keys(store, found, is_sure=is_sure, is_quiet=as_json)
    if as_json:
        scope.print_json(forgotten=gone)


@memory.command("export")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Write over FILE.")
@scope_options
def export_entries(file: Path | None, force: bool, scope: Scope) -> None:
    """Write all entries to FILE (default stdout) as JSON lines, one an entry."""
    from orchestrator.cli.memory_changes import export_to

    if not scope.is_there:
        scope.tell_empty(None)
    to_stdout = file is None or str(file) == "-"
    export_to(None if to_stdout else file, scope, is_forced=force)


@memory.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@scope_options
@json_option
def import_entries(file: Path, scope: Scope, as_json: bool) -> None:
    """Take in entries from FILE as `export` writes them; `-`: from stdin.

    New keys are added and older entries brought up to date; what a person wrote here
    stays. One line that is wrong, and nothing is taken in.
    """
    from orchestrator.cli.memory_changes import import_from

    outcomes = import_from(file, scope)
    if as_json:
        scope.print_json(outcomes=outcomes)
