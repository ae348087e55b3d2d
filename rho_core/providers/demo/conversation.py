"""What the demo knows: the newest prompt, and what its tools have brought since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rho_core.history.messages import (
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    as_tool_image_supplement,
    completed_assistant_content,
    text_of,
    tool_calls_of,
)
from rho_core.providers.contract import ToolSpec


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call of this turn and its result."""

    call: ToolCall
    result: ToolResult

    @property
    def denied(self) -> bool:
        """Whether a person or a policy said no, as opposed to a failure."""
        return not self.result.ok and "denied" in self.result.content.lower()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turn that is being answered."""

    prompt: str
    steps: tuple[Step, ...]
    tools: tuple[ToolSpec, ...]

    @classmethod
    def of(cls, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Conversation:
        """Read the history backwards to the newest prompt."""
        start = next(
            (
                index
                for index in range(len(messages) - 1, -1, -1)
                if isinstance(messages[index], UserMessage)
                and as_tool_image_supplement(messages[index]) is None
            ),
            None,
        )
        if start is None:
            return cls("", (), tuple(tools))
        prompt = messages[start]
        since = messages[start + 1 :]
        results = {m.id: m for m in since if isinstance(m, ToolResult)}
        steps = tuple(
            Step(call, results[call.id])
            for message in since
            for call in tool_calls_of(completed_assistant_content(message) or ())
            if call.id in results
        )
        text = text_of(prompt.content) if isinstance(prompt, UserMessage) else ""
        return cls(text, steps, tuple(tools))

    def tool(self, name: str) -> ToolSpec | None:
        """The tool of that name, if the host offers it."""
        return next((spec for spec in self.tools if spec.name == name), None)

    def newest(self, name: str) -> Step | None:
        """The newest step with that tool."""
        return next((s for s in reversed(self.steps) if s.call.name == name), None)
