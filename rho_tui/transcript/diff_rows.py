"""A diff as lines with gutter, sign, wash, syntax colours and word-level marks (APP2.31)."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from rho_tui.transcript.diff import Diff, DiffLine, LineKind, pair_changes, parse_diff
from rho_tui.transcript.highlight import CodeText, lexer_for_path
from rho_tui.transcript.lines import LineRows, mark_runs
from rho_tui.transcript.rows import Row, Run, prefixed
from rho_tui.transcript.sanitize import clean_line
from rho_tui.transcript.wrap import cell_height, expand_tabs

_WINDOW = 60
"""Lines coloured together. A construct that began before its window may be coloured wrongly; in
exchange the cost of a row doesn't depend on the diff's size."""

_WORD = re.compile(r"\w+|\s+|.")
_MAX_MARKED = 500
"""Characters of a line that is compared word by word."""

_SIMILAR = 0.5
"""Lines less alike than this get no word marks: everything would be marked."""

_FILLS = {LineKind.ADDED: "bg:added", LineKind.REMOVED: "bg:removed"}
_SIGNS: dict[LineKind, Run] = {
    LineKind.ADDED: ("+ ", "success"),
    LineKind.REMOVED: ("- ", "error"),
}


class DiffLines:
    """Lines of a diff, styled when drawn; implements `Lines`."""

    def __init__(self, diff: Diff, path: str) -> None:
        self._diff = diff
        self._path = path
        self._code: dict[int, dict[int, list[Run]]] = {}

    def __len__(self) -> int:
        """Number of lines."""
        return len(self._diff.lines)

    def height(self, index: int, width: int) -> int:
        """Rows of a line."""
        return cell_height(expand_tabs(self._diff.lines[index].text), width)

    def runs(self, index: int) -> list[Run]:
        """Runs of a line without gutter."""
        line = self._diff.lines[index]
        if line.kind is LineKind.FILE:
            return [(clean_line(line.text), "bold")]
        if line.kind in (LineKind.GAP, LineKind.META):
            return [(expand_tabs(line.text), "muted")]
        runs = self._colored(index) or ([(line.text, "")] if line.text else [])
        marks = self._changed(line) if line.pair >= 0 else []
        word = "bg:added_word" if line.kind is LineKind.ADDED else "bg:removed_word"
        return mark_runs(runs, marks, word)

    def _changed(self, line: DiffLine) -> list[tuple[int, int]]:
        other = self._diff.lines[line.pair].text
        if max(len(line.text), len(other)) > _MAX_MARKED:
            return []
        return changed_words(line.text, other)

    def _colored(self, index: int) -> list[Run]:
        window = index // _WINDOW
        if window not in self._code:
            if len(self._code) > 8:
                self._code.clear()
            self._code[window] = self._color(window * _WINDOW)
        return self._code[window].get(index, [])

    def _color(self, first: int) -> dict[int, list[Run]]:
        """Colours of a window's lines: the new text and the old text are lexed apart."""
        lexer = lexer_for_path(self._diff.path_at(first, self._path))
        found: dict[int, list[Run]] = {}
        if lexer is None:
            return found
        lines = list(enumerate(self._diff.lines[first : first + _WINDOW], first))
        for hidden in (LineKind.ADDED, LineKind.REMOVED):
            kinds = {LineKind.CONTEXT, LineKind.ADDED, LineKind.REMOVED} - {hidden}
            side = [(index, line) for index, line in lines if line.kind in kinds]
            code = CodeText([line.text for _, line in side], lexer)
            code.close()
            if side:
                code.source_runs(0)  # begins to lex
            while code.pending:
                code.advance()
            found.update((index, code.source_runs(at)) for at, (index, _) in enumerate(side))
        return found


def changed_words(text: str, other: str) -> list[tuple[int, int]]:
    """Character ranges of `text` that differ from `other`; empty when little is alike."""
    words, others = _WORD.findall(text), _WORD.findall(other)
    matcher = SequenceMatcher(None, others, words, autojunk=False)
    if matcher.ratio() < _SIMILAR:
        return []
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return [
        (starts[begin], starts[end])
        for tag, _, _, begin, end in matcher.get_opcodes()
        if tag != "equal" and end > begin
    ]


class DiffRows(LineRows):
    """Rows of a unified diff at one width."""

    def __init__(self, text: str, path: str, width: int) -> None:
        diff = parse_diff(text)
        if len(diff.files) > 1:
            _add_file_lines(diff)
        self._lines_shown = diff.lines
        largest = max((line.number for line in diff.lines), default=0)
        self._gutter = len(str(largest)) if width >= 20 else 0
        lead = self._gutter + 3 if self._gutter else 2
        super().__init__(DiffLines(diff, path), max(1, width - lead), self._dress)

    def _dress(self, index: int, part: int, row: Row) -> Row:
        line = self._lines_shown[index]
        if line.kind is LineKind.FILE:
            return row
        number = str(line.number) if line.number and part == 0 else ""
        if line.kind is LineKind.GAP:
            return prefixed(row._replace(runs=()), (("⋯".rjust(max(1, self._gutter)), "muted"),))
        sign = _SIGNS.get(line.kind, ("  ", "")) if part == 0 else ("  ", "")
        gutter: tuple[Run, ...] = ()
        if self._gutter:
            gutter = ((number.rjust(self._gutter) + " ", "muted"),)
        dressed = prefixed(row, (*gutter, sign))
        return dressed._replace(fill=_FILLS.get(line.kind, ""))


def _add_file_lines(diff: Diff) -> None:
    """Put a heading with path and counts in front of each file of several."""
    for shift, file in enumerate(diff.files):
        file.first += shift
        title = f"{file.path}  +{file.added} -{file.removed}"
        diff.lines.insert(file.first, DiffLine(LineKind.FILE, title))
    pair_changes(diff.lines)
