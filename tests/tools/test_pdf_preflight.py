"""What is refused of a PDF before a library parses it (7.7)."""

from __future__ import annotations

import base64
import time
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.tools.documents import pdf_preflight
from rho_core.tools.documents.archive import DamagedDocument
from rho_core.tools.documents.pdf_preflight import check_pdf
from rho_core.tools.documents.pdf_syntax import MAX_MARKS, MarkReader
from tests.tools.document_samples import pdf

FIXTURES = Path(__file__).with_name("fixtures") / "documents"
FLATE = "/FlateDecode"


def objects(*bodies: bytes) -> bytes:
    """A file of numbered objects; nothing here looks at a table of them."""
    numbered = (b"%d 0 obj\n%s\nendobj\n" % (n, body) for n, body in enumerate(bodies, 1))
    return (
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"
        + b"".join(numbered)
        + b"trailer << /Root 1 0 R >>\nstartxref\n"
    )


def stream(data: bytes, entries: str = "", *, length: str | None = None, end: str = "\n") -> bytes:
    """A stream object; `entries` of its dictionary, its `/Length` if not the true one."""
    said = str(len(data)) if length is None else length
    written = f"/Length {said}" if said else ""
    head = f"<< {written} {entries} >>\nstream\n".encode()
    return head + data + f"{end}endstream".encode()


def reason(data: bytes) -> str | None:
    """Why a file is refused, None if it is not."""
    try:
        check_pdf(data)
    except DamagedDocument as error:
        return str(error)
    return None


@pytest.mark.clause("T7.7")
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b"<</A ", b">>")])
def test_objects_may_nest_a_hundred_levels(opening: bytes, closing: bytes) -> None:
    def nested(depth: int) -> bytes:
        return opening * depth + b" 1 " + closing * depth

    assert reason(objects(nested(100), nested(100))) is None
    assert reason(objects(nested(101))) == "nests more than 100 levels deep"
    assert reason(objects(b"<< /A [ " + nested(99) + b" ] >>")) == "nests more than 100 levels deep"
    # an object without an end does not count for the next one
    assert reason(objects(*[b"1\nendobj 9 0 obj [[[" for _ in range(90)])) is None
    assert "nests" in str(reason(b"%PDF-1.7\ntrailer << /X " + nested(100) + b">>\nstartxref"))


@pytest.mark.clause("T7.7")
def test_brackets_that_are_no_syntax_do_not_count() -> None:
    many = b"[" * 500
    for body in (
        b"% " + many + b"\r[1]",
        b"(" + many + b" \\) (nested) " + many + b")",
        b"<</A(\\\\)/B[1]>>",
        stream(many),
        stream(many + b"\nendstream endobj " + many),
        stream(b"<<" * 500, length=""),
        b"<" + b"41 " * 500 + b">",
    ):
        assert reason(objects(body, b"[1]")) is None, body
    between = objects(b"[1]") + many + b"\n% 7 0 obj " + many + b"\n"
    assert reason(between) is None
    assert reason(between + b"7 0 obj " + many) is not None


@pytest.mark.clause("T7.7")
def test_objects_inside_a_stream_nest_no_deeper() -> None:
    for depth, expected in ((100, None), (101, "nests more than 100 levels deep")):
        packed = zlib.compress(b"5 0 " + b"[" * depth + b"]" * depth)
        inside = stream(packed, f"/Type /ObjStm /N 1 /First 4 /Filter {FLATE}")
        assert reason(objects(inside)) == expected
        page = stream(packed, f"/Filter {FLATE}")
        assert reason(objects(page)) is None  # no objects: the text of a page


