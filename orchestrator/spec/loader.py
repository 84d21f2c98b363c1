"""Load a task: from its file or from a sentence, with `--set` applied.

Everything that can be wrong with a task is found here, before anything is spent,
and said in one message with file, line, field, what was found and what is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.errors import NotYet, SpecError
from orchestrator.spec.complaints import complaints, describe
from orchestrator.spec.context_files import guide_of, read_context, relative_path
from orchestrator.spec.document import (
    Document,
    Where,
    dump,
    parse,
    parse_value,
    read_source,
)
from orchestrator.spec.mcp_files import with_files
from orchestrator.spec.not_yet import not_yet
from orchestrator.spec.policy import policy_problems
from orchestrator.spec.profiles import LEAD
from orchestrator.spec.task import Task

__all__ = [
    "blame",
    "dump_task",
    "legal_name",
    "load_task",
    "resolve_task",
    "task_from_objective",
]

MAX_NAME_CHARS = 48
NAME_WORDS = 6
SHORT_FORMS = ("model", "effort")
# For these `--set` takes the value as it stands where YAML would make more of it.
TEXT_FIELDS = ("name", "objective", "workspace", "fallback_model", "model")


def load_task(path: Path, overrides: Mapping[str, str]) -> Task:
    """Return the task in `path`, resolved.

    Args:
        path: the task file.
        overrides: dotted field → value as YAML, as given by `--set`.

    Raises:
        SpecError: anything about it is wrong; nothing was written.
    """
    text = read_source(path, what="task file")
    document = parse(text, file=str(path))
    if not isinstance(document.value, dict):
        raise SpecError(
            "must hold `key: value` lines, starting with `objective: …`, "
            f"found {describe(document.value)}",
            file=document.file,
            line=document.line_of(()),
        )
    source = _Source(document, overrides)
    source.data.setdefault("name", legal_name(path.stem))
    return _resolve(source, path.absolute().parent)


def task_from_objective(
    text: str, workspace: Path, overrides: Mapping[str, str]
) -> Task:
    """Return a task made of an objective alone.

    Args:
        text: what is wanted.
        workspace: what agents may see.
        overrides: as for `load_task`.

    Raises:
        SpecError: the objective is blank, the workspace no folder, or an override
            is wrong.
    """
    name = legal_name(" ".join(text.split()[:NAME_WORDS]))
    data = {"name": name, "objective": text, "workspace": str(workspace.absolute())}
    return _resolve(_Source(Document(data), overrides), Path.cwd())


def resolve_task(task: Task) -> Task:
    """Return a task that was made in Python, checked and resolved like a file.

    A relative workspace counts from the working directory.

    Raises:
        SpecError: a field is wrong, or asks for what is not there yet.
    """
    data = task.model_dump(mode="json", by_alias=True, exclude_unset=True)
    data["workspace"] = str(task.workspace.absolute())
    return _resolve(_Source(Document(data), {}), Path.cwd())


def blame(error: SpecError, path: Path, overrides: Mapping[str, str]) -> SpecError:
    """Return `error` with the line of the task file, or the `--set`, it comes from.

    For what is found only after loading: a model without credentials, a profile that
    does not exist.

    Args:
        error: names a field of the task; one that names a file is given back.
        path: the task file, as loaded.
        overrides: as for `load_task`.
    """
    if error.file or not error.field:
        return error
    document = parse(read_source(path, what="task file"), file=str(path))
    where = tuple(error.field.split("."))
    if where[:1] not in document.lines:
        document = Document(document.value)
    source = _Source(document, overrides)
    return source.error(where, error.message, type(error))


def dump_task(task: Task, *, redact: Callable[[str], str] | None = None) -> str:
    """Return a loaded task as YAML; loading that gives the same task.

    Args:
        task: as loaded.
        redact: applied to all texts, so that a secret someone wrote into a task does
            not reach the run folder; what stands for it is a text, too.
    """
    data = task.model_dump(mode="json", by_alias=True)
    if redact:
        data = {key: _redacted(each, redact, key) for key, each in data.items()}
    notes = "# The task as resolved, defaults filled in.\n"
    if "usd" not in task.limits.model_fields_set:
        # A default in dollars is dropped for a model of unknown price, a written
        # one is not; so it must not become a written one.
        usd = data["limits"].pop("usd")
        notes += f"# `limits.usd` is not set; its default is {usd:g}.\n"
    text = notes + dump(data)
    return redact(text) if redact else text


def _redacted(value: Any, redact: Callable[[str], str], key: str) -> Any:  # noqa: ANN401 - any YAML value
    """Return a value without secrets, its own and those that its key tells."""
    if isinstance(value, dict):
        return {name: _redacted(each, redact, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_redacted(each, redact, "") for each in value]
    if not isinstance(value, str) or not key:
        return redact(value) if isinstance(value, str) else value
    return redact(f"{key}: {value}").removeprefix(f"{key}: ")


def legal_name(words: str) -> str:
    """Return `words` as a task name: letters a-z, digits, dashes, 1 to 48."""
    dashed = re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-")
    return dashed[:MAX_NAME_CHARS].rstrip("-") or "task"


@dataclass(frozen=True, slots=True)
class _Source:
    """The data of a task, and who to name when a part of it is wrong."""

    document: Document
    overrides: Mapping[str, str]

    def __post_init__(self) -> None:
        for name, value in self.overrides.items():
            _override(self.data, name, value)

    @property
    def data(self) -> dict[str, Any]:
        value: dict[str, Any] = self.document.value
        return value

    def error(
        self, where: Where, message: str, kind: type[SpecError] = SpecError
    ) -> SpecError:
        """Return an error that names the line, or the `--set`, that is to blame."""
        field = ".".join(str(step) for step in where)
        for name, value in self.overrides.items():
            if (field + ".").startswith(name + ".") or name.startswith(field + "."):
                given = f"{name}={value}"
                return kind(f"{message} (from `--set {given[:80]}`)", field=field)
        line = self.document.line_of(where)
        return kind(message, self.document.file, line, field)


def _override(data: dict[str, Any], name: str, written: str) -> None:
    keys = name.split(".")
    if not all(keys):
        raise SpecError(
            f"found `--set {name}={written[:60]}`; expected `--set key=value`, "
            "with dots for inner keys (`limits.usd=5`)"
        )
    here = data
    for depth, key in enumerate(keys[:-1]):
        inner = here.get(key)
        if isinstance(inner, str) and depth == 0 and key in SHORT_FORMS:
            inner = {"lead": inner, "subagents": inner}
        elif inner is None:
            inner = {}
        if not isinstance(inner, dict):
            raise SpecError(
                f"`{'.'.join(keys[: depth + 1])}` holds {describe(inner)}, which has "
                f"no key `{keys[depth + 1]}` to set",
                field=name,
            )
        here[key] = inner
        here = inner
    here[keys[-1]] = _value(keys, written, name)


def _value(keys: list[str], written: str, name: str) -> Any:  # noqa: ANN401 - any YAML value
    if keys[0] not in TEXT_FIELDS:
        return parse_value(written, name=name)
    try:
        value = parse_value(written, name=name)
    except SpecError:
        return written
    if keys == ["model"] and isinstance(value, dict):
        return value
    return value if value is None or isinstance(value, str) else written


def _resolve(source: _Source, folder: Path) -> Task:
    try:
        task = Task.model_validate(source.data)
    except ValidationError as error:
        raise _first(source, error) from error
    except RecursionError as error:
        raise source.error((), "is nested beyond all bounds") from error
    for where, message in not_yet(task):
        raise source.error(where, message, NotYet)
    for where, message in policy_problems(task.context_policy):
        raise source.error(("context_policy", *where), message)
    _check_names(source, task)
    _check_schema(source, task)
    workspace = _workspace(source, task, folder)
    context = _context(source, task, workspace)
    resolved = {
        "workspace": workspace,
        "context": context,
        "skills": tuple(str((folder / each).absolute()) for each in task.skills),
        "mcp_servers": _servers(source, task, folder),
    }
    return task.model_copy(update=resolved)


def _servers(source: _Source, task: Task, folder: Path) -> dict[str, dict[str, Any]]:
    try:
        return with_files(task.mcp_servers, folder)
    except SpecError as error:
        raise source.error(tuple(error.field.split(".")), error.message) from error


def _first(source: _Source, error: ValidationError) -> SpecError:
    problems = complaints(error, model=Task, data=source.data)
    where, message = problems[0]
    if where == ("objective",) and message.startswith(("is missing", "is empty")):
        message = f"{message.split(';')[0]}; say what is wanted: `objective: …`"
    others = [".".join(map(str, place)) for place, _text in problems[1:]]
    if others:
        shown = ", ".join(f"`{name}`" for name in others[:4])
        message += f" (also wrong: {shown}{', …' if len(others) > 4 else ''})"
    return source.error(where, message)


def _check_names(source: _Source, task: Task) -> None:
    for i, name in enumerate(task.agents):
        if name == LEAD:
            raise source.error(
                ("agents", i),
                f"`{LEAD}` is the lead itself; name the profiles it may hand work to",
            )
    for name in ("questions", "constraints", "agents", "context"):
        for i, text in enumerate(getattr(task, name) or ()):
            if not text.strip():
                raise source.error((name, i), "is blank; write it or leave it out")


def _check_schema(source: _Source, task: Task) -> None:
    schema = task.deliverable.schema_
    if schema is None:
        return
    where = ("deliverable", "schema")
    if task.deliverable.format != "json":
        raise source.error(
            where, "is for `format: json` only, found `format: markdown`"
        )
    # Costs a tenth of a second to import, and most tasks have no schema.
    from orchestrator.spec.result_schema import schema_problem  # noqa: PLC0415

    if problem := schema_problem(schema):
        raise source.error(where, problem)


def _workspace(source: _Source, task: Task, folder: Path) -> Path:
    where = ("workspace",)
    written = str(task.workspace)
    try:
        path = (folder / task.workspace.expanduser()).resolve()
        exists, is_folder = path.exists(), path.is_dir()
        if is_folder:
            next(path.iterdir(), None)
    except (OSError, ValueError, RuntimeError) as error:
        raise source.error(where, f"`{written}` cannot be opened: {error}") from error
    if not exists:
        raise source.error(
            where, f"`{written}` does not exist (looked for {path}); a folder is needed"
        )
    if not is_folder:
        raise source.error(where, f"`{written}` is a file ({path}); a folder is needed")
    return path


def _context(source: _Source, task: Task, workspace: Path) -> tuple[str, ...]:
    """Return the list with the workspace's own guide first, each file once."""
    if task.context == ():
        return ()
    guide = guide_of(workspace)
    names = [guide] if guide else []
    for i, written in enumerate(task.context or ()):
        where = ("context", i)
        try:
            name = relative_path(workspace, written)
            read_context(workspace, (name,))
        except SpecError as error:
            raise source.error(where, error.message) from error
        if name not in names:
            names.append(name)
    try:
        read_context(workspace, tuple(names))
    except SpecError as error:
        raise source.error(("context",), error.message) from error
    return tuple(names)
