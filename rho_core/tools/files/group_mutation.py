"""The common life of a change to several files: propose, show, authorize, commit (2.11, 10, 12).

The counterpart of `mutation` for tools whose one call changes more than one file. All new content
is proposed while the call is prepared. At the commit every file must still have the bytes it had;
if this session itself changed one meanwhile, the change is proposed again on top.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

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
from rho_core.tools.files.diff import FileDiff
from rho_core.tools.files.ledger import StaleFile, stale_file
from rho_core.tools.files.mutation import (
    CLEANUP_SECONDS,
    FileSnapshot,
    MutationSettings,
    take_snapshot,
)
from rho_core.tools.files.resolve import revalidate
from rho_core.tools.files.text import content_hash
from rho_core.tools.files.transaction import FileChange, TransactionOptions, commit_changes


@dataclass(frozen=True, slots=True)
class Target:
    """One file of a call: `shown` is its display path, `removed` whether it shall be gone."""

    resolved: ResolvedWorkspacePath
    shown: str
    removed: bool = False


#: What the targets are at one moment, in their order; None: there is no such file.
Snapshots = tuple[FileSnapshot | None, ...]


@dataclass(frozen=True, slots=True)
class GroupProposal:
    """What a call would do.

    `report` makes the text for the model from a number of bytes that it should fit into.
    """

    changes: tuple[FileChange, ...]
    diff: FileDiff
    report: Callable[[int], str]


#: Makes a proposal from the present files and from what they were when the call was prepared.
ProposeGroup = Callable[[Snapshots, Snapshots], GroupProposal]


@dataclass(frozen=True, slots=True)
class GroupMutation:
    """One prepared call.

    Args:
        tool: The tool's name.
        started: The progress message before anything is written; `finished` the one after,
            with `units` as the count of what was done.
        affected: The display paths, in the order of the call.
        explain: Makes the error for a file that is not what it was; told the target, whether its
            name means another file now, and the usual message.
    """

    tool: str
    started: str
    finished: str
    units: int
    workspace: Workspace
    targets: tuple[Target, ...]
    affected: tuple[str, ...]
    base: Snapshots
    proposal: GroupProposal
    propose: ProposeGroup
    settings: MutationSettings
    explain: Callable[[Target, StaleFile], ToolError]

    def plan(self) -> PreparedToolInvocation:
        """The plan with its diff: it asks to write every file, and to read those that exist.

        Looks for existing parents: blocking.
        """
        return PreparedToolInvocation.resource_aware(
            self._accesses(), self._capabilities(), self._metadata(self.proposal), self._execute
        ).complete_after_cancellation(CLEANUP_SECONDS)

    def _capabilities(self) -> list[CapabilityRequest]:
        source = BuiltInTool(self.tool)
        requests: dict[CapabilityRequest, None] = {}
        for target in self.targets:
            path, scope = target.resolved.path, target.resolved.scope
            requests[CapabilityRequest(WritePath(path, scope), source)] = None
            if target.resolved.exists:
                requests[CapabilityRequest(ReadPath(path, scope), source)] = None
        return list(requests)

    def _accesses(self) -> list[ToolResourceAccess]:
        accesses: dict[ToolResourceAccess, None] = {}
        for target in self.targets:
            path = target.resolved.path
            accesses[ToolResourceAccess.exclusive(WorkspacePath(path))] = None
            if target.removed:
                accesses[ToolResourceAccess.exclusive(DirectoryMembership(path.parent))] = None
            if not target.resolved.exists:  # the memberships that creating it changes (8.3)
                for parent in path.parents:
                    accesses[ToolResourceAccess.exclusive(DirectoryMembership(parent))] = None
                    if parent.exists():
                        break
        return list(accesses)

    def _metadata(self, proposal: GroupProposal) -> ToolMetadata:
        return ToolMetadata(
            operation=ToolOperation.WRITE, affected_paths=self.affected, diff=proposal.diff.text
        ).with_details(
            added=proposal.diff.added,
            removed=proposal.diff.removed,
            files=len(proposal.changes),
        )

    async def _execute(self, context: AuthorizedToolContext) -> ToolOutput:
        if context.cancellation.is_cancelled:
            raise ToolError.cancelled()
        about = ToolMetadata(operation=ToolOperation.WRITE, affected_paths=self.affected)
        await context.progress.send(ToolProgress(self.started, metadata=about))
        proposal, notes = await asyncio.to_thread(
            self._commit, lambda: context.cancellation.is_cancelled
        )
        if self.finished:
            await context.progress.send(
                ToolProgress(self.finished, completed_units=self.units, total_units=self.units)
            )
        budget = self.settings.max_output_bytes
        text = "\n".join([proposal.report(budget), *notes])
        return ToolOutput.text(truncate_utf8(text, budget), self._metadata(proposal))

    def _commit(self, should_stop: Callable[[], bool]) -> tuple[GroupProposal, list[str]]:
        try:
            proposal = self._current_proposal()
            options = TransactionOptions(
                recovery_dir=self.settings.recovery_dir, should_stop=should_stop
            )
            notes = commit_changes(proposal.changes, options)
        except StaleFile as error:
            target = next((item for item in self.targets if item.shown == error.shown), None)
            raise (error if target is None else self.explain(target, error)) from None
        for change in proposal.changes:
            if change.after is not None:
                self.settings.ledger.record_write(change.path, content_hash(change.after))
        return proposal, notes

    def _current_proposal(self) -> GroupProposal:
        """The proposal, made again if this session itself changed the files. Raises `ToolError`."""
        ledger = self.settings.ledger
        for target in self.targets:
            revalidate(self.workspace, target.resolved)
        now = snapshots(self.targets)
        drifted = False
        for target, before, current in zip(self.targets, self.base, now, strict=True):
            if before is None or current is None:
                continue
            if current.digest != before.digest:
                drifted = True
                if not ledger.is_own_write(target.resolved.path, current.digest):
                    raise stale_file(target.shown)
            ledger.check_fresh(target.resolved.path, current.digest, target.shown)
        return self.propose(now, self.base) if drifted else self.proposal


def snapshots(targets: Iterable[Target]) -> Snapshots:
    """Read every target that exists. Blocking. Raises `ToolError`."""
    return tuple(
        take_snapshot(target.resolved.path, target.shown) if target.resolved.exists else None
        for target in targets
    )


def failing_plan(
    tool: str,
    workspace: Workspace,
    targets: tuple[Target, ...],
    affected: tuple[str, ...],
    attempt: Callable[[Snapshots], object],
    on_failure: Callable[[Snapshots], None] | None = None,
) -> PreparedToolInvocation:
    """A plan that looks again with read authority, and reports why the change does not apply.

    Nobody is asked to approve what cannot be done, and what the error says of the content reaches
    the model only with the authority to read it. `on_failure` is told what the model was shown.
    """

    async def report(context: AuthorizedToolContext) -> ToolOutput:
        def run() -> None:
            for target in targets:
                revalidate(workspace, target.resolved)
            now = snapshots(targets)
            try:
                attempt(now)
            except ToolError:
                if on_failure is not None:
                    on_failure(now)
                raise

        await asyncio.to_thread(run)
        raise ToolError.execution(
            "the files did not fit the change when this call was prepared, and fit it now; send "
            "the call again"
        )

    existing = [target.resolved for target in targets if target.resolved.exists]
    return PreparedToolInvocation.resource_aware(
        [ToolResourceAccess.shared(WorkspacePath(resolved.path)) for resolved in existing],
        [
            CapabilityRequest(ReadPath(resolved.path, resolved.scope), BuiltInTool(tool))
            for resolved in existing
        ],
        ToolMetadata(operation=ToolOperation.WRITE, affected_paths=affected),
        report,
    )
