"""The tag of a whole file: FNV-1a, remembered by content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rho_core.tools.files import view_header
from rho_core.tools.files.view_header import file_tag


def _by_the_book(text: str) -> str:
    """32-bit FNV-1a over the lines without blanks at their ends; its low 16 bits (3.10)."""
    lines = [line.rstrip(" \t\r") for line in text.split("\n")]
    tag = 0x811C9DC5
    for byte in "\n".join(lines).encode("utf-8", "surrogatepass"):
        tag = (tag ^ byte) * 0x01000193 % 2**32
    return f"{tag & 0xFFFF:04X}"


@pytest.mark.clause("T3.10")
@given(st.text(st.sampled_from("ab \t\r\n\ufeffé\U0001f600\udc80"), max_size=40))
def test_a_tag_is_that_of_the_algorithm_whether_known_or_not(text: str) -> None:
    assert file_tag(text) == _by_the_book(text)
    assert file_tag(text) == _by_the_book(text)


def test_known_tags_are_bounded() -> None:
    for number in range(2 * view_header._MAX_KNOWN_TAGS):
        file_tag(f"file {number}")
    assert len(view_header._known_tags) <= view_header._MAX_KNOWN_TAGS
