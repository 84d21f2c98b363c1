from __future__ import annotations

import random
import time
from typing import Any

import pytest

from orchestrator.context.fidelity import (
    CHECKS,
    OWN_NOTE,
    UNCONFIRMED,
    Checked,
    check_summary,
)
from orchestrator.context.summary import parse
from orchestrator.context.tokens import estimate


def check(summary: str, *old: str, **options: Any) -> Checked:
    given: dict[str, Any] = {
        "state": (),
        "references": (),
        "used_later": (),
        "open_calls": (),
        "limit_tokens": 2000,
        "count": estimate,
    }
    return check_summary(summary, old=old, **{**given, **options})


HISTORY = (
    "Please mend the import job. Do not push anything to the branch release.",
    "I ran the suite: 12 of 340 tests fail, all in tests/test_import.py.",
    "Asked the owner, Ms. Chen, whether the old format may go. Waiting for her answer.",
    "After the fix in src/importer/reader.py only 3 tests fail.",
    "Caching the rows did not help, memory went up to 3,072 MB.",
    "We keep the streaming parser, since the files reach 40 GB.",
    "Ms. Chen confirmed that the old format may go by 4 March 2026.",
    "The whole suite is green now. Next: the entry in the changelog.",
)
FAITHFUL = """## Work done
- Fixed the import in `reader.py`; of 12 failing tests (340 in all) none is left.

## Decisions and why
- Streaming parser kept: files of up to 40 GB.
- Old format may go by 2026-03-04, confirmed by Ms. Chen.

## Failed attempts and why
- Caching rows: no help, memory rose to 3072 MB (3 GB).

## Facts and figures
- Nothing may be pushed to the branch release; never push there.

## Open items and next step
- Changelog entry.
"""


def test_a_faithful_summary_of_a_history_with_changes_has_no_findings() -> None:
    assert check(FAITHFUL, *HISTORY).findings == ()


def test_what_is_taken_word_for_word_is_borne_out() -> None:
    text = "## Facts\n" + "\n".join(f"- {line}" for line in HISTORY)

    found = check(text, *HISTORY)

    assert [f for f in found.findings if f.where == "summary"] == []
    assert found.corrected.count("\n- ") == len(HISTORY)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("The table has 3,000 rows.", "3000 rows in the table"),
        ("The table has 3,000 rows.", "The table has 3k rows."),
        ("The table has 12,000 rows.", "表格有 1.2 万行"),
        ("The share of late answers is 12.5%.", "Share of late answers: 12.5 %"),
        ("The share of late answers is 0.125.", "Share of late answers: 12.5 %"),
        ("The median is 12.48 seconds.", "The median is 12.5 seconds."),
        ("It started on March 4, 2026.", "Start: 2026-03-04"),
        ("发布日期是 2026年3月4日。", "Release date: 4 March 2026"),
        ("It took 90 seconds to load the page.", "Loading the page took 1.5 minutes."),
        ("Read src/auth/token.py for the check.", "The check is in `token.py`."),
        ("There are three hosts in the pool.", "The pool has 3 hosts."),
        ("一共三个文件需要修改。", "需要修改 3 个文件。"),
        ("一共二十二个文件需要修改。", "需要修改 22 个文件。"),
        ("The fair opens on March 4 in hall 3.", "The fair opens on 4 March 2026."),
        (
            "The fair opens on March 4 in hall 3.",
            "The fair in hall 3 opens on 4 March.",
        ),
        ("About 4,183 users were hit.", "Roughly 4,200 users were hit."),
    ],
)
def test_a_figure_written_otherwise_is_the_same(said: str, told: str) -> None:
    assert check(f"## Facts\n- {told}", said).findings == ()


