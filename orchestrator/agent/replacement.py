"""What stands in the place of steps that a compaction takes away, and its sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from orchestrator.agent.hooks import Words
from orchestrator.agent.reopening import Reopened
from orchestrator.context.stubs import digest_of
from orchestrator.ids import reference_of
from orchestrator.messages import Message, encode, text_of

__all__ = ["Replacement", "heard", "lines_of", "references_up_to", "said"]


@dataclass(slots=True)
class Replacement:
    """What stands in the place of the steps, by part; "": there is no such part.

    Attributes:
        state: what the program knows of the work.
        summary: of the steps.
        own_rules: rules that nobody gave, a line each.
        subagents: where each stands.
        memory: what outlives runs holds for the open work.
        reopened: files that the open work needs, as they are now.
        newest: the newest step, where that does not stand behind it.
    """

    state: str = ""
    summary: str = ""
    own_rules: str = ""
    subagents: str = ""
    memory: str = ""
    newest: str = ""
    reopened: list[Reopened] = field(default_factory=list)

    @property
    def files(self) -> str:
        """Return what those files hold."""
        return "\n\n".join(each.text for each in self.reopened)

    def filled(self, words: Words, *, last: int) -> str:
        """Return the whole text.

        Args:
            words: the program's prompts.
            last: number of the last step that goes.
        """

        def section(name: str, **values: str) -> str:
            is_empty = not next(iter(values.values())).strip()
            return "" if is_empty else words(f"sections/{name}", **values)

        return words(
            "compacted",
            last=str(last),
            state=section("state", text=self.state),
            summary=section("summary", text=self.summary),
            own_rules=section("own_rules", items=self.own_rules),
            subagents=section("team", table=self.subagents),
            memory=section("memory_again", text=self.memory),
            files=section("files", files=self.files),
            newest=section("newest", text=self.newest),
        )

    def opened_in(self, whole: str) -> dict[str, list[int]]:
        """Return where each reopened file stands in the whole text.

        Returns:
            Path → where its part begins, and ends, in characters.
        """
        places: dict[str, list[int]] = {}
        at = 0
        for each in self.reopened:
            begin = whole.find(each.text, at)
            if begin >= 0:
                at = begin + len(each.text)
                places[each.path] = [begin, at]
        return places

    def parts(self, whole: str, *, count: Callable[[str], int]) -> dict[str, int]:
        """Return the estimated tokens of the whole text, by what it is."""
        parts = {
            "state": count(self.state),
            "summary": count(self.summary + self.own_rules),
            "subagents": count(self.subagents),
            "memory": count(self.memory),
            "files": count(self.files),
            "results": count(self.newest),
        }
        parts["state"] += max(count(whole) - sum(parts.values()), 0)
        return {name: tokens for name, tokens in parts.items() if tokens}


def references_up_to(steps: int) -> list[str]:
    """Return what can be opened: what it names need not be in a summary."""
    return [reference_of(number) for number in range(steps + 1)]


def said(messages: Sequence[Message]) -> list[str]:
    """Return what the agent said, one text for each block."""
    return [
        str(block["text"])
        for message in messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block.get("type") == "text"
    ]


def heard(messages: Sequence[Message]) -> Iterator[str]:
    """Yield what the agent asked tools, what they answered, and what it was told.

    The words of people among it, and findings, are on record beside it.
    """
    for message in messages:
        for block in message["content"]:
            if block.get("type") == "tool_use":
                yield encode(block["input"]).decode()
            elif message["role"] == "user":
                yield digest_of(text_of([block]))


def lines_of(message: Message) -> list[str]:
    """Return the lines of what a message says."""
    return [line for line in text_of(message["content"]).split("\n") if line.strip()]
