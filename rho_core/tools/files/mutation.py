"""The common life of a change to one file: propose, show, authorize, commit (2.11, 8, 11, 30.6).

The content is proposed while the call is prepared, so that its diff can be seen before anything
is approved. Reading the file then is for the host's eyes only: no content reaches the model before
the declared authority, which includes reading, was granted. What is committed is what was
proposed, if the file still has the bytes it had. If this session itself changed it meanwhile, as
with two edits in one answer, the same change is proposed again on top; anybody else's change makes
the call fail.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityRequest,
    ReadPath,
    WritePath,
)
from rho_core.authority.workspace import ResolvedWorkspacePath, Workspace
from rho_core.errors import ToolError
from rho_core.text import truncate_utf8
from rho_core.tooling.contract import AuthorizedToolContext, PreparedToolInvocation
from rho_core.tooling.resources import DirectoryMembership, ToolResourceAccess, WorkspacePath
from rho_core.tooling.values import ToolMetadata, ToolOperation, ToolOutput, ToolProgress
from rho_core.tools.files.commit import FileCommit
from rho_core.tools.files.diff import FileDiff
from rho_core.tools.files.ledger import FileLedger, stale_file
from rho_core.tools.files.numbered import (
    SNAPSHOT_HEAD,
    SNAPSHOT_TAIL,
    content_lines,
    snapshot_view,
)
from rho_core.tools.files.reading import MAX_FILE_BYTES, chunks, open_regular
from rho_core.tools.files.replace import commit_file
from rho_core.tools.files.resolve import revalidate
from rho_core.tools.files.text import content_hash
from rho_core.tools.files.view_header import HeaderStyle, plain_header

CLEANUP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """A file's content at one moment; `data` is None above the size limit."""

    digest: str
    size: int
    data: bytes | None


@dataclass(frozen=True, slots=True)
class Proposal:
    """New content of a file, and how it is told: `headline` and `notes` for the model."""

    content: bytes
    view_text: str
    diff: FileDiff
    headline: str
    notes: tuple[str, ...] = ()
    focus: tuple[int, ...] = ()

    def metadata(self, shown: str, *, created: bool) -> ToolMetadata:
        """The facts of the change for approvals and cards."""
        return ToolMetadata(
            operation=ToolOperation.WRITE, affected_paths=(shown,), diff=self.diff.text
        ).with_details(
            added=self.diff.added,
            removed=self.diff.removed,
            lines=len(content_lines(self.view_text)),
            created=created,
        )


#: Makes a proposal from the present file (None: it does not exist). Raises `ToolError`.
Propose = Callable[[FileSnapshot | None], Proposal]


@dataclass(frozen=True, slots=True)
class MutationSettings:
    """What a host chooses for the tools that change files.

    `recovery_dir` is where copies lie while a file has to be rewritten in place, such as the
    session's own folder; None means beside the file. `header` introduces views of files.
    """

    ledger: FileLedger
    max_output_bytes: int = 64_000
    recovery_dir: Path | None = None
    header: HeaderStyle = plain_header


@dataclass(frozen=True, slots=True)
class FileMutation:
    """One prepared change."""

    tool: str
    verb: str
    workspace: Workspace
    resolved: ResolvedWorkspacePath
    shown: str
    base: FileSnapshot | None
    proposal: Proposal
    propose: Propose
    settings: MutationSettings

    def plan(self) -> PreparedToolInvocation:
        """The plan with its diff; it asks to write, and to read what exists (8.2, 11.3).

        Looks for existing parents: blocking.
        """
        return PreparedToolInvocation.resource_aware(
            self._accesses(),
            self._capabilities(),
            self.proposal.metadata(self.shown, created=self.base is None),
            self._execute,
        ).complete_after_cancellation(CLEANUP_SECONDS)

    def _capabilities(self) -> list[CapabilityRequest]:
        source = BuiltInTool(self.tool)
        path, scope = self.resolved.path, self.resolved.scope
        requests = [CapabilityRequest(WritePath(path, scope), source)]
        if self.resolved.exists:
            requests.append(CapabilityRequest(ReadPath(path, scope), source))
        return requests

    def _accesses(self) -> list[ToolResourceAccess]:
        path = self.resolved.path
        accesses = [ToolResourceAccess.exclusive(WorkspacePath(path))]
        if not self.resolved.exists:  # the memberships that creating it changes (8.3)
            for parent in path.parents:
                accesses.append(ToolResourceAccess.exclusive(DirectoryMembership(parent)))
                if parent.exists():
                    break
        return accesses

    async def _execute(self, context: AuthorizedToolContext) -> ToolOutput:
        if context.cancellation.is_cancelled:
            raise ToolError.cancelled()
        about = ToolMetadata(operation=ToolOperation.WRITE, affected_paths=(self.shown,))
        await context.progress.send(ToolProgress(f"{self.verb} {self.shown}", metadata=about))
        # the thread looks at the token itself just before the change can be seen
        proposal = await asyncio.to_thread(self._commit, lambda: context.cancellation.is_cancelled)
        return self._output(proposal)

    def _commit(self, should_stop: Callable[[], bool]) -> Proposal:
        revalidate(self.workspace, self.resolved)
        path, ledger = self.resolved.path, self.settings.ledger
        proposal, expected = self.proposal, None
        if self.base is not None:
            current = take_snapshot(path, self.shown)
            expected = current.digest
            if expected != self.base.digest:
                if not ledger.is_own_write(path, expected):
                    raise stale_file(self.shown)
                proposal = self.propose(current)
            ledger.check_fresh(path, expected, self.shown)
        commit_file(
            FileCommit(
                path,
                self.shown,
                proposal.content,
                expected,
                recovery_dir=self.settings.recovery_dir,
                should_stop=should_stop,
            )
        )
        ledger.record_write(path, content_hash(proposal.content))
        return proposal

    def _output(self, proposal: Proposal) -> ToolOutput:
        budget = self.settings.max_output_bytes
        head = "\n".join([proposal.headline, *proposal.notes])
        lines = content_lines(proposal.view_text)
        # a short file is shown whole; in a longer one the lines around an edit tell the model more
        # than the head and tail that 11.8 shows
        is_short = len(lines) <= SNAPSHOT_HEAD + SNAPSHOT_TAIL
        view = snapshot_view(
            self.settings.header(self.shown, proposal.view_text),
            lines,
            () if is_short else proposal.focus,
            max_bytes=budget - len(head.encode()),
        )
        text = truncate_utf8(f"{head}\n\n{view.text}", budget)
        metadata = proposal.metadata(self.shown, created=self.base is None)
        if proposal.focus:
            metadata = metadata.with_details(
                start_line=min(proposal.focus), end_line=max(proposal.focus)
            )
        return ToolOutput.text(text, metadata)


def take_snapshot(path: Path, shown: str, *, keep_bytes: int = MAX_FILE_BYTES) -> FileSnapshot:
    """Read a regular file once: its hash, and its content up to `keep_bytes`. Blocking."""
    digest = hashlib.sha256()
    kept: bytearray | None = bytearray()
    size = 0
    with open_regular(path, shown) as descriptor:
        for chunk in chunks(descriptor, shown):
            digest.update(chunk)
            size += len(chunk)
            if kept is not None and size <= keep_bytes:
                kept += chunk
            else:
                kept = None
    return FileSnapshot(digest.hexdigest(), size, None if kept is None else bytes(kept))