@pytest.mark.parametrize(
    ("said", "told", "mended"),
    [
        (
            "The lease on the queue lasts 45 seconds.",
            "The queue lease lasts 54 seconds.",
            "The queue lease lasts 54 seconds (source: 45 seconds).",
        ),
        (
            "Ticket INC-2041 covers the outage of the mail gateway.",
            "Outage of the mail gateway: INC-2014",
            "Outage of the mail gateway: INC-2014 (source: INC-2041)",
        ),
        (
            "The contract ends on 4 March 2026.",
            "The contract ends on 14 March 2026.",
            "The contract ends on 14 March 2026 (source: 4 March 2026).",
        ),
        (
            "压测时网关的吞吐量是 3200 QPS。",
            "网关压测吞吐量 2300 QPS。",
            "网关压测吞吐量 2300 QPS (source: 3200 QPS)。",
        ),
        (
            "Three retries are allowed for each upload.",
            "Five retries are allowed for each upload.",
            "Five (source: Three) retries are allowed for each upload.",
        ),
    ],
)
def test_beside_a_changed_fact_the_source_is_told(
    said: str, told: str, mended: str
) -> None:
    checked = check(f"## Facts\n- {told}", said)

    assert [f.check for f in checked.findings if f.where == "summary"]
    assert checked.findings[0].text == said
    assert mended in checked.corrected


def test_a_figure_from_nowhere_is_marked() -> None:
    checked = check("## Facts\n- Revenue rose by 7,777 euros.", "We looked at the log.")

    assert f"7,777 {UNCONFIRMED} euros" in checked.corrected


def test_what_is_still_open_may_name_what_is_not_there_yet() -> None:
    told = "## Open items\n- write docs/new_9.md with 77 rows by 5 May 2027"

    assert check(told, "We looked at the log.").findings == ()


def test_a_name_that_only_a_call_holds_is_borne_out() -> None:
    told = "## Facts\n- The rows are in build/rows_7.csv (h12.2, step h9)."
    call = '{"path": "build/rows_7.csv", "content": "..."}'

    known = check(told, "The rows are written.", results=[call])
    unknown = check(told, "The rows are written.")

    assert known.findings == ()
    assert f"build/rows_7.csv {UNCONFIRMED} (h12.2, step h9)" in unknown.corrected


def test_one_of_many_lines_that_are_alike_is_found() -> None:
    rows = [f"ok {at} - loads the default in 0.{at} s" for at in range(13, 99)]
    told = "\n".join(f"- {row}" for row in rows[::9])

    assert check(f"## Facts\n{told}", "Now the log.", results=rows).findings == ()


def test_what_is_taken_over_beside_a_flip_is_kept_in_quotes() -> None:
    said = "The worker does not use the cache."
    told = "The worker uses the cache (INC-2041)."

    checked = check(f"## Facts\n- {told}", said, "INC-2041 is closed.")

    assert f'{said} (the summary said: "{told}")' in checked.corrected


def test_a_figure_of_a_result_bears_the_summary_out() -> None:
    rows = "region\tp95\neu-west\t412\nus-east\t380\n"
    told = "## Facts\n- p95 latency in eu-west is 412 ms, in us-east 380 ms."
    said = "Now the latency of ap-south: its p95 is 290 ms."

    assert check(f"{told}\n- ap-south p95: 290 ms", said, results=[rows]).findings == ()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("The worker does not use the cache.", "The worker uses the cache."),
        (
            "The API is not reachable from outside.",
            "The API is reachable from outside.",
        ),
        (
            "The file was written by the daemon.",
            "The file was not written by the daemon.",
        ),
        ("旧网关不支持幂等键。", "旧网关支持幂等键。"),
        ("训练数据没有公开。", "训练数据已公开。"),
        ("Never delete the archive folder.", "Delete the archive folder."),
    ],
)
def test_a_flipped_sentence_is_replaced_by_its_source(said: str, told: str) -> None:
    checked = check(f"## Facts\n- {told}", "Let us see.", said, "Fine.")

    assert checked.findings[0].check in ("negations", "statuses")
    assert said in checked.corrected
    assert f"- {told}" not in checked.corrected


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("The worker does not use the cache.", "The cache is unused by the worker."),
        ("The import does not accept tabs.", "Tabs are rejected by the import."),
        ("No more than two jobs may run at once.", "At most two jobs run at once."),
        ("It's not only slow, it is wrong as well.", "It is slow and wrong."),
        ("不仅慢，而且结果不对。", "慢，结果不对。"),
    ],
)
def test_a_negation_in_other_words_is_no_flip(said: str, told: str) -> None:
    found = check(f"## Facts\n- {told}", said).findings

    assert [f for f in found if f.where == "summary"] == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "Finance confirmed the budget of the pilot.",
            "Finance was asked about the budget of the pilot.",
        ),
        (
            "We asked Finance about the budget of the pilot.",
            "Finance approved the budget of the pilot.",
        ),
        (
            "The migration of the users table is in progress.",
            "Migration of the users table: done.",
        ),
        (
            "The load test of the gateway failed.",
            "The load test of the gateway passed.",
        ),
        ("财务部已确认试点预算。", "试点预算待财务部确认。"),
        ("财务部拒绝了试点预算。", "财务部批准了试点预算。"),
    ],
)
def test_a_status_that_has_turned_is_put_right(said: str, told: str) -> None:
    checked = check(f"## Decisions\n- {told}", said)

    assert checked.findings[0].check == "statuses"
    assert said in checked.corrected


