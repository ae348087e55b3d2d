"""Random files for property tests, and the check that only an edit's own bytes changed.

`RHO_HYPOTHESIS_PROFILE=thorough` runs 2,000 new examples of each property instead of the same 40;
give pytest `--hypothesis-seed=N` to repeat such a run.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

EXAMPLES = 2_000 if os.environ.get("RHO_HYPOTHESIS_PROFILE") == "thorough" else 40

property_settings = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))

MARKS = {
    "utf-8": (b"", "utf-8"),
    "utf-8-bom": (codecs.BOM_UTF8, "utf-8"),
    "utf-16-le": (codecs.BOM_UTF16_LE, "utf-16-le"),
    "utf-16-be": (codecs.BOM_UTF16_BE, "utf-16-be"),
}
ENDINGS = ("\n", "\r\n", "\r")

#: A line without its ending: tabs, blanks at both ends, letters beyond the BMP, odd separators.
LINE = st.text(alphabet="ab \té\u2028\x0b\x0c\x85😀\ufeff+-*@[", max_size=6)


@dataclass(frozen=True, slots=True)
class SampleText:
    """A text file: its text, and how it lies on disk."""

    text: str
    mark: bytes
    codec: str

    @property
    def data(self) -> bytes:
        return self.mark + self.text.encode(self.codec)

    @property
    def view(self) -> str:
        """The text as views show it, the mark in its first line."""
        return "\ufeff" + self.text if self.mark else self.text

    def decode(self, data: bytes) -> str:
        """The text of an edited file; fails if the mark or the encoding did not survive."""
        assert data.startswith(self.mark)
        text = data[len(self.mark) :].decode(self.codec)
        # what looks like a second mark is text of the file's own
        return text


@st.composite
def sample_texts(draw: st.DrawFn, *, endings: Sequence[str] = ENDINGS) -> SampleText:
    """Any text file that can be edited: uniform or mixed endings, with or without a last one."""
    allowed = draw(st.sampled_from([*([one] for one in endings), list(endings)]))
    rows = draw(st.lists(st.tuples(LINE, st.sampled_from(allowed)), max_size=10))
    text = "".join(line + end for line, end in rows) + draw(st.sampled_from(["", "tail"]) | LINE)
    mark, codec = MARKS[draw(st.sampled_from(sorted(MARKS)))]
    if not mark and text.startswith("\ufeff"):
        text = text.lstrip("\ufeff")  # it would be a mark
    return SampleText(text, mark, codec)


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """Files that are no text Rho can write back: Latin-1, NULs, a lone surrogate, half a unit."""
    text = draw(sample_texts()).text
    return draw(
        st.sampled_from(
            [
                text.encode("utf-8") + "naïve".encode("latin-1") + b"\n",
                text.encode("utf-8") + b"\0" + text.encode("utf-8"),
                codecs.BOM_UTF16_LE + text.encode("utf-16-le") + b"\x00\xd8a\x00",
                codecs.BOM_UTF16_BE + text.encode("utf-16-be") + b"\x00",
                codecs.BOM_UTF32_LE + text.encode("utf-32-le"),
            ]
        )
    )


def view_segments(text: str) -> list[str]:
    """The lines of a text with their endings, as views count them."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def any_segments(text: str) -> list[str]:
    """The lines of a text with their endings, a lone CR being one."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


@dataclass(frozen=True, slots=True)
class Kept:
    """A line that must come out as it went in, ending included."""

    segment: str


@dataclass(frozen=True, slots=True)
class New:
    """A line that an edit put there; its ending is the file's choice."""

    text: str


def assert_pieces(result: str, pieces: Sequence[Kept | New]) -> None:
    """The result is exactly these lines in order.

    A kept last line may gain an ending if something follows it now, and only then.
    """
    at = 0
    for index, piece in enumerate(pieces):
        is_last = index == len(pieces) - 1
        body = piece.segment if isinstance(piece, Kept) else piece.text
        assert result.startswith(body, at), (result, at, piece)
        at += len(body)
        if isinstance(piece, Kept) and body.endswith(ENDINGS):
            continue
        if isinstance(piece, Kept) and is_last:
            continue
        ending = re.compile(r"\r\n|\n|\r").match(result, at)
        if ending is None:
            assert is_last, (result, at, piece)
        else:
            at = ending.end()
    assert at == len(result), (result, at)
