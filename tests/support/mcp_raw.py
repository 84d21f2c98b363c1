"""An MCP server of a few lines, which does what no server should.

Run as a script of its own, with what it is to be as JSON in its only argument. It needs
nothing but the standard library, so that it starts at once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

heard: list[Any] = []
lock = threading.Lock()


def send(message: Any) -> None:
    put((json.dumps(message) + "\n").encode())


def put(data: bytes) -> None:
    with lock:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def answer(number: Any, result: Any) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": result})


def text(number: Any, said: str) -> None:
    answer(number, {"content": [{"type": "text", "text": said}]})


def die(number: Any, given: dict[str, Any]) -> None:
    sys.stderr.write("fatal: out of ink, token=sk-ant-REDACT-ME\n")
    sys.stderr.flush()
    os._exit(3)


def late(number: Any, given: dict[str, Any]) -> None:
    threading.Timer(given.get("seconds", 1), text, (number, "late")).start()


def bytes_(number: Any, given: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": []}})
    block = b'{"type":"text","text":"caf\xe9 \xff"}'
    put(body.replace("[]", "[@]").encode().replace(b"@", block) + b"\n")


def slow(number: Any, given: dict[str, Any]) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": []}})
    for char in line + "\n":
        put(char.encode())


def flood(number: Any, given: dict[str, Any]) -> None:
    note = {"progressToken": number, "progress": 1, "message": "x" * 200}
    line = {"jsonrpc": "2.0", "method": "notifications/progress", "params": note}
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    put((json.dumps(line) + "\n" + json.dumps(changed) + "\n").encode() * 3000)
    text(number, "after the flood")


def shout(number: Any, given: dict[str, Any]) -> None:
    chunk = b"e" * (1 << 20)
    for _ in range(given["megabytes"]):
        os.write(2, chunk)
    text(number, "shouted")


def ask(number: Any, given: dict[str, Any]) -> None:
    for method, params in (
        ("sampling/createMessage", {"messages": [], "maxTokens": 5}),
        ("roots/list", {}),
        ("elicitation/create", {"message": "?", "requestedSchema": {
            "type": "object", "properties": {}}}),
        ("made/up", {}),
        ("ping", {}),
    ):  # fmt: skip
        send({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
    threading.Timer(0.2, lambda: text(number, json.dumps(heard))).start()


def child(number: Any, given: dict[str, Any]) -> None:
    command = ["sleep", given.get("seconds", "600")]
    found = subprocess.Popen(command, start_new_session=given.get("away", False))
    text(number, f"{os.getpid()} {found.pid}")


def place(number: Any, given: dict[str, Any]) -> None:
    try:
        written = "written"
        Path("new-file").write_text("x")
    except OSError as error:
        written = type(error).__name__
    text(number, json.dumps({"cwd": str(Path.cwd()), "env": dict(os.environ),
                             "written": written}))  # fmt: skip


def endless(number: Any, given: dict[str, Any]) -> None:
    for _ in range(40):
        put(b"x" * (1 << 20))


def surrogate(number: Any, given: dict[str, Any]) -> None:
    text(number, "cut \ud83d here\x00")


def stranger(number: Any, given: dict[str, Any]) -> None:
    text("no-such-id", "wrong")
    text(number, "right")


def error(number: Any, given: dict[str, Any]) -> None:
    fault = {"code": -32000, "message": "the printer is on fire"}
    send({"jsonrpc": "2.0", "id": number, "error": fault})


TRICKS: dict[str, Any] = {
    "ask": ask,
    "big": lambda number, given: text(number, "x" * given["chars"]),
    "bytes": bytes_,
    "child": child,
    "die": die,
    "echo": lambda number, given: text(number, json.dumps(given)),
    "endless": endless,
    "error": error,
    "flood": flood,
    "garbage": lambda number, given: put(b'{"id": %d, "result": 5}\n' % number),
    "give": answer,
    "hang": lambda number, given: None,
    "join": lambda number, given: text(number, "".join(given["parts"])),
    "heard": lambda number, given: text(number, json.dumps(heard)),
    "late": late,
    "place": place,
    "shout": shout,
    "slow": slow,
    "stranger": stranger,
    "surrogate": surrogate,
}


def named(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"does {name}",
        "inputSchema": {"type": "object"},
    }


def begin(spec: dict[str, Any]) -> list[Any]:
    """Do what comes before the first request; return the tools of this life."""
    if "banner" in spec:
        put(spec["banner"].encode())
    if "exits" in spec:
        sys.stderr.write(spec["exits"])
        sys.exit(1)
    tools: list[Any] = spec.get("tools") or [named(each) for each in TRICKS]
    if "lives" not in spec:
        return tools
    with Path(spec["lives"]).open("a") as file:
        file.write("life\n")
    life = len(Path(spec["lives"]).read_text().splitlines())
    if life in spec.get("silent_lives", ()):
        time.sleep(600)
    found: list[Any] = spec.get(f"tools_of_life_{life}", tools)
    return found


def serve(spec: dict[str, Any]) -> None:
    tools = begin(spec)
    info = {"name": "raw", "version": "1"}
    able = {"tools": {}, **spec.get("capabilities", {})}
    memo = {"uri": "memo://a", "name": "a memo"}
    remembered = {"uri": "memo://a", "text": spec.get("memo", "remember")}
    answers = {
        "initialize": {
            "protocolVersion": spec.get("version", "2025-06-18"),
            "capabilities": able,
            "serverInfo": info,
        },
        "tools/list": {"tools": tools, **spec.get("more", {})},
        "resources/list": {"resources": [memo]},
        "resources/read": {"contents": [remembered]},
        "server/discover": spec.get("discovered"),
    }
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method", ""), message.get("id")
        if spec.get("silent"):
            continue
        if method == "tools/call":
            params = message["params"]
            said = spec.get("says", {}).get(params["name"])
            if said is not None:  # what an author of tests had it say
                content = [{"type": "text", "text": said}]
                answer(number, {"content": content, "isError": bool(spec.get("fails"))})
                continue
            TRICKS[params["name"]](number, params.get("arguments") or {})
        elif answers.get(method) is not None:
            answer(number, answers[method])
        else:
            heard.append(message)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
