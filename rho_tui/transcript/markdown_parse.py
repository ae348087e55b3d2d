"""Markdown source to top-level groups of tokens, and inline text to styled spans.

Blocks and inline text are parsed apart: the block phase runs on the open tail of a stream, inline
text is parsed when a group is laid out and remembered, so unchanged text isn't parsed again. Raw
HTML is text (`List<String>` survives), link reference definitions are off (they would hide text,
and change what was shown above), and links are found only with a scheme (`main.py` is no link).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from rho_tui.transcript.sanitize import clean_line, clean_text
from rho_tui.transcript.wrap import Span

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_NESTING = 40
"""Depth at which the parser gives up; groups that come near it are shown as source."""

MAX_INLINE = 12_000
"""Characters of a paragraph parsed in one piece; a longer piece shows its marks as text."""

_CACHED_INLINE = 2_000
"""Characters of inline text whose spans are remembered."""

SEGMENT = 1_500
"""Characters after which a long paragraph may be parsed in pieces."""

_OPEN_MARKS = re.compile(r"[*_`\[\\]|~~")

LINK_SCHEMES = ("http://", "https://", "mailto:")


@lru_cache(maxsize=1)
def _block_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("gfm-like", {"html": False, "maxNesting": MAX_NESTING})
    parser.disable("reference")
    parser.core.ruler.disable(["inline", "linkify", "text_join"])
    return parser


@lru_cache(maxsize=1)
def _inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("gfm-like", {"html": False, "maxNesting": MAX_NESTING})
    assert parser.linkify is not None
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    return parser


@dataclass(slots=True)
class Group:
    """A top-level block: its tokens and its lines in the parsed text."""

    tokens: Sequence[Token]
    start: int
    """First line."""
    end: int
    """Line after the last; blank lines at the end don't count."""

    @property
    def kind(self) -> str:
        """Type of the first token, without `_open`."""
        return self.tokens[0].type.removesuffix("_open")


def is_too_deep(tokens: Sequence[Token]) -> bool:
    """Whether the parser may have dropped text that is nested deeper."""
    return any(token.level >= MAX_NESTING - 1 for token in tokens)


def parse_groups(text: str) -> list[Group]:
    """Top-level blocks of sanitised Markdown."""
    tokens = _block_parser().parse(text)
    groups: list[Group] = []
    begin = 0
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            start, end = tokens[begin].map or [0, 0]
            groups.append(Group(tokens[begin : index + 1], start, end))
            begin = index + 1
    return groups


def inline_spans(content: str, base: str = "") -> tuple[Span, ...]:
    """Styled spans of inline Markdown. Line breaks of the source are kept."""
    if len(content) <= _CACHED_INLINE:
        return _cached_spans(content, base)
    if len(content) <= MAX_INLINE:
        return tuple(_parse_inline(content, base))
    spans: list[Span] = []
    for segment in _segments(content):
        if spans:
            spans.append(("\n", base, ""))
        plain = len(segment) > MAX_INLINE
        spans += (
            [(clean_text(segment).expandtabs(4), base, "")]
            if plain
            else _parse_inline(segment, base)
        )
    return tuple(spans)


@lru_cache(maxsize=512)
def _cached_spans(content: str, base: str) -> tuple[Span, ...]:
    return tuple(_parse_inline(content, base))


def _segments(content: str) -> list[str]:
    """Pieces of a long paragraph, cut at line ends where no markup is open."""
    found: list[str] = []
    lines: list[str] = []
    size, check = 0, SEGMENT
    for line in content.split("\n"):
        lines.append(line)
        size += len(line) + 1
        if size < check:
            continue
        if size > MAX_INLINE or not has_open_markup("\n".join(lines)):
            found.append("\n".join(lines))
            lines, size, check = [], 0, SEGMENT
        else:
            check = 2 * size  # asking at every line would cost the square of the length
    return [*found, "\n".join(lines)] if lines else found


def has_open_markup(text: str) -> bool:
    """Whether inline text holds marks that text on later lines could still pair up with."""
    if len(text) > MAX_INLINE:
        return True
    return any(
        _OPEN_MARKS.search(shown) and "code" not in key for shown, key, _ in _parse_inline(text, "")
    )


def _parse_inline(content: str, base: str) -> list[Span]:
    spans: list[Span] = []
    for token in _inline_parser().parseInline(content):
        _add_spans(spans, token.children or [], base)
    return spans


_MARKS = {"strong": "bold", "em": "italic", "s": "strike"}


def _add_spans(spans: list[Span], tokens: Sequence[Token], base: str) -> None:
    words = [base] if base else []
    url = target = ""
    link_from = 0
    for token in tokens:
        kind = token.type
        key = " ".join(words)
        if kind == "text":
            _add(spans, token.content, key, url)
        elif kind in ("softbreak", "hardbreak"):
            spans.append(("\n", key, ""))
        elif kind == "code_inline":
            _add(spans, token.content, f"{key} code".strip(), url)
        elif kind == "link_open":
            target = _target(token)
            url = str(token.attrs["href"]) if _openable(token) else ""
            words.append("link")
            link_from = len(spans)
        elif kind == "link_close":
            words.remove("link")
            shown = "".join([span[0] for span in spans[link_from:]])
            if target and token.markup not in ("linkify", "autolink") and target != shown:
                spans.append((f" ({target})", " ".join([*words, "muted"]), url))
            url = target = ""
        elif kind == "image":
            _add_image(spans, token, key)
        elif kind.endswith("_open") and kind[:-5] in _MARKS:
            words.append(_MARKS[kind[:-5]])
        elif kind.endswith("_close") and kind[:-6] in _MARKS:
            words.remove(_MARKS[kind[:-6]])
        else:
            _add(spans, token.content or token.markup, key, url)


def _add(spans: list[Span], text: str, key: str, url: str) -> None:
    # Entities and percent signs may decode to what the sanitiser took out of the source.
    if text:
        spans.append((clean_text(text).expandtabs(4), key, url))


def _add_image(spans: list[Span], token: Token, key: str) -> None:
    alt = clean_line(token.content) or "image"
    source = clean_line(str(token.attrs.get("src", "")))
    title = clean_line(str(token.attrs.get("title", "")))
    link = str(token.attrs.get("src", ""))
    url = link if link.lower().startswith(LINK_SCHEMES) else ""
    spans.append((alt, f"{key} link".strip(), url))
    note = " ".join(filter(None, (source, f'"{title}"' if title else "")))
    spans.append((f" ({note})", f"{key} muted".strip(), url))


def _openable(token: Token) -> bool:
    return str(token.attrs.get("href", "")).lower().startswith(LINK_SCHEMES)


def _target(token: Token) -> str:
    """What is shown after a link's text: the URL and the title."""
    url = clean_line(str(token.attrs.get("href", "")))
    title = clean_line(str(token.attrs.get("title", "")))
    return f'{url} "{title}"' if title else url
