"""The main screen: it lays out the widgets and passes on what they and the user say."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from rho_core.errors import InvalidHostResponse
from rho_core.ids import HostInputId
from rho_core.version import __version__
from rho_tui.host.file_finder import FolderFiles
from rho_tui.host.folders import FolderGone
from rho_tui.host.git import current_branch
from rho_tui.host.kinds import Severity
from rho_tui.host.workbench import Workbench
from rho_tui.screens.attention import Attention
from rho_tui.screens.commands import chat_registry, find_command
from rho_tui.screens.opening import SessionOpening
from rho_tui.screens.presenter import Presenter
from rho_tui.screens.session_control import SessionControl
from rho_tui.screens.status import initial_status
from rho_tui.screens.surface import Surface
from rho_tui.transcript.blocks import ErrorBlock, NoticeBlock
from rho_tui.transcript.sanitize import clean_line
from rho_tui.widgets.activity_line import ActivityLine
from rho_tui.widgets.composer import Composer
from rho_tui.widgets.pending_input import PendingInputPanel
from rho_tui.widgets.prompt_dock import PromptDock
from rho_tui.widgets.prompt_history import PromptHistory
from rho_tui.widgets.screen_height import follow_screen_height
from rho_tui.widgets.status_line import StatusLine
from rho_tui.widgets.transcript_view import TranscriptView
from rho_tui.widgets.typing_guard import TypingGuard

if TYPE_CHECKING:
    from rho_tui.host.facts import ConversationEvent
    from rho_tui.widgets.approval_prompt import ApprovalPrompt
    from rho_tui.widgets.questionnaire_form import QuestionnaireForm

QUIT_SECONDS = 2.0
"""How soon a second Ctrl+C must follow to leave."""

BRANCH_SECONDS = 1.0
"""How often, at most, the branch is read again while tools run."""

_ROOMY_ROWS = 18
"""From this height on, an approval and everything around it fit."""

_ATTENTION = {"nothing": "none", "approval": "approval", "input": "input"}


class ChatScreen(Screen[None]):
    """A conversation: transcript, what waits, prompts, composer, status.

    Args:
        bench: Where conversations come from.
        prompt: Sent as soon as a conversation is open.
        resume: The session file to go on with.
        typed: What was typed before there was a composer; `entered` when Enter followed.
        version: Shown in the session header.
        clock: Monotonic clock in seconds, for the guard, deadlines and elapsed times.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "interrupt", "Stop", show=False),
        Binding("pageup", "scroll_page(-1)", "Scroll up", show=False, priority=True),
        Binding("pagedown", "scroll_page(1)", "Scroll down", show=False, priority=True),
        Binding("ctrl+home", "scroll_to(False)", "Jump to the top", show=False, priority=True),
        Binding(
            "ctrl+end",
            "scroll_to(True)",
            "Jump to the last row, and follow",
            show=False,
            priority=True,
        ),
        Binding("ctrl+o", "toggle_card", "Expand the newest card", show=False, priority=True),
        Binding("alt+up", "edit_pending", "Edit waiting input", show=False, priority=True),
        Binding("ctrl+q", "leave", "Leave", show=False, priority=True),
    ]

    DEFAULT_CSS = """
    ChatScreen { layout: vertical; overflow: hidden; background: $background; }
    ChatScreen.-prompt-only Divider, ChatScreen.-prompt-only ActivityLine,
    ChatScreen.-prompt-only StatusLine { display: none; }
    """

    def __init__(
        self,
        bench: Workbench,
        *,
        prompt: str | None = None,
        resume: Path | None = None,
        typed: str = "",
        entered: bool = False,
        version: str = __version__,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.bench = bench
        self._first_prompt = prompt
        self._resume = resume
        self._typed, self._entered = typed, entered
        self._interrupted_at: float | None = None
        self._leaving = False
        self._remarks = 0
        self._clock = clock
        self._branch_read_at = 0.0
        config, paths = bench.launch.config, bench.launch.paths
        guard = TypingGuard(clock=clock)
        limit = config.display.prompt_history_limit
        history = PromptHistory(paths.history_file, limit=limit) if limit else None
        self._transcript = TranscriptView(id="transcript")
        self._pending = PendingInputPanel(id="pending")
        self._activity = ActivityLine(clock=clock, id="activity")
        self._dock = PromptDock(guard, self._questionnaire_timeout, clock=clock, id="dock")
        self.composer = Composer(
            commands=chat_registry(),
            files=FolderFiles(lambda: self.control.folder),
            history=history,
            guard=guard,
            history_limit=limit,
            id="composer",
        )
        self._status = StatusLine(initial_status(bench.launch), id="status")
        self._transcript.companions = (self._activity.join_frame, self._status.join_frame)
        surface = Surface(
            self._transcript,
            self._pending,
            self._activity,
            self._dock,
            self.composer,
            self._status,
        )
        self.presenter = Presenter(surface, config, version)
        self.control = SessionControl(
            bench,
            self.presenter,
            restore=self.composer.restore,
            on_event=self._after_event,
            spawn=lambda work: self.run_worker(work, group="conversation"),
        )
        self.opening = SessionOpening(self)
        self._notify_user: Attention | None = None

    def compose(self) -> ComposeResult:
        """Top to bottom (APP1.1)."""
        yield self._transcript
        yield self._pending
        yield self._activity
        yield self._dock
        yield self.composer
        yield self._status

    def on_mount(self) -> None:
        """Show an empty session and take keys; everything slow comes after the first paint."""
        launch = self.bench.launch
        self._notify_user = Attention(self.app, launch.config.behavior.notify)
        self._transcript.max_card_rows = launch.config.display.max_tool_output_lines
        self.composer.ready = False
        self.composer.reasoning = launch.config.model.reasoning
        self.presenter.begin()
        follow_screen_height(self, self._fit)
        self.composer.focus()
        if self._typed:
            self.composer.put_typed(self._typed, entered=self._entered)
        for warning in launch.warnings:
            self.say(warning, Severity.WARNING)
        self.call_after_refresh(self._connect)

    @work(group="opening")
    async def _connect(self) -> None:
        self._read_branch()
        await self.opening.begin(self._resume, self._first_prompt)

    async def set_up(self) -> None:
        """`/login`: set up a provider and open a conversation with it."""
        await self.opening.set_up()

    async def open_session(self, path: Path | None, folder: Path | None = None) -> None:
        """Another session: a new one, or the one in `path`; with `folder`, it works there now."""
        await self.opening.open_session(path, folder)

    # -- what the user says ---------------------------------------------------------------------

    @on(Composer.Submitted)
    def _submitted(self, message: Composer.Submitted) -> None:
        if self.control.conversation is None:  # keep the prompt, ask for a model (APP9.8)
            self.composer.restore([message.text])
            self.run_worker(self.open_session(None), group="commands", exclusive=True)
            return
        self.run_worker(
            self.control.submit(message.text, follow_up=message.follow_up), group="conversation"
        )

    @on(Composer.DraftBegun)
    def _draft_begun(self) -> None:
        self._warm_up()

    @work(group="warming", exit_on_error=False)
    async def _warm_up(self) -> None:
        await self.control.warm_up()
        # What is loaded by now stays for good. Walking it again and again for cycles would stop
        # a turn for a tenth of a second each time. A test's app is one of many in its process.
        if not self.app.is_headless and not gc.get_freeze_count():
            gc.freeze()

    @on(Composer.CommandEntered)
    def _command_entered(self, message: Composer.CommandEntered) -> None:
        command = find_command(message.name)
        if command is None:
            self.say(f"there is no command /{message.name}; /help lists them", Severity.WARNING)
        elif self.control.is_running and not command.while_running:
            self.say(f"/{command.entry.name} has to wait until the turn is over (esc stops it)")
        elif self.control.command_is_running and command.leaves_session:
            self.say(f"/{command.entry.name} has to wait until your command is over (esc stops it)")
        else:
            self.run_worker(command.run(self, message.args), group="commands", exclusive=True)

    @on(Composer.ShellEntered)
    def _shell_entered(self, message: Composer.ShellEntered) -> None:
        if self.bench.permission_mode == "plan":
            self.say("plan mode is on: no commands run", Severity.WARNING)
        elif self.control.command_is_running:
            self.say("a command is still running (esc stops it)", Severity.WARNING)
        else:
            self.run_worker(
                self._run_shell(message.command, included=message.included), group="shell"
            )

    @on(Composer.Interrupted)
    def _composer_interrupted(self, message: Composer.Interrupted) -> None:
        """Ctrl+C: clear the draft, then stop what runs, then leave (APP5.39)."""
        if message.cleared:
            self._interrupted_at = None
            return
        if self.action_interrupt():
            return
        now = self._clock()
        if self._interrupted_at is not None and now - self._interrupted_at < QUIT_SECONDS:
            self.run_worker(self.leave(), group="leaving")
            return
        self._interrupted_at = now
        self.toast("press ctrl+c again to leave")

    # found by their names, so that the first screen need not import what asks
    def on_approval_prompt_answered(self, message: ApprovalPrompt.Answered) -> None:
        self.control.decide(message.approval_id, message.decision)
        self._dock.close(message.approval_id)
        if message.cancel_run:
            self.control.cancel()

    def on_questionnaire_form_answered(self, message: QuestionnaireForm.Answered) -> None:
        self._close_form(
            message.request_id, lambda: self.control.respond(message.request_id, message.response)
        )

    def on_questionnaire_form_dismissed(self, message: QuestionnaireForm.Dismissed) -> None:
        self._close_form(message.request_id, lambda: self.control.dismiss(message.request_id))

    def _close_form(self, request_id: HostInputId, answer: Callable[[], None]) -> None:
        try:
            answer()
        except InvalidHostResponse as error:
            self.say(str(error), Severity.WARNING)
        self._dock.close(request_id)

    @on(PromptDock.Changed)
    def _dock_changed(self, message: PromptDock.Changed) -> None:
        self.composer.hold_submission = message.wanted != "nothing"
        self._fit(self.app.size.height)
        self.presenter.show_pending()
        self._activity.attention = _ATTENTION[message.wanted]  # type: ignore[assignment] # its keys
        if message.wanted == "nothing" and self.is_current:
            self.composer.focus()

    def _fit(self, rows: int) -> None:
        """In a low terminal a prompt gets the rows of what only informs."""
        self.set_class(rows < _ROOMY_ROWS and self._dock.wanted != "nothing", "-prompt-only")

    @on(TranscriptView.FollowChanged)
    def _follow_changed(self, message: TranscriptView.FollowChanged) -> None:
        self._activity.at_bottom = message.at_bottom
        if message.at_bottom and self._activity.attention == "ready":
            self._activity.attention = "none"

    @on(ActivityLine.JumpRequested)
    def _jump(self) -> None:
        self._transcript.jump_to_bottom()

    @on(TranscriptView.CopyRequested)
    def _copy(self, message: TranscriptView.CopyRequested) -> None:
        self.app.copy_to_clipboard(message.text)
        self.toast("copied")

    @on(TranscriptView.LinkClicked)
    def _link_clicked(self, message: TranscriptView.LinkClicked) -> None:
        self.run_worker(self._offer_link(message.url), group="commands", exclusive=True)

    @on(events.TextSelected)
    def _selected(self) -> None:
        text = self.get_selected_text()
        if text:
            self.app.copy_to_clipboard(text)
            self.toast("copied the selection")

    def on_key(self, event: events.Key) -> None:
        """Keys that came before the composer had the focus, or when nothing has it, are its own.

        The composer uses up both kinds itself, so that none comes here a second time.
        """
        if (event.is_printable or event.key == "enter") and self._is_for_composer:
            self.composer.accept(event)

    def on_paste(self, event: events.Paste) -> None:
        """A paste that came before the composer had the focus."""
        if self._is_for_composer:
            self.composer.accept(event)

    @property
    def _is_for_composer(self) -> bool:
        return self.focused is None or self.composer.has_composer_focus

    # -- actions --------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Scroll keys belong to whoever has the focus, unless that is the composer."""
        if action in ("scroll_page", "scroll_to"):
            return self.composer.has_composer_focus or self.focused is None
        return True

    def action_interrupt(self) -> bool:
        """Stop a compaction, else the user's command, else the turn; False: nothing runs (5.39)."""
        if self.control.is_compacting:
            self.control.cancel()
            return True
        if self.control.command_is_running:
            self.control.cancel_command()
            return True
        if self.control.is_running:
            self.control.cancel()
            return True
        return False

    def action_scroll_page(self, direction: int) -> None:
        """A page up or down."""
        if direction < 0:
            self._transcript.action_page_up()
        else:
            self._transcript.action_page_down()

    def action_scroll_to(self, bottom: bool) -> None:
        """To the first row, or to the last one, following again."""
        if bottom:
            self._transcript.jump_to_bottom()
        else:
            self._transcript.action_scroll_home()

    def action_toggle_card(self) -> None:
        """Expand or collapse the newest card."""
        self._transcript.toggle_newest_expandable()

    def action_edit_pending(self) -> None:
        """Take the newest waiting input back into an empty composer."""
        if self.composer.text.strip():
            self.toast("send or clear the draft first")
        else:
            self.control.take_newest_pending()

    async def action_leave(self) -> None:
        """Leave Rho."""
        await self.leave()

    @property
    def last_session(self) -> str | None:
        """The session to go on with after the app has ended, if anything was said in one."""
        return self.control.last_session

    # -- for commands ---------------------------------------------------------------------------

    def say(self, text: str, severity: Severity = Severity.INFO) -> None:
        """A remark in the transcript that is not kept with the session."""
        self._remarks += 1
        block = (
            ErrorBlock(text)
            if severity is Severity.ERROR
            else NoticeBlock(text, "warning" if severity is Severity.WARNING else "info")
        )
        self._transcript.append(f"remark-{self._remarks}", block)

    def toast(self, text: str) -> None:
        """A line that goes by itself."""
        self.app.notify(clean_line(text), timeout=2.0, markup=False)

    def show_help(self) -> None:
        """Keys and commands."""
        from rho_tui.screens.help import COMPOSER_KEYS, HelpScreen, KeyHelp

        own = [
            KeyHelp(binding.key, binding.description.lower())
            for binding in self.BINDINGS
            # what esc does is among the composer's keys
            if isinstance(binding, Binding) and binding.key != "escape"
        ]
        self.app.push_screen(HelpScreen([*COMPOSER_KEYS, *own], chat_registry()))

    # -- details --------------------------------------------------------------------------------

    def _after_event(self, event: ConversationEvent) -> None:
        if self._notify_user is not None:
            self._notify_user.after(event)
        kind = type(event).__name__  # importing the events is not for the first screen
        if kind in ("SessionOpened", "TurnEnded") or (
            kind == "ToolFinished" and self._clock() - self._branch_read_at >= BRANCH_SECONDS
        ):
            self._read_branch()

    def _questionnaire_timeout(self) -> float | None:
        return self.bench.launch.config.questionnaire.timeout_seconds

    @work(group="branch", exclusive=True)
    async def _read_branch(self) -> None:
        """A tool may have switched the branch: read it again, off the event loop."""
        self._branch_read_at = self._clock()
        branch = await asyncio.to_thread(current_branch, self.control.folder)
        self._status.facts = replace(self._status.facts, branch=branch)

    async def _run_shell(self, command: str, *, included: bool) -> None:
        try:
            await self.control.run_command(command, included=included)
        except FolderGone as error:
            self.say(str(error), Severity.WARNING)
        self._read_branch()

    async def _offer_link(self, url: str) -> None:
        from rho_tui.screens.picker import Picker, PickerItem

        items = [PickerItem("open", "Open in the browser", url), PickerItem("copy", "Copy it")]
        picked = await self.app.push_screen_wait(Picker("Link", items))
        if picked == "open":
            self.app.open_url(url)
        elif picked == "copy":
            self.app.copy_to_clipboard(url)

    async def leave(self, code: int = 0) -> None:
        """End the conversation and everything that runs, then the app. Once."""
        if self._leaving:
            return
        self._leaving = True
        await self.control.close()
        await self.bench.aclose()
        self.app.exit(code)