def test_of_two_contrary_sentences_a_summary_may_tell_either() -> None:
    old = ("The worker uses the cache.", "The worker does not use the cache.")

    for told in old:
        assert check(f"## Facts\n- {told}", *old).findings == ()


def test_the_newest_status_counts() -> None:
    old = (
        "Asked Finance about the pilot budget.",
        "Finance confirmed the pilot budget.",
    )

    stale = check("## Decisions\n- Pilot budget: Finance was asked.", *old)
    true = check("## Decisions\n- Pilot budget: confirmed by Finance.", *old)

    assert [f.check for f in stale.findings] == ["statuses"]
    assert true.findings == ()


def test_a_rule_that_nobody_stated_is_marked_as_the_models_own() -> None:
    rule = "All commits must carry two signatures."
    checked = check(f"## Facts\n- {rule}\n- never push to release", *HISTORY)

    assert checked.own_rules == (rule,)
    assert f"{OWN_NOTE} {rule}" in checked.corrected
    assert f"{OWN_NOTE} never" not in checked.corrected


def test_a_made_up_rule_does_not_become_one_by_the_next_summary() -> None:
    rule = "All commits must carry two signatures."
    earlier = check(f"## Facts\n- {rule}", *HISTORY).corrected

    forbidden = f"{OWN_NOTE} do not use capital letters in headlines."
    again = check(f"## Facts\n- {rule}", *HISTORY, earlier, forbidden)
    marked = check(earlier, *HISTORY, earlier)

    assert again.own_rules == (rule,)
    assert forbidden not in again.added
    assert marked.own_rules == ()
    assert marked.corrected.count(OWN_NOTE) == 1


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Please leave vendor/ alone.", "Never touch vendor/."),
        (
            "The service needs a restart after a change.",
            "The service must be restarted after a change.",
        ),
        (
            "Only use the staging database.",
            "Always use the staging database, never another.",
        ),
        ("只用测试库。", "必须使用测试库，不得使用其他库。"),
        (
            "Please sign every commit. Please squash commits before the merge.",
            "Every commit must be signed, commits must be squashed before the merge.",
        ),
        (
            "You must sign commits. Always name the ticket. Please add two reviewers. "
            "Never skip the linter.",
            "Must: sign commits, name the ticket, add two reviewers, run the linter.",
        ),
    ],
)
def test_a_rule_in_other_words_has_its_source(said: str, told: str) -> None:
    assert check(f"## Facts\n- {told}", said).own_rules == ()


def test_what_must_still_be_done_is_no_rule() -> None:
    told = "## Open items\n- The index on orders must be rebuilt."

    assert check(told, "Next the index on orders is rebuilt.").own_rules == ()


@pytest.mark.parametrize(
    "rule",
    [
        "Do not push to main.",
        "You must never write below vendor/.",
        "不得修改生产配置。",
        "Please don't contact the customer.",
        "The signing key must not leave this machine.",
    ],
)
def test_a_lost_prohibition_is_put_back_word_for_word(rule: str) -> None:
    checked = check("## Work done\n- Read 3 files.", "I read 3 files.", rule, "OK.")

    assert checked.added[0] == rule
    assert checked.findings[0].where == "said"


def test_a_prohibition_told_as_past_history_does_not_bind() -> None:
    told = "## Facts\n- The user once asked not to push to main."

    assert check(told, "Do not push to main.").added == ("Do not push to main.",)


def test_what_the_program_writes_out_anyway_is_not_lost() -> None:
    rule = "Do not push to main."

    assert check("## Work done\n- Read it.", rule, "Read it.", state=[rule]).added == ()


