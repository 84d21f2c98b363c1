"""Server-sent events: from bytes to parsed JSON objects, forgiving in what may vary."""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

from orchestrator.errors import ModelError
from orchestrator.models.classify import bounded

__all__ = ["BOM", "EventSplitter", "broken", "joined", "loads", "mended", "shown"]

MAX_SHOWN_BYTES: Final = 65_536
_LAST: Final = "message_stop"
BOM: Final = b"\xef\xbb\xbf"
# Deltas whose texts are put together before anything is done with them.
_GROWING: Final = ("text_delta", "thinking_delta", "input_json_delta")


class EventSplitter:
    """Splits the bytes of a stream of server-sent events into parsed events.

    Linear in the number of bytes, however they arrive. What came before the first
    event is kept, since an endpoint may answer with something else than events; what
    comes behind the last event of a message is not looked at.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._data: list[bytes] = []
        self._name = b""
        self._head: list[bytes] | None = []
        self._after_return = False
        self._is_over = False

    @property
    def head(self) -> bytes:
        """All bytes so far, or nothing once an event has been seen."""
        return b"".join(self._head or ())

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """Return the events that `chunk` completes.

        Raises:
            ModelError: an event is not a JSON object.
        """
        if self._is_over:
            return []
        if self._head is not None:
            self._head.append(chunk)
        if b"\r" in chunk or self._after_return:
            chunk = self._unified(chunk)
        if b"\n" not in chunk:
            if chunk:
                self._pieces.append(chunk)
            return []
        lines = chunk.split(b"\n")
        if self._pieces:
            self._pieces.append(lines[0])
            lines[0] = b"".join(self._pieces)
            self._pieces.clear()
        rest = lines.pop()
        if rest:
            self._pieces.append(rest)
        return self._events(lines)

    def end(self) -> list[dict[str, Any]]:
        """Return the event that lacks only its closing empty line, if it is whole."""
        if self._is_over:
            return []
        lines = [b"".join(self._pieces), b""]
        self._pieces.clear()
        try:
            return self._events(lines)
        except ModelError:
            return []

    def _unified(self, chunk: bytes) -> bytes:
        """Return `chunk` with every kind of line end as one newline."""
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _events(self, lines: list[bytes]) -> list[dict[str, Any]]:
        events = []
        data = self._data
        if self._head is not None and lines[0][:3] == BOM:
            lines[0] = lines[0][3:]
        for line in lines:
            if line[:5] == b"data:":
                data.append(line[5:])
            elif line[:6] == b"event:":
                self._name = line[6:]
            elif not line and data:
                event = _event(data[0] if len(data) == 1 else b"\n".join(data))
                data.clear()
                if event is None:
                    continue
                if "type" not in event:
                    event["type"] = self._name.strip().decode("utf-8", "replace")
                events.append(event)
                if event["type"] == _LAST:
                    self._is_over = True
                    break
        if events:
            self._head = None
        return events


def _event(data: bytes) -> dict[str, Any] | None:
    """Return one event; None for the end mark of other APIs and for no data."""
    try:
        event = orjson.loads(data)
    except ValueError:
        event = _odd_event(data)
        if event is None:
            return None
    if not isinstance(event, dict):
        raise broken(f"an event is not an object: {shown(data)}", "bad_json")
    return event


def _odd_event(data: bytes) -> Any:  # noqa: ANN401 - JSON
    if data.strip() in (b"", b"[DONE]"):
        return None
    try:
        event = loads(data)
    except ValueError as error:
        raise broken(f"an event is not JSON: {shown(data)}", "bad_json") from error
    delta = event.get("delta") if isinstance(event, dict) else None
    if isinstance(delta, dict) and delta.get("type") in _GROWING:
        # The other half of the character may come with the next delta.
        return event
    return mended(event)


def loads(data: bytes) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON value in `data`.

    Raises:
        ValueError: it is not JSON, or nested too deep.
    """
    try:
        return orjson.loads(data)
    except ValueError:
        # orjson refuses halves of surrogate pairs, which some endpoints send where a
        # delta ends inside a character.
        try:
            return json.loads(data, parse_constant=_no_constant)
        except RecursionError as error:
            raise ValueError("nested too deep") from error


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def mended(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON value with what UTF-8 cannot carry replaced.

    Raises:
        ValueError: it is nested too deep.
    """
    try:
        orjson.dumps(value)
    except TypeError:
        try:
            return orjson.loads(joined([json.dumps(value, ensure_ascii=False)]))
        except RecursionError as error:
            raise ValueError("nested too deep") from error
    return value


def joined(pieces: list[str]) -> str:
    """Return the pieces as one text, with halves of a character put together."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def broken(message: str, detail: str) -> ModelError:
    """Return the error of an answer that is none; the next try may bring one."""
    return ModelError("transient", message, detail=detail)


def shown(data: bytes) -> str:
    """Return the beginning of `data`, for a message."""
    return bounded(data[:MAX_SHOWN_BYTES].decode("utf-8", "replace"))
