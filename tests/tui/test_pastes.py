"""Folded pastes and cleaning, without a screen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rho_tui.widgets.pastes import PasteStore, clean_paste

LONG = st.text(min_size=1001, max_size=1100) | st.lists(
    st.text(max_size=5), min_size=12, max_size=20
).map("\n".join)


@given(st.lists(LONG, min_size=1, max_size=5), st.text(max_size=20))
def test_what_was_folded_expands_to_itself(pastes: list[str], between: str) -> None:
    store = PasteStore()
    if "[pasted" in between:
        return
    markers = [store.fold(text) for text in pastes]
    assert store.expand(between.join(markers)) == between.join(pastes)
    assert all(len(marker) < 60 for marker in markers)


@given(st.text())
def test_cleaned_text_holds_nothing_that_acts_on_a_terminal(text: str) -> None:
    cleaned = clean_paste(text)
    assert not any(ord(char) < 0x20 and char not in "\n\t" for char in cleaned)
    assert not any(0x7F <= ord(char) <= 0x9F for char in cleaned)
    assert clean_paste(cleaned) == cleaned


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b[201~y\x00\x08", "y"),
        ("עברית \u200f漢字 👩‍👧\tx", "עברית \u200f漢字 👩‍👧\tx"),
    ],
)
def test_cleaning(raw: str, clean: str) -> None:
    assert clean_paste(raw) == clean