def test_rules_in_raw_output_need_not_survive() -> None:
    output = "README: you must not run this as root.\nNever commit the key."

    assert check("## Work done\n- Read it.", "Read it.", results=[output]).added == ()


def test_a_lost_approval_is_put_back() -> None:
    said = "The board approved the purchase of the second press."

    checked = check("## Work done\n- Read 3 offers.", "I read 3 offers.", said)

    assert checked.added == (said,)
    assert checked.findings[0].check == "statuses"


def test_what_was_not_settled_need_not_be_told() -> None:
    said = "The offer was not declined by the second board."

    assert check("## Work done\n- Read 3 offers.", "I read 3 offers.", said).added == ()


def test_a_second_status_in_one_sentence_is_no_contradiction() -> None:
    old = "Finance confirmed the budget of the pilot. The shop is built."
    told = "The budget of the pilot is confirmed by Finance, the shop is done."

    assert check(f"## Decisions\n- {told}", old).findings == ()


def test_a_section_of_the_earlier_summary_does_not_vanish() -> None:
    earlier = (
        "## Work done\n- wrote a.py\n\n## Failed attempts\n- Redis: too big for it\n"
    )

    checked = check("## Work done\n- wrote a.py", earlier)

    assert checked.added == ("Redis: too big for it",)
    assert checked.findings[0].where == "earlier summary, failed"


def test_what_is_used_later_must_be_known() -> None:
    old = ("The report is kept at out/report_17.md.", "Total of the invoice: 4,817.50")
    later = ['{"path": "out/report_17.md", "amount": "4817.50"}', '{"path": "new.md"}']
    summary = "## Work done\n- Wrote the report."

    lost = check(summary, *old, used_later=later)
    known = check(
        summary, *old, used_later=later, references={"out/report_17.md"}, state=old[1:]
    )

    found = check("## Notes\n- hm hm", "Hm hm.", results=old, used_later=later)

    assert {f.where for f in found.findings} == {"result"}
    assert {f.check for f in lost.findings} >= {"names", "numbers"}
    assert set(old) <= set(lost.added)
    assert old[0] not in known.added


def test_an_open_call_must_be_known() -> None:
    old = ("Subagent a7 is at work on the parser.", "Another one: a8.")
    summary = "## Open items\n- a8 is at work."

    checked = check(summary, *old, open_calls=["a7", "a8", "a9"], references=["a9"])

    assert [f.text for f in checked.findings if f.check == "calls"] == [old[0]]


def test_what_matters_most_is_put_back_first_and_within_bounds() -> None:
    rules = [f"Never change the file conf/{name}.ini." for name in "abcdefghij"]
    facts = ["We decided to use SQLite, because Redis is too big."]

    checked = check("## Notes\n- hm hm", *facts, *rules, added_tokens=60)

    assert checked.added
    assert set(checked.added) <= set(rules)
    assert estimate("\n".join(checked.added)) <= 60


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("  \n\t", "empty"),
        ("...", "placeholder"),
        ("[summary]", "placeholder"),
        ("Done.", "placeholder"),
        ("## Work done\nnone\n## Pointers\nnone", "placeholder"),
        ("## Work done\nDone.\n## Facts\nok", "placeholder"),
        ("<summary></summary>", "placeholder"),
        ("<summary> </summary> ok", "placeholder"),
        ('{"name": "read_file", "input": {"path": "a"}}', "tool call"),
        ("<tool_call>\n{}</tool_call>", "tool call"),
        ('<function_calls><invoke name="x">', "tool call"),
        ("I'm sorry, but I can't help with that.", "refused"),
        ("I cannot assist with this request.", "refused"),
        ("抱歉，我无法完成这个请求。", "refused"),
    ],
)
def test_what_is_no_summary_is_not_accepted(text: str, problem: str) -> None:
    checked = check(text, *HISTORY)

    assert checked.problem == problem
    assert not checked.is_acceptable
    assert (checked.findings, checked.corrected) == ((), "")


def test_free_text_is_acceptable() -> None:
    checked = check("The import works again and all 340 tests pass.", *HISTORY)

    assert checked.is_acceptable
    assert "340 tests pass" in checked.corrected


def test_one_that_is_too_long_is_told() -> None:
    checked = check(FAITHFUL, *HISTORY, limit_tokens=20)

    assert [f.check for f in checked.findings] == ["length"]
    assert checked.tokens > 20


