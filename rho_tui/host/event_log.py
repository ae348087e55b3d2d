"""What the host records and shows besides the events of a run, in one order."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rho_core.history.messages import History
from rho_tui.host.facts import ConversationEvent
from rho_tui.host.recording import SessionRecording
from rho_tui.host.replay import setting_changed
from rho_tui.host.sequencer import Sequencer
from rho_tui.host.sessions import records as r


class EventLog:
    """Takes its turn in the `sequencer`; an event that promises durability waits for the disk.

    `note` is told of every record that is staged here.
    """

    def __init__(
        self,
        recording: SessionRecording,
        sequencer: Sequencer,
        note: Callable[[r.Record], None],
    ) -> None:
        self._recording = recording
        self._sequencer = sequencer
        self._note = note

    def stage(self, record: r.Record) -> None:
        """Record now; it travels with the next flush."""
        self._recording.stage(record)
        self._note(record)

    def post(
        self,
        record: r.Record | None = None,
        events: Iterable[ConversationEvent] = (),
        *,
        durable: bool = False,
    ) -> None:
        """Record and show in turn. What is not `durable` travels with the next flush."""

        async def job() -> None:
            if record is not None:
                self.stage(record)
            await self.show(events, durable=durable)

        self._sequencer.post(job)

    def tell(self, record: r.Record | None, event: ConversationEvent) -> None:
        """Show an event in turn; if it has a record, once that is on disk."""
        self.post(record, [event], durable=record is not None)

    def setting(self, setting: r.Setting, value: str) -> None:
        """A setting was changed."""
        self.post(r.SettingChanged(setting, value), [setting_changed(setting, value)])

    def replaced(
        self,
        history: History,
        reason: r.ReplaceReason,
        record: r.Record | None,
        event: ConversationEvent,
    ) -> None:
        """The history of the session as a whole is now `history`."""

        async def job() -> None:
            self._recording.journal.sync(history, reason=reason)
            if record is not None:
                self.stage(record)
            await self.show([event], durable=True)

        self._sequencer.post(job)

    async def show(self, events: Iterable[ConversationEvent], *, durable: bool) -> None:
        """Show events, with `durable` once everything staged is on disk. For jobs in their turn."""
        if durable:
            notice = await self._recording.flush()
            if notice is not None:
                await self._sequencer.show([notice])
        await self._sequencer.show(events)
