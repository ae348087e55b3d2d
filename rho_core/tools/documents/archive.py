"""Zip containers of office documents, read within limits that count the inflated bytes (7.8, 7.9).

Hostile input: sizes that the archive declares are never believed.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from xml.parsers import expat

MAX_ENTRIES = 10_000
MAX_INFLATED_BYTES = 100 * 1024 * 1024
_CHUNK = 65_536


class DamagedDocument(Exception):
    """The document cannot be read; the message says why, in a clause that follows its name."""


class OfficeArchive:
    """The members of a zip file. Raises `DamagedDocument`."""

    def __init__(self, data: bytes) -> None:
        try:
            self._file = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            raise DamagedDocument(f"is damaged: {error}") from None
        if len(self._file.infolist()) > MAX_ENTRIES:
            raise DamagedDocument(f"holds more than {MAX_ENTRIES} parts")

    def __contains__(self, name: str) -> bool:
        return name in self._file.NameToInfo

    def names(self) -> list[str]:
        """The members' names."""
        return self._file.namelist()

    def chunks(self, name: str, limit: int) -> Iterator[bytes]:
        """The inflated bytes of a member, at most `limit` of them in all."""
        left = limit
        try:
            with self._file.open(name) as member:
                while chunk := member.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise DamagedDocument(f"expands to more than {limit} bytes")
                    yield chunk
        except KeyError:
            raise DamagedDocument(f"has no part {name}") from None
        except RuntimeError:  # what zipfile says of encryption
            raise DamagedDocument("is encrypted") from None
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError) as error:
            raise DamagedDocument(f"is damaged: {error}") from None

    def check_expansion(self, limit: int = MAX_INFLATED_BYTES) -> None:
        """Inflate everything once and count: for readers that inflate without a limit."""
        left = limit
        for name in self._file.namelist():
            for chunk in self.chunks(name, left):
                left -= len(chunk)

    def parse(
        self,
        name: str,
        limit: int,
        *,
        start: Callable[[str, dict[str, str]], None],
        end: Callable[[str], None] = lambda _name: None,
        text: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """Stream a member's XML to handlers of local names. Entities are not allowed."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = lambda tag, attributes: start(
            _local(tag), {_attribute(key): value for key, value in attributes.items()}
        )
        parser.EndElementHandler = lambda tag: end(_local(tag))
        parser.CharacterDataHandler = text
        parser.EntityDeclHandler = _refuse_entity
        try:
            for chunk in self.chunks(name, limit):
                parser.Parse(chunk, False)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise DamagedDocument(f"is damaged: {name}: {error}") from None


def _attribute(name: str) -> str:
    """The local name; `r:id` for the reference to a relationship, beside which an `id` may be."""
    namespace, _, local = name.rpartition(" ")
    return f"r:{local}" if namespace.endswith("/relationships") else local


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _refuse_entity(*_declaration: object) -> None:
    raise DamagedDocument("declares XML entities, which no office program writes")
