"""How each kind of block is drawn, without the widget."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_tui.transcript.blocks import (
    AssistantBlock,
    Block,
    Body,
    CardHeader,
    CardStatus,
    DiffBody,
    ErrorBlock,
    Fact,
    MarkdownBody,
    NoticeBlock,
    ReasoningBlock,
    SearchBody,
    SessionHeaderBlock,
    ShellBody,
    TextBody,
    ToolCard,
    UserBlock,
    extended,
    growth,
)
from rho_tui.transcript.layout import Space, estimate, format_elapsed, lay_out
from rho_tui.transcript.rows import Row, all_rows
from rho_tui.transcript.sanitize import is_clean

HOSTILE = st.text(
    st.sampled_from("ab[]/<>*`#|-\n\t\r\x1b\x07\x9b\u202e\ud800漢é\u0301\u200d{}\\~ 1.+@"),
    max_size=80,
)


def rows(block: Block, width: int = 60, **space: int) -> list[Row]:
    return all_rows(lay_out(block, Space(width, **space)))


def texts(block: Block, width: int = 60, **space: int) -> list[str]:
    return [row.text for row in rows(block, width, **space)]


def card(*bodies: Body, facts: tuple[Fact, ...] = ()) -> ToolCard:
    return ToolCard(CardHeader("tool", "x"), CardStatus.OK, facts, bodies)


@pytest.mark.clause("APP1.14")
def test_a_prompt_is_shown_as_typed_on_a_band() -> None:
    found = rows(UserBlock("see [/red]\n\n  List<String>", ("[image 1: a.png]",)))
    assert [row.text for row in found] == ["see [/red]", "", "  List<String>", "[image 1: a.png]"]
    assert {row.fill for row in found} == {"bg:user"}


@pytest.mark.clause("APP1.14")
def test_errors_say_so_in_words_and_notices_are_dim() -> None:
    assert texts(ErrorBlock("no [route]")) == ["error: no [route]"]
    assert rows(NoticeBlock("saved"))[0].runs == (("saved", "muted italic"),)


@pytest.mark.clause("APP1.9", "APP1.10")
def test_the_session_header_lists_version_and_hints() -> None:
    block = SessionHeaderBlock("1.2", (("shift+tab", "reasoning"), ("/", "commands")), "sign in")
    assert texts(block) == [
        "rho  v1.2",
        "",
        "sign in",
        "",
        "shift+tab  reasoning",
        "/          commands",
    ]


@pytest.mark.clause("APP2.16", "APP2.17")
def test_reasoning_shows_its_text_or_a_placeholder_or_its_time() -> None:
    assert texts(ReasoningBlock("a **b**", elapsed=3.21)) == ["a b", "Thought for 3.2s"]
    assert texts(ReasoningBlock("a", streaming=True, show_text=False)) == ["Thinking..."]
    assert texts(ReasoningBlock("a", show_text=False, elapsed=125)) == ["Thought for 2m 5s"]
    assert texts(ReasoningBlock("a", show_text=False)) == []
    assert [format_elapsed(value) for value in (0, 59.97, 3720)] == ["0.0s", "1m 0s", "1h 2m"]


@pytest.mark.clause("APP2.19")
def test_reasoning_is_dimmed_once() -> None:
    for row in rows(ReasoningBlock("a **b** `c`\n\n- d")):
        for text, key in row.runs:
            assert not text.strip() or key.split().count("muted") == 1


@pytest.mark.clause("APP2.12", "APP2.13")
def test_headings_lose_their_marks_and_fences_have_a_copy_button() -> None:
    found = rows(AssistantBlock("## Title\n```py\nx = 1\n```"), 20)
    assert [row.text for row in found] == ["Title", "", "py             COPY ", "x = 1"]
    assert found[0].runs == (("Title", "md.h2"),)
    (hit,) = found[2].hits
    assert (hit.action, hit.value) == ("copy", "x = 1")
    assert found[2].copied() == ""
    assert rows(AssistantBlock("```\nx\n```"), 8)[0].text == "    COPY"
    assert rows(AssistantBlock("```\nx\n```"), 5)[0].text == "     "


def test_links_show_where_they_go_and_only_safe_ones_are_clickable() -> None:
    found = rows(AssistantBlock("[a](http://x.y) [b](file.py) [c](javascript:1) main.py"), 80)
    assert found[0].text == "a (http://x.y) b (file.py) [c](javascript:1) main.py"
    assert {hit.value for hit in found[0].hits} == {"http://x.y"}


def test_tables_shrink_wrap_and_at_last_become_records() -> None:
    block = AssistantBlock("| name | what it does |\n|---|--:|\n| a | long words here and there |")
    assert texts(block, 60)[0] == "name │              what it does"
    for row in rows(block, 22):
        assert len(row.text) <= 22
    assert texts(block, 10)[:2] == ["name: a", "what it"]


@pytest.mark.clause("APP2.20", "APP2.21", "APP2.23")
def test_a_card_is_a_marked_header_with_facts_as_branches() -> None:
    block = ToolCard(
        CardHeader("$", "make all\nmake test", dialect="shell"),
        CardStatus.ERROR,
        (Fact("timeout none", "meta"), Fact("exit 2 · 0.1s")),
        (ShellBody("\x1b[31mboom\x1b[0m\n"),),
    )
    assert texts(block) == [
        "✗ $ make all",
        "  │ make test",
        "  ├ timeout none",
        "  └ exit 2 · 0.1s",
        "    boom",
    ]
    markers = [
        texts(ToolCard(CardHeader("agent", "running", dialect="status"), status))[0]
        for status in CardStatus
    ]
    assert markers == [
        "● agent  running",
        "✓ agent  running",
        "✗ agent  running",
        "■ agent  running",
    ]


@pytest.mark.clause("APP2.24")
def test_a_card_over_budget_counts_what_it_hides_after_wrapping() -> None:
    block = card(TextBody("x" * 100 + "\n" + "y\n" * 30), facts=(Fact("5 lines"),))
    found = texts(block, 54, max_card_rows=5)
    assert len(found) == 7
    assert found[2:4] == ["    " + "x" * 50] * 2
    assert found[-1] == "    ... 28 more lines, ctrl+o to expand"
    whole = texts(block, 54, max_card_rows=5, expanded=True)
    assert len(whole) == 35
    assert whole[-1] == "    ctrl+o to collapse"
    assert texts(card(TextBody("a\nb")), max_card_rows=2) == ["✓ tool(x)", "    a", "    b"]


def test_a_command_of_many_lines_is_collapsed_too() -> None:
    block = ToolCard(CardHeader("$", "\n".join(f"echo {n}" for n in range(60)), dialect="shell"))
    found = texts(block, max_card_rows=10)
    assert len(found) == 11
    assert found[-1] == "    ... 50 more lines, ctrl+o to expand"


DIFF = """--- a/x.py
+++ b/x.py
@@ -1,4 +1,4 @@
 import os
