"""What a cosine of an embedder means: measured on a few pairs of texts.

The vectors of one embedder put any two texts at 0.8, those of another at 0.1. So the
cosine of texts that belong together and of texts that do not is measured once for each
embedder, and thresholds count from there.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

__all__ = ["PAIRS", "Calibration", "calibrated", "read_calibration"]

PAIRS: Final = (
    (
        "How do I reset the device?",
        "factory settings: Hold the small button for ten seconds until it blinks.",
    ),
    (
        "Where are the log files?",
        "logging: The server writes its messages to /var/log/app, one file a day.",
    ),
    (
        "Who may approve a purchase?",
        "spending: Anything above 500 needs the signature of the head of department.",
    ),
    (
        "Which library parses the dates?",
        "date handling: Timestamps are read with dateutil, never by hand.",
    ),
    (
        "How often is the database copied?",
        "backups: A full dump is made every night at two.",
    ),
    (
        "Why was the site down in spring?",
        "outage in April: The cable of the data centre was cut by an excavator.",
    ),
    (
        "Which language does the customer prefer?",
        "letters to Meyer Ltd: They want everything in French.",
    ),
    (
        "How many users fit on one machine?",
        "capacity: Eight hundred sessions a host, then answers get slow.",
    ),
    ("怎样修改密码？", "账户安全: 在设置页面点击修改，输入旧口令和新口令。"),
    ("仓库几点关门？", "库房时间: 工作日晚上六点以后不再收货。"),
    ("新员工第一天做什么？", "入职: 上午领电脑和门禁卡，下午由导师介绍项目。"),
    ("图片太大怎么办", "附件限制: 超过五兆的照片会自动压缩。"),
    ("谁审批合同？", "合同流程: 部门经理签字后交给法务。"),
    ("系统为什么变慢", "性能问题: 查询没有用到索引，加上之后恢复正常。"),
    ("Which database do the Shanghai colleagues use?", "存储: 上海团队使用 MySQL 8。"),
    ("How long is the warranty?", "保修政策: 购买之日起两年内免费维修。"),
    ("测试环境的地址是什么", "staging host: The test system runs at test.example.org."),
    ("多久清理一次临时文件", "temp files: A job deletes them every Sunday night."),
)
"""Questions and the entries that answer them; every other entry is unrelated."""

_LEAST_APART: Final = 2.0
"""Deviations from unrelated texts to what belongs together; the local one has 3.6."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Cosines of an embedder.

    Attributes:
        unrelated: mean of a question and an entry that does not answer it.
        spread: standard deviation of those.
        related: mean of a question and its answer.
    """

    unrelated: float
    spread: float
    related: float

    @property
    def is_usable(self) -> bool:
        """Whether the embedder tells what belongs together from what does not."""
        return self.spread > 0 and self.distance(self.related) > _LEAST_APART

    def distance(self, cosine: float) -> float:
        """Return by how many deviations texts are nearer than unrelated ones, from 0.

        False alarms are what unrelated texts do, so that their spread is the measure.
        """
        return max(0.0, (cosine - self.unrelated) / self.spread)

    def text(self) -> str:
        """Return it as it is kept."""
        return json.dumps(asdict(self))


def read_calibration(text: str) -> Calibration | None:
    """Return what `Calibration.text` wrote; None: "" or nothing of the kind."""
    try:
        return Calibration(**json.loads(text))
    except (TypeError, ValueError):
        return None


def calibrated(vectors: Sequence[Sequence[float]]) -> Calibration:
    """Return what the vectors of the built-in pairs say.

    Args:
        vectors: of length 1; those of all questions, then those of all entries.
    """
    asked, told = vectors[: len(PAIRS)], vectors[len(PAIRS) :]
    related = [_dot(one, other) for one, other in zip(asked, told, strict=True)]
    unrelated = [
        _dot(asked[one], told[other])
        for one, other in itertools.permutations(range(len(PAIRS)), 2)
    ]
    mean = sum(unrelated) / len(unrelated)
    variance = sum((each - mean) ** 2 for each in unrelated) / len(unrelated)
    return Calibration(mean, math.sqrt(variance), sum(related) / len(related))


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))
