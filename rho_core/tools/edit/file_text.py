"""The text of a file that an edit is made for, and the bytes of what the edit makes of it."""

from __future__ import annotations

from rho_core.errors import ToolError
from rho_core.tools.files.mutation import FileSnapshot
from rho_core.tools.files.reading import MAX_FILE_BYTES, too_large
from rho_core.tools.files.text import NotText, TextFile


def decoded(current: FileSnapshot, shown: str) -> TextFile:
    """The file as text. Raises `ToolError` for what cannot be written back without loss."""
    if current.data is None:
        raise too_large(shown, current.size, MAX_FILE_BYTES)
    try:
        return TextFile.decode(current.data)
    except NotText as error:
        raise ToolError.execution(
            f"could not read {shown}: it {error.reason}; it was left as it is"
        ) from None


def encoded(file: TextFile, shown: str) -> bytes:
    """The edited file's bytes in its own encoding. Raises `ToolError`."""
    try:
        return file.encode()
    except UnicodeEncodeError:
        raise ToolError.execution(
            f"could not edit {shown}: the new text cannot be written as {file.encoding}"
        ) from None
