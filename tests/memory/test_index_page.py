"""The index page has a line for each topic, in order, below a person's words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.memory.index_page import About, page_text, updated_page

PATHS = st.sampled_from(
    ["a.md", "a-b.md", "a/b.md", "b.md", "z [x] (y).md", "c d.md", "é.md", "a.b.md"]
)
ABOUTS = st.builds(
    lambda path, entries: About(path, "T", "About](it.", entries, "2026-11-29"),
    PATHS,
    st.integers(0, 3),
)


@given(
    st.lists(ABOUTS, unique_by=lambda each: each.path),
    st.dictionaries(PATHS, st.none() | st.integers(4, 9)),
)
def test_a_page_that_is_changed_is_the_page_made_anew(
    abouts: list[About], counts: dict[str, int | None]
) -> None:
    changes = {
        path: None if count is None else About(path, "T", "New.", count, "")
        for path, count in counts.items()
    }
    after = {each.path: each for each in abouts} | changes
    page = page_text("Mine.\n", abouts)

    assert updated_page(page, changes) == page_text(page, filter(None, after.values()))


def test_lines_that_people_add_below_the_mark_do_not_stay() -> None:
    page = page_text("", [About("a.md", "A", "", 1, "")])

    assert page.startswith("# Memory\n")
    assert page.endswith("<!-- topics -->\n\n- [a.md](a.md): A (1 entry)\n")
    assert updated_page(f"{page}By hand.\n", {}) == page


def test_a_long_description_is_cut() -> None:
    page = page_text("", [About("a b.md", "A", "word " * 100, 2, "2026-01-01")])

    line = page.rstrip("\n").rpartition("\n")[2]
    assert line.startswith("- [a b.md](a%20b.md): word word")
    assert line.endswith("word… (2 entries, newest 2026-01-01)")
    assert len(line) < 280
