"""An agent that reads file after file, over an endpoint that is strict about it.

The endpoint knows nothing but the request: how far the work is and what was found out
is told from what is still in sight. It bills by the rules of the prompt cache, refuses
what is longer than its window, and, where the model thinks, refuses a block of thinking
before which anything has changed.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from best_schedule import PRICES
from cache_model import CacheModel
from fake_endpoint import Answer, events_of, message, refused, text, thinking, tool_use

from orchestrator.messages import Block, Message, encode, text_of
from orchestrator.models.base import Usage

__all__ = ["FACT", "PRICE", "PRICE_FILE", "HaulPolicy", "clear_at_100k_usd", "lay_haul"]

FACT: Final = "heron-4471-quartz"
FACT_IN: Final = 1
"""Number of the file that has it, among the first three."""
PRICE: Final = PRICES["3/15"]
PRICE_FILE: Final = (
    "claude-*: {input: 3, output: 15, cache_write_5m: 3.75, cache_write_1h: 6, "
    "cache_read: 0.3}\n"
)
FILE_TOKENS: Final = 3000
BYTES_PER_TOKEN: Final = 4
_WORDS: Final = (
    "module", "handler", "parses", "request", "then", "updates", "state", "returns",
    "checked", "result", "before", "caller", "can", "see", "it", "and", "goes", "on",
)  # fmt: skip
_FACT: Final = re.compile(r"CODEWORD: ([a-z]+-\d{4}-[a-z]+)")
_PART: Final = re.compile(r"part_(\d{3})\.txt")
_PROGRESS: Final = re.compile(r"progress:\[(\d+)\]")
_SUMMARY: Final = re.compile("Write the summary of the (?:conversation|record)")
_AGAIN: Final = "could not be taken as the summary"


def lay_haul(root: Path, reads: int) -> None:
    """Write the files; one of the first three holds the fact."""
    (root / "src").mkdir(parents=True)
    for number in range(reads):
        lines = [f"# Part {number:03d}", f"KEY: k-{number * 7919 + 17:08x}"]
        if number == FACT_IN:
            lines.append(f"RELEASE CODEWORD: {FACT}")
        size = sum(len(line) + 1 for line in lines)
        for at in itertools.count():
            if size >= FILE_TOKENS * BYTES_PER_TOKEN * 0.93:  # lines are numbered
                break
            words = (_WORDS[(at * 5 + number + n) % len(_WORDS)] for n in range(9))
            lines.append(" ".join(words) + ".")
            size += len(lines[-1]) + 1
        (root / f"src/part_{number:03d}.txt").write_text("\n".join(lines) + "\n")


@dataclass
class HaulPolicy:
    """Answers as the agent would, and keeps the account of its endpoint.

    Attributes:
        reads: how many files there are.
        window: most that a request and its answer may be together, in tokens.
        thinks: every answer begins with a block of thinking.
        summarises: requests of a summary are answered; else the service is overloaded.
        too_long: how many requests were refused for their length.
        violations: what was wrong with thinking that was sent back.
        first: size of the first request, in tokens.
        peak: longest request that was answered, in tokens.
        usd: what was billed.
        summaries: how many requests of a summary came.
        turns: how many other requests were answered.
        thought: how many blocks of thinking were said.
    """

    reads: int
    window: int = 200_000
    thinks: bool = False
    summarises: bool = True
    cache: CacheModel = field(default_factory=CacheModel)
    too_long: int = 0
    violations: list[str] = field(default_factory=list)
    first: int = 0
    peak: int = 0
    usd: float = 0.0
    summaries: int = 0
    turns: int = 0
    thought: int = 0
    _issued: dict[str, tuple[bytes, Block]] = field(default_factory=dict)
    _count: int = 0

    def __call__(self, asked: dict[str, Any]) -> Answer:
        if wrong := self._wrong_thinking(asked):
            self.violations.append(wrong)
            return refused(400, "invalid_request_error", wrong)
        if not self.summarises and _is_summary(asked):
            self.summaries += 1
            return refused(529, "overloaded_error")
        self._count += 1
        served = self.cache.receive(asked, float(self._count))
        if served.sent + asked["max_tokens"] > self.window:
            self.too_long += 1
            told = (
                "input length and `max_tokens` exceed context limit: "
                f"{served.sent} + {asked['max_tokens']} > {self.window}"
            )
            return refused(400, "invalid_request_error", told)
        served.begin()
        content = self._content(asked)
        said = sum(math.ceil(len(encode(block)) / BYTES_PER_TOKEN) for block in content)
        usage = served.usage(said)
        self.first = self.first or served.sent
        self.usd += PRICE.usd(usage)
        self.peak = max(self.peak, served.sent)
        whole = message(*content, usage=_told(usage))
        return Answer(events=tuple(events_of(whole, piece=2000)))

    def _content(self, asked: dict[str, Any]) -> list[Block]:
        if _is_summary(asked):
            self.summaries += 1
            content = [text(summary_of(asked["messages"]))]
        else:
            self.turns += 1
            content = [text("Now the next."), self._next(asked["messages"])]
        if not self.thinks:
            return content
        self.thought += 1
        words = f"Thought {self._count}: what is next follows from what I have read."
        bound = _digest(asked, len(asked["messages"]))
        thought = thinking(words, "sig_" + _hex(bound, words))
        for block in content:
            if block["type"] == "tool_use":
                self._issued[block["id"]] = bound, thought
        return [thought, *content]

    def _next(self, messages: list[Message]) -> Block:
        name, step = f"toolu_{self._count:05d}", _progress(messages)
        if step < self.reads:
            return tool_use(name, "read_file", path=f"src/part_{step:03d}.txt")
        found = _FACT.findall(_seen(messages))
        report = f"The codeword is {found[0] if found else 'unknown'}."
        return tool_use(name, "finish", report=report)

    def _wrong_thinking(self, asked: dict[str, Any]) -> str:
        """Return what is wrong with the thinking in a request, or ""."""
        messages = asked["messages"]
        said = [at for at, each in enumerate(messages) if each["role"] == "assistant"]
        for at in said:
            blocks = messages[at]["content"]
            sent = [block for block in blocks if block["type"] == "thinking"]
            known = (self._issued.get(str(block.get("id"))) for block in blocks)
            issued = next((each for each in known if each), None)
            if not sent and (issued is None or at != said[-1]):
                continue
            bound = _digest(asked, at)
            for block in sent:
                if block["signature"] != "sig_" + _hex(bound, block["thinking"]):
                    return (
                        f"messages.{at}: `thinking` blocks in an assistant message "
                        "cannot be modified, nor what is before them"
                    )
            if issued is not None and not sent and issued[0] == bound:
                return (
                    f"messages.{at}: expected `thinking` or `redacted_thinking`: it "
                    "was left out of the open turn"
                )
        return ""


def _is_summary(asked: Mapping[str, Any]) -> bool:
    newest = text_of(asked["messages"][-1]["content"])
    return _AGAIN in newest or _SUMMARY.search(newest) is not None


def summary_of(messages: list[Message]) -> str:
    """What a careful model would keep: how far it is, and the facts in sight."""
    facts = dict.fromkeys(_FACT.findall(_seen(messages)))
    step = _progress(messages)
    lines = [f"- CODEWORD: {each}" for each in facts]
    return "\n".join(
        [
            "## Work done",
            f"- Read one by one up to here: progress:[{step}]",
            "## Decisions and why",
            "none",
            "## Failed attempts and why",
            "none",
            "## Facts and figures",
            *(lines or ["none"]),
            "## Open items and next step",
            f"- Read src/part_{step:03d}.txt next.",
            "## Pointers",
            "none",
        ]
    )


def clear_at_100k_usd(
    reads: int, *, head_tokens: int, step_tokens: int, said_tokens: int, keep: int = 3
) -> float:
    """Return the bill of clearing all but the newest results above 100,000 tokens.

    The rule by itself, counted from sizes: each request writes what is new, reads the
    rest, and after a clear writes again what stands behind the first that went.
    """
    stub_tokens, at = 20, head_tokens
    results: list[int] = []
    usd, cached = 0.0, 0
    for turn in range(reads + 1):
        if at > 100_000:
            gone = len(results) - keep
            first = next(n for n, size in enumerate(results) if size > stub_tokens)
            kept = [min(size, stub_tokens) for size in results[:gone]]
            before = head_tokens + sum(results[:first]) + first * said_tokens
            results = [*kept, *results[gone:]]
            at = head_tokens + sum(results) + len(results) * said_tokens
            cached = min(cached, before)
        usage = Usage(
            cache_write_5m_tokens=at - cached,
            cache_read_tokens=cached,
            output_tokens=said_tokens,
        )
        usd += PRICE.usd(usage)
        cached = at
        if turn < reads:
            results.append(step_tokens - said_tokens)
            at += step_tokens
    return usd


def _progress(messages: list[Message]) -> int:
    """Return how many files are read, as far as what is in sight tells."""
    told = [int(each) for each in _PROGRESS.findall(_seen(messages))]
    paths = (
        str(block["input"].get("path"))
        for each in messages
        if each["role"] == "assistant"
        for block in each["content"]
        if block["type"] == "tool_use"
    )
    steps = [int(found[1]) + 1 for path in paths if (found := _PART.search(path))]
    return max([0, *told, *steps])


def _seen(messages: list[Message]) -> str:
    return "\n".join(text_of(each["content"]) for each in messages)


def _told(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_5m_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }


def _digest(asked: Mapping[str, Any], upto: int) -> bytes:
    """Return what identifies all that stands before a message; marks do not count."""
    digest = hashlib.sha256(str(asked["model"]).encode())
    for block in [*(asked.get("system") or ()), *(asked.get("tools") or ())]:
        digest.update(_plain(block))
    for each in asked["messages"][:upto]:
        digest.update(each["role"].encode())
        for block in each["content"]:
            digest.update(_plain(block))
    return digest.digest()


def _plain(block: Block) -> bytes:
    return encode({k: v for k, v in block.items() if k != "cache_control"})


def _hex(bound: bytes, words: str) -> str:
    return hashlib.sha256(bound + words.encode()).hexdigest()[:24]