@pytest.mark.clause("T7.7")
def test_what_streams_inflate_to_is_counted_over_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pdf_preflight.MAX_INFLATED_BYTES == 64 * 1024 * 1024
    monkeypatch.setattr(pdf_preflight, "MAX_INFLATED_BYTES", 3_000_000)
    million = zlib.compress(bytes(1_000_000))
    flate = stream(million, f"/Filter {FLATE}")
    short = stream(million, "/Filter [ /Fl ]")
    escaped = stream(million, "/Filter /Fl#61teDecode")
    text = stream(base64.a85encode(million) + b"~>", f"/Filter [/ASCII85Decode {FLATE}]")
    hexadecimal = stream(million.hex("\n", 30).encode() + b">", f"/Filter [/AHx {FLATE}]")
    image = stream(million, f"/Subtype /Image /Filter {FLATE}")
    named = stream(million, "/Filter 5 0 R")
    listed = stream(million, "/Filter 6 0 R")
    ours = (b"1", b"2", b"3", b"4", b"/FlateDecode", b"[ /FlateDecode ]")
    for one in (flate, short, escaped, text, hexadecimal, named, listed):
        assert reason(objects(*ours, one, flate, flate, image)) is None
        assert reason(objects(*ours, one, flate, flate, image, one)) == (
            "expands to more than 3000000 bytes"
        )
    assert reason(objects(stream(b"no Flate data", f"/Filter {FLATE}"))) is None
    cut = stream(zlib.compress(bytes(3_000_000))[:-900], f"/Filter {FLATE}")
    assert reason(objects(cut, flate, flate)) is not None


@pytest.mark.clause("T7.7")
def test_a_stream_is_as_long_as_it_says() -> None:
    data = b"payload with endstream in it"
    for end in ("", "\n", "\r", "\r\n", " \n\n", "\n" * 60):
        assert reason(objects(stream(data, end=end))) is None
    assert reason(objects(stream(data, length="2 0 R"), b"28")) is None
    assert reason(objects(stream(data, length="2 0 R"), b"9", b"1\nendobj\n2 0 obj 28")) is None
    # some programs count one or two bytes too many
    assert reason(objects(stream(data, length="29", end=""))) is None
    assert reason(objects(stream(data, length="30", end=""))) is None
    wrong = "is damaged: a stream is not as long as it says"
    for length in ("0", "27", "31", "999999", "9999999999", "2 0 R"):
        assert reason(objects(stream(data, length=length, end=""), b"7")) == wrong, length
    # no length, or none that makes sense: up to the next `endstream`
    for length in ("", "null", "-5", "1.5", "77 0 R", "9" * 5_000, "(28)", "[28]"):
        assert reason(objects(stream(b"short", length=length), b"[1]")) is None, length
    assert reason(b"%PDF-1.7\n1 0 obj <<>> stream\nno end") == "is damaged: a stream has no end"


@pytest.mark.clause("T7.7")
@pytest.mark.parametrize("first", ["FlateDecode", "LZWDecode", "ASCII85Decode", "Fl", "L#5aW"])
def test_streams_that_are_packed_several_times_over_are_refused(first: str) -> None:
    several = "packs a stream several times over"
    for second in ("FlateDecode", "LZWDecode", "DCTDecode", "RunLengthDecode", "Unknown"):
        for names in (f"/{first} /{second}", f"/{second} /{first}", f"/{second} /X /{first}"):
            # this one chain is measured
            expected = None if names == "/ASCII85Decode /FlateDecode" else several
            assert reason(objects(stream(b"x", f"/Filter [{names}]"))) == expected, names
    assert reason(objects(stream(b"x", f"/Filter /{first}"))) is None
    assert reason(objects(stream(b"x", "/Filter [/RunLengthDecode /DCTDecode]"))) is None
    image = stream(b"x", f"/Filter [/{first} /DCTDecode] /Subtype/Image")
    assert reason(objects(image)) is None


@pytest.mark.clause("T7.7")
@pytest.mark.parametrize(
    "value", ["5", "(FlateDecode)", "<</A/B>>", "[/FlateDecode 1]", "[null]", "[[/Fl]]", "9 0 R"]
)
def test_a_filter_that_is_none_is_refused(value: str) -> None:
    expected = "is damaged: it does not say how a stream is packed"
    assert reason(objects(stream(b"x", f"/Filter {value}"))) == expected


@pytest.mark.clause("T7.7")
def test_entries_that_matter_are_there_once() -> None:
    for entries in ("/Filter /Fl /Filter /LZW", "/Length 1", "/Subtype/Image /Subtype/Form"):
        twice = "is damaged: a dictionary has an entry twice"
        assert reason(objects(stream(b"x", entries))) == twice
    inner = "/Filter /LZW /DecodeParms << /Filter /X /Length 9 >> /K [ /Filter ]"
    assert reason(objects(stream(b"x", inner))) is None
    assert reason(objects(b"<< /A << " + stream(b"x"))) is not None
    assert reason(objects(b"(no end")) == "is damaged: a string has no end"


