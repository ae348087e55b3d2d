"""The life of the conversation behind the chat screen: open, send, steer, switch, close."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING

from rho_core.errors import InvalidHostResponse, RhoError
from rho_core.ids import HostInputId
from rho_tui.host.folders import FolderGone, folder_exists
from rho_tui.host.kinds import Severity
from rho_tui.host.workbench import Workbench
from rho_tui.screens.pending import Waiting
from rho_tui.screens.presenter import Presenter

if TYPE_CHECKING:
    from rho_core.authority.approvals import ApprovalDecision
    from rho_core.questions import HostInputResponse
    from rho_tui.host.conversation import Conversation
    from rho_tui.host.facts import ConversationEvent
    from rho_tui.host.user_shell import UserShell

_REPLAY_SLICE = 200
_YIELD_EVERY = 64


class SessionControl:
    """Owns the open conversation. Its owner runs `follow` as one task for each conversation.

    Args:
        bench: Opens conversations.
        presenter: Shows them.
        restore: Puts texts that were not sent back into the composer.
        on_event: Told of every live event after it is shown, and of every `SessionOpened`.
        spawn: Runs a coroutine as a task that somebody owns.
    """

    def __init__(
        self,
        bench: Workbench,
        presenter: Presenter,
        *,
        restore: Callable[[list[str]], None],
        on_event: Callable[[ConversationEvent], None],
        spawn: Callable[[Coroutine[None, None, None]], object],
    ) -> None:
        self.bench = bench
        self.conversation: Conversation | None = None
        self._presenter = presenter
        self._restore = restore
        self._on_event = on_event
        self._spawn = spawn
        self._shell: UserShell | None = None
        #: id of the last session that holds a prompt, for going on with it
        self.last_session: str | None = None

    @property
    def is_running(self) -> bool:
        """Whether a turn is under way."""
        return self.conversation is not None and self.conversation.is_running

    @property
    def is_compacting(self) -> bool:
        """Whether the compaction of `/compact` is under way."""
        return self.conversation is not None and self.conversation.is_compacting

    @property
    def folder(self) -> Path:
        """Where the conversation works; before there is one, where Rho was started (case G6)."""
        return self.conversation.folder if self.conversation else self.bench.launch.cwd

    # -- opening and closing ------------------------------------------------------------------

    async def open(self, resume: Path | None = None, *, folder: Path | None = None) -> None:
        """Replace the conversation by a new one, or by the session in `resume`.

        With `folder`, it works there from now on. Else a new one begins in the folder of the old
        one, a resumed one in its own. The old one stays when the new one cannot be opened. Raises
        what `Workbench.open` raises.
        """
        gone: Path | None = None
        if resume is None and folder is None:
            folder = self.folder
            if not await asyncio.to_thread(folder_exists, folder):
                folder, gone = None, folder
        if resume is not None and self.conversation and resume == self.conversation.path:
            await self.close()  # it has one writer: us
        opened = await self.bench.open(resume, folder=folder)
        await asyncio.to_thread(self._presenter.load)
        from rho_tui.host.facts import SessionOpened

        await self.close()
        self.conversation = conversation = opened.conversation
        self._presenter.begin()
        for count, event in enumerate(conversation.replay()):
            self._presenter.replayed(event)
            if isinstance(event, SessionOpened):
                self._on_event(event)
            if count % _REPLAY_SLICE == _REPLAY_SLICE - 1:
                await asyncio.sleep(0)  # keys and paints come first in a long history
        told = [*opened.warnings]
        if gone is not None:
            told.append(f"{gone} is gone: this session works in {conversation.folder}")
        for warning in told:
            conversation.notice(warning, Severity.WARNING)

    async def warm_up(self) -> None:
        """Load what the first turn needs while somebody is still writing its prompt."""
        if self.conversation is not None:
            await self.bench.warm_up(self.conversation)

    async def close(self) -> None:
        """End the conversation: cancel, commit, write, let go. Takes about a second at most."""
        conversation, self.conversation = self.conversation, None
        if conversation is not None:
            await conversation.aclose()

    async def follow(self, conversation: Conversation) -> None:
        """Show everything that happens until the conversation is closed."""
        from rho_core.events import CompactionCompleted, CompactionTrigger
        from rho_tui.host.facts import CompactionStopped, TurnEnded

        count = 0
        async for event in conversation.events():
            self._presenter.fold(event)
            self._on_event(event)
            match event:
                case TurnEnded():
                    self._release(*self._presenter.pending.turn_ended(event))
                case CompactionCompleted(trigger=CompactionTrigger.MANUAL):
                    self._release(*self._presenter.pending.compaction_ended())
                case CompactionStopped(trigger=CompactionTrigger.MANUAL, reason=reason):
                    self._release(*self._presenter.pending.compaction_ended(cancelled=not reason))
                case _:
                    pass
            count += 1
            if count % _YIELD_EVERY == 0:
                await asyncio.sleep(0)  # a flood of deltas must not starve the keyboard

    # -- input --------------------------------------------------------------------------------

    async def submit(self, text: str, *, follow_up: bool = False) -> None:
        """Send a prompt; while a turn runs, steer it or queue the prompt behind it."""
        if self.is_compacting or self._presenter.pending.waits_for_compaction:
            self._presenter.pending.add("next", text, after="compact")
        elif not self.is_running:
            await self._send(text)
        elif follow_up:
            self._presenter.pending.add("next", text)
        else:
            await self._steer(self._presenter.pending.add("steer", text))
        self._presenter.show_pending()

    async def compact(self) -> None:
        """Compact the history; what comes of it is told by the conversation."""
        conversation = self.conversation
        if conversation is None:
            return
        try:
            await conversation.compact()
        except RhoError as error:  # it did not begin
            conversation.notice(f"the history was not compacted: {error}", Severity.ERROR)

    async def run_command(self, command: str, *, included: bool) -> None:
        """Run a command of the user; if `included`, the next prompt tells the model of it.

        Raises `FolderGone`.
        """
        if self.conversation is not None:
            shell = self.conversation.shell
            if shell is None:
                raise FolderGone(f"the folder of this session is gone: {self.folder}")
        else:
            shell = self._lone_shell()
        self._shell = shell
        await shell.run(command, included=included)

    @property
    def command_is_running(self) -> bool:
        """Whether a command of the user runs."""
        return self._shell is not None and self._shell.is_running

    def cancel_command(self) -> None:
        """Stop the command of the user."""
        if self._shell is not None:
            self._shell.cancel()

    def take_newest_pending(self) -> None:
        """Put the newest waiting input back into the composer, if it can be taken back."""
        newest = self._presenter.pending.newest()
        if newest is None:
            return
        if newest.kind == "steer":
            self._spawn(self._retract(newest))
            return
        self._presenter.pending.discard(newest)
        self._presenter.show_pending()
        self._restore([newest.text])

    def cancel(self) -> None:
        """Stop the turn, or the compaction."""
        if self.conversation is not None:
            self.conversation.cancel()

    # -- answers ------------------------------------------------------------------------------

    def decide(self, approval_id: str, decision: ApprovalDecision) -> None:
        """Answer an approval."""
        if self.conversation is not None:
            self.conversation.decide(approval_id, decision)

    def respond(self, request_id: HostInputId, response: HostInputResponse) -> None:
        """Answer a form. Raises `InvalidHostResponse` when it does not wait any more."""
        if self.conversation is not None:
            self.conversation.respond(request_id, response)

    def dismiss(self, request_id: HostInputId) -> None:
        """Close a form without an answer. Raises `InvalidHostResponse`."""
        if self.conversation is not None:
            self.conversation.dismiss(request_id)

    # -- inside -------------------------------------------------------------------------------

    async def _send(self, text: str) -> None:
        conversation = self.conversation
        if conversation is None:
            self._restore([text])
            return
        try:
            await conversation.send(text)
            self.last_session = conversation.id
        except RhoError as error:
            self._restore([text])
            conversation.notice(str(error), Severity.ERROR)

    def _lone_shell(self) -> UserShell:
        """Without a conversation a command is only shown."""
        from rho_tui.host.assembly import shell_settings
        from rho_tui.host.user_shell import UserShell

        settings = shell_settings(self.bench.launch, self.bench.supervisor)
        return UserShell(settings, self.folder, lambda _record, event: self._presenter.fold(event))

    async def _steer(self, item: Waiting) -> None:
        assert self.conversation is not None
        self._presenter.show_pending()
        try:
            item.id = await self.conversation.steer(item.text)
        except InvalidHostResponse:
            if self.is_running:
                self._presenter.pending.demote(item)
            else:
                self._presenter.pending.discard(item)
                await self._send(item.text)

    async def _retract(self, item: Waiting) -> None:
        from rho_core.running.commands import RetractionOutcome

        if self.conversation is None or item.id is None:
            return
        try:
            outcome = await self.conversation.retract_steering(item.id)
        except InvalidHostResponse:
            return
        self._presenter.pending.discard(item)
        self._presenter.show_pending()
        if outcome is RetractionOutcome.RETRACTED:
            self._restore([item.text])
        elif outcome is RetractionOutcome.ALREADY_APPLIED:
            self.conversation.notice("too late: the model has read it already")

    def _release(self, back: list[str], following: str | None) -> None:
        """What waited may go on: `back` into the composer, `following` to the model."""
        self._presenter.show_pending()
        if back:
            self._restore(back)
        if following is not None:
            # not awaited: sending can wait for events that the loop calling this has to take
            self._spawn(self._send(following))
