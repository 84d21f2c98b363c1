"""`@tool`: make a tool of a typed function of the user's own.

Its schema comes from the signature and its words from the docstring, so that there is
one place to change.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import (
    Annotated,
    Any,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import orjson
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
from pydantic.fields import FieldInfo

from orchestrator.events.of_agent import Label
from orchestrator.security.permissions import Ask
from orchestrator.tools.arguments import restored
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.permits import with_secrets
from orchestrator.tools.schema import input_schema

__all__ = ["FunctionTool", "tool"]

TIMEOUT_S = 60.0

F = TypeVar("F", bound=Callable[..., Any])

_NO_SCHEMA = (
    PydanticSchemaGenerationError,
    PydanticUserError,
    NameError,
    TypeError,
    ValueError,
)

_SECTION = re.compile(
    r"^(?:Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$",
    re.MULTILINE,
)
_ARGUMENT = re.compile(
    r"^(?P<indent>[ \t]+)\*{0,2}(?P<name>\w+)(?:[ \t]*\([^)]*\))?:[ \t]*(?P<text>.*)$"
)


class FunctionTool:
    """A function as a tool; calling it calls the function.

    Attributes:
        name: as the model calls it.
        description: what the model reads.
        Args: the argument model.
        effects: whether a call may be repeated.
        timeout_s: longest time of a call, in seconds.
        context_fields: of a result that is JSON, only these parts are shown.
        label: how long a result stays in sight.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        effects: Effects = "effects",
        timeout_s: float = TIMEOUT_S,
        context_fields: tuple[str, ...] = (),
        label: Label = "reference",
    ) -> None:
        """Read signature and docstring.

        Raises:
            TypeError: a parameter has no type, or one that no JSON can be turned into.
        """
        self._function = function
        self.name: str = name or str(getattr(function, "__name__", ""))
        doc = inspect.getdoc(function) or ""
        self.description = description or _summary(doc)
        self.effects: Effects = effects
        self.timeout_s = timeout_s
        self.context_fields = context_fields
        self.label: Label = label
        self._wants_context: str | None = None
        described = _described(doc)
        self.Args = self._arguments(described)
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._check(described)

    def _check(self, described: Mapping[str, str]) -> None:
        """Refuse what a model could not be told, or nobody could mean."""
        if not self.description:
            raise TypeError(
                f"tool `{self.name}` has no docstring; a model needs to be told what "
                "it is for"
            )
        if self.effects not in get_args(Effects):
            raise TypeError(
                f"tool `{self.name}`: `effects` is `{self.effects}`; allowed: "
                f"{', '.join(get_args(Effects))}"
            )
        known = {*self.Args.model_fields, self._wants_context}
        if strangers := [each for each in described if each not in known]:
            raise TypeError(
                f"tool `{self.name}`: its docstring describes `{strangers[0]}`, which "
                "is no parameter"
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - the function's own
        """Call the function itself."""
        return self._function(*args, **kwargs)

    def run(self, args: BaseModel, context: ToolContext) -> Any:  # noqa: ANN401 - sync or async
        """Call the function and return its result as a `ToolOutput`, or its awaitable.

        A text is shown as it is, anything else as JSON.
        """
        args = restored(self.name, args, context.restore)
        given = {name: getattr(args, name) for name in type(args).model_fields}
        if self._wants_context:
            given[self._wants_context] = context
        result = self._function(**given)
        if inspect.isawaitable(result):
            return _awaited(result)
        return _output(result)

    def asks(self, args: BaseModel, context: ToolContext) -> Ask:  # noqa: ARG002 - the port's
        """Return what a call needs: `secrets`, if it would be given one."""
        given = args.model_dump(mode="json")
        return Ask(with_secrets((), given), f"{self.name}: {_json_text(given)}")

    def _arguments(self, described: Mapping[str, str]) -> type[BaseModel]:
        fields: dict[str, Any] = {}
        for parameter, hint in _parameters(self._function, self.name):
            if hint is ToolContext:
                self._wants_context = parameter.name
                continue
            text = described.get(parameter.name)
            is_told = not text or _says_something(hint)
            typed = hint if is_told else Annotated[hint, Field(description=text)]
            is_required = parameter.default is inspect.Parameter.empty
            fields[parameter.name] = typed, ... if is_required else parameter.default
        config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=False)
        try:
            model = create_model(f"{self.name}_args", __config__=config, **fields)
            input_schema(model)
        except _NO_SCHEMA as error:
            first = str(error).partition("\n")[0]
            raise TypeError(f"tool `{self.name}`: {first}") from error
        for name in fields:
            field = model.model_fields.get(name)
            if field is None or field.alias not in (None, name):
                raise TypeError(
                    f"tool `{self.name}`: parameter `{name}` needs another name, "
                    "without an underscore in front and without an alias"
                )
        return model


