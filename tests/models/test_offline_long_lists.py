"""A list of files that is cut in a wide window is no sign of a small one."""

from __future__ import annotations

import pytest
from offline_bench import LOOKING, Conversation

BRIEF = "# Objective\n\nFind it.\n\n# Questions\n\n- What happens to a torn last line?"
LINE = "store/log.py:249:    Cut off a torn last line."


def listed(chars: int) -> str:
    rows = [f"part{number}/file.py:3" for number in range(1000)]
    text = "\n".join(rows)[:chars]
    return f"{text}\n[… 2,000 characters left out; all of it: art_0123abcd]\nzz.py:1"


@pytest.mark.parametrize(
    ("chars", "name"), [(9000, "read_file"), (2000, "grep")], ids=["wide", "small"]
)
async def test_only_where_little_is_shown_it_searches_once_more(
    chars: int, name: str
) -> None:
    conversation = Conversation(BRIEF, (*LOOKING, "submit_findings"))
    reply = await conversation.turn()

    def result(given: dict[str, str]) -> str:
        if given["output"] == "files":
            return "store/log.py\n[999 more files; narrow with `path` or `glob`]"
        if given["output"] == "lines":
            return LINE
        return listed(chars) if "line" in given["pattern"] else "store/log.py:1"

    conversation.answer([(result(call["input"]), False) for call in reply.content])
    reply = await conversation.turn()

    first = reply.content[0]
    assert first["name"] == name
    if name == "read_file":
        assert first["input"] == {"path": "store/log.py", "max_lines": 400}
