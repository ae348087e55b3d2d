"""`read_file` on text, on what is no text, and on images."""

from __future__ import annotations

import asyncio
import base64
import os
import random
import struct
import zlib
from pathlib import Path

import pytest

from rho_core.authority.capabilities import GrantedRoot, ReadPath
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tooling.resources import AccessMode, WorkspacePath
from rho_core.tools.files.images import image_facts
from rho_core.tools.files.reading import MAX_FILE_BYTES
from rho_core.tools.read_file import MAX_IMAGE_BYTES
from tests.tools.file_harness import FileSession


@pytest.fixture
def session(tmp_path: Path) -> FileSession:
    return FileSession(tmp_path)


def png(width: int = 2, height: int = 3, *, pixels: bytes | None = None) -> bytes:
    """A real PNG file."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        checksum = zlib.crc32(kind + body)
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = pixels or zlib.compress((b"\0" + b"\x10\x20\x30" * width) * height)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


GIF = (
    b"GIF89a\x02\x00\x03\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x02\x00\x03\x00"
    b"\x00\x02\x02D\x01\x00;"
)
JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"
    b"\xff\xc0\x00\x0b\x08\x00\x03\x00\x02\x01\x01\x11\x00"
    b"\xff\xda\x00\x08\x01\x01\x00\x00?\x00\xd2\xcf\xff\xd9"
)
WEBP_BODY = b"WEBPVP8L\x0a\x00\x00\x00\x2f\x01\x80\x00\x00\x00\x00\x00\x00\x00"
WEBP = b"RIFF" + struct.pack("<I", len(WEBP_BODY)) + WEBP_BODY


async def test_a_text_file_is_shown_as_numbered_rows(session: FileSession) -> None:
    session.put("d/a.txt", "alpha\nbeta\ngamma\n")
    output = await session.run("read_file", path="d/a.txt")
    assert output.content == "d/a.txt\n1:alpha\n2:beta\n3:gamma"
    assert output.metadata.affected_paths == ("d/a.txt",)
    assert dict(output.metadata.details) == {
        "lines": 3,
        "start_line": 1,
        "end_line": 3,
        "total_lines": 3,
        "encoding": "UTF-8",
    }


@pytest.mark.clause("T5.2", "T3.4")
async def test_a_window_names_its_range(session: FileSession) -> None:
    session.put("a.txt", "".join(f"l{n}\n" for n in range(1, 11)))
    output = await session.run("read_file", path="a.txt", offset=4, limit=2)
    assert output.content.startswith("a.txt\n4:l4\n5:l5\n\n[lines 4-5 of 10")
    assert output.metadata.affected_paths == ("a.txt:4-5",)
    output = await session.run("read_file", path="a.txt", offset=9)
    assert output.metadata.affected_paths == ("a.txt:9-end",)
    assert output.metadata.details["lines"] == 2


@pytest.mark.clause("T5.2", "T2.11")
async def test_the_plan_shares_the_canonical_path_for_every_spelling(session: FileSession) -> None:
    session.put("real.txt", "x\n")
    (session.root / "link.txt").symlink_to("real.txt")
    for spelling in ("real.txt", "./real.txt", "link.txt", str(session.root / "real.txt")):
        plan = await session.prepare("read_file", path=spelling)
        (request,) = plan.capabilities
        assert isinstance(request.operation, ReadPath)
        assert request.operation.path == session.root / "real.txt"
        (access,) = plan.accesses
        assert (access.resource, access.mode) == (
            WorkspacePath(session.root / "real.txt"),
            AccessMode.SHARED,
        )


@pytest.mark.clause("T2.25", "T5.2")
async def test_a_granted_root_is_read_by_its_path_and_through_a_link_alike(
    session: FileSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "a.txt").write_text("x\n")
    (session.root / "link").symlink_to(other)
    spellings = (str(other / "a.txt"), f"{other}/./a.txt", "link/a.txt")
    for spelling in spellings:
        error = await session.fail("read_file", path=spelling)
        assert error.tool_kind is ToolErrorKind.POLICY_DENIED
    session.workspace = session.workspace.with_granted_root(other)
    plans = [await session.prepare("read_file", path=spelling) for spelling in spellings]
    assert len({plan.capabilities for plan in plans}) == 1
    assert len({plan.accesses for plan in plans}) == 1
    (request,) = plans[0].capabilities
    assert request.operation == ReadPath(other / "a.txt", GrantedRoot(other))
    assert (await session.execute(plans[2])).content.endswith("a.txt\n1:x")


@pytest.mark.clause("T3.5", "case:C3")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"offset": 0}, "offset must be greater than 0"),
        ({"limit": 0}, "limit must be greater than 0"),
        ({"limit": -1}, "limit must be greater than 0"),
        ({"offset": True}, "offset must be a valid integer"),
        ({"offset": 100}, "offset 100 is past the end of the file (5 line(s))"),
        ({"lines": 5}, "unknown key 'lines'"),
    ],
)
async def test_odd_windows_are_refused(
    session: FileSession, arguments: dict[str, object], said: str
) -> None:
    session.put("a.txt", "1\n2\n3\n4\n5\n")
    assert said in (await session.fail("read_file", path="a.txt", **arguments)).message


@pytest.mark.clause("case:C3", "T3.3")
async def test_an_empty_file_is_its_header(session: FileSession) -> None:
    session.put("a.txt", "")
    assert (await session.run("read_file", path="a.txt")).content == "a.txt"
    assert (await session.run("read_file", path="a.txt", offset=1)).content == "a.txt"


@pytest.mark.clause("case:C4", "T2.18")
async def test_a_minified_line_is_cut_with_a_truthful_mark(session: FileSession) -> None:
    session.put("a.min.js", "x" * 400_000 + "stats" + "y" * 400_000)
    output = await session.run("read_file", path="a.min.js")
    assert len(output.content) < 3_000
    assert "798,005 more characters" in output.content


@pytest.mark.clause("T2.18", "T2.19", "T2.20")
async def test_a_long_file_stays_within_the_budget_and_can_be_continued(tmp_path: Path) -> None:
    session = FileSession(tmp_path, max_output_bytes=5_000)
    session.put("a.txt", "".join(f"line {n}\n" for n in range(1, 2001)))
    seen: list[str] = []
    offset = 1
    while offset <= 2000:
        output = await session.run("read_file", path="a.txt", offset=offset)
        assert len(output.content.encode()) <= 5_000
        rows = output.content.split("\n\n[")[0].split("\n")[1:]
        seen += [row.split(":", 1)[1] for row in rows]
        offset += len(rows)
    assert seen == [f"line {n}" for n in range(1, 2001)]


@pytest.mark.clause("T2.18")
async def test_even_the_smallest_budget_holds(tmp_path: Path) -> None:
    session = FileSession(tmp_path, max_output_bytes=1)
    session.put("a.txt", "hello\nworld\n")
    output = await session.run("read_file", path="a.txt")
    assert len(output.content.encode()) <= 13


@pytest.mark.clause("case:C2", "T5.6")
async def test_a_directory_names_the_listing_tool(session: FileSession) -> None:
    (session.root / "src").mkdir()
    error = await session.fail("read_file", path="src")
    assert error.tool_kind is ToolErrorKind.EXECUTION
    assert "src is a directory" in error.message
    assert "list_dir" in error.message


@pytest.mark.clause("case:C1", "T5.6")
async def test_a_pipe_is_refused_at_once(session: FileSession) -> None:
    os.mkfifo(session.root / "p")
    (session.root / "to-pipe").symlink_to("p")
    for name in ("p", "to-pipe"):
        error = await asyncio.wait_for(session.fail("read_file", path=name), 5)
        assert "named pipe, not a regular file" in error.message


@pytest.mark.clause("case:C1")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty"])
async def test_devices_are_never_opened(session: FileSession, device: str) -> None:
    session.workspace = session.workspace.with_unrestricted_file_access()
    error = await asyncio.wait_for(session.fail("read_file", path=device), 5)
    assert "character device, not a regular file" in error.message


@pytest.mark.clause("case:C6", "T5.4")
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04\0\0", "binary (a ZIP archive or office document, 6 bytes)"),
        (b"\x7fELF\x02\x01\x01\0" + bytes(range(256)), "an ELF executable, 264 bytes"),
        (b"a = 1\n# na\xefve\n", "is not valid UTF-8 (byte 0xEF at offset 10, line 2)"),
    ],
)
@pytest.mark.parametrize("window", [{}, {"offset": 1}])
async def test_what_is_no_text_is_refused_with_its_kind(
    session: FileSession, data: bytes, said: str, window: dict[str, int]
) -> None:
    session.put("x.txt", data)
    error = await session.fail("read_file", path="x.txt", **window)
    assert error.message.startswith("could not read x.txt: it is ")
    assert "UTF-8" in error.message or "\0" in data.decode("latin-1")
    assert said in error.message


@pytest.mark.clause("T5.3", "T5.4")
async def test_bad_bytes_outside_of_the_window_are_refused_too(session: FileSession) -> None:
    good = b"line\n" * 100_000
    for data, offset in ((b"\xff\n" + good, 90_000), (good + b"\xff\n", 1)):
        session.put("x.txt", data)
        error = await session.fail("read_file", path="x.txt", offset=offset, limit=1)
        assert "is not valid UTF-8 (byte 0xFF" in error.message


@pytest.mark.clause("case:C6")
async def test_utf_16_is_decoded_by_its_mark_and_named(session: FileSession) -> None:
    session.put("u.txt", "a\né\n".encode("utf-16"))
    output = await session.run("read_file", path="u.txt")
    assert output.content.startswith("u.txt\n1:\ufeffa\n2:é\n\n[")
    assert "UTF-16 LE" in output.content


@pytest.mark.clause("T5.3", "T5.4")
async def test_a_file_over_the_size_limit_is_refused_with_a_way_around(
    session: FileSession,
) -> None:
    path = session.put("big.txt", "")
    with path.open("r+b") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    error = await session.fail("read_file", path="big.txt", offset=1, limit=1)
    assert "26,214,401 bytes" in error.message
    assert "grep" in error.message


@pytest.mark.clause("T2.8")
async def test_a_missing_file_gets_the_nearest_names(session: FileSession) -> None:
    session.put("src/Config.py", "")
    session.put("src/confirm.py", "")
    error = await session.fail("read_file", path="src/config.py")
    assert error.tool_kind is ToolErrorKind.EXECUTION
    assert "could not read src/config.py: it does not exist" in error.message
    assert "nearest names in src: Config.py" in error.message
    error = await session.fail("read_file", path="scr/deep/config.py")
    assert "src" in error.message


async def test_names_near_a_missing_file_need_read_authority_of_their_directory(
    session: FileSession,
) -> None:
    session.put("src/secret-plan.py", "")
    plan = await session.prepare("read_file", path="src/secret-plam.py")
    (request,) = plan.capabilities
    assert isinstance(request.operation, ReadPath)
    assert request.operation.path == session.root / "src"


async def test_a_missing_file_outside_the_primary_root_reveals_no_names(
    session: FileSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "secret.txt").write_text("x")
    session.workspace = session.workspace.with_granted_root(other)
    with pytest.raises(ToolError) as caught:
        await session.prepare("read_file", path=str(other / "secret.tx"))
    assert "secret.txt" not in caught.value.message.replace("secret.tx:", "")


@pytest.mark.clause("T2.9", "T2.10")
async def test_no_workspace_and_cancellation_are_reported_before_any_file_is_touched(
    session: FileSession,
) -> None:
    from rho_core.cancellation import CancellationToken
    from rho_core.ids import ToolCallId
    from rho_core.tooling.contract import ToolInvocation, ToolPreparationContext

    token = CancellationToken()
    token.cancel()
    for name, arguments in {
        "read_file": {"path": "a"},
        "list_dir": {"path": "a"},
        "write": {"path": "a", "content": ""},
        "str_replace": {"path": "a", "old_string": "a", "new_string": "b"},
    }.items():
        call = ToolInvocation(ToolCallId("c"), arguments)
        with pytest.raises(ToolError, match="workspace is required"):
            await session.tools[name].prepare(
                call, ToolPreparationContext(None, CancellationToken())
            )
        with pytest.raises(ToolError) as caught:
            await session.tools[name].prepare(
                call, ToolPreparationContext(session.workspace, token)
            )
        assert caught.value.tool_kind is ToolErrorKind.CANCELLED


@pytest.mark.clause("T6.1", "T2.17")
@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(), "image/png"),
        (GIF, "image/gif"),
        (GIF.replace(b"89a", b"87a", 1), "image/gif"),
        (JPEG, "image/jpeg"),
        (WEBP, "image/webp"),
    ],
)
async def test_an_image_is_given_to_the_model(
    session: FileSession, data: bytes, media_type: str
) -> None:
    session.put("picture", data)
    output = await session.run("read_file", path="picture")
    assert output.content == f"{media_type} image ({len(data)} bytes)"
    (image,) = output.images
    assert image.mime_type == media_type
    assert base64.b64decode(image.data) == data
    assert (output.metadata.details["width"], output.metadata.details["height"]) == (2, 3)


@pytest.mark.clause("T6.4")
@pytest.mark.parametrize(
    "data", [png()[:-1], png()[:-20] + b"\0" * 20, GIF[:20], JPEG[:-2], WEBP[:-1]]
)
async def test_a_damaged_image_is_described_but_never_sent(
    session: FileSession, data: bytes
) -> None:
    session.put("picture", data)
    output = await session.run("read_file", path="picture")
    assert output.images == ()
    assert output.content.startswith("image/")
    (notice,) = output.metadata.presentation_notices
    assert notice.startswith("image preview unavailable: ")


@pytest.mark.clause("T6.4")
async def test_text_that_starts_like_an_image_is_text(session: FileSession) -> None:
    session.put("notes.txt", "GIF89a is a format\n")
    output = await session.run("read_file", path="notes.txt")
    assert output.content == "notes.txt\n1:GIF89a is a format"


@pytest.mark.clause("T6.2")
async def test_an_image_over_the_limit_is_described_with_the_limit(session: FileSession) -> None:
    session.put("big.png", png(pixels=b"\0" * MAX_IMAGE_BYTES))
    output = await session.run("read_file", path="big.png")
    assert output.images == ()
    assert str(MAX_IMAGE_BYTES) in output.metadata.presentation_notices[0]
    session.put("wide.png", png(width=9_000, height=1))
    assert (await session.run("read_file", path="wide.png")).images == ()


@pytest.mark.clause("case:H19")
async def test_what_a_provider_would_refuse_is_never_given_to_it(session: FileSession) -> None:
    six_megabytes = random.Random(7).randbytes(6_000_000)
    for name, data, says in [
        ("big.png", png(pixels=six_megabytes), f"over the limit of {MAX_IMAGE_BYTES} bytes"),
        ("wide.png", png(width=9_000, height=10), "9000x10 pixels are over the limit of 8000"),
        ("half.png", png(width=90, height=90)[:-40], "incomplete or damaged"),
    ]:
        session.put(name, data)
        output = await session.run("read_file", path=name)
        assert output.images == ()
        assert says in output.content
        assert says in output.metadata.presentation_notices[0]
    # as base64, an image at the limit has the 5 MiB that providers allow
    assert len(base64.b64encode(bytes(MAX_IMAGE_BYTES))) == 5 * 1024 * 1024
    session.put("text.png", "not an image\n")
    assert (await session.run("read_file", path="text.png")).content == "text.png\n1:not an image"
    session.put("empty.png", "")
    empty = await session.run("read_file", path="empty.png")
    assert (empty.images, empty.content.splitlines()[0]) == ((), "empty.png")


def test_image_structure_is_checked_for_every_prefix() -> None:
    for data in (png(), GIF, JPEG, WEBP):
        assert image_facts(data) is not None
        assert all(image_facts(data[:cut]) is None for cut in range(len(data)))
