"""The process that extracts the text of one document, so that a hostile one harms nobody.

Executed as a script by an isolated interpreter, never imported. On standard input come a line with
the interpreter's search path as JSON and then the document; on standard output goes one JSON
object: `{"text", "is_truncated", "warnings"}` or `{"error"}`. The argument names the reader.

Time, memory and crashes of the libraries are this process' own: it has limits, no credentials in
its environment, and Rho kills it when it takes too long.
"""

from __future__ import annotations

import contextlib
import json
import sys

MEMORY_BYTES = 1536 * 1024 * 1024
CPU_SECONDS = 30


def _limit() -> None:
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    limits = ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, CPU_SECONDS))
    for kind, limit in (*limits, (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):  # macOS refuses some
            resource.setrlimit(kind, (limit, limit))


def _extract(reader: str, data: bytes) -> dict[str, object]:
    from rho_core.tools.documents.archive import DamagedDocument
    from rho_core.tools.documents.readers import READERS
    from rho_core.tools.documents.text_budget import DocumentText, TextFull

    target = DocumentText()
    try:
        with contextlib.suppress(TextFull):
            READERS[reader](data, target)
    except DamagedDocument as error:
        return {"error": str(error)}
    except MemoryError:
        return {"error": "needs too much memory to be read"}
    except RecursionError:
        return {"error": "is nested too deeply"}
    except Exception as error:  # noqa: BLE001 - libraries fail in many ways on damaged files
        return {"error": f"cannot be read: {type(error).__name__}"}
    return {
        "text": target.text(),
        "is_truncated": target.is_truncated,
        "warnings": target.warnings,
    }


if __name__ == "__main__":
    _limit()
    sys.path[:] = json.loads(sys.stdin.buffer.readline())
    result = _extract(sys.argv[1], sys.stdin.buffer.read())
    sys.stdout.write(json.dumps(result))
