"""Extracting a document's text in a process of its own, within time and size limits (7.1, 7.5)."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rho_core.errors import ToolError
from rho_core.tools.documents.formats import EXTRA, DocumentFormat
from rho_core.tools.documents.text_budget import MAX_TEXT_CHARACTERS
from rho_core.tools.files.display import visible_name

EXTRACTION_SECONDS = 30.0
_POLL_SECONDS = 0.1
_MAX_REASON_CHARACTERS = 300
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(frozen=True, slots=True)
class ExtractedDocument:
    """The text of a document, cut at `MAX_TEXT_CHARACTERS` if need be, and what to know of it."""

    text: str
    is_truncated: bool
    warnings: tuple[str, ...]

    @property
    def notices(self) -> list[str]:
        """What belongs below the text, a line each."""
        notices = []
        if self.is_truncated:
            notices.append(
                f"[the document goes on: only its first {MAX_TEXT_CHARACTERS} characters were read]"
            )
        return [*notices, *(f"[document warning: {warning}]" for warning in self.warnings)]


def extract_document(
    data: bytes,
    document: DocumentFormat,
    shown: str,
    *,
    dropped: threading.Event | None = None,
    seconds: float = EXTRACTION_SECONDS,
) -> ExtractedDocument:
    """Blocking. `shown` is the document's name in errors; `dropped` ends the work early.

    Raises `ToolError` for documents that cannot be read, and when a package is missing.
    """
    if document.missing_package is not None:
        raise ToolError.execution(
            f"could not read {shown}: {document.name} files need the optional package "
            f"{document.missing_package}; it comes with: pip install '{EXTRA}'"
        )
    answer = _run(data, document.reader, shown, dropped or threading.Event(), seconds)
    try:
        result = json.loads(answer)
        if "error" in result:
            # libraries quote the document in their reasons
            reason = visible_name(str(result["error"])[:_MAX_REASON_CHARACTERS])
            raise ToolError.execution(f"could not read {shown}: it {reason}")
        text, warnings = str(result["text"]), [str(warning) for warning in result["warnings"]]
        is_truncated = bool(result["is_truncated"])
    except (ValueError, KeyError, TypeError):
        raise ToolError.execution(
            f"could not read {shown}: the {document.name} reader failed on it"
        ) from None
    if not text and not warnings:
        warnings.append("the document holds no text")
    return ExtractedDocument(text, is_truncated, tuple(warnings))


def _run(data: bytes, reader: str, shown: str, dropped: threading.Event, seconds: float) -> bytes:
    path = json.dumps([entry for entry in sys.path if os.path.isabs(entry)])  # noqa: PTH117
    worker = Path(__file__).with_name("worker_main.py")
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", str(worker), reader],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.path.abspath(os.sep),  # noqa: PTH100
            env=environment,
        )
    except OSError as error:
        raise ToolError.execution(f"could not read {shown}: no reader can start: {error}") from None
    deadline = time.monotonic() + seconds
    # `communicate` loses input that did not fit the pipe when it is called again after a timeout
    stdin, process.stdin = process.stdin, None
    feeder = threading.Thread(target=_feed, args=(stdin, path.encode() + b"\n", data), daemon=True)
    feeder.start()
    with process:
        try:
            while True:
                try:
                    return process.communicate(timeout=_POLL_SECONDS)[0]
                except subprocess.TimeoutExpired:
                    pass
                if dropped.is_set():
                    raise ToolError.cancelled()
                if time.monotonic() >= deadline:
                    raise ToolError.execution(
                        f"could not read {shown}: it took longer than {seconds:g} seconds"
                    )
        finally:
            process.kill()
            feeder.join()


def _feed(stdin: IO[bytes] | None, *parts: bytes) -> None:
    # the worker may give up before it has read everything
    with contextlib.suppress(OSError):
        if stdin is not None:
            with stdin:
                for part in parts:
                    stdin.write(part)
