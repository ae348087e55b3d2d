"""Where approvals and questions wait for a person, in the order they came (APP3.9)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias

from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget

from rho_tui.widgets.typing_guard import TypingGuard

if TYPE_CHECKING:
    from rho_tui.host.facts import ApprovalAsked, QuestionAsked

    Asked: TypeAlias = ApprovalAsked | QuestionAsked

Wanted: TypeAlias = Literal["nothing", "approval", "input"]


class PromptDock(Vertical):
    """Shows the oldest request; the others have not opened, so no clock of theirs runs.

    Args:
        guard: Shared typing guard: keys in flight never answer.
        timeout_seconds: `[questionnaire].timeout_seconds`, read when a form opens.
        clock: Monotonic clock in seconds, for deadlines.
    """

    DEFAULT_CSS = "PromptDock { height: auto; }"

    class Changed(Message):
        """Another request is shown, or none: what a person is `wanted` for."""

        def __init__(self, wanted: Wanted) -> None:
            super().__init__()
            self.wanted = wanted

    def __init__(
        self,
        guard: TypingGuard,
        timeout_seconds: Callable[[], float | None],
        *,
        clock: Callable[[], float] = time.monotonic,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._guard = guard
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._waiting: list[Asked] = []
        self._shown: str | None = None

    @property
    def wanted(self) -> Wanted:
        """What the request that is shown wants."""
        if not self._waiting:
            return "nothing"
        from rho_tui.host.facts import ApprovalAsked

        return "approval" if isinstance(self._waiting[0], ApprovalAsked) else "input"

    def ask(self, asked: Asked) -> None:
        """Queue a request; it is shown when those before it are done."""
        self._waiting.append(asked)
        self._update()

    def close(self, request_id: str) -> None:
        """The request is answered or void; an unknown one is no error."""
        kept = [asked for asked in self._waiting if _id(asked) != request_id]
        if len(kept) != len(self._waiting):
            self._waiting = kept
            self._update()

    def clear(self) -> None:
        """Every request is void."""
        self._waiting.clear()
        self._update()

    def _update(self) -> None:
        first = self._waiting[0] if self._waiting else None
        wanted_id = _id(first) if first else None
        if wanted_id == self._shown:
            if first is not None:
                self._count_waiting()
            return
        self._shown = wanted_id
        self.query("ApprovalPrompt, QuestionnaireForm").remove()
        if first is not None:
            self.mount(self._widget_for(first))
        self.post_message(self.Changed(self.wanted))

    def _count_waiting(self) -> None:
        from rho_tui.widgets.approval_prompt import ApprovalPrompt

        for prompt in self.query(ApprovalPrompt):
            prompt.waiting = len(self._waiting) - 1

    def _widget_for(self, asked: Asked) -> Widget:
        # imported with the first request: the first screen does without
        from rho_tui.host.facts import ApprovalAsked
        from rho_tui.widgets.approval_prompt import ApprovalPrompt
        from rho_tui.widgets.questionnaire_form import QuestionnaireForm

        if isinstance(asked, ApprovalAsked):
            return ApprovalPrompt(
                asked.approval_id,
                asked.request,
                preview=asked.preview,
                waiting=len(self._waiting) - 1,
                guard=self._guard,
            )
        return QuestionnaireForm(
            asked.request,
            timeout_seconds=self._timeout_seconds(),
            guard=self._guard,
            clock=self._clock,
        )


def _id(asked: Asked) -> str:
    from rho_tui.host.facts import ApprovalAsked

    return asked.approval_id if isinstance(asked, ApprovalAsked) else asked.request.id
