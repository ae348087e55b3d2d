from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_tui.transcript.sanitize import clean_line, clean_text, is_clean

HOSTILE = st.text(st.characters(codec=None), max_size=200)


@pytest.mark.clause("case:D1")
def test_brackets_and_markup_stay_as_they_are() -> None:
    for text in ("[/red]", "[WARN] x", "List<String>", "[@click=app.quit]x", "x\\"):
        assert clean_text(text) == text
        assert clean_line(text) == text


def test_escapes_become_visible_instead_of_vanishing() -> None:
    assert clean_text("a\x1b[2Jb") == "a␛[2Jb"
    assert clean_text("\x00\x07\x7f") == "␀␇␡"
    assert clean_text("a\x9b31mb") == "a�31mb"


def test_newlines_and_tabs_survive_and_line_ends_are_unified() -> None:
    assert clean_text("a\tb\r\nc\u2028d\n") == "a\tb\nc\nd\n"
    assert clean_text("a\rb") == "a␍b"


@pytest.mark.clause("case:C9")
def test_a_name_can_not_break_out_of_its_line() -> None:
    assert clean_line("a\nb\tc\x1b]0;x\x07\u2028") == "a␊b␉c␛]0;x␇␤"


def test_direction_controls_hidden_tags_and_surrogates_are_replaced() -> None:
    for char in "\u202e\u2066\u200f\u061c\U000e0041\ud800\udfff\ufffb":
        assert clean_text(f"a{char}b") == "a�b"
    assert clean_text("\ufeffa") == "a"


def test_joined_emoji_and_combining_marks_stay_whole() -> None:
    text = "👩\u200d👩\u200d👧 e\u0301 ❤\ufe0f 漢字"
    assert clean_text(text) == text


@settings(max_examples=100)
@given(HOSTILE)
def test_cleaned_text_is_a_fixed_point_without_controls(text: str) -> None:
    cleaned = clean_text(text)
    assert is_clean(cleaned)
    assert clean_text(cleaned) == cleaned
    for char in cleaned:
        assert char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs")
    cleaned.encode("utf-8")
    line = clean_line(text)
    assert not set(line) & set("\n\t\r")
    line.encode("utf-8")
