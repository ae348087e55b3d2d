"""Streamed Markdown: the same rows for every way of cutting the text, at linear cost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_tui.transcript.markdown_stream import MarkdownDocument
from rho_tui.transcript.rows import Row, all_rows

FRAGMENTS = st.sampled_from(
    [
        "# h",
        "## x\n",
        "para",
        "\n",
        "\n\n",
        "- a",
        "- b\n",
        "  - c\n",
        "    d\n",
        "1. one\n",
        "2. two",
        "1",
        "***",
        "---\n",
        "===\n",
        "```py\n",
        "```",
        "\n```\n",
        "> q\n",
        "> - z\n",
        ">",
        "| a | b |\n",
        "|---|---|\n",
        "| 1 | 2 | 3 |\n",
        "**bo",
        "ld**",
        " `x` ",
        "word ",
        "[l](http://a.b)",
        "<b>",
        "\\",
        "- [ ] t\n",
        "~~~\n",
        "*",
        "_",
        "\t",
        "#",
        "-",
        "+ k\n",
        "10) z\n",
        "é漢",
        "x " * 9,
        "2",
        ". ",
        "http://u.v ",
        "\r\n",
        "[/red]",
        "\x1b[31m",
        "&lt;",
        "x = 1\n",
        "    code\n",
        "![i](j)",
        "~~s~~",
        "[r]: /u\n",
        "\ud800",
        "\u202e",
        "Word goes on\n",
    ]
)
DOCUMENTS = st.lists(FRAGMENTS, max_size=16).map("".join)


def coloured(document: MarkdownDocument) -> list[Row]:
    all_rows(document)  # lexing begins when rows are drawn
    while document.pending:
        document.advance()
    return all_rows(document)


def streamed(text: str, width: int, sizes: list[int]) -> list[Row]:
    document = MarkdownDocument(width)
    at = turn = 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        document.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    document.finish()
    return coloured(document)


def one_shot(text: str, width: int) -> list[Row]:
    document = MarkdownDocument(width)
    document.feed(text)
    document.finish()
    return coloured(document)


@settings(max_examples=100)
@given(DOCUMENTS, st.sampled_from([8, 20, 60]), st.lists(st.integers(1, 9), min_size=1, max_size=5))
def test_streamed_rows_equal_the_rows_of_the_whole(text: str, width: int, sizes: list[int]) -> None:
    assert streamed(text, width, sizes) == one_shot(text, width)


@pytest.mark.parametrize(
    "text",
    [
        "para\n#tag and ***bold*** text\n===\n",
        "- a\n\n1\n\n- b\n-\n- c",
        "1. a\n\n1. b\n\n   1. c\n2. d\n\n\npara",
        "| a | b |\n|---|:-:|\n| 1 | 2 |\nlast row\n\nafter",
        "text\n```py\ndef f():\n    '''x\n```\nmore `code\nspan` text",
        "```\nno\n  ``\n````\nafter",
    ],
)
def test_every_split_in_two_gives_the_same_rows(text: str) -> None:
    whole = one_shot(text, 30)
    for at in range(1, min(len(text), 120)):
        document = MarkdownDocument(30)
        document.feed(text[:at])
        document.feed(text[at:])
        document.finish()
        assert coloured(document) == whole


@pytest.mark.parametrize(
    ("line", "count", "end"),
    [
        ("A long *emphasis\nover lines* and **more\n", 60, ""),
        ("Line of a paragraph\n", 120, "===\n"),
        ("Line | of\n", 180, "---|---\n1 | 2\n"),
        ("Words without end. ", 700, ""),
        ("Plain line\n", 300, "an *unclosed\n" + "line after it\n" * 1_000),
        ("Plain line\n", 300, "an *unclosed\n" + "line after it\n" * 1_000 + "\nafter\n\nx"),
    ],
    ids=["emphasis", "setext", "table", "one line", "too long", "too long and over"],
)
def test_long_paragraphs_end_up_as_if_never_frozen(line: str, count: int, end: str) -> None:
    text = line * count + end
    assert streamed(text, 30, [270] if len(text) < 15_000 else [3_000]) == one_shot(text, 30)


@settings(max_examples=100)
@given(DOCUMENTS)
def test_rows_reported_as_stable_do_not_change(text: str) -> None:
    document = MarkdownDocument(30)
    before: list[Row] = []
    for at in range(0, len(text), 3):
        stable = document.feed(text[at : at + 3])
        rows = all_rows(document)
        assert rows[:stable] == before[:stable]
        before = rows


WORDS = st.sampled_from(["alpha", "List<String>", "[WARN]", "<div>", "</div>", "row[i]", "<think>"])


@settings(max_examples=100)
@given(st.lists(st.one_of(FRAGMENTS, WORDS), max_size=14).map(" ".join))
@pytest.mark.clause("case:D4")
def test_no_word_of_the_text_vanishes(text: str) -> None:
    shown = "".join("".join(row.copied() for row in one_shot(text, 200)).split())
    shown += "".join("".join(row.text for row in one_shot(text, 200)).split())
    for word in re.findall(r"[a-zA-Zé漢]+", text.replace("&lt;", "")):
        assert word in shown or word in ("x", "b")


def test_hidden_constructs_of_markdown_are_shown() -> None:
    text = "[ref]: http://x.y/z 'title'\n\n![alt](img.png \"t\")\n\n| a |\n|---|\n| 1 | extra |\n"
    shown = "\n".join(row.text for row in one_shot(text, 80))
    for piece in ("[ref]: http://x.y/z", "title", "alt", "img.png", "extra"):
        assert piece in shown


@pytest.mark.parametrize("unit", ["> ", "- ", "1. ", "* > "])
def test_nesting_beyond_the_parser_is_shown_as_source(unit: str) -> None:
    text = unit * 300 + "bottom"
    assert "bottom" in "".join(row.text for row in one_shot(text, 60))


def test_entities_and_percent_signs_can_not_smuggle_controls() -> None:
    text = "&#x202e; &#27; &#x9b; <http://a/%1b[31m> [x](http://a/%1b%07)"
    shown = "".join(row.text for row in one_shot(text, 80))
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", shown)


CONSTRUCTS = {
    "list": ("", "- item {} with **bold** and `code`\n"),
    "loose list": ("", "1. item {} with text\n\n"),
    "table": ("| a | b |\n|---|---|\n", "| cell {} | `code` |\n"),
    "fence": ("```python\n", "value_{} = 1\n"),
    "paragraph": ("", "Words of a line number {} that goes on\n"),
    "blocks": ("", "Paragraph {} of some text.\n\n"),
}


@pytest.mark.clause("case:D10")
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_cost_is_linear_in_constructs_that_grow_without_end(name: str) -> None:
    head, unit = CONSTRUCTS[name]
    work = []
    for count in (200, 800):
        text = head + "".join(unit.format(index) for index in range(count))
        document = MarkdownDocument(80)
        for at in range(0, len(text), 100):
            document.feed(text[at : at + 100])
        document.finish()
        work.append(document.parsed_chars / len(text))
    assert work[1] < 1.2 * work[0] + 0.1  # characters parsed per character stay the same
    assert work[1] < 12


@pytest.mark.clause("APP2.8")
def test_undecided_structure_is_not_flashed() -> None:
    document = MarkdownDocument(40)
    document.feed("Some items:\n-")
    assert [row.runs for row in all_rows(document)] == [(("Some items:", ""),)]
    document.feed(" first\n``")
    assert "".join(row.text for row in all_rows(document)).endswith("• first")
    document.feed("`py\nx = 1\n``")
    assert [row.text for row in all_rows(document)][-1] == "x = 1"
    document.finish()
    assert [row.text for row in all_rows(document)][-1] == "``"


def test_long_code_is_coloured_in_slices() -> None:
    document = MarkdownDocument(80)
    document.feed("```python\n" + "def f(a): return a + 1  # note\n" * 1_000 + "```\n")
    assert not document.pending  # nothing is lexed before it is seen
    plain = document.rows(900, 901)[0]
    assert document.pending
    assert document.rows(1, 2)[0].runs[0] == ("def", "syn.keyword")
    assert len(plain.runs) == 1
    document.finish()
    rows = coloured(document)
    assert rows[900].runs[0] == ("def", "syn.keyword")
    assert rows[900].text == plain.text


def test_code_is_coloured_while_it_is_being_written() -> None:
    document = MarkdownDocument(40)
    for piece in ("```python\ndef f():\n", '    """Doc\n', "    if x\n", '    """\n    return'):
        document.feed(piece)
    runs = [row.runs for row in document.rows(1, 6)]
    assert runs[0][0] == ("def", "syn.keyword")
    assert {key for text, key in runs[2] if text.strip()} == {"syn.string"}
    assert runs[4] == (("    return", ""),)  # not a whole line yet
    document.feed(" 1\n```\n")
    assert document.rows(5, 6)[0].runs[1] == ("return", "syn.keyword")


@pytest.mark.parametrize("language", ["js", "bash", "html", "php", "yaml", "rust", "jsx", "diff"])
def test_every_kind_of_lexer_takes_code_in_pieces(language: str) -> None:
    code = "a = 1 // b\n<b c='d'>\n$x: [e]\n- f # g\n\tif h; then\n"
    document = MarkdownDocument(40)
    for line in f"```{language}\n{code}".splitlines(keepends=True):
        document.feed(line)
    document.finish()
    assert [row.copied() for row in coloured(document)][1:] == code.expandtabs().splitlines()
