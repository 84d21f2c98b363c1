"""`fetch_url`: one public page of the web as text, kept for the look-up of quotes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, ConfigDict

from orchestrator.errors import ToolError
from orchestrator.evidence import split_lines
from orchestrator.messages import one_line
from orchestrator.security.permissions import Ask
from orchestrator.security.urls import parse_url
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.extraction import kept_text
from orchestrator.tools.pages import Source, unseen_page
from orchestrator.tools.permits import with_secrets
from orchestrator.tools.threads import in_thread
from orchestrator.tools.versions import Version, keep
from orchestrator.tools.web.reading import Reading, document_kind, read
from orchestrator.tools.web.reply import Reply

if TYPE_CHECKING:
    from orchestrator.tools.web.client import WebClient

__all__ = ["FetchUrl", "FetchUrlArgs"]

_WAIT_S = 50  # for a document; with the fetch less than the call may take
_ERROR_CHARS = 1000
_LOOKED_AT_CHARS = 20_000
_REASON_CHARS = 60
_TOO_LONG = "the first part of a page that is too long to be read whole"


class FetchUrlArgs(BaseModel):
    """Arguments of `fetch_url`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str


class FetchUrl:
    """Fetches a page and shows the first lines of its text."""

    name: ClassVar[str] = "fetch_url"
    description: ClassVar[str] = (
        "Fetch a public web page as numbered lines of text, kept for `read_ref`. Cite "
        "it as `URL:first-last`."
    )
    Args: ClassVar[type[BaseModel]] = FetchUrlArgs
    # A request is on record with whoever runs the server, and may be made again.
    effects: ClassVar[Effects] = "repeatable"
    timeout_s: ClassVar[float] = 120

    def __init__(self, client: WebClient | None = None) -> None:
        """Take what fetches.

        Args:
            client: for pages; None: one for the public web, made with the first call.
        """
        self._client = client

    def asks(self, args: FetchUrlArgs, context: ToolContext) -> Ask:  # noqa: ARG002 - the port's
        """Return what a person is asked."""
        needs = with_secrets(("network",), args.url)
        return Ask(needs, f"fetch {one_line(args.url)}")

    async def run(self, args: FetchUrlArgs, context: ToolContext) -> ToolOutput:
        """Return the first page of it.

        Raises:
            ToolError: it may not be fetched, cannot be fetched, or is an error.
            StoreError: its text cannot be stored.
        """
        asked = parse_url(args.url)
        address = parse_url(context.restore(args.url))
        reply = await self._web().get(address)
        names = [context.redact(str(asked))]
        if reply.address != address:
            names.insert(0, context.redact(str(reply.address)))
        return await in_thread(_shown, names, reply, context)

    def _web(self) -> WebClient:
        if self._client is None:
            # What it needs takes long to load, and most runs fetch nothing.
            from orchestrator.tools.web.client import WebClient  # noqa: PLC0415

            self._client = WebClient()
        return self._client


def _shown(names: Sequence[str], reply: Reply, context: ToolContext) -> ToolOutput:
    """Return what a reply says; takes time with its size.

    Args:
        names: where it came from in the end, and what was asked for where that is
            another.
        reply: of the server.
        context: of the call.
    """
    name, *others = names
    if not reply.is_good:
        raise ToolError(_failure(name, reply, context))
    if not reply.body:
        return ToolOutput(f"{name}: status {reply.status}, and no content.")
    kind = document_kind(reply)
    if kind:
        version, reading = _document(name, kind, reply, context)
    else:
        reading = read(reply)
        if not reading.text.strip():
            return ToolOutput(f"{name}: {_without_text(reading, reply)}")
        # Its text says whether a page has changed; its bytes change with every answer.
        version = keep(name, reading.text.encode(), reading.text, context)
    if reply.is_cut:
        reading = replace(reading, note=f"{reading.note}, {_TOO_LONG}")
    note = "".join([reading.note, *(f", redirected from {each}" for each in others)])
    # It may be cited by either name.
    files = tuple(replace(version.seen, path=each) for each in names)
    source = Source(
        name,
        version.lines,
        len(version.lines),
        note=note,
        files=files,
        ref=version.seen.artifact,
    )
    return unseen_page(source, context, first_line=1, max_lines=reading.lines)


def _document(
    name: str, kind: str, reply: Reply, context: ToolContext
) -> tuple[Version, Reading]:
    if reply.is_cut:
        raise ToolError(f"{name}: this {kind.upper()} file is too big to be read")
    kept = kept_text(name, kind, reply.body, context, limit_s=_WAIT_S)
    if kept is None or not kept.seen.artifact:
        raise ToolError(f"{name}: this {kind.upper()} file holds no text")
    text = context.artifacts.read_text(kept.seen.artifact)
    return Version(split_lines(text), kept.seen), Reading(text, kept.note)


def _without_text(reading: Reading, reply: Reply) -> str:
    if reading.text:
        return "a page without text; scripts may write it, and they are not run."
    more = ", of which not all was read" if reply.is_cut else ""
    return f"{reading.note}{more}; it cannot be shown as text."


def _failure(name: str, reply: Reply, context: ToolContext) -> str:
    """Return what the model is told of a status that is no success."""
    told = f"{name} answered with status {reply.status}"
    told += f" ({one_line(reply.reason, _REASON_CHARS)})" if reply.reason else ""
    after = one_line(reply.headers.get("retry-after", ""), _REASON_CHARS)
    told += f", retry after {after}" if after else ""
    try:
        text = read(reply).text[:_LOOKED_AT_CHARS]
    except ToolError:  # HTML, and nothing to read it with
        text = ""
    # Redacted before it is cut: half a secret is not known for one.
    said = one_line(context.redact(text), _ERROR_CHARS)
    return f"{told}: {said}" if said else told