@overload
def tool(function: F, /) -> FunctionTool: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effects: Effects = "effects",
    timeout_s: float = TIMEOUT_S,
    context_fields: tuple[str, ...] = (),
    label: Label = "reference",
) -> Callable[[F], FunctionTool]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool of a typed function, sync or async.

    The first paragraph of its docstring, and what follows up to `Args:`, is what a
    model reads; entries of `Args:` describe its parameters. A parameter of type
    `ToolContext` is not shown to the model: the call's context is handed in there.
    A text is shown as it is, any other result as JSON; `ToolError` tells the model
    what to mend. A sync function runs in a thread.

    Args:
        function: what to call.
        **options: `name`, default the function's; `description`, default its
            docstring; `effects`: `reads` or `repeatable` if a call may be made again
            after a crash, default `effects`; `timeout_s`, in seconds, default 60;
            `context_fields`: of a JSON result only these parts are shown; `label`:
            `critical`, `reference` or `transient`.

    Raises:
        TypeError: it has no docstring, or a parameter has no usable type.
    """
    if function is not None:
        return FunctionTool(function, **options)
    return lambda wrapped: FunctionTool(wrapped, **options)


def _parameters(
    function: Callable[..., Any], name: str
) -> list[tuple[inspect.Parameter, Any]]:
    """Return the parameters with their types."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise TypeError(f"tool `{name}`: its types cannot be read: {error}") from error
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(
                f"tool `{name}`: `*{parameter.name}` has no schema; name each parameter"
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(
                f"tool `{name}`: `{parameter.name}` must be accepted by its name"
            )
        if parameter.name not in hints:
            raise TypeError(
                f"tool `{name}`: parameter `{parameter.name}` has no type; the model "
                "is told what to give by it"
            )
        found.append((parameter, hints[parameter.name]))
    return found


def _says_something(hint: Any) -> bool:  # noqa: ANN401 - any type
    """Return whether a type brings a description of its own."""
    if get_origin(hint) is not Annotated:
        return False
    return any(
        isinstance(each, FieldInfo) and each.description for each in get_args(hint)[1:]
    )


def _summary(doc: str) -> str:
    """Return a docstring up to its first section, one line a paragraph."""
    head = _SECTION.split(doc, maxsplit=1)[0]
    parts = (" ".join(part.split()) for part in head.split("\n\n"))
    return "\n".join(part for part in parts if part)


def _described(doc: str) -> dict[str, str]:
    """Return parameter → what the `Args:` section says of it."""
    match = re.search(r"^(?:Args|Arguments|Parameters):[ \t]*\n", doc, re.MULTILINE)
    if match is None:
        return {}
    found: dict[str, str] = {}
    depth, name = None, ""
    for line in doc[match.end() :].split("\n"):
        if line and not line[0].isspace():
            break
        entry = _ARGUMENT.match(line)
        if entry and (depth is None or len(entry["indent"]) <= depth):
            depth, name = len(entry["indent"]), entry["name"]
            found[name] = entry["text"].strip()
        elif name and line.strip():
            found[name] += f" {line.strip()}"
    return found


async def _awaited(result: Awaitable[Any]) -> ToolOutput:
    return _output(await result)


def _output(result: object) -> ToolOutput:
    if isinstance(result, ToolOutput):
        return result
    if isinstance(result, str):
        return ToolOutput(result)
    if result is None:
        return ToolOutput("done")
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("it gives its results one by one; a tool returns them all")
    return ToolOutput(_json_text(result))


def _json_text(value: object) -> str:
    """Return a value as JSON with indentation; what JSON lacks as text."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY
    try:
        return orjson.dumps(value, default=_plain, option=options).decode()
    except TypeError:  # numbers beyond 64 bits, halves of characters
        return json.dumps(value, default=_plain, ensure_ascii=False, indent=2)


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    return str(value)
