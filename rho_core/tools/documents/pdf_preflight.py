"""What a PDF file may cost its readers, looked at before a library parses it (7.7).

One pass over the file, object by object: how deep it nests, how its streams are packed, and how
much they inflate to in all. A file may hide objects where no pass from its beginning to its end
finds them; the limits of the process that reads it hold for those.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator
from functools import cached_property

from rho_core.tools.documents.archive import DamagedDocument
from rho_core.tools.documents.pdf_syntax import MarkReader, Reference, Value, dictionary

MAX_DEPTH = 100
MAX_INFLATED_BYTES = 64 * 1024 * 1024
#: Numbers and names that are objects by themselves; what is beyond is as if it were not there.
_MAX_SMALL_OBJECTS = 200_000
_MAX_VALUES_OF_ONE = 4
_CHUNK = 64 * 1024
_MAX_PART = 1024 * 1024
_BEGIN = re.compile(rb"%[^\r\n]*+|(?<=[\0\t\n\f\r ])obj(?![A-Za-z0-9])|\btrailer\b")
_SMALL_OBJECT = re.compile(
    rb"\b(\d{1,10}+)[\0\t\n\f\r ]++\d{1,5}+[\0\t\n\f\r ]++obj[\0\t\n\f\r ]*+"
    rb"(\d{1,10}+|/\w++|\[[\0\t\n\f\r ]*+/\w++[\0\t\n\f\r ]*+\])[\0\t\n\f\r ]*+endobj"
)
_NUMBER = re.compile(rb"\d{1,10}")
_LINE_END = re.compile(rb"[\t ]*+(?:\r\n|\n|\r)?")
_SPACE = b"\0\t\n\f\r "
#: White space between a stream's data and `endstream`; one end of line is usual.
_MAX_PADDING = 64
_SHORT_NAMES = {
    b"/Fl": b"/FlateDecode",
    b"/LZW": b"/LZWDecode",
    b"/A85": b"/ASCII85Decode",
    b"/AHx": b"/ASCIIHexDecode",
}
_CHAINED = frozenset({b"/FlateDecode", b"/LZWDecode", b"/ASCII85Decode"})


def check_pdf(data: bytes) -> None:
    """Refuse a file that may cost too much. Raises `DamagedDocument`."""
    _Preflight(data).run()


class _Preflight:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._reader = MarkReader()
        self._left = MAX_INFLATED_BYTES

    def run(self) -> None:
        at = 0
        while begin := _BEGIN.search(self._data, at):
            at = begin.end()
            if not begin[0].startswith(b"%"):
                at = self._object(at)

    def _object(self, at: int) -> int:
        """Look at the object, or what follows a trailer, that begins at `at`; gives its end."""
        depth = 0
        opened, closed = at, at
        for token, end in self._reader.marks(self._data, at):
            match token:
                case b"<<" | b"[":
                    if depth == 0:
                        opened = end
                    depth = _deeper(depth)
                case b">>" | b"]":
                    depth = max(0, depth - 1)
                    closed = end
                case b"stream":
                    if depth:
                        raise DamagedDocument("is damaged: a stream lies in a dictionary")
                    return self._stream(dictionary(self._data[opened:closed]), end)
                case b"obj":  # the one before has no end
                    depth, opened, closed = 0, end, end
                case _:
                    return end
        return len(self._data)

    def _stream(self, entries: dict[bytes, Value], at: int) -> int:
        """Look at a stream whose keyword ends at `at`; gives the end of its data."""
        begin = at
        if line_end := _LINE_END.match(self._data, at):
            begin = line_end.end()
        end = self._end_of_data(entries.get(b"/Length"), begin)
        if entries.get(b"/Subtype") == b"/Image":
            return end  # no text in it, so nobody unpacks it
        filters = self._filters(entries.get(b"/Filter"))
        holds_objects = entries.get(b"/Type") == b"/ObjStm"
        match filters:
            case [b"/FlateDecode"]:
                self._inflate(_chunks(self._data[begin:end]), holds_objects)
            # written as text, which only shrinks: common programs write every page so
            case [b"/ASCII85Decode", b"/FlateDecode"]:
                self._inflate(_base85_chunks(self._data[begin:end]), holds_objects)
            case [b"/ASCIIHexDecode", b"/FlateDecode"]:
                self._inflate(_hex_chunks(self._data[begin:end]), holds_objects)
            case [_, _, *_] if not _CHAINED.isdisjoint(filters):
                raise DamagedDocument("packs a stream several times over")
        return end

    def _end_of_data(self, length: Value | None, begin: int) -> int:
        """Where the data of a stream ends: by its length, else by the next `endstream`."""
        known = [int(value) for value in self._meant(length) if _NUMBER.fullmatch(value)]
        if not known:
            end = self._data.find(b"endstream", begin)
            if end < 0:
                raise DamagedDocument("is damaged: a stream has no end")
            return end
        for number in known:
            end = begin + number
            # programs count the end of line before `endstream` or not, and sometimes wrongly
            found = self._data.find(b"endstream", max(begin, end - 2), end + _MAX_PADDING + 9)
            if found >= 0 and not self._data[end:found].strip(_SPACE):
                return found
        raise DamagedDocument("is damaged: a stream is not as long as it says")

    def _filters(self, value: Value | None) -> list[bytes]:
        if isinstance(value, Reference):
            meant = self._meant(value)
            value = meant[-1] if meant else b""
            if value.startswith(b"["):
                value = [value.strip(b"[]" + _SPACE)]
        if value is None or value == b"null":
            return []
        names = value if isinstance(value, list) else [value]
        if not all(isinstance(name, bytes) and name.startswith(b"/") for name in names):
            raise DamagedDocument("is damaged: it does not say how a stream is packed")
        return [_SHORT_NAMES.get(name, name) for name in names]

    def _meant(self, value: Value | None) -> list[bytes]:
        """What a value may be: of an object that was replaced later there are several."""
        if isinstance(value, Reference):
            return self._small_objects.get(value.number, [])
        return [value] if isinstance(value, bytes) else []

    @cached_property
    def _small_objects(self) -> dict[int, list[bytes]]:
        found: dict[int, list[bytes]] = {}
        for small in _SMALL_OBJECT.finditer(self._data):
            if len(found) >= _MAX_SMALL_OBJECTS:
                break
            values = found.setdefault(int(small[1]), [])
            if len(values) == _MAX_VALUES_OF_ONE:
                del values[0]
            values.append(small[2])
        return found

    def _inflate(self, chunks: Iterator[bytes], holds_objects: bool) -> None:
        """Count what it inflates to. What is no Flate data, as where encrypted, is left to fail."""
        inflater = zlib.decompressobj()
        kept: list[bytes] = []
        try:
            for chunk in chunks:
                rest = chunk
                while rest and not inflater.eof:
                    part = inflater.decompress(rest, _MAX_PART)
                    rest = inflater.unconsumed_tail
                    self._left -= len(part)
                    if self._left < 0:
                        raise DamagedDocument(f"expands to more than {MAX_INFLATED_BYTES} bytes")
                    if holds_objects:
                        kept.append(part)
        except (zlib.error, ValueError):
            return
        depth = 0
        for token, _end in self._reader.marks(b"".join(kept), 0):
            if token in (b"<<", b"["):
                depth = _deeper(depth)
            elif token in (b">>", b"]"):
                depth = max(0, depth - 1)


def _deeper(depth: int) -> int:
    if depth == MAX_DEPTH:
        raise DamagedDocument(f"nests more than {MAX_DEPTH} levels deep")
    return depth + 1


def _chunks(data: bytes) -> Iterator[bytes]:
    for at in range(0, len(data), _CHUNK):
        yield data[at : at + _CHUNK]


def _base85_chunks(text: bytes) -> Iterator[bytes]:
    """The bytes that ASCII85 text stands for. Raises `ValueError`."""
    packed = text.translate(None, _SPACE).removeprefix(b"<~").partition(b"~")[0]
    packed = packed.replace(b"z", b"!!!!!")
    for at in range(0, len(packed), _CHUNK * 5):
        yield base64.a85decode(packed[at : at + _CHUNK * 5])


def _hex_chunks(text: bytes) -> Iterator[bytes]:
    """The bytes that hexadecimal text stands for. Raises `ValueError`."""
    packed = text.translate(None, _SPACE).partition(b">")[0]
    for at in range(0, len(packed), _CHUNK * 2):
        yield binascii.unhexlify(packed[at : at + _CHUNK * 2])
