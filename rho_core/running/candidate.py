"""The history of a run before it is committed: private, growing, always closable (C43, C72)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rho_core.history.messages import (
    ContentBlock,
    History,
    Message,
    ToolCall,
    ToolResult,
    completed_assistant_content,
    tool_calls_of,
    tool_image_supplement,
)
from rho_core.history.tokens import estimate_message_tokens
from rho_core.tooling.execution import INTERRUPTED_TEXT
from rho_core.tooling.values import ToolCompletion, ToolFailed, ToolSucceeded, ToolUnavailable


class CandidateHistory:
    """Committed history plus what the run adds. Messages are immutable and shared, never copied."""

    def __init__(self, committed: History) -> None:
        self._messages: list[Message] = list(committed)
        self._own_from = len(committed)  # earlier messages are none of this run's business
        self._view: History | None = committed
        self._measured = self._tokens = 0  # how many messages are in the sum, and the sum

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def messages(self) -> History:
        """The history as it stands, as one immutable tuple."""
        if self._view is None:
            self._view = tuple(self._messages)
        return self._view

    @property
    def tokens(self) -> int:
        """The estimate for all messages (J16); a step only adds what is new."""
        for message in self._messages[self._measured :]:
            self._tokens += estimate_message_tokens(message)
        self._measured = len(self._messages)
        return self._tokens

    def append(self, message: Message) -> None:
        """Add one message."""
        self._messages.append(message)
        self._view = None

    def replace(self, history: History) -> None:
        """Continue from a compacted history instead."""
        self._messages = list(history)
        self._own_from = len(history)
        self._view = history
        self._measured = self._tokens = 0

    def add_results(
        self, completions: Iterable[tuple[ToolCall, ToolCompletion]], *, with_images: bool
    ) -> None:
        """Append one commit unit: all results, then the images in the same order (DI4, DI6)."""
        supplements: list[Message] = []
        for call, completion in completions:
            self.append(tool_result(call, completion))
            if with_images and isinstance(completion, ToolSucceeded):
                images = completion.output.images
                supplement = tool_image_supplement(call.name, call.id, images)
                if supplement is not None:
                    supplements.append(supplement)
        for message in supplements:
            self.append(message)

    def interrupt_unresolved(self) -> None:
        """Give every call of this run that has no result the interrupted one (C72, D58)."""
        answered = Counter(
            m.id for m in self._messages[self._own_from :] if isinstance(m, ToolResult)
        )
        missing: list[ToolCall] = []
        for message in self._messages[self._own_from :]:
            for call in tool_calls_of(completed_assistant_content(message) or ()):
                if answered[call.id] > 0:
                    answered[call.id] -= 1
                else:
                    missing.append(call)
        for call in missing:
            self.append(ToolResult(call.id, ok=False, content=INTERRUPTED_TEXT))

    def newest_assistant_content(self) -> tuple[ContentBlock, ...]:
        """The content of the newest completed assistant turn (C49)."""
        for message in reversed(self._messages):
            content = completed_assistant_content(message)
            if content is not None:
                return content
        return ()


def tool_result(call: ToolCall, completion: ToolCompletion) -> ToolResult:
    """What the model reads of a completion."""
    match completion:
        case ToolSucceeded(output=output):
            return ToolResult(call.id, ok=True, content=output.content)
        case ToolFailed(message=message):
            return ToolResult(call.id, ok=False, content=message)
        case ToolUnavailable(instead=instead):
            hint = f"; use '{instead}'" if instead else ""
            content = f"tool '{call.name}' is unavailable{hint}"
            return ToolResult(call.id, ok=False, content=content)
