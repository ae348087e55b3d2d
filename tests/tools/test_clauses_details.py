"""Single facts of clauses that the tests of a whole behaviour leave open."""

from __future__ import annotations

import asyncio
import io
import json
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from rho_core.authority.capabilities import ProcessEnvironment, ShellInvocation
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tools.documents import archive, extraction, office, sheets, text_budget
from rho_core.tools.files import locking, reading, replace
from rho_core.tools.process import manager as process_manager
from rho_core.tools.process import notice, output
from rho_core.tools.process.managed import ProcessState, ProcessStatus
from rho_core.tools.process.notice import progress_text
from rho_core.tools.process.output import ProcessOutput
from rho_core.tools.process.tool import ProcessTool
from rho_core.tools.questionnaire_arguments import parse_questionnaire
from rho_core.tools.search import grep, walk
from rho_core.tools.search.glob import GlobTool
from rho_core.tools.search.grep import GrepTool
from rho_core.tools.shell import command, run
from rho_core.tools.shell.processes import ShellSupervisor
from tests.tools.document_samples import docx, paragraph, pdf
from tests.tools.file_harness import FileSession
from tests.tools.tool_calls import ToolCalls

GREEK = "alpha\nbeta\ngamma\n"


@pytest.fixture
def session(tmp_path: Path) -> FileSession:
    return FileSession(tmp_path, edit_format="hashline")


@pytest.fixture
async def process(tmp_path: Path) -> AsyncIterator[ToolCalls]:
    supervisor = ShellSupervisor()
    owner = process_manager.ProcessManager(supervisor)
    yield ToolCalls(ProcessTool(owner), tmp_path)
    await owner.aclose()
    await supervisor.aclose()


@pytest.mark.clause("T2.15")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write", {"path": "f", "content": "x"}),
        ("edit", {"input": "[f#D8BC]\nCUT 2"}),
    ],
)
async def test_a_mutation_asks_for_time_to_complete(
    session: FileSession, name: str, arguments: dict[str, str]
) -> None:
    session.put("f", GREEK)
    assert (await session.prepare(name, **arguments)).cleanup_timeout == 5
    assert (await session.prepare("read_file", path="f")).cleanup_timeout is None


@pytest.mark.clause("T5.4")
async def test_a_window_of_an_image_is_a_window_of_text(session: FileSession) -> None:
    session.put("a.gif", b"GIF89a\x02\0\x03\0\0\0\0,\0;")
    assert (await session.run("read_file", path="a.gif")).images
    error = await session.fail("read_file", path="a.gif", offset=1)
    assert "is binary" in error.message


@pytest.mark.clause("T7.2")
async def test_a_librarys_reason_is_one_short_harmless_line(
    session: FileSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = json.dumps({"error": "cannot be read: \x1b[2J\n[forged]" + "x" * 5_000})
    monkeypatch.setattr(extraction, "_run", lambda *_arguments: answer.encode())
    session.put("a.docx", docx(paragraph("text")))
    message = (await session.fail("read_file", path="a.docx")).message
    assert message.startswith('could not read a.docx: it "cannot be read: ')
    assert message.isprintable()
    assert len(message) < 400


@pytest.mark.clause("T7.6")
@pytest.mark.parametrize("password", ["", "secret"])
async def test_an_encrypted_pdf_is_tried_without_a_password(
    session: FileSession, password: str
) -> None:
    import pypdf

    writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf(["under lock"])))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    data = io.BytesIO()
    writer.write(data)
    session.put("a.pdf", data.getvalue())
    if password:
        error = await session.fail("read_file", path="a.pdf")
        assert "it is encrypted with a password" in error.message
    else:
        assert "under lock" in (await session.run("read_file", path="a.pdf")).content


@pytest.mark.clause("T7.8")
async def test_a_document_of_very_many_parts_says_what_was_read(session: FileSession) -> None:
    parts = {f"media/{n}": "" for n in range(1_000)}
    session.put("a.docx", docx(paragraph("text"), **parts))
    text = (await session.run("read_file", path="a.docx")).content
    assert text.startswith("text\n\n[document warning: the document has more than 1000 parts")


