"""What of a run's findings is kept, and under which name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.findings import Evidence, Findings, Item
from orchestrator.memory.entries import Entry, Place, check_of, parse_topic
from orchestrator.memory.extract import MAX_ENTRIES, extracted
from orchestrator.memory.keeping import Put
from orchestrator.memory.memory import Known, State

LIFETIME = "Access tokens live 15 minutes after they were issued."


def item(
    claim: str,
    source: str = "auth/tokens.py:12-14",
    quote: str = "ACCESS_TTL = timedelta(minutes=15)",
    confidence: float = 0.8,
) -> Item:
    evidence = (Evidence(source=source, quote=quote),) if source else ()
    return Item(claim=claim, evidence=evidence, confidence=confidence)


def found(*items: Item, summary: str = "s") -> dict[str, Findings]:
    return {"a1": Findings(status="complete", summary=summary, items=items)}


def kept(*items: Item, known: tuple[Known, ...] = (), **fields: Any) -> list[Put]:
    return extracted(
        found(*items, summary=fields.pop("summary", "s")),
        unsupported=fields.pop("unsupported", {}),
        objective=fields.pop("objective", "Audit the service."),
        known=known,
        **fields,
    )


def key_of(claim: str, source: str = "docs/guide.md:3") -> str:
    [put] = kept(item(claim, source))
    return put.key


def known(
    key: str,
    value: str,
    *places: Place,
    topic: str = "auth.md",
    state: State = "unchanged",
    by: str = "20261129-201500-auth-7f3a/a2",
) -> Known:
    entry = Entry(key, value, "2026-11-29", 0.9, by, places)
    return Known(topic, replace(entry, check=check_of(key, value)), state)


# ---- what is kept -------------------------------------------------------------------


def test_a_claim_is_kept_with_its_quote_its_places_and_its_confidence() -> None:
    assert kept(item(LIFETIME)) == [
        Put(
            "auth.md",
            "tokens.py – access tokens live issued",
            f"{LIFETIME}\n\n> ACCESS_TTL = timedelta(minutes=15)",
            (Place("auth/tokens.py", 12, 14),),
            0.8,
            "From auth/, such as tokens.py",
        )
    ]


@pytest.mark.parametrize(
    "claim",
    [
        "I searched all the files and found a table of refunds there.",
        "Nothing was found on refunds in the folder of policies.",
        "No mention of refunds was seen in policies or handbook.",
        "This task asks for the lifetime of the access tokens.",
        "The lifetime of tokens is what a2#3 says of the access tokens.",
        "Run 20261129-201500-auth-7f3a has a report on refunds and tokens.",
        "How long do the access tokens of the service live?",
        "The key is [secret:api-key:1a2b3c4d] in the environment file.",
        "You may work abroad for up to 30 days, provided that",
        "本次任务要求找出令牌的有效期和刷新方式。",
        "在政策文件中没有找到退款的规定和期限。",
        "It is so.",
    ],
)
def test_what_is_about_the_run_or_says_nothing_is_not_kept(claim: str) -> None:
    assert kept(item(claim)) == []


@pytest.mark.parametrize(
    "source",
    ["", "art_0123abcd:3", "https://example.org/a:3", "/etc/hosts:1", "../x.md:1"],
)
def test_without_lines_in_the_workspace_it_is_not_kept(source: str) -> None:
    assert kept(item(LIFETIME, source)) == []


def test_what_is_unsupported_or_unsure_is_not_kept() -> None:
    sure, unsure = item(LIFETIME), item("Tokens are signed with HS256.", confidence=0.3)

    assert kept(sure, unsure, unsupported={"a1": [1]}) == []
    assert len(kept(sure, unsure, unsupported={"a2": [1]})) == 1


def test_twelve_are_kept_the_best_first() -> None:
    names = ("alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa", "theta")
    pairs = [(a, b) for a in names for b in names if a < b][:20]
    items = [
        item(f"The {a} module calls {b} before the cache is read.", f"{a}/{b}.py:3")
        for a, b in pairs
    ]
    best = item("`MAX_RETRIES` is 5 by default.", "client/retry.py:8", confidence=0.95)

    puts = kept(*items, best)

    assert len(puts) == MAX_ENTRIES
    assert "MAX_RETRIES" in puts[0].value
    assert len({put.key for put in puts}) == MAX_ENTRIES


def test_what_is_said_twice_is_kept_once_with_both_places() -> None:
    again = item(
        "After they were issued, access tokens live 15 minutes.", "docs/a.md:3"
    )

    [put] = kept(item(LIFETIME, confidence=0.9), again)

    assert put.evidence == (Place("auth/tokens.py", 12, 14), Place("docs/a.md", 3, 3))


def test_two_papers_that_differ_in_a_figure_are_both_kept() -> None:
    new = item(
        "Travel: A hotel night costs at most 520 euros.", "rules/travel-2026.md:9"
    )
    old = item(
        "Travel: A hotel night costs at most 480 euros.", "rules/travel-2024.md:9"
    )

    puts = kept(new, old)

    assert len({put.key for put in puts}) == 2


def test_the_question_that_a_summary_answers_with_it_is_told() -> None:
    summary = f"How long do tokens live? → {LIFETIME}\nWho signs? → nothing was found."

    [put] = kept(item(LIFETIME, quote=LIFETIME), summary=summary)

    assert put.value == f"{LIFETIME}\n\nFound for: How long do tokens live?"


def test_a_long_claim_is_cut_after_a_sentence() -> None:
    sentence = "The lease runs for five years and then for one more each time."
    [put] = kept(item(" ".join([sentence] * 12), quote=sentence))

    assert len(put.value) <= 500
    assert put.value.endswith("each time.")


def test_no_value_can_be_taken_for_a_heading_or_a_field() -> None:
    claims = [
        "## source: the lease runs for five years",
        "- when: the lease ends in May",
    ]
    puts = kept(*(item(claim, f"docs/{n}.md:1") for n, claim in enumerate(claims)))

    text = "".join(f"## {put.key}\n\n{put.value}\n\n" for put in puts)
    entries = parse_topic(text, "a.md").entries
    assert [entry.value for entry in entries] == [put.value for put in puts]
    assert all(not entry.when and not entry.source for entry in entries)


# ---- keys ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "source", "key"),
    [
        (
            "class Limits(BaseModel): subagents: Count = Field(default=24, ge=0)",
            "orchestrator/spec/limits.py:70",
            "Limits.subagents in limits.py",
        ),
        (
            "def clean_text(text: str) -> str: Return `text` without what is odd.",
            "orchestrator/messages.py:48-51",
            "clean_text in messages.py",
        ),
        (
            "class EventLog: def _mend(self) -> None: Cut off a torn last line.",
            "orchestrator/store/eventlog.py:248",
            "EventLog._mend in eventlog.py",
        ),
        (
            "MAX_BYTES: Final = 5_000_000 is the most of a file that is read.",
            "store/__init__.py:9",
            "MAX_BYTES in store/__init__.py",
        ),
        (
            "Figures: maximum payload – 190 kg, rider not included",
            "products/carrier-two.md:16",
            "Carrier two – Figures – maximum payload",
        ),
        (
            "影响：共有 312 位用户被重复扣款，涉及金额 9,486 元。",
            "incidents/INC-2063-支付重复扣款.md:14",
            "INC-2063 支付重复扣款 – 影响 – 用户被重复扣款",
        ),
        (
            "3. 住宿：住宿费一线城市每晚不超过 520 元，其他城市每晚不超过 380 元。",
            "员工手册/差旅报销.md:17",
            "差旅报销 – 住宿费一线城市每晚",
        ),
        (
            "A refund takes 14 days after arrival.",
            "refunds.md:1",
            "Refund takes arrival",
        ),
    ],
)
def test_a_key_names_the_subject_and_leaves_figures_out(
    claim: str, source: str, key: str
) -> None:
    assert key_of(claim, source) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Access tokens live 15 minutes.", "Access tokens live 20 minutes."),
        ("The limit is $1,500 a day.", "The limit is $900 a day."),
        ("保留期限：轨迹保留 13 个月。", "保留期限：轨迹保留 6 个月。"),
        ("x = 3: def a(b: int) -> None: Go.", "x = 4: def a(b: int) -> None: Go."),
    ],
)
def test_another_figure_has_the_same_key(one: str, other: str) -> None:
    assert key_of(one) == key_of(other)


@pytest.mark.parametrize("figure", ["Python 3.11", "HTTP 404", "Android 9"])
def test_a_number_that_is_part_of_a_name_stays(figure: str) -> None:
    assert figure in key_of(f"The client needs {figure} to work.")


@pytest.mark.parametrize(
    "claim",
    [
        "a: b: c: d: the words of all of it are few: e",
        "`x` # y | z < > [ ] : ： words that stand for something",
        "The " + "verylongwordthatneverends" * 12 + " module is read first.",
        "§§§ 100 200 300 – – : 400 words words wordy",
        "令牌" * 200 + "有效期",
    ],
)
def test_any_key_is_one_short_line_without_marks(claim: str) -> None:
    key = key_of(claim)

    assert 0 < len(key) <= 80
    assert not set(key) & set("`#:：|<>[]\n")
    assert key == key.strip()


# ---- what memory has already --------------------------------------------------------

PLACES = (Place("auth/tokens.py", 12, 14),)
TOKENS = known(
    "Token lifetime",
    "Access tokens live 15 minutes; refresh tokens 30 days.",
    Place("auth/tokens.py", 12, 14),
)


def test_another_figure_at_the_same_lines_updates_the_entry() -> None:
    stale = replace(TOKENS, state="changed")
    [put] = kept(item("Access tokens live 20 minutes."), known=(stale,))

    assert (put.topic, put.key) == ("auth.md", "Token lifetime")
    assert put.value.startswith("Access tokens live 20 minutes.")
    assert put.description == ""


def test_the_same_in_other_words_keeps_the_words_that_are_there() -> None:
    value = "Access tokens live 15 minutes after issue."
    same = known("Token lifetime", value, Place("auth/tokens.py", 12, 14))

    [put] = kept(item(LIFETIME), known=(same,))

    assert (put.key, put.value) == ("Token lifetime", value)


def test_a_short_claim_does_not_take_the_place_of_much_more() -> None:
    value = f"{LIFETIME} Refresh tokens live 30 days and are kept under their user in "
    long = known("Tokens", f"{value}Redis, where a job drops them at night.", *PLACES)

    [put] = kept(item("Access tokens live 20 minutes."), known=(long,))

    assert put.key != "Tokens"


def test_another_fact_at_the_same_lines_is_an_entry_of_its_own() -> None:
    other = item("Revoked sessions are kept in Redis under their user.")

    [put] = kept(other, known=(TOKENS,))

    assert put.key != "Token lifetime"
    assert put.topic == "auth.md"


def test_what_a_person_wrote_is_not_said_again() -> None:
    own = known("Token lifetime", LIFETIME, by="")

    assert own.entry.is_by_a_person
    assert kept(item(LIFETIME), known=(own,)) == []


def test_the_key_of_another_fact_is_not_taken() -> None:
    [first] = kept(item("Refunds are paid in euros.", "docs/a.md:1"))
    other = known(first.key, "All of the lamps in the cellar are green.", topic="x.md")

    [put] = kept(item("Refunds are paid in euros.", "docs/a.md:1"), known=(other,))

    assert put.key != first.key


# ---- topics -------------------------------------------------------------------------


def topics(*sources: str, known: tuple[Known, ...] = ()) -> dict[str, str]:
    words = ("lamps", "boxes", "letters", "tables", "rivers", "towers", "engines")
    items = [
        item(
            f"The {word} of {source[:-5]} are counted by hand.", source, quote=word * 5
        )
        for word, source in zip(words, sources, strict=False)
    ]
    return {put.evidence[0].path: put.topic for put in kept(*items, known=known)}


def test_what_is_from_one_folder_goes_to_one_topic() -> None:
    assert set(topics("docs/a.md:1", "docs/b.md:1", "docs/old/c.md:1").values()) == {
        "docs.md"
    }


def test_a_large_folder_is_told_by_the_folders_in_it() -> None:
    placed = topics(
        "app/auth/a.py:1", "core/db/a.py:1", "core/db/b.py:1", "core/ui/c.py:1",
        "core/ui/d.py:1", "core/e.py:1", "src/main.py:1",
    )  # fmt: skip

    assert placed == {
        "app/auth/a.py": "auth.md",
        "core/db/a.py": "db.md",
        "core/db/b.py": "db.md",
        "core/ui/c.py": "ui.md",
        "core/ui/d.py": "ui.md",
        "core/e.py": "core.md",
        "src/main.py": "src.md",
    }


def test_files_of_the_top_have_a_topic_each_while_they_are_few() -> None:
    assert topics("refunds.md:1", "Fees 2026.md:1") == {
        "refunds.md": "refunds.md",
        "Fees 2026.md": "fees-2026.md",
    }
    many = topics("a.md:1", "b.md:1", "c.md:1", "d.md:1")
    assert set(many.values()) == {"workspace.md"}


def test_no_topic_has_the_name_of_the_index() -> None:
    assert topics("memory/a.py:1") == {"memory/a.py": "about-memory.md"}


def test_a_topic_that_is_there_wins_by_its_folder() -> None:
    there = known("x", "All else is green.", Place("docs/z.md", 1, 1), topic="house.md")

    assert topics("docs/a.md:1", known=(there,)) == {"docs/a.md": "house.md"}


def test_a_topic_that_is_there_wins_by_its_words() -> None:
    there = known("Lamps", "All lamps are counted by hand each May.", topic="stock.md")

    assert topics("docs/a.md:1", known=(there,)) == {"docs/a.md": "stock.md"}


def test_the_same_findings_give_the_same_entries_in_any_order() -> None:
    items = [
        item(f"The {word} are counted by hand.", f"docs/{word}.md:1", quote=word * 5)
        for word in ("lamps", "boxes", "letters", "tables")
    ]

    assert kept(*items) == kept(*reversed(items))
