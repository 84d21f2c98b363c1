"""Everything about one agent of a run, read from its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from orchestrator.events import (
    Event,
    SubagentAccepted,
    SubagentEnded,
)
from orchestrator.events.answers import Answer
from orchestrator.events.phrases import number, one_line
from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.context import AgentContext, Edit
from orchestrator.inspection.sentences import describe
from orchestrator.inspection.shown_events import shown_events
from orchestrator.inspection.troubles import is_trouble
from orchestrator.store.heads import Head
from orchestrator.store.layout import RunFolder

__all__ = ["AgentPage", "Compacted", "Finding", "agent_page", "findings_of"]

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """One item that a subagent handed back.

    Attributes:
        ref: as reports cite it: `a2#3`.
        claim: in its words.
        confidence: its own estimate, 0 to 1; None: not told.
        is_supported: its evidence was found where it said.
        evidence: `source` and `quote` of each.
    """

    ref: str
    claim: str
    confidence: float | None
    is_supported: bool
    evidence: tuple[dict[str, str], ...] = ()

    def to_dict(self) -> Data:
        """Return everything by name."""
        found = {name: getattr(self, name) for name in self.__slots__}
        del found["is_supported"]
        return {**found, "supported": self.is_supported, "evidence": [*self.evidence]}


@dataclass(frozen=True, slots=True)
class Compacted:
    """A compaction in short; `diff` has all of it.

    Attributes:
        nth: from 1.
        seq: of the event.
        turn: of the request that follows.
        says: what happened, in a sentence.
        steps: first and last number of the steps that went; () if none did.
        calls: whose results went.
        tokens: of these results, as they had come.
        lost: what checks missed in the summary and put back or marked, short texts.
    """

    nth: int
    seq: int
    turn: int
    says: str
    steps: tuple[int, int] | tuple[()]
    calls: int
    tokens: int
    lost: tuple[str, ...] = ()

    def to_dict(self) -> Data:
        """Return everything by name."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {**found, "steps": [*self.steps], "lost": [*self.lost]}


@dataclass(slots=True)
class AgentPage:
    """What is known of one agent besides its figures.

    Attributes:
        view: its figures.
        brief: as it was sent; {} for the lead, or where it is lost.
        accepted: number of the event that took the brief; 0: none.
        context: what it was sent.
        troubles: events of what went wrong, oldest first.
        notes: what the program has to say about its findings, a line each.
    """

    view: AgentView
    brief: Data = field(default_factory=dict)
    accepted: int = 0
    context: AgentContext = field(init=False)
    troubles: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context = AgentContext(self.view.id)

    @property
    def compactions(self) -> list[Compacted]:
        """Return its compactions in short, oldest first."""
        return [_compacted(each) for each in self.context.compactions]

    @property
    def findings(self) -> list[Finding]:
        """Return all that it handed back, in order."""
        return [found for each in self.view.answers.all for found in findings_of(each)]

    def to_dict(self, now: datetime | None = None) -> Data:
        """Return everything by name, for machines.

        Args:
            now: ends what is under way; None: the last event does.
        """
        return {
            **self.view.to_dict(now),
            "accepted": self.accepted or None,
            "brief": self.brief or None,
            "summaries": [
                {"id": each.id, "text": text}
                for each in self.view.answers.all
                if (text := str(each.findings.get("summary") or ""))
            ],
            "findings": [each.to_dict() for each in self.findings],
            "open_questions": self.listed("open_questions"),
            "notes": self.notes,
            "edits": [each.to_dict() for each in self.compactions],
            "troubles": [
                {"seq": each.seq, "kind": each.kind, "says": describe(each)}
                for each in self.troubles
            ],
        }

    def listed(self, name: str) -> list[str]:
        """Return a list of texts in its findings, all answers together."""
        return [
            one_line(text)
            for each in self.view.answers.all
            for text in _list(each.findings.get(name))
        ]

    def apply(self, event: Event) -> None:
        """Take over one event, whole, of the agent or about it."""
        data, own = event.data, self.view.id
        if event.kind == SubagentAccepted.KIND and one_line(data.get("id")) == own:
            brief = data.get("brief")
            self.brief = brief if isinstance(brief, dict) else {}
            self.accepted = event.seq
        elif event.kind == SubagentEnded.KIND and one_line(data.get("id")) == own:
            self.notes += [one_line(each) for each in _list(data.get("notes"))]
            self.troubles += [event] if is_trouble(event) else []
        elif event.agent == own:
            self.context.apply(event)
            self.troubles += [event] if is_trouble(event) else []


def agent_page(folder: RunFolder, view: AgentView, env: Mapping[str, str]) -> AgentPage:
    """Return everything about one agent, as it may be shown.

    Args:
        folder: of its run.
        view: the agent.
        env: the environment, for credentials.

    Raises:
        StoreError: the log cannot be read.
    """
    page = AgentPage(view)
    about = (SubagentAccepted.KIND, SubagentEnded.KIND)

    def wants(head: Head) -> bool:
        return head.agent == view.id or head.kind in about

    for event in shown_events(folder, wants, env):
        page.apply(event)
    return page


def findings_of(answer: Answer) -> list[Finding]:
    """Return the items of one answer, in order."""
    agent = answer.id.partition("/")[0]
    found = []
    for place, item in enumerate(
        _list(answer.findings.get("items")), answer.first_item
    ):
        if not isinstance(item, dict):
            continue
        sure = item.get("confidence")
        found.append(
            Finding(
                ref=f"{agent}#{place}",
                claim=str(item.get("claim", "")),
                confidence=number(sure) if isinstance(sure, (int, float)) else None,
                is_supported=place not in answer.unsupported_items,
                evidence=tuple(
                    {name: str(each.get(name, "")) for name in ("source", "quote")}
                    for each in _list(item.get("evidence"))
                    if isinstance(each, dict)
                ),
            )
        )
    return found


def _compacted(edit: Edit) -> Compacted:
    data = edit.event.data
    lost = [
        one_line(text)
        for each in _list(data.get("checks"))
        if isinstance(each, dict)
        for text in _list(each.get("lost"))
    ]
    return Compacted(
        nth=edit.nth,
        seq=edit.event.seq,
        turn=edit.turn,
        says=describe(edit.event),
        steps=(edit.steps[0], edit.steps[-1]) if edit.steps else (),
        calls=len(edit.calls),
        tokens=sum(each.tokens for each in edit.calls),
        lost=tuple(lost),
    )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
