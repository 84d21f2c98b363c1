"""Names that the API takes for the tools of servers: legal, unique, always the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from orchestrator.ids import sha256
from orchestrator.tools.registry import legal_tool_name

__all__ = ["Remote", "names_for"]

Remote = tuple[str, str]
"""A tool's server, and the name that the server gives it."""

MAX_CHARS = 64
_HASH_CHARS = 8
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]+")


def names_for(remotes: Iterable[Remote], taken: Collection[str]) -> dict[Remote, str]:
    """Return a name for each tool.

    A name that is legal and nobody else's stays. One that several have, or that is
    taken, gets its server's name before it; what is still illegal, too long or shared
    ends in a digest of server and name. Each name hangs on the set of tools alone, not
    on its order.

    Args:
        remotes: all tools of all servers.
        taken: names of other tools.
    """
    every = sorted(set(remotes))
    plain = Counter(name for _, name in every)
    first = {
        (server, name): name
        if legal_tool_name(name) and plain[name] == 1 and name not in taken
        else _fit(f"{server}_{name}")
        for server, name in every
    }
    shared = Counter(first.values())
    found: dict[Remote, str] = {}
    for remote, name in first.items():
        is_own = name == remote[1] or _is_whole(remote, name)
        is_free = shared[name] == 1 and name not in taken
        found[remote] = name if is_own and is_free else _hashed(remote, name)
    return found


def _fit(text: str) -> str:
    return _ILLEGAL.sub("_", text).strip("_")[:MAX_CHARS] or "tool"


def _is_whole(remote: Remote, name: str) -> bool:
    """Return whether a prefixed name has lost nothing of the server's own."""
    return name.endswith(remote[1])


def _hashed(remote: Remote, name: str) -> str:
    digest = sha256("\0".join(remote).encode("utf-8", "surrogatepass"))[:_HASH_CHARS]
    return f"{name[: MAX_CHARS - _HASH_CHARS - 1].rstrip('_')}_{digest}"
