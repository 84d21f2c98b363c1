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
    found = subprocess.Popen(
        ["sleep", "600"], start_new_session=given.get("away", False)
    )
    text(number, f"{os.getpid()} {found.pid}")


def place(number: Any, given: dict[str, Any]) -> None:
    try:
        written = "written"
        with open("new-file", "w") as file:
            file.write("x")
    except OSError as error:
        written = type(error).__name__
    text(number, json.dumps({"cwd": os.getcwd(), "env": dict(os.environ),
                             "written": written}))  # fmt: skip


TRICKS: dict[str, Any] = {
    "die": die,
    "late": late,
    "bytes": bytes_,
    "slow": slow,
    "flood": flood,
    "shout": shout,
    "ask": ask,
    "child": child,
    "place": place,
    "hang": lambda number, given: None,
    "heard": lambda number, given: text(number, json.dumps(heard)),
    "echo": lambda number, given: text(number, json.dumps(given)),
    "big": lambda number, given: text(number, "x" * given["chars"]),
    "endless": lambda number, given: [put(b"x" * (1 << 20)) for _ in range(40)],
    "surrogate": lambda number, given: put(
        json.dumps({"jsonrpc": "2.0", "id": number, "result": {"content": [
            {"type": "text", "text": "cut \ud83d here\x00"}]}}).encode() + b"\n"),
    "stranger": lambda number, given: [text("no-such-id", "wrong"), text(number, "right")],
    "garbage": lambda number, given: put(b'{"id": %d, "result": 5}\n' % number),
    "error": lambda number, given: send({"jsonrpc": "2.0", "id": number, "error": {
        "code": -32000, "message": "the printer is on fire"}}),
    "give": lambda number, given: answer(number, given),
}  # fmt: skip


def named(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"does {name}",
        "inputSchema": {"type": "object"},
    }


def serve(spec: dict[str, Any]) -> None:
    if "banner" in spec:
        put(spec["banner"].encode())
    if "exits" in spec:
        sys.stderr.write(spec["exits"])
        sys.exit(1)
    tools = spec.get("tools") or [named(each) for each in TRICKS]
    counter = spec.get("counter")
    if counter:  # each life is one line of a file
        with open(counter, "a+") as file:
            file.write("life\n")
            file.seek(0)
            life = len(file.readlines())
        tools = spec.get(f"tools{life}", tools)
        if life in spec.get("silent_lives", ()):
            time.sleep(600)
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method", ""), message.get("id")
        if spec.get("silent") or method in spec.get("unanswered", ()):
            continue
        if method == "initialize":
            answer(number, {"protocolVersion": "2025-06-18", "capabilities": {
                "tools": {}, **spec.get("capabilities", {})},
                "serverInfo": {"name": "raw", "version": "1"}})  # fmt: skip
        elif method == "tools/list":
            answer(number, {"tools": tools, **spec.get("more", {})})
        elif method == "resources/list":
            answer(number, {"resources": [{"uri": "memo://a", "name": "a memo"}]})
        elif method == "resources/read":
            answer(number, {"contents": [{"uri": "memo://a", "text": "remember"}]})
        elif method == "tools/call":
            params = message["params"]
            TRICKS[params["name"]](number, params.get("arguments") or {})
        else:
            heard.append({key: message.get(key) for key in
                          ("id", "method", "params", "result", "error")})  # fmt: skip


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