@pytest.mark.clause("T10.19")
async def test_a_name_that_means_another_file_at_the_last_moment_is_refused(
    session: FileSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = session.put("f", GREEK)
    plan = await session.prepare("edit", input="[f#D8BC]\nCUT 2")

    def swapped(descriptor: int, target: Path) -> bool:
        session.put("other", "somebody's\n").replace(path)
        return locking.is_same_file(descriptor, target)

    monkeypatch.setattr(replace, "is_same_file", swapped)
    with pytest.raises(ToolError, match="path changed after validation") as caught:
        await session.execute(plan)
    assert "Live snapshot" in caught.value.message
    assert "1:somebody's" in caught.value.message
    assert path.read_text() == "somebody's\n"


@pytest.mark.clause("T16.2")
def test_without_bash_the_command_is_for_sh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def program() -> str:
        execution = run.shell_execution(
            "true", cwd=tmp_path, environment=ProcessEnvironment(), max_output_bytes=1_000
        )
        assert isinstance(execution.invocation, ShellInvocation)
        return execution.invocation.executable

    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == "sh"
    bash = tmp_path / "bash"
    bash.write_text("#!/bin/sh\n")
    bash.chmod(0o755)
    assert program() == "bash"


@pytest.mark.clause("T17.4")
async def test_a_process_has_a_random_id_and_a_group_of_its_own(process: ToolCalls) -> None:
    text = (await process.run(action="start", command="echo $$; exec sleep 30")).content
    id = text.split("\n")[0].removeprefix("process_id: ")
    assert uuid.UUID(id).version == 4
    polled = (await process.run(action="poll", process_id=id, wait_seconds=5)).content
    leader = psutil.Process(int(polled.split("stdout:\n")[1]))
    assert os.getpgid(leader.pid) == leader.pid
    await process.run(action="stop", process_id=id)
    await asyncio.to_thread(leader.wait, 5)


@pytest.mark.clause("T17.15")
def test_progress_is_one_line_with_state_id_and_time() -> None:
    running = ProcessStatus(ProcessState.RUNNING, 1.25)
    assert progress_text("id", running) == "running - id - 1.2s"
    failed = ProcessStatus(ProcessState.EXITED, 2.0, 3)
    assert progress_text("id", failed) == "exited - id - 2.0s, exit code 3"


@pytest.mark.clause("T19.8")
def test_the_reason_of_a_form_is_shown_with_its_first_question() -> None:
    sure = {"question": "Sure?", "type": "confirm"}
    request = parse_questionnaire({"reason": "why", "questions": [sure, sure]})
    assert [question.help for question in request.questions] == ["why", None]
    own = parse_questionnaire({"reason": "why", "questions": [{**sure, "help": "own"}]})
    assert own.questions[0].help == "own"


@pytest.mark.clause("T30.9")
def test_a_mebibyte_of_a_process_is_kept() -> None:
    kept = ProcessOutput()
    for _ in range(512):
        kept.feed(0, b"x" * 4_096)
    window = kept.window(0, 10**9)
    assert len(window.stdout) == 1024 * 1024
    assert window.first == 256


NUMBERS: list[tuple[str, Any, float]] = [
    ("largest file", reading.MAX_FILE_BYTES, 25 * 1024 * 1024),
    ("text of a document", text_budget.MAX_TEXT_CHARACTERS, 200_000),
    ("seconds of an extraction", extraction.EXTRACTION_SECONDS, 30),
    ("warnings", text_budget.MAX_WARNINGS, 20),
    ("a warning", text_budget.MAX_WARNING_CHARACTERS, 500),
    ("XML of a document", office.MAX_XML_BYTES, 20 * 1024 * 1024),
    ("entries of an archive", archive.MAX_ENTRIES, 10_000),
    ("inflated bytes", archive.MAX_INFLATED_BYTES, 100 * 1024 * 1024),
    ("rows of a sheet", sheets.MAX_ROWS, 200),
    ("columns of a sheet", sheets.MAX_COLUMNS, 40),
    ("wait for a lock", locking.LOCK_TIMEOUT_MS, 1_000),
    ("seconds of a walk", walk.MAX_SECONDS, 15),
    ("entries of a walk", walk.MAX_ENTRIES, 200_000),
    ("a searched file", grep.MAX_FILE_BYTES, 5 * 1024 * 1024),
    ("drain after the end", command.DRAIN_SECONDS, 0.25),
    ("between updates", run.LIVE_INTERVAL_SECONDS, 0.05),
    ("seconds of grace", command.GENTLE_SECONDS, 2),
    ("a piece of output", output.PIECE_BYTES, 8 * 1024),
    ("pieces of output", output.RETAINED_PIECES, 8_192),
    ("live processes", process_manager.MAX_LIVE, 16),
    ("records", process_manager.MAX_RECORDS, 64),
    ("kept for", process_manager.KEEP_SECONDS, 30 * 60),
    ("a notice", notice.MAX_NOTICE_BYTES, 16 * 1024),
    ("an excerpt", notice.MAX_EXCERPT_BYTES, 4 * 1024),
]


@pytest.mark.clause("T5.3", "T7.1", "T7.8", "T7.9", "T10.18", "T13.6", "T15.4", "T16.11", "T16.14")
@pytest.mark.clause("T17.8", "T17.9", "T17.10", "T17.11", "T17.14")
@pytest.mark.parametrize(("what", "actual", "promised"), NUMBERS)
def test_the_bounds_are_those_of_the_page(what: str, actual: float, promised: float) -> None:
    assert actual == promised, what


@pytest.mark.clause("T2.8")
async def test_searching_what_is_not_there_is_an_execution_error(session: FileSession) -> None:
    for tool in (GlobTool(), GrepTool()):
        error = await ToolCalls(tool, session.root).fail(pattern="x", path="nowhere")
        assert error.tool_kind is ToolErrorKind.EXECUTION
