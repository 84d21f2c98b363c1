"""An MCP server made with the official SDK, over pipes or over HTTP on loopback.

Run as a script: `mcp_made.py stdio`, or `mcp_made.py http PORT [TOKEN]`, which asks for
that bearer token.
"""

from __future__ import annotations

import base64
import os
import sys
from typing import Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.types import CallToolResult, ImageContent, TextContent, ToolAnnotations

server = MCPServer("made")

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def order(number: str) -> dict[str, Any]:
    """Look up an order."""
    return {"number": number, "state": "sent", "lines": [{"sku": "A1"}] * 3}


@server.tool()
def dot() -> Image:
    """Draw a dot."""
    return Image(data=PNG, format="png")


@server.tool()
def dot_twice() -> CallToolResult:
    """Draw a dot, and tell it once more in base64."""
    data = base64.b64encode(PNG).decode()
    return CallToolResult(
        content=[
            ImageContent(type="image", data=data, mime_type="image/png"),
            TextContent(type="text", text="a dot"),
        ],
        structured_content={"image": data},
    )


@server.tool()
async def wait(seconds: float, ctx: Context) -> str:
    """Wait and report on the way."""
    for step in range(10):
        await ctx.report_progress(step, 10)
        await anyio.sleep(seconds / 10)
    return "waited"


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("no such thing")


@server.tool()
def die() -> str:
    """End the process."""
    os._exit(1)


@server.resource("memo://today")
def memo() -> str:
    """What to remember."""
    return "buy ink"


class Guard:
    """Lets only those in who know the token."""

    def __init__(self, app: Any, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        wanted = f"Bearer {self.token}".encode()
        if scope["type"] == "http" and headers.get(b"authorization") != wanted:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
            return
        await self.app(scope, receive, send)


def main(kind: str, port: str = "0", token: str = "") -> None:
    if kind == "stdio":
        server.run()
        return
    app: Any = server.streamable_http_app()
    if token:
        app = Guard(app, token)
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error")


if __name__ == "__main__":
    main(*sys.argv[1:])
