"""The first line of a view: a bare path, or a path with the tag of the whole file (3.3, 3.10).

A tag lets the `edit` tool check that line numbers still mean what the model saw. It is short and
ignores white space at the ends of lines; the exact bytes are compared besides (30.7).
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193

_MAX_KNOWN_TAGS = 1_000
_known_tags: dict[bytes, str] = {}

#: Gives the header of a view: display path and whole text (with its byte order mark) to one line.
HeaderStyle = Callable[[str, str], str]


class LiveHeader:
    """The style that all views of a session share; a new `style` counts at once (1.5, 5.7).

    It is a `HeaderStyle` itself, so that a tool which was given it need not be built again.
    """

    def __init__(self, style: HeaderStyle) -> None:
        self.style = style

    def __call__(self, shown: str, text: str) -> str:
        return self.style(shown, text)


def plain_header(shown: str, _text: str) -> str:
    """The bare display path."""
    return shown


def tagged_header(shown: str, text: str) -> str:
    """`[‹path›#‹TAG›]`; the tag always covers the whole file (3.12)."""
    return f"[{shown}#{file_tag(text)}]"


def file_tag(text: str) -> str:
    """Four upper-case hexadecimal digits: FNV-1a over the lines without trailing blanks (3.10)."""
    data = "\n".join([line.rstrip(" \t\r") for line in text.split("\n")])
    encoded = data.encode("utf-8", "surrogatepass")
    # an edit needs the tag of the same text several times, and byte by byte Python is slow
    key = blake2b(encoded, digest_size=16).digest()
    tag = _known_tags.get(key)
    if tag is None:
        if len(_known_tags) >= _MAX_KNOWN_TAGS:
            _known_tags.clear()
        tag = _known_tags[key] = _fnv_tag(encoded)
    return tag


def _fnv_tag(data: bytes) -> str:
    # only the low 16 bits are kept, and they depend on no higher bit: small numbers are faster
    tag, prime = _FNV_OFFSET & 0xFFFF, _FNV_PRIME & 0xFFFF
    for byte in data:
        tag = (tag ^ byte) * prime & 0xFFFF
    return f"{tag:04X}"
