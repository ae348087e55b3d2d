"""Reading a patch, strictly for the tool and leniently for previews (12.2–12.6, 12.27)."""

from __future__ import annotations

from dataclasses import dataclass, field

from rho_core.tools.edit.apply_patch.document import (
    AddFile,
    Chunk,
    DeleteFile,
    FileOperation,
    Row,
    RowKind,
    UpdateFile,
)

BEGIN = "*** Begin Patch"
END = "*** End Patch"
ADD = "*** Add File:"
DELETE = "*** Delete File:"
UPDATE = "*** Update File:"
MOVE = "*** Move to:"
END_OF_FILE = "*** End of File"
_HEADERS = (ADD, DELETE, UPDATE)
_MAX_QUOTED = 80


class PatchError(ValueError):
    """The patch cannot be read; the text begins as 12.1 says."""

    @classmethod
    def whole(cls, why: str) -> PatchError:
        """The patch as a whole is wrong."""
        return cls(f"invalid patch: {why}")

    @classmethod
    def at(cls, line: int, why: str) -> PatchError:
        """A line of the patch is wrong, counted from 1."""
        return cls(f"invalid hunk at line {line}, {why}")


def parse_patch(text: str) -> tuple[FileOperation, ...]:
    """The operations of a complete patch, at least one. Raises `PatchError`."""
    lines = [line.removesuffix("\r") for line in text.strip().split("\n")]
    if lines[0].strip() != BEGIN:
        raise PatchError.whole(f"the first line must be '{BEGIN}'")
    if len(lines) < 2 or lines[-1].strip() != END:
        raise PatchError.whole(f"the last line must be '{END}'")
    operations = _Reader(lines[1:-1], first_line=2, lenient=False).read()
    if not operations:
        raise PatchError.whole("it holds no file operation")
    return operations


def parse_partial_patch(text: str) -> tuple[FileOperation, ...]:
    """What can be read of a patch that is still arriving; a last partial line is left out."""
    lines = [line.removesuffix("\r") for line in text.lstrip().split("\n")]
    is_complete = lines[-1].strip() == END or (len(lines) > 1 and END in lines)
    if not is_complete:
        lines.pop()
    if lines and lines[0].strip() == BEGIN:
        lines = lines[1:]
    if END in lines:
        lines = lines[: lines.index(END)]
    return _Reader(lines, first_line=2, lenient=True).read()


@dataclass(slots=True)
class _OpenChunk:
    line: int
    context: str | None
    rows: list[Row] = field(default_factory=list)
    at_end: bool = False


class _Reader:
    """Reads the lines between the first and the last one."""

    def __init__(self, lines: list[str], *, first_line: int, lenient: bool) -> None:
        self._lines = lines
        self._first_line = first_line
        self._lenient = lenient
        self._at = 0

    def read(self) -> tuple[FileOperation, ...]:
        operations: list[FileOperation] = []
        while self._at < len(self._lines):
            line = self._lines[self._at].strip()
            number = self._number()
            self._at += 1
            if not line:
                continue
            operation = self._operation(line, number)
            if operation is not None:
                operations.append(operation)
        return tuple(operations)

    def _operation(self, header: str, number: int) -> FileOperation | None:
        for mark in _HEADERS:
            if header.startswith(mark):
                path = header[len(mark) :].strip()
                break
        else:
            self._fail(
                number,
                f"{_quoted(header)} is no file header; write '{ADD} path', '{DELETE} path' or "
                f"'{UPDATE} path'",
            )
            return None
        if not path:
            self._fail(number, f"{_quoted(header)} names no path")
            return None
        if mark == ADD:
            return AddFile(path, self._added())
        if mark == DELETE:
            return DeleteFile(path)
        return self._update(path, number)

    def _added(self) -> str:
        rows: list[str] = []
        while self._at < len(self._lines) and not _is_header(self._lines[self._at]):
            line = self._lines[self._at]
            if not line.startswith("+"):
                self._fail(
                    self._number(),
                    f"{_quoted(line)} must begin with + as every line of a new file",
                )
            else:
                rows.append(f"{line[1:]}\n")
            self._at += 1
        return "".join(rows)

    def _update(self, path: str, number: int) -> UpdateFile | None:
        move_to = None
        if self._at < len(self._lines) and self._lines[self._at].strip().startswith(MOVE):
            move_to = self._lines[self._at].strip()[len(MOVE) :].strip()
            if not move_to:
                self._fail(self._number(), f"'{MOVE}' names no path")
            self._at += 1
        chunks: list[Chunk] = []
        while self._at < len(self._lines) and not _is_header(self._lines[self._at]):
            if chunks and chunks[-1].at_end and _is_header(self._lines[self._at].strip()):
                break  # nothing can be context after the end of the file
            chunk = self._chunk(path)
            if chunk is not None:
                chunks.append(chunk)
        if not chunks and not self._lenient:
            raise PatchError.at(number, f"the update hunk for {_quoted(path)} is empty")
        return UpdateFile(path, tuple(chunks), move_to or None)

    def _chunk(self, path: str) -> Chunk | None:
        opened = _OpenChunk(self._number(), None)
        first = self._lines[self._at]
        if first.rstrip() == "@@" or first.startswith("@@ "):
            opened.context = first[3:] or None
            self._at += 1
        while self._at < len(self._lines) and not opened.at_end:
            line = self._lines[self._at]
            if _is_header(line) or line.rstrip() == "@@" or line.startswith("@@ "):
                break
            self._at += 1
            if line.strip() == END_OF_FILE and not line.startswith(" "):
                opened.at_end = True
            elif not line:
                opened.rows.append(Row(RowKind.CONTEXT, ""))
            elif line[0] in " -+":
                opened.rows.append(Row(RowKind(line[0]), line[1:]))
            else:
                self._at -= 1
                number = self._number()
                self._at += 1
                self._fail(
                    number,
                    f"{_quoted(line)} must begin with a space (context), - (removed) or + (added)",
                )
        if not opened.rows:
            self._fail(
                opened.line, f"the update hunk for {_quoted(path)} has a chunk without lines"
            )
            return None
        return Chunk(opened.line, opened.context, tuple(opened.rows), opened.at_end)

    def _number(self) -> int:
        return self._first_line + self._at

    def _fail(self, line: int, why: str) -> None:
        if not self._lenient:
            raise PatchError.at(line, why)


def _is_header(line: str) -> bool:
    """Whether a line ends the body above it; a leading space makes it a line of context."""
    if line.startswith((" ", "+", "-")):
        return False
    stripped = line.strip()
    return stripped.startswith(_HEADERS) or stripped == END


def _quoted(text: str) -> str:
    shown = text if text.isprintable() else text.encode("unicode_escape").decode("ascii")
    return f"'{shown[:_MAX_QUOTED]}…'" if len(shown) > _MAX_QUOTED else f"'{shown}'"
