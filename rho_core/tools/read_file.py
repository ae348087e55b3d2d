"""The `read_file` tool: numbered text, images for the model, documents (sections 5, 6, 7)."""

from __future__ import annotations

import asyncio
import os
import threading
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityKind,
    CapabilityRequest,
    ReadPath,
)
from rho_core.errors import ToolError
from rho_core.history.messages import Image
from rho_core.text import truncate_utf8
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    PreparedToolInvocation,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.resources import ToolResourceAccess, WorkspacePath
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput
from rho_core.tools.documents.formats import SNIFF_BYTES as DOCUMENT_SNIFF_BYTES
from rho_core.tools.documents.formats import DocumentFormat, document_format
from rho_core.tools.files.display import display_path, visible_name
from rho_core.tools.files.images import SNIFF_BYTES, image_facts, sniff_image
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.files.numbered import content_lines, window_view
from rho_core.tools.files.reading import open_regular, os_error, read_regular
from rho_core.tools.files.resolve import require_workspace, revalidate
from rho_core.tools.files.targets import existing_target
from rho_core.tools.files.text import Encoding, NotText, TextFile, content_hash
from rho_core.tools.files.view_header import HeaderStyle, plain_header
from rho_core.tools.structured import StructuredTool

if TYPE_CHECKING:
    from rho_core.tools.file_arguments import ReadFileArguments

MAX_IMAGE_BYTES = 3_932_160  # 5 MiB as base64, the tightest limit among providers
MAX_IMAGE_SIDE = 8_000


_DESCRIPTION = (
    "Read a text file (UTF-8, or UTF-16 with a byte order mark) as numbered rows `line:text`, look "
    "at an image (PNG, JPEG, GIF, WebP), or read the text of a document (PDF, docx, pptx, odt, "
    "odp, xlsx, xls, ods). The row numbers are not part of the file. Use offset and limit for a "
    "part of a long file; a result that reaches the output limit says where to go on, and very "
    "long lines are cut with a mark."
)


class ReadFileTool(StructuredTool["ReadFileArguments"]):
    """Reads one file and remembers its content hash in the session's ledger.

    `header` introduces the numbered rows: by default the path, for the `edit` tool a tag too.
    """

    name = "read_file"
    description = _DESCRIPTION
    capabilities = (CapabilityKind.READ,)

    def __init__(
        self,
        ledger: FileLedger,
        *,
        max_output_bytes: int = 64_000,
        header: HeaderStyle = plain_header,
    ) -> None:
        self._ledger = ledger
        self._header = header
        self._max_output_bytes = max(1, max_output_bytes)

    @classmethod
    def arguments_model(cls) -> type[ReadFileArguments]:
        """The keys of `read_file`."""
        from rho_core.tools.file_arguments import ReadFileArguments

        return ReadFileArguments

    async def prepare(
        self, invocation: ToolInvocation, context: ToolPreparationContext
    ) -> PreparedToolInvocation:
        """Resolve the file; nothing is opened before authority is granted (5.2)."""
        arguments = self.parse(invocation, context)
        workspace = require_workspace(context)
        target = await existing_target(
            workspace, arguments.path, tool="read_file", action="could not read"
        )
        if isinstance(target, PreparedToolInvocation):
            return target
        shown = display_path(target.path, workspace.root)

        async def execute(tool_context: AuthorizedToolContext) -> ToolOutput:
            dropped = threading.Event()
            forget = tool_context.cancellation.on_cancel(dropped.set)

            def run() -> ToolOutput:
                revalidate(workspace, target)
                return self._read(target.path, shown, arguments, dropped)

            try:
                return await asyncio.to_thread(run)
            finally:
                dropped.set()  # a thread cannot be cancelled: what it waits for looks at this
                forget()

        return PreparedToolInvocation.resource_aware(
            [ToolResourceAccess.shared(WorkspacePath(target.path))],
            [CapabilityRequest(ReadPath(target.path, target.scope), BuiltInTool("read_file"))],
            _metadata(visible_name(arguments.path), arguments),
            execute,
        )

    def _read(
        self, path: Path, shown: str, arguments: ReadFileArguments, dropped: threading.Event
    ) -> ToolOutput:
        if not arguments.is_ranged:
            media_type, size = _sniff(path, shown)
            if media_type is not None and size > MAX_IMAGE_BYTES:
                return _large_image(media_type, size, _metadata(shown, arguments))
        data = read_regular(path, shown)
        if not arguments.is_ranged and sniff_image(data[:SNIFF_BYTES]) is not None:
            output = _image_output(data, _metadata(shown, arguments))
            if output is not None:
                self._ledger.record_read(path, content_hash(data))
                return output
        document = document_format(data[:DOCUMENT_SNIFF_BYTES], path.name)
        if document is not None:
            output = self._document_output(data, document, shown, arguments, dropped)
            self._ledger.record_read(path, content_hash(data))
            return output
        try:
            text = TextFile.decode(data)
        except NotText as error:
            raise ToolError.execution(f"could not read {shown}: it {error.reason}") from None
        output = self._text_output(text, shown, arguments)
        self._ledger.record_read(path, content_hash(data))
        return output

    def _document_output(
        self,
        data: bytes,
        document: DocumentFormat,
        shown: str,
        arguments: ReadFileArguments,
        dropped: threading.Event,
    ) -> ToolOutput:
        from rho_core.tools.documents.extraction import extract_document
        from rho_core.tools.documents.view import document_output

        return document_output(
            extract_document(data, document, shown, dropped=dropped),
            shown,
            _metadata(shown, arguments),
            offset=arguments.offset,
            limit=arguments.limit,
            max_bytes=self._max_output_bytes,
        )

    def _text_output(self, file: TextFile, shown: str, arguments: ReadFileArguments) -> ToolOutput:
        view = window_view(
            self._header(shown, file.view_text),
            content_lines(file.view_text),
            offset=arguments.offset,
            limit=arguments.limit,
            max_bytes=self._max_output_bytes,
        )
        text = view.text
        if file.encoding in (Encoding.UTF_16_LE, Encoding.UTF_16_BE):
            text += f"\n\n[the file is {file.encoding} text with a byte order mark]"
        metadata = _metadata(shown, arguments).with_details(
            lines=view.end_line - view.start_line + 1 if view.total_lines else 0,
            start_line=view.start_line,
            end_line=view.end_line,
            total_lines=view.total_lines,
            encoding=file.encoding.value,
        )
        return ToolOutput.text(truncate_utf8(text, self._max_output_bytes), metadata)