-def name(first): return 1
+def name(second): return 1
--- not a header
++++ neither
@@ -40,2 +40,3 @@ def g():
 a
+\tb
 c
\\ No newline at end of file
"""


@pytest.mark.clause("APP2.31")
def test_a_diff_has_numbers_signs_washes_and_gaps() -> None:
    found = rows(card(DiffBody(DIFF)), max_card_rows=99)[1:]
    assert [row.text[4:] for row in found] == [
        " 1   import os",
        " 2 - def name(first): return 1",
        " 2 + def name(second): return 1",
        " 3 - -- not a header",
        " 3 + +++ neither",
        " ⋯",
        "40   a",
        "41 +         b",
        "42   c",
        "     No newline at end of file",
    ]
    assert [row.fill for row in found[:3]] == ["", "bg:removed", "bg:added"]


@pytest.mark.clause("APP2.31")
def test_changed_words_are_marked_inside_changed_lines() -> None:
    found = rows(card(DiffBody(DIFF)))
    marked = ["".join(text for text, key in row.runs if "_word" in key) for row in found[2:4]]
    assert marked == ["first", "second"]
    assert ("def", "syn.keyword") in found[2].runs


@pytest.mark.clause("APP2.31")
def test_several_files_get_headings_with_counts() -> None:
    second = DIFF.replace("x.py", "y\x1b[31m.rs")
    found = texts(card(DiffBody(DIFF + second)), max_card_rows=99)
    assert "    x.py  +3 -2" in found
    assert "    y␛[31m.rs  +3 -2" in found


def test_what_is_no_diff_is_still_shown() -> None:
    found = "\n".join(texts(card(DiffBody("Binary files differ\n@@ nonsense\nrename to x"))))
    for line in ("Binary files differ", "@@ nonsense", "rename to x"):
        assert line in found


def test_copying_a_diff_gives_its_text_without_the_gutter() -> None:
    found = rows(card(DiffBody(DIFF)))
    assert found[2].copied() == "def name(first): return 1"


BODIES = st.one_of(
    HOSTILE.map(TextBody),
    st.builds(SearchBody, HOSTILE, HOSTILE, st.booleans(), st.booleans()),
    HOSTILE.map(lambda text: SearchBody(f"{text}\n12 | {text}", "[^|]")),
    HOSTILE.map(ShellBody),
    HOSTILE.map(DiffBody),
    HOSTILE.map(MarkdownBody),
    HOSTILE.map(lambda text: TextBody(text, path="x.py")),
)
BLOCKS = st.one_of(
    HOSTILE.map(UserBlock),
    HOSTILE.map(AssistantBlock),
    HOSTILE.map(NoticeBlock),
    HOSTILE.map(ErrorBlock),
    HOSTILE.map(lambda text: ReasoningBlock(text, elapsed=1)),
    HOSTILE.map(lambda text: SessionHeaderBlock(text, ((text, text),), text, text)),
    st.builds(
        lambda verb, primary, fact, body: ToolCard(
            CardHeader(verb, primary), CardStatus.OK, (Fact(fact, "diff_stat"),), (body,)
        ),
        HOSTILE,
        HOSTILE,
        HOSTILE,
        BODIES,
    ),
)


@settings(max_examples=100)
@given(BLOCKS, st.integers(1, 40))
def test_hostile_text_never_crashes_or_leaks_controls(block: Block, width: int) -> None:
    for expanded in (False, True):
        source = lay_out(block, Space(width, expanded=expanded))
        for row in all_rows(source):
            assert is_clean(row.text)
            assert not set(row.text) & set("\n\t")
            for hit in row.hits:
                assert 0 <= hit.start < hit.end <= len(row.text)
        for number in range(source.height):
            assert len(source.rows(number, number + 1)) == 1
        source.advance()
    assert estimate(block, width, 10) >= 0


@settings(max_examples=50)
@given(st.lists(HOSTILE, min_size=1, max_size=6), st.sampled_from(["text", "reasoning", "shell"]))
def test_growing_blocks_equal_blocks_laid_out_anew(parts: list[str], kind: str) -> None:
    start: dict[str, Block] = {
        "text": AssistantBlock(streaming=True),
        "reasoning": ReasoningBlock(streaming=True),
        "shell": card(ShellBody("")),
    }
    block = start[kind]
    source = lay_out(block, Space(30, max_card_rows=6))
    for part in parts:
        grown = extended(block, part)
        assert growth(block, grown) == part
        block = grown
        if source.feed(part) is None:
            source = lay_out(block, Space(30, max_card_rows=6))
    assert all_rows(source) == rows(block, 30, max_card_rows=6)
