"""What happens on a stage: prompts, answers, and a picture only once everything is at rest."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from rho_tui.app import RhoApp
from rho_tui.host.facts import ConversationEvent
from rho_tui.widgets.activity_line import ActivityLine
from rho_tui.widgets.approval_prompt import ApprovalPrompt
from rho_tui.widgets.questionnaire_form import QuestionnaireForm
from rho_tui.widgets.transcript_view import TranscriptView
from tests.tui.stage import Stage
from tests.tui.terminal import screen_text, write

_SECONDS = 30.0


class Scene:
    """Plays one app; every step waits for what it causes."""

    def __init__(self, stage: Stage, pilot: Pilot) -> None:
        self.pilot = pilot
        self.clock = stage.clock
        assert isinstance(pilot.app, RhoApp)
        self.app: RhoApp = pilot.app
        self.chat = self.app.chat

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait for a condition, looking seldom enough to leave the app the processor."""
        deadline = time.monotonic() + _SECONDS
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"not in time; screen:\n{screen_text(self.app)}")
            await asyncio.sleep(0.02)

    async def shows(self, text: str) -> None:
        await self.until(lambda: text in screen_text(self.app))

    async def open(self) -> None:
        """The conversation is there."""
        await self.until(lambda: self.chat.control.conversation and self.chat.composer.ready)

    def ask(self, text: str) -> None:
        """Send a prompt."""
        self.chat.composer.set_text("")
        self.chat.composer.put_typed(text, entered=True)

    async def type(self, text: str) -> None:
        """Press the keys of a text, as one write of the terminal."""
        write(self.app, text)
        await self.pilot.pause()

    async def turn(self, text: str) -> None:
        """Send a prompt and wait for the end of its turn."""
        await self.open()
        conversation = self.chat.control.conversation
        assert conversation is not None
        before = conversation.session.revision
        self.ask(text)
        # a scripted turn can be over before anybody looks: its commit cannot be missed
        await self.until(lambda: conversation.session.revision > before)
        await self.ended()

    async def ended(self) -> None:
        await self.until(lambda: not self.chat.composer.running)

    async def approval(self) -> ApprovalPrompt:
        """An approval is asked and takes keys."""
        await self.until(lambda: self.chat.query(ApprovalPrompt))
        prompt = self.chat.query_one(ApprovalPrompt)
        await self.until(lambda: prompt.is_mounted)
        self.clock.now += 1
        await self.until(lambda: prompt.armed and prompt.has_focus)
        return prompt

    async def allow(self) -> None:
        """Allow what is asked, once."""
        prompt = await self.approval()
        await self.pilot.press("1")
        await self.until(lambda: not prompt.is_attached)

    async def form(self) -> QuestionnaireForm:
        """A form is open and takes keys."""
        await self.until(lambda: self.chat.query(QuestionnaireForm))
        form = self.chat.query_one(QuestionnaireForm)
        await self.until(lambda: form.is_mounted)
        self.clock.now += 1
        await self.until(lambda: form.armed and form.has_focus)
        return form

    def fold(self, events: Iterable[ConversationEvent]) -> None:
        """Show events that no scripted model can cause at a known moment."""
        for event in events:
            self.chat.presenter.fold(event)

    async def rest(self) -> None:
        """Nothing moves any more: the focus is back, no caret blinks, every row is coloured."""
        if self.app.screen is self.chat and not self.chat.query(
            "ApprovalPrompt, QuestionnaireForm"
        ):
            await self.until(lambda: self.chat.composer.has_composer_focus)
        for field in self.app.screen.query("TextArea, Input").results(TextArea | Input):
            field.cursor_blink = False
        await self.until(lambda: not [w for w in self.app.workers if w.group == "branch"])
        self.chat.query_one(ActivityLine).refresh()  # its own timer follows real seconds
        transcript = self.chat.query_one(TranscriptView)
        transcript.remove_class("-scrolling")  # so does the scrollbar, which goes by itself

        def drawn() -> bool:
            # what the view still has to do is its own affair everywhere but here
            busy = transcript._frame_timer or transcript._growing or transcript._changed
            return not busy and transcript._colouring() is None

        picture = ""
        async with asyncio.timeout(_SECONDS):
            while True:
                transcript.flush()
                await self.pilot.pause()
                if drawn() and picture == (picture := self.app.export_screenshot()):
                    return