def _metadata(shown: str, arguments: ReadFileArguments) -> ToolMetadata:
    if arguments.is_ranged:
        start = arguments.offset or 1
        end = "end" if arguments.limit is None else str(start + arguments.limit - 1)
        shown = f"{shown}:{start}-{end}"
    return ToolMetadata(operation=ToolOperation.READ, affected_paths=(shown,))


def _sniff(path: Path, shown: str) -> tuple[str | None, int]:
    """The media type that the file's first bytes announce, and its size."""
    with open_regular(path, shown) as descriptor:
        try:
            return sniff_image(os.read(descriptor, SNIFF_BYTES)), os.fstat(descriptor).st_size
        except BlockingIOError:
            return None, 0
        except OSError as error:
            raise os_error("read", shown, error) from None


def _large_image(media_type: str, size: int, metadata: ToolMetadata) -> ToolOutput:
    notice = f"image not shown: it is over the limit of {MAX_IMAGE_BYTES} bytes"
    return _described_image(media_type, size, notice, metadata)


def _image_output(data: bytes, metadata: ToolMetadata) -> ToolOutput | None:
    """The image for the model; None when the data is text that only starts like an image (6.4)."""
    media_type = sniff_image(data[:SNIFF_BYTES]) or ""
    facts = image_facts(data)
    if facts is None:
        try:
            TextFile.decode(data)
        except NotText:
            notice = "image preview unavailable: the data is incomplete or damaged"
            return _described_image(media_type, len(data), notice, metadata)
        return None
    if max(facts.width, facts.height) > MAX_IMAGE_SIDE:
        notice = (
            f"image not shown: {facts.width}x{facts.height} pixels are over the limit of "
            f"{MAX_IMAGE_SIDE} a side"
        )
        return _described_image(media_type, len(data), notice, metadata)
    summary = f"{media_type} image ({len(data)} bytes)"
    details = metadata.with_details(bytes=len(data), width=facts.width, height=facts.height)
    image = Image(b64encode(data).decode("ascii"), media_type)
    return ToolOutput.text(summary, details).with_images([image])


def _described_image(media_type: str, size: int, notice: str, metadata: ToolMetadata) -> ToolOutput:
    """A summary without the image; the model is told why, and so are people (6.2)."""
    described = ToolMetadata(
        operation=metadata.operation,
        affected_paths=metadata.affected_paths,
        presentation_notices=(notice,),
    ).with_details(bytes=size)
    return ToolOutput.text(f"{media_type} image ({size} bytes)\n[{notice}]", described)
