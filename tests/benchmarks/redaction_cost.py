"""What redaction costs, on texts without anything to replace.

    python tests/benchmarks/redaction_cost.py [CHARS]

Each kind of text is made of what any machine has, cut to the same size, and what is
redacted in it is replaced before it is measured. Beside it stands one plain pass:
`str.lower()` and one `str.find`.
"""

from __future__ import annotations

import json
import random
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

from stopwatch import median_of, print_table

from orchestrator.security.redaction import Redactor

CHARS = 1_000_000
TIMES = 5
SALT = b"of the benchmark"


def main(chars: int = CHARS) -> None:
    """Print the table."""
    rows = [
        row
        for name, text in texts(chars).items()
        for row in measured(name, text, chars // 100_000 or 1)
    ]
    print_table(
        f"Redaction of {chars:,} characters of each kind, nothing in them",
        ("", "ms CPU/100 KB", "of a plain pass"),
        rows,
    )


def measured(name: str, text: str, parts: int) -> Iterator[tuple[str, ...]]:
    """Yield a row for each way in which a text is redacted."""
    whole = Redactor(SALT, personal=True)
    clean = whole.redact(text)[: len(text)]
    pieces = [
        clean[at : at + len(clean) // parts]
        for at in range(0, len(clean), len(clean) // parts)
    ]
    full = Redactor(SALT)
    rng = random.Random(1)
    # As many values as are remembered.
    full.redact("".join(f"password={rng.randbytes(9).hex()}\n" for _ in range(256)))
    ways: dict[str, Callable[[str], object]] = {
        "secrets": Redactor(SALT).redact,
        "secrets, 256 learnt": full.redact,
        "and personal": whole.redact,
    }
    plain_s = per_100_kb(pieces, lambda piece: piece.lower().find("\0\0"))
    for way, redact in ways.items():
        spent_s = per_100_kb(pieces, redact)
        yield f"{name}: {way}", f"{spent_s * 1e3:.2f}", f"{spent_s / plain_s:.0f}"


def per_100_kb(pieces: list[str], work: Callable[[str], object]) -> float:
    """Return the seconds of processor time that 100,000 characters take."""

    def all_pieces() -> None:
        for piece in pieces:
            work(piece)

    work(pieces[0])  # what is loaded on first use is loaded
    chars = sum(map(len, pieces))
    return median_of(TIMES, all_pieces).cpu_s / chars * 100_000


def texts(chars: int) -> dict[str, str]:
    """Return the kinds of text, each of so many characters."""
    rng = random.Random(1)
    library = Path(sysconfig.get_paths()["stdlib"])
    paths = sorted(library.glob("[a-m]*.py"))
    source = "".join(path.read_text(encoding="utf-8") for path in paths)
    prose = "".join(
        line
        for line in source.splitlines(keepends=True)
        if line.count(" ") > 6 and not set(line) & set("=()[]{}_")
    )
    kinds: dict[str, Callable[[], str]] = {
        "source code": lambda: source,
        "prose": lambda: prose,
        "logs": lambda: "\n".join(log_line(rng) for _ in range(chars // 100)),
        "Chinese prose": lambda: "".join(chinese_line(rng) for _ in range(chars // 60)),
        "JSON": lambda: json.dumps([record(rng) for _ in range(chars // 150)]),
        "minified": lambda: minified(rng, chars),
    }
    return {name: fitted(make(), chars) for name, make in kinds.items()}


def fitted(text: str, chars: int) -> str:
    """Return the start of `text`, repeated where it is too short."""
    return (text * (chars // len(text) + 1))[:chars]


def log_line(rng: random.Random) -> str:
    """Return a line of a server's log, with times, addresses, ids and sizes."""
    at = f"2026-11-{rng.randrange(1, 31):02} {rng.randrange(24):02}:12:55"
    address = ".".join(str(rng.randrange(256)) for _ in range(4))
    return (
        f"{at},{rng.randrange(1000):03} INFO [worker-{rng.randrange(16)}] {address} "
        f"GET /v1/items/{rng.randrange(10**9)}?page={rng.randrange(90)} HTTP/1.1 200 "
        f'{rng.randrange(10**6)} "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101" '
        f"took {rng.random():.6f}s, request {rng.randbytes(8).hex()} was accepted and "
        f"queued until {rng.randrange(10**12)}"
    )


def record(rng: random.Random) -> dict[str, object]:
    """Return an object as an interface sends it."""
    return {
        "id": rng.randrange(10**12),
        "created_at": 1_700_000_000_000 + rng.randrange(10**9),
        "sha": rng.randbytes(20).hex(),
        "score": rng.random(),
        "tags": [rng.choice(["red", "green", "blue"]) for _ in range(3)],
        "url": f"https://example.com/items/{rng.randrange(10**6)}",
    }


def chinese_line(rng: random.Random) -> str:
    """Return a line of some sixty characters, a figure among them."""
    words = (
        "系统在每个步骤之后记录状态，用户可以随时查看进度和结果；数据保存于本地文件，"
    )
    row = list(words)
    rng.shuffle(row)
    return "".join(row) + f"共{rng.randrange(10_000)}条记录。\n"


def minified(rng: random.Random, chars: int) -> str:
    """Return one line of code of which the names are short."""
    parts = []
    for _ in range(chars // 30):
        a, b = (rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(2))
        parts.append(f"function {a}({b}){{return {b}.{a}[{rng.randrange(99)}]+{b}}};")
    return "".join(parts)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
