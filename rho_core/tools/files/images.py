"""Recognising whole PNG, JPEG, GIF and WebP images by their structure, without decoding (5.4, 6).

A broken image in the history would make a provider refuse every later request, so an image counts
only if its header, its size and its end are as the format demands.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

SNIFF_BYTES = 12

_PNG = b"\x89PNG\r\n\x1a\n"
_GIF = (b"GIF87a", b"GIF89a")
_JPEG = b"\xff\xd8\xff"
_JPEG_SIZE_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE_MARKERS = frozenset({0x01, *range(0xD0, 0xD8)})


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """A structurally complete image: media type and size in pixels."""

    media_type: str
    width: int
    height: int


def sniff_image(head: bytes) -> str | None:
    """The media type that the first 12 bytes announce, None if they announce no image."""
    if head.startswith(_PNG):
        return "image/png"
    if head.startswith(_JPEG):
        return "image/jpeg"
    if head.startswith(_GIF):
        return "image/gif"
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_facts(data: bytes) -> ImageFacts | None:
    """The facts of a complete image, None if the data is broken or no such image."""
    media_type = sniff_image(data[:SNIFF_BYTES])
    measure = {
        "image/png": _png_size,
        "image/jpeg": _jpeg_size,
        "image/gif": _gif_size,
        "image/webp": _webp_size,
    }
    if media_type is None:
        return None
    try:
        size = measure[media_type](data)
    except (struct.error, IndexError):
        return None
    if size is None or 0 in size:
        return None
    return ImageFacts(media_type, *size)


def _png_size(data: bytes) -> tuple[int, int] | None:
    """Walk the chunks with their checksums to IEND; there must be pixels."""
    at = len(_PNG)
    size: tuple[int, int] | None = None
    has_pixels = False
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        end = at + 12 + length
        if end > len(data):
            return None
        (checksum,) = struct.unpack_from(">I", data, end - 4)
        if zlib.crc32(memoryview(data)[at + 4 : end - 4]) != checksum:
            return None
        if kind == b"IHDR":
            size = struct.unpack_from(">II", data, at + 8)
        has_pixels = has_pixels or kind == b"IDAT"
        if kind == b"IEND":
            return size if has_pixels else None
        at = end
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Walk the segments to the frame header; the scan must have an end marker."""
    at = 2
    size: tuple[int, int] | None = None
    while at + 4 <= len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
            continue
        if marker in _JPEG_BARE_MARKERS:
            at += 2
            continue
        (length,) = struct.unpack_from(">H", data, at + 2)
        if marker in _JPEG_SIZE_MARKERS:
            height, width = struct.unpack_from(">HH", data, at + 5)
            size = (width, height)
        if marker == 0xDA:
            return size if data.rfind(b"\xff\xd9") > at else None
        at += 2 + length
    return None


def _gif_size(data: bytes) -> tuple[int, int] | None:
    """The screen size; there must be an image block and the trailer."""
    width, height = struct.unpack_from("<HH", data, 6)
    complete = data.rstrip(b"\0").endswith(b";") and b"," in data[13:]
    return (width, height) if complete else None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    """The canvas size of the first chunk; the container must be there in full."""
    (length,) = struct.unpack_from("<I", data, 4)
    if length + 8 > len(data):
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        return width, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L" and data[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None
