"""Which optional fields a request carries for a model.

A field that a model does not know is refused by the service, so that only models known
to take it get it; any other name (a local server's, say) gets none but the effort that
is set for it.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["binds_thinking", "request_fields"]

# Families that take `thinking: adaptive`: 4.6 and later. Anthropic's model pages,
# as of 2026-11.
_ADAPTIVE = (
    "claude-fable-",
    "claude-haiku-5",
    "claude-mythos-5",
    "claude-opus-4-6",
    "claude-opus-4-7",
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-sonnet-4-6",
    "claude-sonnet-5",
)
# Families that think and bind a block to itself alone; that of the newest step must go
# back. Anthropic's pages on preserved thinking and on errors, as of 2026-11: later ones
# bind it to all that stands before it.
_UNBOUND = re.compile(
    r"claude-(sonnet-4-6|opus-4-[678]|(sonnet|opus|fable|mythos)-5(?![-.]?\d\b))"
)


def binds_thinking(model: str) -> bool:
    """Return whether thinking of a model, a bare id, is bound to what is before it.

    So it is taken to be where nobody knows.
    """
    return _UNBOUND.match(model) is None


def request_fields(model: str, effort: str | None) -> dict[str, Any]:
    """Return the fields beside model, system, tools and messages.

    Args:
        model: bare id.
        effort: `low` to `max`, or None for the model's own default.

    Returns:
        `thinking` with its text shown in short, where the model thinks adaptively;
        `output_config` where an effort is set; `diagnostics` where the service can be
        asked why a request missed the cache.
    """
    fields: dict[str, Any] = {}
    if model.startswith(_ADAPTIVE):
        fields["thinking"] = {"type": "adaptive", "display": "summarized"}
    if effort is not None:
        fields["output_config"] = {"effort": effort}
    if model.startswith("claude-"):
        fields["diagnostics"] = {"previous_message_id": None}
    return fields
