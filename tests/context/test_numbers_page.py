from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.context.numbers import resolve
from orchestrator.spec.policy import PRESETS, ContextPolicy, Shares

PAGE = (Path(__file__).parents[2] / "docs/context.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ")
]


def test_every_number_has_its_line_with_its_default() -> None:
    told = {row[0].strip("`"): row[1].strip("`") for row in ROWS if row[0][:1] == "`"}

    assert set(told) == set(ContextPolicy.model_fields)
    words = {"window_tokens": "the model's", "every_turns": "off", "judge": "none"}
    for name, field in ContextPolicy.model_fields.items():
        default = field.get_default()
        if isinstance(default, Shares):
            shares = default.model_dump().items()
            expected = f"{{{', '.join(f'{each}: {share}' for each, share in shares)}}}"
        elif isinstance(default, float):
            expected = f"{default:.2f}"
        else:
            expected = f"{default:,}" if isinstance(default, int) else default
        assert told[name] == words.get(name, expected)


def test_what_presets_set_is_told() -> None:
    folded = " ".join(PAGE.split())
    for preset, values in PRESETS.items():
        if values:
            told = ", ".join(f"`{name}: {value}`" for name, value in values.items())
            assert f"`{preset}` sets {told}" in folded


@pytest.mark.parametrize(
    "row", [row for row in ROWS if len(row) == 9 and row[0][:1].isdigit()], ids=str
)
def test_the_table_of_windows_is_right(row: list[str]) -> None:
    window, *told = (int(cell.replace(",", "")) for cell in row)

    found = resolve(
        ContextPolicy(),
        window_tokens=window,
        fixed_tokens=5000,
        max_output_tokens=8192,
    )

    assert told == [
        found.output_tokens,
        found.read_tokens,
        found.clip_tokens,
        found.keep_results,
        found.tail_tokens,
        found.summary_tokens,
        found.soft_tokens,
        found.hard_tokens,
    ]
