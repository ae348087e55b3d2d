"""The non-blocking hook (I13)."""

from __future__ import annotations

from abc import ABC, abstractmethod

from rho_core.hooks.envelope import HookEnvelope


class HookObserver(ABC):
    """The host's sink of events that have happened."""

    @abstractmethod
    def observe(self, envelope: HookEnvelope) -> None:
        """Take the event. Called on the event loop: only enqueue, do no I/O.

        An exception is counted by the dispatcher and otherwise ignored.
        """
