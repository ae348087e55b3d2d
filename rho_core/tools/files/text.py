"""Text files as bytes that must survive: encoding, byte order mark, line endings (3.13, 10.16).

A `TextFile` is decoded strictly and encodes back to exactly the bytes it came from, so an edit of
its text changes no byte outside the edit. What cannot be decoded that way is refused, and so is
what is no text at all.
"""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from enum import StrEnum

BOM = "\ufeff"

_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x7fELF", "an ELF executable"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive or office document"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x00asm", "a WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "a Java class or Mach-O binary"),
    (b"\xcf\xfa\xed\xfe", "a Mach-O binary"),
    (b"MZ", "a Windows executable"),
)


class Encoding(StrEnum):
    """The encodings that can be read and written back without loss."""

    UTF_8 = "UTF-8"
    UTF_8_BOM = "UTF-8 with BOM"
    UTF_16_LE = "UTF-16 LE"
    UTF_16_BE = "UTF-16 BE"

    @property
    def mark(self) -> bytes:
        """The bytes before the text."""
        return _MARKS[self]

    @property
    def codec(self) -> str:
        """The Python codec of the text after the mark."""
        return _CODECS[self]


_MARKS = {
    Encoding.UTF_8: b"",
    Encoding.UTF_8_BOM: codecs.BOM_UTF8,
    Encoding.UTF_16_LE: codecs.BOM_UTF16_LE,
    Encoding.UTF_16_BE: codecs.BOM_UTF16_BE,
}
_CODECS = {
    Encoding.UTF_8: "utf-8",
    Encoding.UTF_8_BOM: "utf-8",
    Encoding.UTF_16_LE: "utf-16-le",
    Encoding.UTF_16_BE: "utf-16-be",
}


class NotText(Exception):
    """The bytes are no text that Rho can write back. `reason` completes "the file …"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class TextFile:
    """Decoded content. `text` has no byte order mark and keeps every line ending as it was."""

    text: str
    encoding: Encoding

    @classmethod
    def decode(cls, data: bytes) -> TextFile:
        """Decode strictly. Raises `NotText` for undecodable bytes and for binary data."""
        encoding = _encoding_of(data)
        body = data[len(encoding.mark) :]
        try:
            text = body.decode(encoding.codec)
        except UnicodeDecodeError as error:
            raise NotText(_undecodable(data, encoding, error)) from None
        if "\0" in text:
            raise NotText(f"is binary ({_sniffed(data)}{len(data):,} bytes)")
        return cls(text, encoding)

    def encode(self) -> bytes:
        """The bytes of the file."""
        return self.encoding.mark + self.text.encode(self.encoding.codec)

    @property
    def view_text(self) -> str:
        """The text as views show it: a mark belongs to the first line (3.13)."""
        return BOM + self.text if self.encoding.mark else self.text

    @property
    def newline(self) -> str:
        """The dominant line ending; `\\n` when there is none (10.16)."""
        return dominant_newline(self.text)


def dominant_newline(text: str) -> str:
    """CR if it is the most frequent, else CRLF if there are more than LF, else LF (10.16)."""
    crlf = text.count("\r\n")
    cr = text.count("\r") - crlf
    lf = text.count("\n") - crlf
    if cr > crlf and cr > lf:
        return "\r"
    return "\r\n" if crlf > lf else "\n"


def content_hash(data: bytes) -> str:
    """The identity of exact bytes, for stale checks: SHA-256 in hexadecimal (30.7)."""
    return hashlib.sha256(data).hexdigest()


def _encoding_of(data: bytes) -> Encoding:
    if data.startswith(_UTF32_MARKS):
        raise NotText("is UTF-32 text, which is not supported")
    for encoding in (Encoding.UTF_8_BOM, Encoding.UTF_16_LE, Encoding.UTF_16_BE):
        if data.startswith(encoding.mark):
            return encoding
    return Encoding.UTF_8


def _sniffed(data: bytes) -> str:
    return next((f"{name}, " for mark, name in _SIGNATURES if data.startswith(mark)), "")


def _undecodable(data: bytes, encoding: Encoding, error: UnicodeDecodeError) -> str:
    known = _sniffed(data)
    if known or (b"\0" in data[:8192] and encoding is Encoding.UTF_8):
        return f"is binary ({known}{len(data):,} bytes), it is not valid UTF-8 text"
    name = "UTF-8" if encoding.codec == "utf-8" else "UTF-16"
    offset = error.start + len(encoding.mark)
    where = f"byte 0x{data[offset]:02X} at offset {offset}"
    if name == "UTF-8":
        line = data.count(b"\n", 0, offset) + 1
        return (
            f"is not valid UTF-8 ({where}, line {line}); it may be in an older encoding such as "
            "Latin-1 or Shift-JIS, or binary"
        )
    return f"is not valid {name} although it starts with its byte order mark ({where})"
