"""Tools of other programs, over the Model Context Protocol (the extra `mcp`).

Servers are strangers: they run in the sandbox, their words are bounded, their results
go the way of all results, and their death is an error of a tool.
"""

from __future__ import annotations

from orchestrator.tools.mcp.catalogue import Listed
from orchestrator.tools.mcp.servers import Servers, open_servers

__all__ = ["Listed", "Servers", "open_servers"]
