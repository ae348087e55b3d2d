"""One conversation in front of the core: prompts in, one ordered stream of events out.

What is recorded and what is shown is decided in one place and one order (`Sequencer`), so that the
file and the screen tell the same story; an event that promises durability is shown only once it
is on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from rho_core import events as core
from rho_core.authority.approvals import ApprovalDecision
from rho_core.errors import InvalidHostResponse, SessionBusy
from rho_core.history.compaction import CompactionOutcome
from rho_core.history.handoff import HandoffReport
from rho_core.ids import HostInputId, SessionId, SteeringId, ToolCallId
from rho_core.inputs import UserInput
from rho_core.providers.contract import ModelProvider
from rho_core.questions import HostInputResponse
from rho_core.reasoning import ReasoningLevel
from rho_core.running.commands import RetractionOutcome
from rho_core.runtime import Rho
from rho_core.session import Session, SessionOptions
from rho_core.tooling.execution import interrupted
from rho_core.tools.file_tools import EditFormat
from rho_tui.host import facts
from rho_tui.host.approval_desk import ApprovalDesk, Proposal
from rho_tui.host.command_news import CommandNews
from rho_tui.host.conversation_options import ConversationOptions, SessionReadOnly
from rho_tui.host.edit_tool import ConversationEditTool
from rho_tui.host.event_log import EventLog
from rho_tui.host.facts import ConversationEvent, Severity
from rho_tui.host.manual_compaction import ManualCompaction
from rho_tui.host.origin import ConversationOrigin
from rho_tui.host.permissions import PermissionMode
from rho_tui.host.prompt_news import PromptNews
from rho_tui.host.recording import OpenedSession, SessionRecording, open_stored
from rho_tui.host.replay import prompt_accepted
from rho_tui.host.sequencer import Sequencer
from rho_tui.host.sessions import records as r
from rho_tui.host.sessions.writer import SessionWriter
from rho_tui.host.turn import Turn
from rho_tui.host.user_shell import UserShell

__all__ = ["CLOSE_SECONDS", "Conversation", "ConversationOptions", "SessionReadOnly"]

CLOSE_SECONDS = 1.0
"""How long `aclose` waits, in all, before it gives up on a run or a disk."""


class Conversation:
    """Owns a session of the core and its file. Make one with `new` or `resume`.

    Exactly one consumer iterates `events`; if it stops, the run is cancelled. All methods belong
    to one event loop.
    """

    def __init__(
        self,
        session: Session,
        recording: SessionRecording,
        options: ConversationOptions,
        opened: OpenedSession | None = None,
    ) -> None:
        self._session = session
        self._recording = recording
        self._policy = options.policy
        self._origin = origin = ConversationOrigin(options, opened)
        self._edit_tool: ConversationEditTool | None = None
        if options.files is not None:
            self._edit_tool = ConversationEditTool(options.files, origin.stored)
        self._commands = CommandNews(origin.records)
        self._news = PromptNews(options.take_notice, self._edit_tool, self._commands)
        self._load = options.load
        self._turn: Turn | None = None
        self._starting = False
        self._stops_at_once = False
        self._closed = False
        self._sequencer = Sequencer(self._run_event, self._run_ended, self.cancel)
        self._log = log = EventLog(recording, self._sequencer, self._commands.note)
        self._compaction = ManualCompaction(session, log.tell, log.replaced)
        #: runs the user's own commands; None: there are none here
        self.shell: UserShell | None = None
        if options.shell is not None:
            self.shell = UserShell(options.shell, origin.folder, log.tell)
        self._desk: ApprovalDesk | None = None
        if options.approvals is not None:
            self._desk = ApprovalDesk(
                options.approvals,
                post=self._sequencer.post,
                show=self._show_approval,
                proposal=self._proposal,
            )

    # -- opening ----------------------------------------------------------------------------

    @classmethod
    async def new(cls, rho: Rho, options: ConversationOptions) -> Conversation:
        """A conversation about nothing yet; `SessionOpened` is its first event.

        Raises `RuntimeShutdown`.
        """
        id = SessionId()
        session = await rho.session(SessionOptions(id=id, prompt_cache_key=str(id)))
        session.record_turns()
        recording = SessionRecording.new(options, id, session.snapshot().provider)
        conversation = cls(session, recording, options)
        first = facts.SessionOpened(id, options.cwd, recording.created)
        conversation._log.post(events=[first])
        if options.folder is not None:
            conversation._sequencer.post(SessionWriter.warm_up)
        return conversation

    @classmethod
    async def resume(
        cls, rho: Rho, opened: OpenedSession | Path, options: ConversationOptions
    ) -> Conversation:
        """Continue a stored session; `replay` has its past, `events` begins with what is new.

        If another process writes it or its folder is gone, the conversation is `read_only`. A
        session that worked in another folder than that of `options` goes on in the one of
        `options`; that is recorded at once (case G6).

        Raises:
            OSError: The file cannot be read.
            UnreadableSession: It holds no session, or one of a newer version.
            RuntimeShutdown: The runtime takes no more work.
        """
        if isinstance(opened, Path):
            opened = await asyncio.to_thread(open_stored, opened)
        if options.folder_is_missing:
            opened = await asyncio.to_thread(opened.for_reading)
        stored = opened.stored
        try:
            session = await rho.session(SessionOptions.from_snapshot(stored.snapshot))
        except BaseException:
            opened.let_go()
            raise
        session.record_turns()
        recording = SessionRecording.resumed(opened)
        if stored.interrupted:
            recording.close_interrupted_turn(session.snapshot())
        conversation = cls(session, recording, options, opened)
        if not conversation.read_only:
            conversation._show_edit_tool()
            for id in conversation._commands.unfinished:
                conversation._log.stage(r.UserCommandEnded(id, interrupted()))
            if conversation._origin.has_moved:
                conversation._move()
        return conversation

    def replay(self) -> Iterator[ConversationEvent]:
        """The events that draw a resumed session's past, `SessionOpened` first."""
        return self._origin.replay()

    # -- reading ----------------------------------------------------------------------------

    @property
    def id(self) -> SessionId:
        """The session's id."""
        return self._session.id

    @property
    def session(self) -> Session:
        """The core's session, to be read."""
        return self._session

    @property
    def folder(self) -> Path:
        """Where it works: the tools, the user's commands, everything that is shown of files."""
        return self._origin.folder

    @property
    def path(self) -> Path | None:
        """The session's file; None when nothing is kept. A new one is made by the first prompt."""
        stored = self._origin.stored
        return stored.path if stored is not None else self._recording.path

    @property
    def read_only(self) -> bool:
        """Whether prompts are refused: somebody else writes this session, or its folder is gone."""
        return self._origin.read_only

    @property
    def is_running(self) -> bool:
        """Whether a turn or a compaction is under way."""
        return self._turn is not None or self._starting or self.is_compacting

    @property
    def is_compacting(self) -> bool:
        """Whether a compaction is under way that was asked for by `compact`."""
        return self._compaction.is_running

    @property
    def title(self) -> str:
        """The session's title, empty when it has none."""
        return self._recording.title

    @property
    def unwritten(self) -> int:
        """How many records are not on disk although they should be: more than 0 is trouble."""
        return self._recording.unwritten

    def events(self) -> AsyncIterator[ConversationEvent]:
        """Everything that happens, in order, until `aclose`. One reader only."""
        return self._sequencer.events()

    # -- turns ------------------------------------------------------------------------------

    async def send(self, prompt: str | UserInput) -> None:
        """Start a turn; returns once the prompt is on disk (or known to be unsavable).

        Raises `SessionBusy`, `SessionReadOnly`, `RuntimeShutdown`, and `Interrupted` when the
        conversation is closed.
        """
        self._origin.ensure_writable()
        self._ensure_idle()
        self._starting, self._stops_at_once = True, False
        try:
            await self._sequencer.perform(lambda: self._begin(UserInput.of(prompt)))
        finally:
            self._starting = False
        if self._stops_at_once:
            self.cancel()

    async def warm_up(self) -> None:
        """Load off the loop what turns need. `send` does it too, but then it is waited for."""
        if self._load is not None:
            await asyncio.to_thread(self._load)
            self._load = None

    def cancel(self) -> None:
        """Ask the turn or the compaction to stop; `TurnEnded` or `CompactionStopped` follows.

        Nothing happens without one.
        """
        self._compaction.cancel()
        self._stops_at_once = self._starting  # the turn that `send` is about to start
        if self._turn is not None:
            self._turn.run.cancel()

    async def steer(self, prompt: str | UserInput) -> SteeringId:
        """Give the running turn more input; it enters at the next boundary.

        Raises `InvalidHostResponse` if no turn takes it any more: send it as a prompt then.
        """
        if self._turn is None:
            raise InvalidHostResponse("no run is there to be steered")
        return await self._turn.steer(UserInput.of(prompt))

    async def retract_steering(self, id: SteeringId) -> RetractionOutcome:
        """Take steering back, if the model has not seen it. Raises `InvalidHostResponse`."""
        if self._turn is None:
            raise InvalidHostResponse("no run is there to be steered")
        return await self._turn.retract(id)

    # -- answers of people ------------------------------------------------------------------

    def respond(self, request_id: HostInputId, response: HostInputResponse) -> None:
        """Answer a form. The first answer wins; it is shown and delivered in its turn.

        Raises `InvalidHostResponse` when the answer does not fit, or no such form waits.
        """
        turn = self._turn
        record = turn.recorder.take_question(request_id, response) if turn else None
        if turn is None or record is None:
            raise InvalidHostResponse("host input request is not pending")

        async def deliver() -> None:
            recorded = turn.recorder.question_closed(record)
            await self._log.show(recorded.events, durable=recorded.durable)
            with contextlib.suppress(InvalidHostResponse):  # its call ended in the meantime
                turn.run.request_respond(request_id, response)

        self._sequencer.post(deliver)

    def dismiss(self, request_id: HostInputId) -> None:
        """Close a form without an answer; the model is told so. Raises `InvalidHostResponse`."""
        self.respond(request_id, HostInputResponse.dismissed())

    def decide(self, approval_id: str, decision: ApprovalDecision) -> bool:
        """Answer an approval. False: it was decided already, or its call is gone."""
        return self._desk is not None and self._desk.decide(approval_id, decision)

    # -- settings and remarks ---------------------------------------------------------------

    def set_provider(
        self, provider: ModelProvider, edit_format: EditFormat | None = None
    ) -> HandoffReport:
        """Use another model from the next turn on; says what it will not see (B22).

        `edit_format` is how that model edits; if it is another one, the user is told at once and
        the model with the next prompt (T1.5). Raises `SessionBusy`.
        """
        self._ensure_idle()
        report = self._session.replace_provider(provider)
        self._log.setting(r.Setting.MODEL, str(provider.identity))
        if edit_format is not None and self._edit_tool is not None:
            self._edit_tool.switch(self._session, edit_format)
            self._show_edit_tool()
        return report

    def set_reasoning(self, level: ReasoningLevel) -> None:
        """Change how hard the model thinks from the next turn on. Raises `SessionBusy`."""
        self._ensure_idle()
        self._session.set_reasoning_level(level)
        self._log.setting(r.Setting.REASONING, level.value)

    def set_permission_mode(self, mode: PermissionMode) -> None:
        """Judge every later request under `mode`; remembered approvals are forgotten (APP3.7)."""
        if self._policy is not None:
            self._policy.mode = mode
        self._session.approvals.forget()
        self._log.setting(r.Setting.PERMISSION_MODE, mode.value)

    def set_title(self, title: str) -> None:
        """Name the session."""
        self._recording.title = title
        self._log.post(r.TitleSet(title), [facts.TitleChanged(title)], durable=True)

    def notice(self, text: str, severity: Severity = Severity.INFO) -> None:
        """Show a remark of the application and keep it with the session."""
        self._log.post(r.NoticeShown(text, severity), [facts.Notice(text, severity)])

    def reset(self) -> None:
        """Start the model's history afresh, in the same session. Raises `SessionBusy`."""
        self._ensure_idle()
        self._session.reset()
        event = facts.HistoryReset()
        self._log.replaced(self._session.history, r.ReplaceReason.RESET, None, event)

    async def compact(self) -> CompactionOutcome | None:
        """Compact the history now; `cancel` stops it.

        None when it was cancelled or has failed: history is as it was, and `CompactionStopped`
        tells why. Raises `SessionBusy`, `SessionReadOnly`.
        """
        self._origin.ensure_writable()
        self._ensure_idle()
        return await self._compaction.run()

    # -- the end ----------------------------------------------------------------------------

    async def aclose(self) -> None:
        """Cancel what runs, commit, write and let go, within about `CLOSE_SECONDS`.

        A run that does not stop in time is dropped: its turn is recovered when the session is
        resumed. More than once does nothing.
        """
        if self._closed:
            return
        self._closed = True
        turn = self._turn
        self.cancel()
        if self.shell is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.shell.aclose(), CLOSE_SECONDS * 0.3)
        if self._desk is not None:
            self._desk.close()
        if not await self._sequencer.close(CLOSE_SECONDS * 0.7) and turn is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(turn.run.aclose(), CLOSE_SECONDS * 0.2)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._write_and_close(), CLOSE_SECONDS * 0.3)

    async def __aenter__(self) -> Conversation:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.aclose()

    async def _write_and_close(self) -> None:
        await self._recording.flush()
        await self._recording.close()

    # -- inside the sequencer ---------------------------------------------------------------

    async def _begin(self, prompt: UserInput) -> tuple[None, list[ConversationEvent]]:
        news = await self._news.take(self._session.history)
        prompt = news.before(prompt)
        shown: list[ConversationEvent] = []
        if news.processes is not None:
            self._recording.stage(r.NoticeShown(news.processes.summary))
            shown.append(facts.Notice(news.processes.summary))
        message = prompt.message()
        try:
            self._recording.begin(message)
            self._recording.journal.sync(self._session.history)
            self._recording.journal.append(message, r.MessageOrigin.PROMPT)
            trouble, _ = await asyncio.gather(self._recording.flush(), self.warm_up())
            self._turn = Turn(self._session, self._session.start(prompt), self._recording)
        except BaseException:
            self._news.restore(news)
            raise
        self._news.told()
        self._sequencer.watch(self._turn.run)
        return None, [*([trouble] if trouble else []), *shown, prompt_accepted(message)]

    async def _run_event(self, event: core.RunEvent) -> None:
        assert self._turn is not None
        recorded = await self._turn.handle(event)
        await self._log.show(recorded.events, durable=recorded.durable)

    async def _run_ended(self) -> None:
        turn = self._turn
        assert turn is not None
        events = await turn.end()
        notice = await self._recording.flush()
        self._sequencer.watch(None)
        self._turn = None  # the reader may send again as soon as it sees the end
        await self._sequencer.show([*([notice] if notice else []), *events])

    async def _show_approval(self, event: ConversationEvent, record: r.Record | None) -> None:
        if record is not None:
            self._recording.stage(record)
        await self._log.show([event], durable=record is not None)

    def _proposal(self, call_id: ToolCallId | None) -> Proposal:
        return self._turn.recorder.proposal(call_id) if self._turn else (None, None)

    def _ensure_idle(self) -> None:
        if self.is_running:
            raise SessionBusy

    def _move(self) -> None:
        """Record that the session works elsewhere now; its prompt becomes that of the folder."""
        cwd = str(self.folder)
        self._session.replace_history(self._origin.moved(self._session.history))
        self._recording.moved_to = cwd
        record, event = r.FolderChanged(cwd), facts.FolderChanged(cwd)
        self._log.replaced(self._session.history, r.ReplaceReason.HOST, record, event)

    def _show_edit_tool(self) -> None:
        name = self._edit_tool.take_change() if self._edit_tool is not None else None
        if name is not None:
            self._log.setting(r.Setting.EDIT_TOOL, name)
