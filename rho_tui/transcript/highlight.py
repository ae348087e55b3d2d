"""Syntax colours with Pygments, on demand and in slices.

A language that isn't named is not guessed. Lexing is sequential, so it advances by slices of lines:
what is reached first is coloured at once, a long text catches up over the next frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rho_tui.transcript.rows import Run
from rho_tui.transcript.wrap import cell_height, expand_tabs

if TYPE_CHECKING:
    from pygments.lexer import Lexer

SLICE_TOKENS = 800
"""Tokens lexed in one go: some 5 ms."""

MAX_CODE = 400_000
"""Characters; longer code is shown without colours."""

EARLY_LINES = 60
"""Lines of an open fence coloured in one go."""

MAX_EARLY = 5_000
"""Lines of an open fence that are coloured before its end is known."""

MAX_EARLY_LINE = 1_000

MAX_LINE = 5_000
"""Characters; code with a longer line is minified or data, and costs lexers too much."""

_KEYS = {
    "Keyword": "syn.keyword",
    "Keyword.Type": "syn.type",
    "Keyword.Constant": "syn.number",
    "Name.Function": "syn.name",
    "Name.Class": "syn.type",
    "Name.Decorator": "syn.name",
    "Name.Builtin": "syn.type",
    "Name.Exception": "syn.type",
    "Name.Tag": "syn.keyword",
    "Name.Attribute": "syn.name",
    "Name.Label": "syn.name",
    "Literal.String": "syn.string",
    "Literal.Number": "syn.number",
    "Comment": "syn.comment",
    "Comment.Preproc": "syn.keyword",
    "Operator.Word": "syn.keyword",
    "Generic.Deleted": "error",
    "Generic.Inserted": "success",
    "Generic.Heading": "bold",
    "Generic.Subheading": "bold",
    "Generic.Prompt": "muted",
    "Generic.Output": "muted",
    "Generic.Emph": "italic",
    "Generic.Strong": "bold",
}
_cached_keys: dict[Any, str] = {}


@lru_cache(maxsize=64)
def lexer_named(language: str) -> Lexer | None:
    """Lexer for a fence's language, None when unknown or plain text."""
    name = language.strip().lower()
    if not name or name in ("text", "txt", "plain", "plaintext", "output"):
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(name, stripnl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def _lexer_for_name(name: str) -> Lexer | None:
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(name)
    return found(stripnl=False) if found is not None else None


def lexer_for_path(path: str) -> Lexer | None:
    """Lexer for a file by its name, None when unknown."""
    name = PurePath(path.replace("\\", "/")).name
    return _lexer_for_name(name) if name else None


def _key(kind: Any) -> str:
    """Style key of a Pygments token type: its own or that of the nearest ancestor."""
    found = _cached_keys.get(kind)
    if found is None:
        parts = tuple(kind)
        found = ""
        for size in range(len(parts), 0, -1):
            name = ".".join(parts[:size])
            if name in _KEYS:
                found = _KEYS[name]
                break
        _cached_keys[kind] = found
    return found


class _LineSplitter:
    """Collects tokens into runs by line.

    A lexer that loses text would make it vanish: the runs of such a line are left empty.
    """

    def __init__(self, source: list[str]) -> None:
        self._source = source
        self._open: list[Run] = []
        self.lines: list[list[Run]] = []

    def add(self, key: str, value: str) -> None:
        first, *rest = value.split("\n")
        if first:
            self._open.append((first, key))
        for part in rest:
            self._end_line()
            if part:
                self._open.append((part, key))

    def end(self) -> None:
        if self._open:
            self._end_line()

    def _end_line(self) -> None:
        index = len(self.lines)
        text = "".join([text for text, _ in self._open])
        whole = index < len(self._source) and text == self._source[index]
        self.lines.append(_merged(self._open) if whole else [])
        self._open = []


class GrowingLexer:
    """Lexes code that is still being written, a few whole lines at a time.

    The lexer's state is kept between calls. Constructs matched by one expression over several lines
    may come out differently from a run over the whole text, so this is for the time being only.
    """

    def __init__(self, lexer: Lexer) -> None:
        from pygments.lexer import RegexLexer

        plain = type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed
        self._lexer = lexer if isinstance(lexer, RegexLexer) and plain else None
        self._stack = ["root"]

    def lex(self, text: str) -> list[tuple[Any, str]]:
        """Token types and texts of whole lines; nothing when the lexer can't be resumed."""
        if self._lexer is None:
            return []
        from pygments.lexer import ExtendedRegexLexer, LexerContext

        context = LexerContext(text, 0, list(self._stack))
        # Its loop needs only the token table that every RegexLexer has, and leaves its state in
        # the context.
        resumable: Any = ExtendedRegexLexer.get_tokens_unprocessed
        lexed = resumable(self._lexer, context=context)
        try:
            found = [(kind, value) for _at, kind, value in lexed]
        except TypeError:  # a callback of this lexer doesn't know contexts
            self._lexer = None
            return []
        self._stack = list(context.stack)
        return found


class CodeText:
    """Code by line, coloured as far as lexing has come; implements `Lines`.

    Args:
        lines: Sanitised lines without newlines; the list may grow until `close`.
        lexer: None leaves the code plain.
    """

    def __init__(self, lines: list[str], lexer: Lexer | None) -> None:
        self.lines = lines
        self._lexer = lexer
        self._splitter = _LineSplitter(lines)
        self._tokens: Iterator[tuple[int, Any, str]] | None = None
        self._ready = False
        self._growing: GrowingLexer | None = None
        self._early: list[list[Run]] = []  # colours of lines written before the end was known

    def close(self) -> None:
        """No more lines come: colours may be computed once a line is asked for."""
        lengths = [len(line) for line in self.lines]
        self._ready = (
            self._lexer is not None
            and 0 < sum(lengths) <= MAX_CODE
            and max(lengths, default=0) <= MAX_LINE
        )

    def color_early(self, complete: int) -> None:
        """Colour some of the first `complete` lines for the time until `close`."""
        first = len(self._early)
        stop = min(complete, first + EARLY_LINES)
        lines = self.lines[first:stop]
        if self._lexer is None or not lines or first > MAX_EARLY:
            return
        if max(map(len, lines)) > MAX_EARLY_LINE:
            self._early += [[] for _ in lines]
            return
        if self._growing is None:
            self._growing = GrowingLexer(self._lexer)
        splitter = _LineSplitter(lines)
        for kind, value in self._growing.lex("\n".join(lines) + "\n"):
            splitter.add(_key(kind), value)
        self._early += splitter.lines + [[]] * (len(lines) - len(splitter.lines))

    @property
    def pending(self) -> bool:
        """Whether lexing has begun and has further to go."""
        return self._tokens is not None

    def _start(self) -> None:
        assert self._lexer is not None
        self._ready = False
        text = "\n".join(self.lines) + "\n"
        self._tokens = iter(self._lexer.get_tokens_unprocessed(text))
        self.advance()

    def advance(self) -> None:
        """Lex another slice."""
        tokens = self._tokens
        if tokens is None:
            return
        for _count in range(SLICE_TOKENS):
            token = next(tokens, None)
            if token is None:
                self._tokens = None
                self._splitter.end()
                return
            self._splitter.add(_key(token[1]), token[2])

    def __len__(self) -> int:
        """Number of lines."""
        return len(self.lines)

    def source_runs(self, index: int) -> list[Run]:
        """Runs of a line with its tabs."""
        if self._ready:
            self._start()
        line = self.lines[index]
        for colored in (self._splitter.lines, self._early):
            if index < len(colored) and colored[index]:
                return colored[index]
        return [(line, "")] if line else []

    def runs(self, index: int) -> list[Run]:
        """Runs of a line, tabs expanded."""
        runs = self.source_runs(index)
        if "\t" not in self.lines[index]:
            return runs
        found: list[Run] = []
        column = 0
        for text, key in runs:
            text = (" " * column + text).expandtabs()[column:]
            column += len(text)
            found.append((text, key))
        return found

    def height(self, index: int, width: int) -> int:
        """Rows of a line."""
        return cell_height(expand_tabs(self.lines[index]), width)


def _merged(runs: list[Run]) -> list[Run]:
    found: list[Run] = []
    for text, key in runs:
        if found and found[-1][1] == key:
            found[-1] = (found[-1][0] + text, key)
        else:
            found.append((text, key))
    return found
