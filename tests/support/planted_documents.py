"""Documents as tools return them, each with one planted fact that must not be lost.

Code, logs, tickets, configurations, tables, JSON and prose in English and Chinese, all
made up, the same for the same seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["FORMS", "KINDS", "Planted", "planted"]

KINDS = ("codeword", "error", "ticket", "path", "amount", "limit", "negation")


@dataclass(frozen=True)
class Planted:
    """One document and what was put into it.

    Attributes:
        text: the document, with `number<TAB>` before each line of every second one.
        fact: the piece that a reader needs, as it stands in the text.
        kind: one of `KINDS`.
        form: one of `FORMS`.
    """

    text: str
    fact: str
    kind: str
    form: str


def _words(text: str) -> list[str]:
    return text.split()


_NOUNS = _words(
    "queue worker session ledger token invoice parcel shard cursor batch bucket replica"
    " router gateway index schema tenant policy mailer reader writer planner snapshot"
    " folder archive window buffer handle channel broker profile account order basket"
)
_VERBS = _words(
    "load store parse check merge split route flush close open build render resolve"
    " collect publish assign retry drain rotate verify export import refresh attach"
)
_SENTENCES = (
    "The {n} keeps a small {m} for every {o} and writes it back when the {n} is idle.",
    "Most of the time the {n} waits for the {m}, so a faster {o} would change little.",
    "When a {n} starts, it asks the {m} for its {o} and then begins to {v} the rest.",
    "Earlier versions used a shared {n}, which made it hard to {v} a single {m}.",
    "A reader who only wants the outline can skip the part about the {n} and the {m}.",
    "Each {n} belongs to one {m}; the {o} is found through the {m} and never directly.",
    "The team wanted to {v} the {n} first and to look at the {m} in a later step.",
    "It is usual to {v} the {n} once a day, in the evening, before the {m} is rotated.",
    "In two of the three regions the {n} and the {m} live on the same machine.",
    "We describe here how the {n} came about and why the {m} has the form it has.",
    "Operators see the {n} in the overview, together with the {m} and its {o}.",
    "What the {n} returns is sorted by name, then by the age of the {m}.",
)
_HAN_SENTENCES = (
    "系统每天晚上把{n}写入{m},第二天早上再由{o}读取。",
    "{n}启动以后先向{m}请求配置,然后开始处理{o}。",
    "早期的版本把{n}和{m}放在同一台机器上,后来才分开。",
    "多数情况下{n}在等待{m},所以加快{o}的意义有限。",
    "值班人员可以在总览页面看到{n}、{m}和{o}的状态。",
    "这一节说明{n}的来历,以及为什么{m}采用现在的形式。",
    "团队决定先整理{n},再考虑{m}的改造。",
    "如果{n}长时间没有响应,{m}会自动换到另一个{o}。",
    "用户提交申请之后,{n}会通知{m},由{o}完成后续流程。",
    "{n}的返回结果按照名称排序,其次按照{m}的时间排序。",
)
_HAN_NOUNS = _words(
    "队列 账本 会话 网关 索引 仓库 订单 退款 库存 快照 调度器 读取器 写入器 缓存"
    " 分片 租户 策略 报表 邮件 归档 通道 消息 合同 客户 凭证 批次"
)
_BIRDS = _words("heron kestrel plover avocet dunlin siskin merlin osprey")
_STONES = _words("quartz basalt gneiss marble jasper onyx topaz garnet")


def _fill(rng: random.Random, template: str, nouns: Sequence[str]) -> str:
    n, m, o = rng.sample(nouns, 3)
    return template.format(n=n, m=m, o=o, v=rng.choice(_VERBS))


def _fact(rng: random.Random, kind: str, *, is_han: bool) -> tuple[str, str]:
    """Return a sentence that states a fact, and the fact in it."""
    noun = rng.choice(_HAN_NOUNS if is_han else _NOUNS)
    number = rng.randint(1000, 9999)
    fact, english, han = {
        "codeword": lambda: _pick(
            rng,
            [
                f"{rng.choice(_BIRDS)}-{number}-{rng.choice(_STONES)}",
                f"{rng.choice(_BIRDS).upper()}-{number}",
                f"{rng.choice(_BIRDS).capitalize()}{number % 100}"
                f"{rng.choice(_STONES).capitalize()}",
            ],
            ["CODEWORD: {f}", "the release codeword is {f}", "the code name is {f}"],
            ["口令:{f}", "本次发布的口令是 {f}", "代号为{f}"],
        ),
        "error": lambda: _pick(
            rng,
            [
                f"E{number}",
                f"ORA-0{number}",
                f"ERR_{rng.choice(_NOUNS).upper()}_{rng.choice(_VERBS).upper()}",
                f"{rng.choice(_NOUNS).capitalize()}TimeoutError",
            ],
            ["the {n} failed with {f}", "error {f} in the {n}", "{f}: {n} not usable"],
            ["{n}失败,错误码 {f}", "{n}报错:{f}", "{n}出现异常 {f}"],
        ),
        "ticket": lambda: _pick(
            rng,
            [
                f"{rng.choice(['OPS', 'PAY', 'INC', 'SEC'])}-{number}",
                f"#{number}",
                f"{rng.choice(['REQ', 'CHG'])}00{number}",
            ],
            ["see ticket {f} for the {n}", "tracked as {f}", "blocked by {f}"],
            ["详见工单 {f}", "{n}的问题记在{f}", "参见 {f} 的讨论"],
        ),
        "path": lambda: _pick(
            rng,
            [
                f"/srv/{rng.choice(_NOUNS)}/{rng.choice(_NOUNS)}.conf",
                f"infra/{rng.choice(_NOUNS)}/{rng.choice(_VERBS)}_{rng.choice(_NOUNS)}.tf",
                f"C:\\data\\{rng.choice(_NOUNS)}\\{rng.choice(_NOUNS)}.db",
            ],
            ["the {n} is kept in {f}", "settings live in {f}", "it writes to {f}"],
            ["{n}的配置在 {f}", "日志写到{f}", "文件位于 {f}"],
        ),
        "amount": lambda: _pick(
            rng,
            [
                f"{number / 7:,.2f} EUR",
                f"${number * 13:,}",
                f"{number % 90 + 10}.{number % 10} GB",
                f"¥{number * 3:,}.50",
            ],
            ["the {n} cost {f} in all", "we paid {f} for the {n}", "total: {f}"],
            ["{n}总计 {f}", "{n}的费用为{f}", "共支付 {f}"],
        ),
        "limit": lambda: _pick(
            rng,
            [f"不超过{number % 90 + 10}个", f"上限为 {number % 900 + 100}"]
            if is_han
            else [
                f"at most {number % 90 + 10} {noun}s",
                f"limit of {number % 900 + 100} per {noun}",
            ],
            ["the {n} takes {f}", "there is a {f}"],
            ["{n}每次{f}", "{n}的数量{f}"],
        ),
        "negation": lambda: _pick(
            rng,
            [f"must not {rng.choice(_VERBS)} the {noun}", f"never touch the {noun}"]
            if not is_han
            else [f"不得修改{noun}", f"禁止直接访问{noun}"],
            ["the {n} {f}", "in this release we {f}"],
            ["{n}{f}", "上线之前{f}"],
        ),
    }[kind]()
    template = rng.choice(han if is_han else english)
    said = template.format(f=fact, n=rng.choice(_HAN_NOUNS if is_han else _NOUNS))
    return said, fact.split(" ")[0] if kind == "amount" else fact


def _pick(
    rng: random.Random, facts: list[str], english: list[str], han: list[str]
) -> tuple[str, list[str], list[str]]:
    return rng.choice(facts), english, han


def _code(rng: random.Random, fact: str, lines: int) -> list[str]:
    rows = ['"""Part of the service."""', "", "from __future__ import annotations", ""]
    while len(rows) < lines:
        verb, noun, other = rng.choice(_VERBS), *rng.sample(_NOUNS, 2)
        rows += [
            f"def {verb}_{noun}({noun}: {noun.capitalize()}, *, {other}: str) -> int:",
            f'    """Return how many of `{noun}` were taken."""',
            f"    {other}s = [each for each in {noun}.{other}s if each.is_ready]",
            f"    if not {other}s:",
            f"        return {rng.choice([0, 0, 1, -1])}",
            f"    for each in {other}s:",
            f"        self._{noun}.{verb}(each, {other}={other})",
            f"    return len({other}s)",
            "",
            "",
        ]
        if rng.random() < 0.3:
            rows[-1:-1] = [f"{noun.upper()}_{other.upper()} = {rng.choice([2, 5, 10])}"]
    return _with(rng, rows, [f"    # {fact}", f'    log.info("{fact}")', f"# {fact}"])


def _log(rng: random.Random, fact: str, lines: int) -> list[str]:
    rows, second = [], rng.randint(0, 40000)
    names = rng.sample(_NOUNS, 5)
    for _ in range(lines):
        second += rng.randint(0, 9)
        level = rng.choices(["INFO ", "DEBUG", "WARN "], [8, 4, 1])[0]
        stamp = (
            f"2026-11-{rng.randint(10, 28)} {_clock(second)},{rng.randint(100, 999)}"
        )
        what = rng.choice(
            [
                f"{rng.choice(_VERBS)} done in {rng.randint(1, 900)} ms",
                f"request {rng.getrandbits(32):08x} from 10.0.{rng.randint(0, 9)}."
                f"{rng.randint(1, 250)} status={rng.choice([200, 200, 204, 304])}",
                f"{rng.choice(_NOUNS)} {rng.choice(_VERBS)}ed, "
                f"{rng.randint(1, 99)} left",
            ]
        )
        rows.append(f"{stamp} {level} {rng.choice(names)}: {what}")
    stamp = f"2026-11-{rng.randint(10, 28)} {_clock(second)},{rng.randint(100, 999)}"
    level = rng.choice(["INFO ", "WARN ", "ERROR"])
    return _with(rng, rows, [f"{stamp} {level} {rng.choice(names)}: {fact}"])


def _clock(second: int) -> str:
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def _tickets(rng: random.Random, fact: str, lines: int) -> list[str]:
    rows: list[str] = []
    while len(rows) < lines:
        rows += [
            f"## {rng.choice(_VERBS).capitalize()} the {rng.choice(_NOUNS)}",
            f"- opened: 2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
            f"- state: {rng.choice(['open', 'closed', 'waiting'])}",
            f"- owner: {rng.choice(['mara', 'jonas', 'li', 'ana', 'piet'])}",
            _fill(rng, rng.choice(_SENTENCES), _NOUNS),
            "",
        ]
    return _with(rng, rows, [f"- note: {fact}", f"{fact[:1].upper()}{fact[1:]}."])


def _config(rng: random.Random, fact: str, lines: int) -> list[str]:
    rows: list[str] = []
    while len(rows) < lines:
        noun = rng.choice(_NOUNS)
        rows.append(f"{noun}:")
        for other in rng.sample(_NOUNS, 4):
            value = rng.choice(
                ["true", "false", rng.randint(1, 60), rng.choice(_NOUNS), "null"]
            )
            rows.append(f"  {other}_{rng.choice(_VERBS)}: {value}")
    return _with(rng, rows, [f"  # {fact}", f'  note: "{fact}"'])


def _json(rng: random.Random, fact: str, lines: int) -> list[str]:
    rows = ["["]
    while len(rows) < lines:
        rows += [
            "  {",
            f'    "id": {rng.randint(100, 999)},',
            f'    "{rng.choice(_NOUNS)}": "{rng.choice(_NOUNS)}",',
            f'    "is_ready": {rng.choice(["true", "false"])},',
            f'    "share": 0.{rng.randint(10, 99)}',
            "  },",
        ]
    escaped = fact.replace("\\", "\\\\")
    return [*_with(rng, rows, [f'    "note": "{escaped}",']), "]"]


def _table(rng: random.Random, fact: str, lines: int) -> list[str]:
    rows = [
        f"| {rng.choice(_NOUNS)} | {rng.choice(_NOUNS)} | {rng.randint(10, 99)} "
        f"| 0.{rng.randint(100, 999)} |"
        for _ in range(lines)
    ]
    head = ["| name | owner | count | share |", "| --- | --- | --- | --- |"]
    return [*head, *_with(rng, rows, [f"| {rng.choice(_NOUNS)} | {fact} | 12 | |"])]


def _prose(rng: random.Random, fact: str, lines: int) -> list[str]:
    said = [_fill(rng, rng.choice(_SENTENCES), _NOUNS) for _ in range(lines)]
    text = " ".join(_with(rng, said, [fact[:1].upper() + fact[1:] + "."]))
    rows, row = [], ""
    for word in text.split(" "):
        # A name of two words stays on one line, as in a text that a person wrapped.
        if len(row) + len(word) > 78 and row:
            rows.append(row)
            row = ""
        row += (" " if row else "") + word
    return [*rows, row]


def _paragraphs(rng: random.Random, fact: str, lines: int) -> list[str]:
    said = [_fill(rng, rng.choice(_SENTENCES), _NOUNS) for _ in range(lines)]
    said = _with(rng, said, [fact[:1].upper() + fact[1:] + "."])
    return [" ".join(said[at : at + 6]) for at in range(0, len(said), 6)]


def _han_prose(rng: random.Random, fact: str, lines: int) -> list[str]:
    said = [_fill(rng, rng.choice(_HAN_SENTENCES), _HAN_NOUNS) for _ in range(lines)]
    return _with(rng, said, [fact + "。"])


def _han_paragraphs(rng: random.Random, fact: str, lines: int) -> list[str]:
    said = _han_prose(rng, fact, lines)
    return ["".join(said[at : at + 5]) for at in range(0, len(said), 5)]


def _han_log(rng: random.Random, fact: str, lines: int) -> list[str]:
    def row(text: str) -> str:
        return f"[11-{rng.randint(10, 28)} {_clock(rng.randint(0, 86399))}] {text}"

    rows = [
        row(
            rng.choice(
                [
                    f"{rng.choice(_HAN_NOUNS)}处理完成,耗时 {rng.randint(1, 999)} 毫秒",
                    f"{rng.choice(_HAN_NOUNS)}已连接{rng.choice(_HAN_NOUNS)}",
                    f"{rng.choice(_HAN_NOUNS)}剩余 {rng.randint(1, 99)} 条",
                ]
            )
        )
        for _ in range(lines)
    ]
    return _with(rng, rows, [row(fact)])


def _with(rng: random.Random, rows: list[str], ways: list[str]) -> list[str]:
    at = rng.randint(0, len(rows))
    return [*rows[:at], rng.choice(ways), *rows[at:]]


FORMS: dict[str, Callable[[random.Random, str, int], list[str]]] = {
    "code": _code,
    "log": _log,
    "tickets": _tickets,
    "config": _config,
    "json": _json,
    "table": _table,
    "prose": _prose,
    "paragraphs": _paragraphs,
    "han_prose": _han_prose,
    "han_paragraphs": _han_paragraphs,
    "han_log": _han_log,
}


def planted(seed: int, *, kind: str, form: str) -> Planted:
    """Return the document of a seed, of 40 to 400 lines; half of them are numbered."""
    rng = random.Random(f"{seed}/{kind}/{form}")
    said, fact = _fact(rng, kind, is_han=form.startswith("han"))
    rows = FORMS[form](rng, said, rng.choice([40, 100, 200, 400]))
    if form == "json":
        fact = fact.replace("\\", "\\\\")
    if rng.random() < 0.5:
        rows = [f"{number}\t{row}" for number, row in enumerate(rows, 1)]
        rows.insert(0, f"docs/{form}.txt: all {len(rows)} lines")
    return Planted("\n".join(rows), fact, kind, form)
