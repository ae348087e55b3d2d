"""Whatever the file and the edit: only the edit's own bytes change, or nothing does."""

from __future__ import annotations

import itertools
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rho_core.errors import ToolError
from rho_core.tools.edit.matching import normalize_newlines
from rho_core.tools.files.view_header import file_tag
from tests.tools.file_content import (
    LINE,
    Kept,
    New,
    SampleText,
    any_segments,
    assert_pieces,
    damaged_files,
    property_settings,
    sample_texts,
    view_segments,
)
from tests.tools.file_harness import FileSession, names

_counter = itertools.count()
ROWS = st.lists(LINE.filter(lambda row: "\ufeff" not in row), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("properties")


def session_in(folder: Path, edit_format: str) -> FileSession:
    root = folder / str(next(_counter))
    root.mkdir()
    return FileSession(root.resolve(), edit_format=edit_format)


async def change(session: FileSession, tool: str, before: bytes, **arguments: Any) -> bytes | None:
    """Run the tool on f; the new bytes, or None after a refusal that changed nothing."""
    path = session.put("f", before)
    path.chmod(0o640)
    try:
        await session.run(tool, **arguments)
    except ToolError:
        assert path.read_bytes() == before
        result = None
    else:
        result = path.read_bytes()
    assert names(session.root) == ["f"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    return result


@property_settings
@given(st.binary(max_size=60) | sample_texts().map(lambda s: s.data) | damaged_files(), st.data())
@pytest.mark.clause("T8.1", "T30.6")
async def test_write_puts_exactly_its_content_over_any_file(
    folder: Path, before: bytes, data: st.DataObject
) -> None:
    session = session_in(folder, "str_replace")
    content = data.draw(sample_texts().map(lambda s: s.text) | st.text(max_size=20))
    after = await change(session, "write", before, path="f", content=content)
    try:
        assert after == content.encode()
    except UnicodeEncodeError:  # a lone surrogate has no bytes
        assert after is None


@property_settings
@given(sample_texts(), st.data())
@pytest.mark.clause("T11.4", "T11.6")
async def test_str_replace_changes_only_the_text_that_it_names(
    folder: Path, sample: SampleText, data: st.DataObject
) -> None:
    text = sample.view
    if not text:
        return
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    if text[start - 1 : start + 1] == "\r\n" or text[end - 1 : end + 1] == "\r\n":
        return  # half a line ending cannot be named
    old, new = text[start:end], "\n".join(data.draw(ROWS))
    session = session_in(folder, "str_replace")
    after = await change(
        session, "str_replace", sample.data, path="f", old_string=old, new_string=new
    )
    normal, needle = normalize_newlines(text), normalize_newlines(old)
    if after is None:
        count = sum(normal.startswith(needle, at) for at in range(len(normal)))
        assert count > 1 or needle == new
        return
    first = len(text) - len(sample.text)  # the mark stays, named or not
    start, end = max(first, start), max(first, end)
    head = sample.mark + text[first:start].encode(sample.codec)
    tail = text[end:].encode(sample.codec)
    assert after.startswith(head)
    assert after.endswith(tail)
    middle = after[len(head) : len(after) - len(tail)].decode(sample.codec)
    assert normalize_newlines(middle) == new


def _apply_to_segments(
    segments: list[str], data: st.DataObject
) -> tuple[list[str], list[Kept | New]]:
    """A random edit document for these lines, and what the file must be afterwards."""
    operations: list[str] = []
    pieces: list[Kept | New] = []
    number = 1
    while number <= len(segments):
        kind = data.draw(st.sampled_from(["keep", "keep", "put", "cut", "before", "after"]))
        last = min(len(segments), number + data.draw(st.integers(0, 2)))
        rows = [] if kind in ("keep", "cut") else data.draw(ROWS)
        body = [f"+{row}" for row in rows]
        new: list[Kept | New] = [New(row) for row in rows]
        kept = Kept(segments[number - 1])
        match kind:
            case "keep":
                pieces.append(kept)
                last = number
            case "put":
                operations += [f"PUT {number}.={last}:", *body]
                pieces += new
            case "cut":
                operations.append(f"CUT {number}.={last}")
            case "before":
                operations += [f"PUT <{number}:", *body]
                pieces += [*new, kept]
                last = number
            case "after":
                operations += [f"PUT >{number}:", *body]
                pieces += [kept, *new]
                last = number
        number = last + 1
    if not operations:
        rows = data.draw(ROWS)
        operations += ["PUT >$:", *(f"+{row}" for row in rows)]
        pieces += [New(row) for row in rows]
    return operations, pieces


@property_settings
@given(sample_texts(), st.data())
@pytest.mark.clause("T10.13", "T10.15", "T10.16")
async def test_edit_changes_only_the_lines_that_it_names(
    folder: Path, sample: SampleText, data: st.DataObject
) -> None:
    operations, pieces = _apply_to_segments(view_segments(sample.text), data)
    tag = file_tag(sample.view)
    session = session_in(folder, "hashline")
    document = "\n".join([f"[f#{tag}]", *operations])
    after = await change(session, "edit", sample.data, input=document)
    assert after is not None
    assert_pieces(sample.decode(after), pieces)


def _patch_of(segments: list[str], data: st.DataObject) -> tuple[list[str], list[Kept | New]]:
    """A random chunk over these lines, and what the file must be afterwards."""
    start = data.draw(st.integers(0, max(0, len(segments) - 1)))
    end = data.draw(st.integers(start, len(segments)))
    chunk: list[str] = ["@@"]
    pieces: list[Kept | New] = [Kept(segment) for segment in segments[:start]]
    for segment in segments[start:end]:
        line = segment.rstrip("\r\n")
        kind = data.draw(st.sampled_from([" ", "-", "+"]))
        if kind == "+":
            row = data.draw(ROWS)[0]
            chunk.append(f"+{row}")
            pieces.append(New(row))
            kind = " "
        chunk.append(f"{kind}{line}")
        if kind == " ":
            pieces.append(Kept(segment))
    row = data.draw(ROWS)[0]
    chunk.append(f"+{row}")
    pieces.append(New(row))
    if start == end == len(segments):
        chunk.append("*** End of File")
    pieces += [Kept(segment) for segment in segments[end:]]
    if start == end:  # nothing to find: at the start, or with the mark at the end
        inserted = New(row)
        kept: list[Kept | New] = [Kept(segment) for segment in segments]
        pieces = [*kept, inserted] if start == len(segments) else [inserted, *kept]
    return chunk, pieces


@property_settings
@given(sample_texts(), st.data())
@pytest.mark.clause("T12.17", "T12.18")
async def test_apply_patch_changes_only_the_lines_that_it_names(
    folder: Path, sample: SampleText, data: st.DataObject
) -> None:
    segments = any_segments(sample.text)
    chunk, pieces = _patch_of(segments, data)
    session = session_in(folder, "apply_patch")
    patch = "\n".join(["*** Begin Patch", "*** Update File: f", *chunk, "*** End Patch"])
    after = await change(session, "apply_patch", sample.data, input=patch)
    if after is None:  # only a block that occurs more than once in a view is refused
        lines = [segment.rstrip("\r\n") for segment in [*segments, *any_segments(sample.view)[:1]]]
        repeated = len(set(lines)) < len(segments) + (1 if sample.mark else 0)
        assert repeated, (patch, sample)
        return
    assert_pieces(sample.decode(after), pieces)


@property_settings
@given(damaged_files(), st.sampled_from(["str_replace", "edit", "apply_patch"]))
@pytest.mark.clause("case:B5", "case:B6", "T12.19")
async def test_what_is_no_text_is_refused_and_left(folder: Path, before: bytes, tool: str) -> None:
    arguments = {
        "str_replace": {"path": "f", "old_string": "a", "new_string": "é"},
        "edit": {"input": "[f#0000]\nPUT >$:\n+é"},
        "apply_patch": {"input": "*** Begin Patch\n*** Update File: f\n@@\n+é\n*** End Patch"},
    }[tool]
    edit_format = "hashline" if tool == "edit" else tool
    session = session_in(folder, edit_format)
    assert await change(session, tool, before, **arguments) is None


LARGE = "".join(f"line {number} \té😀\r\n" for number in range(270_000))


@pytest.mark.parametrize("tool", ["write", "str_replace", "edit", "apply_patch"])
@pytest.mark.clause("T10.16", "T11.4", "T12.18")
async def test_a_file_of_five_mebibytes_changes_in_one_line_only(folder: Path, tool: str) -> None:
    before = LARGE.encode()
    assert len(before) > 5 * 1024 * 1024
    old, new = "line 200000 \té😀", "here 200000 \té😀"
    after = before.replace(old.encode(), new.encode())
    arguments = {
        "write": {"path": "f", "content": after.decode()},
        "str_replace": {"path": "f", "old_string": f"{old}\n", "new_string": f"{new}\n"},
        "edit": {"input": f"[f#{file_tag(LARGE)}]\nPUT 200001:\n+{new}"},
        "apply_patch": {
            "input": "*** Begin Patch\n*** Update File: f\n@@ line 199999 \té😀\n"
            f"-{old}\n+{new}\n line 200001 \té😀\n*** End Patch"
        },
    }[tool]
    session = session_in(
        folder, "hashline" if tool == "edit" else tool.replace("write", "str_replace")
    )
    assert await change(session, tool, before, **arguments) == after