PIECES = [
    b"1 0 obj", b"endobj", b"stream\n", b"endstream", b"<<", b">>", b"[", b"]", b"(", b")", b"<",
    b">", b"%", b"\n", b" ", b"\\", b"/Length 3", b"/Length 2 0 R", b"2 0 obj 3 endobj", b"/Filter",
    b"/FlateDecode", b"/Fl", b"/A85", b"/Type/ObjStm", b"trailer", b"startxref", b"R", b"12",
    b"/Subtype/Image", zlib.compress(b"[[<<(" * 9), b"\0", b"\xff", b"{}", b"/#41", b"#",
]  # fmt: skip


@settings(max_examples=100)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=5)), max_size=60))
@pytest.mark.clause("T7.7")
def test_hostile_bytes_are_refused_or_passed(pieces: list[bytes]) -> None:
    reason(b"%PDF-1.7\n" + b"".join(pieces))
    reason(b"%PDF-1.7\n1 0 obj<<" + b" ".join(pieces) + b">>stream\nabc\nendstream")


@settings(max_examples=60)
@given(st.data())
@pytest.mark.clause("T7.7")
def test_real_files_with_changes_are_refused_or_passed(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(FIXTURES.glob("*.pdf"))))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(content)))
        content[at : at + data.draw(st.integers(0, 20))] = data.draw(
            st.one_of(st.sampled_from(PIECES), st.binary(max_size=8))
        )
    reason(bytes(content))


@settings(max_examples=40)
@given(
    st.lists(st.text("ab ()[]<>/%\\", max_size=40), min_size=1, max_size=5),
    st.binary(max_size=200),
)
@pytest.mark.clause("T7.7")
def test_whatever_a_page_says_the_file_is_not_refused(pages: list[str], raw: bytes) -> None:
    assert reason(pdf([*pages, zlib.compress(raw)])) is None
    assert reason(pdf([raw], "null")) is None
    assert reason(objects(stream(raw), b"[1]")) is None


HOSTILE = [
    b"(", b"< ", b"[]", b"<<>>", b"%\n", b"%", b"1 0 obj ", b"1", b"1 ", b" ", b"\\(", b"<41>",
    b"1 0 obj<<>>stream endstream ", b"1 0 obj<</Length 9 0 R>>stream\n", b"/A 1 ", b"/A[1 2]",
    b"9 0 obj 1 endobj ", b" stream", b"1" + b" " * 5_000,
    b"<</Length 1 0 R>>stream\n1\nendstream ",
]  # fmt: skip


@pytest.mark.clause("T7.7")
@pytest.mark.parametrize("piece", HOSTILE, ids=lambda piece: repr(piece[:20]))
def test_time_grows_with_the_size_of_the_file_only(piece: bytes) -> None:
    # what takes a tenth of a second would take minutes if it grew with the square
    many = piece * (200_000 // len(piece))
    began = time.process_time()
    reason(b"%PDF-1.7\n1 0 obj " + many)
    reason(b"%PDF-1.7\n9 0 obj 1 endobj " + many)
    reason(b"%PDF-1.7\n1 0 obj << " + many + b">>stream\nx\nendstream")
    reason(objects(stream(zlib.compress(many), f"/Type /ObjStm /Filter {FLATE}")))
    assert time.process_time() - began < 5


@pytest.mark.clause("T7.7")
def test_a_file_of_nothing_but_syntax_is_refused() -> None:
    reader = MarkReader(1_000)
    assert len(list(reader.marks(b"[ ] (string) " * 300, 0))) == 600
    with pytest.raises(DamagedDocument, match="holds more than 1000 arrays"):
        list(reader.marks(b"<41>" * 200, 0))
    assert MAX_MARKS == 5_000_000
    long = stream(b"x", "/A" + " 1" * 600_000)
    assert "dictionary over 1048576 bytes" in str(reason(objects(long)))
