"""Bytes that must survive: encodings, marks, line endings, and what is refused."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.tools.files.text import (
    BOM,
    Encoding,
    NotText,
    TextFile,
    content_hash,
    dominant_newline,
)

TEXT = st.text(
    alphabet=st.one_of(
        st.sampled_from("ab \t\r\n\x0b\x0c\u0085\u2028\ufeff\u2019é😀"),
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    ),
    max_size=60,
)
CODECS = {
    Encoding.UTF_8: ("utf-8", b""),
    Encoding.UTF_8_BOM: ("utf-8", codecs.BOM_UTF8),
    Encoding.UTF_16_LE: ("utf-16-le", codecs.BOM_UTF16_LE),
    Encoding.UTF_16_BE: ("utf-16-be", codecs.BOM_UTF16_BE),
}


@settings(max_examples=100)
@given(TEXT, st.sampled_from(list(Encoding)))
def test_every_readable_file_encodes_back_to_its_own_bytes(text: str, encoding: Encoding) -> None:
    codec, mark = CODECS[encoding]
    data = mark + text.encode(codec)
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return
    file = TextFile.decode(data)
    assert file.encode() == data
    if encoding is not Encoding.UTF_8:
        assert file.encoding is encoding
        assert file.text == text


@settings(max_examples=100)
@given(st.binary(max_size=40))
def test_arbitrary_bytes_are_kept_exactly_or_refused(data: bytes) -> None:
    try:
        file = TextFile.decode(data)
    except NotText:
        return
    assert file.encode() == data


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a = 1\n# na\xefve\n", "not valid UTF-8 (byte 0xEF at offset 10, line 2)"),
        ("日本語\n".encode("shift-jis"), "not valid UTF-8"),
        (b"\xff\xfea", "not valid UTF-16"),
        (b"\xff\xfe\x00\xd8", "not valid UTF-16"),
        ("a".encode("utf-32"), "UTF-32"),
        (b"a\0b", "binary (3 bytes)"),
        (b"PK\x03\x04\0\0", "binary (a ZIP archive or office document, 6 bytes)"),
        (b"\x7fELF\x02\x01\x01\0\xff", "ELF"),
        (b"%PDF-1.4\n\xe2\xe3\xcf\xd3", "PDF"),
    ],
)
@pytest.mark.clause("case:C6", "case:B5", "case:B6")
def test_what_is_no_text_is_refused_by_name(data: bytes, said: str) -> None:
    with pytest.raises(NotText) as caught:
        TextFile.decode(data)
    assert said in caught.value.reason


@pytest.mark.clause("T3.13")
def test_a_byte_order_mark_is_kept_apart_from_the_text_and_shown_in_views() -> None:
    file = TextFile.decode(codecs.BOM_UTF8 + b"a\n")
    assert file.text == "a\n"
    assert file.view_text == BOM + "a\n"
    assert TextFile("b\n", file.encoding).encode() == codecs.BOM_UTF8 + b"b\n"


@pytest.mark.parametrize(
    ("text", "newline"),
    [
        ("", "\n"),
        ("a", "\n"),
        ("a\nb\r\n", "\n"),
        ("a\r\nb\r\nc\n", "\r\n"),
        ("a\rb\rc\r\n", "\r"),
        ("a\rb\n", "\n"),
        ("a\rb\r\n", "\r\n"),
    ],
)
@pytest.mark.clause("T10.16")
def test_the_dominant_line_ending_follows_the_counts(text: str, newline: str) -> None:
    assert dominant_newline(text) == newline


def test_the_content_hash_is_of_exact_bytes() -> None:
    assert content_hash(b"a \n") != content_hash(b"a\n")
    assert content_hash(b"") == content_hash(b"")
