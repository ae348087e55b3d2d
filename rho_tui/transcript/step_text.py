"""The text of one model step: answer and reasoning as they stream (APP2.8–2.19, 2.38)."""

from __future__ import annotations

from collections.abc import Callable

from rho_tui.transcript.blocks import AssistantBlock, ReasoningBlock
from rho_tui.transcript.sink import TranscriptSink


class StepText:
    """Opens, grows, closes and reconciles the text blocks of the step in progress."""

    def __init__(
        self, sink: TranscriptSink, next_id: Callable[[str], str], *, show_reasoning: bool
    ) -> None:
        self._sink = sink
        self._next_id = next_id
        self._show_reasoning = show_reasoning
        self._answer: str | None = None
        self._reasoning: str | None = None
        self._summary_only = True
        # what this attempt has shown, so that a reset can take it back
        self._answers: dict[str, list[str]] = {}
        self._thoughts: dict[str, list[str]] = {}

    def begin(self) -> None:
        """A new step or attempt starts: what was shown before stays."""
        self.close()
        self._answers.clear()
        self._thoughts.clear()
        self._summary_only = True

    def answer(self, text: str) -> None:
        """A piece of the answer."""
        self._close_reasoning()
        if self._answer is None:
            self._answer = self._next_id("answer")
            self._answers[self._answer] = []
            self._sink.append(self._answer, AssistantBlock(streaming=True))
        self._answers[self._answer].append(text)
        self._sink.append_text(self._answer, text)

    def reasoning(self, text: str, *, summary: bool) -> None:
        """A piece of reasoning; a summary is left out where raw reasoning was shown."""
        if summary and not self._summary_only:
            return
        self._summary_only = self._summary_only and summary
        self._close_answer()
        if self._reasoning is None:
            self._reasoning = self._next_id("reasoning")
            self._thoughts[self._reasoning] = []
            block = ReasoningBlock(streaming=True, show_text=self._show_reasoning)
            self._sink.append(self._reasoning, block)
        self._thoughts[self._reasoning].append(text)
        self._sink.append_text(self._reasoning, text)

    def reasoning_closed(self, seconds: float) -> None:
        """The stretch of reasoning ended; say how long it took."""
        if self._reasoning is None:
            # raw reasoning is not kept with a session: of a replayed one only its length is left
            self._sink.append(self._next_id("reasoning"), ReasoningBlock(elapsed=seconds))
            return
        closed = ReasoningBlock(
            "".join(self._thoughts[self._reasoning]),
            elapsed=seconds,
            show_text=self._show_reasoning,
        )
        self._sink.set_block(self._reasoning, closed)
        self._reasoning = None

    def settle(self, text: str) -> None:
        """The step's authoritative text: correct what is shown if it differs (APP2.14)."""
        self.close()
        shown = "".join(piece for pieces in self._answers.values() for piece in pieces)
        if shown == text:
            return
        ids = list(self._answers)
        if not ids:
            self._sink.append(self._next_id("answer"), AssistantBlock(text))
        elif text.startswith(shown):
            last = "".join(self._answers[ids[-1]]) + text[len(shown) :]
            self._sink.set_block(ids[-1], AssistantBlock(last))
        else:
            self._sink.set_block(ids[-1], AssistantBlock(text))
            for block_id in ids[:-1]:
                self._sink.remove_block(block_id)
        self._answers.clear()

    def discard(self) -> None:
        """The attempt is void: take back everything it showed."""
        for block_id in (*self._answers, *self._thoughts):
            self._sink.remove_block(block_id)
        self._answer = self._reasoning = None
        self._answers.clear()
        self._thoughts.clear()
        self._summary_only = True

    def close(self) -> None:
        """End both streams; a tool event or another speaker follows (APP2.15)."""
        self._close_answer()
        self._close_reasoning()

    def _close_answer(self) -> None:
        if self._answer is not None:
            self._sink.finish(self._answer)
            self._answer = None

    def _close_reasoning(self) -> None:
        if self._reasoning is not None:
            self._sink.finish(self._reasoning)
            self._reasoning = None
