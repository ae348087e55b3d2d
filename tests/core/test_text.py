"""Cutting text at byte limits (C102)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.text import ceil_boundary, floor_boundary, truncate_utf8

pytestmark = pytest.mark.clause("C102")


def test_boundaries_align_to_characters_and_clamp() -> None:
    data = "aä€".encode()  # 1 + 2 + 3 bytes
    assert [floor_boundary(data, index) for index in range(-1, 8)] == [0, 0, 1, 1, 3, 3, 3, 6, 6]
    assert [ceil_boundary(data, index) for index in range(-1, 8)] == [0, 0, 1, 3, 3, 6, 6, 6, 6]
    assert floor_boundary(b"", 3) == ceil_boundary(b"", 3) == 0


def test_the_marker_stands_outside_or_inside_the_limit() -> None:
    assert truncate_utf8("abc", 3) == "abc"
    assert truncate_utf8("abcd", 3) == "abc\n[truncated]"
    assert truncate_utf8("abcdef", 5, marker="...", within=True) == "ab..."
    assert truncate_utf8("ääää", 3, marker="") == "ä"


@settings(max_examples=100)
@given(st.text(max_size=30), st.integers(0, 60))
def test_what_is_kept_is_the_longest_prefix_that_fits(text: str, limit: int) -> None:
    cut = truncate_utf8(text, limit, marker="")
    assert text.startswith(cut)
    assert len(cut.encode()) <= limit
    if cut != text:
        assert len((cut + text[len(cut)]).encode()) > limit
