"""What is wrong on the way to a page, in one message for the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpcore2

from orchestrator.errors import ToolError
from orchestrator.messages import one_line
from orchestrator.models.connecting import unreached
from orchestrator.security.urls import WebAddress

__all__ = ["told"]

_SAID_CHARS = 200


@contextmanager
def told(address: WebAddress, *, connect_s: float, silence_s: float) -> Iterator[None]:
    """Turn what libraries raise of a connection into a `ToolError`.

    Args:
        address: what is fetched.
        connect_s: limit of a connection.
        silence_s: limit of silence.
    """
    where = f"{address.scheme}://{address.authority}"
    try:
        yield
    except httpcore2.ConnectTimeout as error:
        raise ToolError(f"nobody answers at {where} within {connect_s:g} s") from error
    except (httpcore2.ConnectError, OSError) as error:
        raise ToolError(unreached(error, where, address.host)) from error
    except httpcore2.TimeoutException as error:
        told = f"{where} sent nothing for {silence_s:g} s; the page was given up"
        raise ToolError(told) from error
    except httpcore2.NetworkError as error:
        raise ToolError(f"{where} broke off in mid answer") from error
    except httpcore2.ProtocolError as error:
        said = one_line(str(error), _SAID_CHARS)
        told = f"what {where} sends is no good HTTP ({said})"
        raise ToolError(told) from error