def test_every_check_is_reported_for_the_event() -> None:
    checks = check(
        "## Facts\n- The lease lasts 54 seconds.", "The lease lasts 45 seconds."
    )

    assert [each["check"] for each in checks.checks()] == list(CHECKS)
    assert sum(each["found"] for each in checks.checks()) == len(checks.findings)


def test_a_summary_in_another_language_is_not_doubted_for_its_words() -> None:
    told = """## 已完成的工作
- 修复了 `reader.py`，340 个测试全部通过。
## 事实
- 不得推送到 release 分支。
- 内存最高 3,072 MB，文件最大 40 GB。
"""

    found = check(told, *HISTORY)

    assert [f for f in found.findings if f.where == "summary"] == []
    assert not [line for line in found.added if "3,072" in line]
    assert HISTORY[0].endswith(found.added[0])


def test_of_many_rules_a_bounded_number_is_put_back() -> None:
    rules = [f"Do not touch the {at}th house in lane{at}." for at in range(80)]
    seals = [f"The mayor{at} approved the plan{at} of house{at}." for at in range(40)]

    checked = check("## Notes\n- hm hm", *rules, *seals, added_tokens=100_000)

    assert len([line for line in checked.added if line in rules]) == 40
    assert checked.added[0] == rules[-1]
    assert len([line for line in checked.added if line in seals]) == 12


def test_of_a_long_line_the_part_that_is_used_is_put_back() -> None:
    line = "x " * 290 + "out/report_17.md" + " y" * 2000

    checked = check("## Notes\n- hm hm", line, used_later=["out/report_17.md"])

    assert "out/report_17.md" in checked.added[0]
    assert len(checked.added[0]) <= 600


def test_text_of_a_hundred_thousand_tokens_is_checked_at_once() -> None:
    rng = random.Random(5)
    words = [f"word{at}" for at in range(4000)]
    lines = [
        f"{' '.join(rng.choices(words, k=12))} took {rng.randint(100, 99_999)} ms."
        for _ in range(3000)
    ]
    assert estimate("\n".join(lines)) > 100_000
    summary = "## Facts\n" + "\n".join(f"- {line}" for line in lines[::60])

    start = time.process_time()
    checked = check(
        summary, *lines[:500], results=["\n".join(lines[500:])], limit_tokens=9000
    )
    used_s = time.process_time() - start

    assert [f for f in checked.findings if f.where == "summary"] == []
    assert used_s < 5  # 0.2 s on an idle machine


@pytest.mark.parametrize(
    "told",
    [
        "## Work done\n\n- {} of 150 are read.\n\n## Open items\n\n- Read part{}.md",
        "{} of 150 parts are read. Read part{}.md next.",
        "## 已完成的工作\n\n- 已读 {} 份,共 150 份。\n\n## 下一步\n\n- 读 part{}.md",
    ],
    ids=["sections", "free text", "Chinese"],
)
def test_how_far_the_work_is_may_move_on(told: str) -> None:
    earlier = parse(told.format(20, 21)).render()

    found = check_summary(
        told.format(36, 37),
        old=[earlier, "On to the next part."],
        results=['{"path":"part35.md"}'],
        state=["- `part35.md`: read in h36"],
        references=(),
        used_later=(),
        open_calls=(),
        limit_tokens=2000,
        count=estimate,
    )

    assert "36" in found.corrected
    assert "part37.md" in found.corrected


def test_a_rule_about_another_thing_is_another_rule() -> None:
    rules = [f"We must not change table T-{n}00 before day {n}." for n in (3, 4, 5)]

    found = check_summary(
        f"## Facts\n\n- {rules[0]}",
        old=rules,
        state=(),
        references=(),
        used_later=(),
        open_calls=(),
        limit_tokens=2000,
        count=estimate,
    )

    assert sorted(found.added) == rules[1:]


def test_what_was_done_to_one_file_is_no_source_of_a_rule_about_another() -> None:
    rule = "Never read src/part_005.py."

    found = check(
        f"## Open items and next step\n- {rule}",
        "I read the parts.",
        state=["- `src/part_087.py`: read in h19"],
    )

    assert found.own_rules == (rule,)
    assert "src/part_087.py" not in found.corrected
