"""Summaries with planted losses: how many are caught; and how often a good one is."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.context.fidelity import Checked, check_summary
from orchestrator.context.mechanical import mechanical_summary
from orchestrator.context.summary import HEADINGS, Section
from orchestrator.context.tokens import estimate
from orchestrator.messages import Message, text_block

MATERIAL = Path(__file__).parent / "material"
HAN = re.compile(r"[\u4e00-\u9fff]")

HEADINGS_ZH: dict[Section, str] = {
    "work": "已完成的工作",
    "decisions": "决定及原因",
    "failed": "失败的尝试及原因",
    "facts": "事实与数据",
    "open": "待办事项与下一步",
    "pointers": "参考位置",
}
LEVELS = ("## {}", "# {}", "### {}", "**{}**", "**{}:**")


@dataclass(frozen=True)
class Case:
    said: tuple[str, ...]
    results: tuple[str, ...]
    lines: tuple[tuple[Section, str], ...]
    level: str
    language: str

    @property
    def summary(self) -> str:
        headings = HEADINGS_ZH if self.language == "zh" else HEADINGS
        parts = []
        for section in headings:
            own = [f"- {line}" for name, line in self.lines if name == section]
            if own:
                parts.append(
                    self.level.format(headings[section]) + "\n\n" + "\n".join(own)
                )
        return "\n\n".join(parts)

    def checked(self) -> Checked:
        return check_summary(
            self.summary,
            old=self.said,
            results=self.results,
            state=(),
            references=(),
            used_later=(),
            open_calls=(),
            limit_tokens=4000,
            count=estimate,
        )


def load(name: str) -> Any:
    return yaml.safe_load((MATERIAL / name).read_text(encoding="utf-8"))


FILLERS = load("fillers.yaml")
SCENARIOS = [
    each
    for path in sorted(MATERIAL.glob("scenarios*.yaml"))
    for each in load(path.name)
]


def make_case(scenario: dict[str, Any], rng: random.Random) -> Case:
    slots = {name: rng.choice(each) for name, each in scenario["slots"].items()}
    language = "zh" if HAN.search(str(scenario["items"])) else "en"
    fillers = FILLERS[language]

    def filled(text: str) -> str:
        for name, value in {**slots, "k": str(rng.randint(13, 99))}.items():
            text = text.replace("{" + name + "}", value)
        return text

    # Not every conversation has something for every section.
    absent = rng.choice((None, None, "work", "decisions", "failed", "open", "pointers"))
    said: list[str] = []
    lines: list[tuple[Section, str]] = []
    for item in scenario["items"]:
        if item["section"] == absent:
            continue
        chatter = [
            filled(rng.choice(fillers["said"])) for _ in range(rng.randint(1, 4))
        ]
        if "{person}" in item["old"][0]:
            chatter.insert(0, filled(rng.choice(fillers["asked"])))
        glue = "" if language == "zh" else " "
        said.append(glue.join([*chatter, filled(rng.choice(item["old"]))]))
        said.append(filled(rng.choice(fillers["said"])))
        new = filled(rng.choice(item["new"]))
        if rng.random() < 0.4:
            new = re.sub(r"(?<=\d),(?=\d{3})", "", new)
        lines.append((item["section"], new))
    results = [
        "\n".join(
            filled(rng.choice(fillers["result"])) for _ in range(rng.randint(3, 30))
        )
        for _ in scenario["items"]
    ]
    return Case(tuple(said), tuple(results), tuple(lines), rng.choice(LEVELS), language)


def with_line(case: Case, at: int, text: str) -> Case:
    lines = list(case.lines)
    lines[at] = (lines[at][0], text)
    return replace(case, lines=tuple(lines))


Planted = tuple[Case, str]
"""The spoilt case, and the line or section of it that must be found."""


def drop_section(case: Case, rng: random.Random, at: int) -> Planted:
    sections = list(dict.fromkeys(section for section, _ in case.lines))
    gone = sections[at % len(sections)]
    return replace(case, lines=tuple(e for e in case.lines if e[0] != gone)), gone


def change_number(case: Case, rng: random.Random, at: int) -> Planted:
    places = [
        (row, match)
        for row, (_, line) in enumerate(case.lines)
        for match in re.finditer(r"\d[\d,]*", line)
    ]
    row, match = rng.choice(places)
    line = case.lines[row][1]
    digits = match[0]
    while digits == match[0]:
        digits = re.sub(r"\d", lambda d: str(rng.randint(1, 9)), match[0])
    spoilt = line[: match.start()] + digits + line[match.end() :]
    return with_line(case, row, spoilt), spoilt


NEGATIONS = [
    (r"\b(must|does|is|are|were|did|has) not( be| yet)?\b", r"\1\2"),
    (r"\b[Nn]ever (\w+)", r"always \1"),
    (r"\b[Nn]ever ", ""),
    (r"\b[Dd]o not ", ""),
    (r"\bis not\b", "is"),
    (r"不(?=支持|会|含)", ""),
    (r"没有", "已"),
    (r"不得|禁止|不允许", "可以"),
]


def lose_not(case: Case, rng: random.Random, at: int) -> Planted | None:
    places = [
        (row, re.sub(pattern, instead, line, count=1))
        for row, (section, line) in enumerate(case.lines)
        if section in ("facts", "failed")
        for pattern, instead in NEGATIONS
        if re.search(pattern, line)
    ]
    if not places:
        return None
    row, spoilt = rng.choice(places)
    return with_line(case, row, spoilt), spoilt


STATUSES = [
    ("has not yet confirmed", "has confirmed"),
    ("was asked, confirmation pending", "confirmed"),
    ("confirmed", "asked"),
    ("Confirmed", "Asked"),
    ("has not yet approved", "has approved"),
    ("was asked, approval pending", "approved"),
    ("approved", "requested"),
    ("agreed to", "was asked about"),
    ("signed off", "was asked about"),
    ("accepted", "requested"),
    ("rejected", "confirmed"),
    ("declined", "approved"),
    ("turned down", "approved"),
    ("已由", "待"),
    ("批准了", "尚未批准"),
    ("已获", "待"),
    ("同意", "尚未同意"),
]


def turn_status(case: Case, rng: random.Random, at: int) -> Planted | None:
    places = [
        (row, line.replace(status, instead, 1))
        for row, (section, line) in enumerate(case.lines)
        if section == "decisions"
        for status, instead in [next((p for p in STATUSES if p[0] in line), ("", ""))]
        if status
    ]
    if not places:
        return None
    row, spoilt = rng.choice(places)
    return with_line(case, row, spoilt), spoilt


def invent_rule(case: Case, rng: random.Random, at: int) -> Planted:
    rule = rng.choice(FILLERS[case.language]["rules"])
    lines = list(case.lines)
    section: Section = rng.choice(("facts", "decisions", "open"))
    lines.insert(rng.randrange(len(lines)), (section, rule))
    return replace(case, lines=tuple(lines)), rule


def is_caught(kind: str, checked: Checked, spoilt: str) -> bool:
    if kind == "section":
        return any(f.check in ("sections", "statuses") for f in checked.findings)
    if kind == "rule":
        return any(rule in spoilt for rule in checked.own_rules)
    # What is put right is the statement, whichever check saw it.
    return any(f.said and f.said in spoilt for f in checked.findings)


KINDS: dict[str, Callable[[Case, random.Random, int], Planted | None]] = {
    "section": drop_section,
    "number": change_number,
    "negation": lose_not,
    "status": turn_status,
    "rule": invent_rule,
}


FEW = range(40)
ALL = [
    pytest.param(FEW, id="few"),
    pytest.param(range(100, 310), id="all", marks=pytest.mark.slow),
]


def cases(numbers: range) -> list[Case]:
    return [
        make_case(SCENARIOS[at % len(SCENARIOS)], random.Random(f"case {at}"))
        for at in numbers
    ]


@pytest.mark.parametrize("numbers", ALL)
def test_planted_losses_are_caught(numbers: range) -> None:
    tried: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    missed: list[str] = []
    for at, case in zip(numbers, cases(numbers), strict=True):
        kind = sorted(KINDS)[at % len(KINDS)]
        planted = KINDS[kind](case, random.Random(f"{kind} {at}"), at // len(KINDS))
        if planted is None:
            continue
        tried[kind] += 1
        if is_caught(kind, planted[0].checked(), planted[1]):
            caught[kind] += 1
        else:
            missed.append(f"{kind}: {planted[1]}")

    assert set(tried) == set(KINDS)
    assert caught.total() >= 0.95 * tried.total(), missed
    for kind in KINDS:
        assert caught[kind] >= 0.9 * tried[kind], missed


@pytest.mark.parametrize("numbers", ALL)
def test_a_faithful_summary_is_left_alone(numbers: range) -> None:
    alarms = [
        finding for case in cases(numbers) for finding in case.checked().findings[:1]
    ]

    assert len(alarms) <= 0.05 * len(numbers), alarms


def test_what_is_mended_tells_what_the_source_told() -> None:
    for at, case in enumerate(cases(FEW)):
        kind = ("negation", "number", "status")[at % 3]
        planted = KINDS[kind](case, random.Random(f"mend {at}"), at)
        if planted is None:
            continue
        checked = planted[0].checked()

        for finding in checked.findings:
            if finding.where == "summary" and finding.text != finding.said:
                text = "\n".join([*case.said, *case.results])
                assert finding.text in text
                assert finding.said not in checked.corrected.splitlines()


def test_a_summary_without_a_model_is_borne_out_by_what_it_covers() -> None:
    for case in cases(range(20)):
        messages: list[Message] = [
            {"role": "assistant", "content": [text_block(text)]} for text in case.said
        ]
        summary = mechanical_summary(
            messages, digest=str.strip, limit_tokens=1500, count=estimate
        )

        checked = check_summary(
            summary.render(),
            old=case.said,
            state=(),
            references=(),
            used_later=(),
            open_calls=(),
            limit_tokens=1500,
            count=estimate,
        )

        assert [f for f in checked.findings if f.where == "summary"] == []
        assert [f for f in checked.findings if f.check == "rules"] == []
