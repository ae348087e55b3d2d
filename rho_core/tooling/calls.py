"""One call of a batch: its place in the life cycle and what is known of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from enum import Enum, auto
from typing import Any

from rho_core.cancellation import CancellationToken
from rho_core.channels import Channel
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.history.messages import ToolCall
from rho_core.tooling.contract import PreparedToolInvocation, Tool
from rho_core.tooling.execution import interrupted
from rho_core.tooling.values import (
    ToolCompletion,
    ToolFailed,
    ToolOutput,
    ToolProgress,
    ToolSucceeded,
)


class CallStage(Enum):
    """Where a call stands. Only `RUNNING` uses an execution slot (D24)."""

    WAITING = auto()
    AUTHORIZING = auto()
    READY = auto()
    RUNNING = auto()
    RESOLVED = auto()


class CallSlot:
    """The mutable record of one call. Its tasks belong to whoever holds the slot."""

    __slots__ = (
        "call",
        "completion",
        "depends_on",
        "duration",
        "failure",
        "plan",
        "progress",
        "reported",
        "stage",
        "started",
        "task",
        "token",
        "tool",
    )

    def __init__(self, call: ToolCall, tool: Tool | None) -> None:
        self.call = call
        self.tool = tool
        self.stage = CallStage.WAITING
        self.plan: PreparedToolInvocation | None = None
        self.failure: ToolError | None = None  # why preparation failed
        self.depends_on: tuple[int, ...] = ()
        self.task: asyncio.Task[Any] | None = None
        self.token: CancellationToken | None = None  # a detached job's own
        self.progress: Channel[ToolProgress] | None = None
        self.completion: ToolCompletion | None = None
        self.duration: float | None = None
        self.started = False  # ToolStarted was delivered
        self.reported = False  # ToolFinished was delivered

    @property
    def is_running(self) -> bool:
        """Whether the call uses an execution slot."""
        return self.stage is CallStage.RUNNING

    def resolve(self, completion: ToolCompletion) -> None:
        """The call has an outcome; the first one stands."""
        self.completion = self.completion or completion
        self.stage = CallStage.RESOLVED

    def settle(self) -> None:
        """Resolve an interrupted call: what it finished is kept, anything else was cut off."""
        if self.completion is not None:
            return
        if self.is_running and self.task is not None and self.task.done():
            completion = completion_of(self.task)
            if not _is_cancellation(completion):
                self.resolve(completion)
                return
        self.resolve(interrupted())


def completion_of(task: asyncio.Task[Any]) -> ToolCompletion:
    """The outcome of a finished execution task."""
    if task.cancelled():
        return failed(ToolError.cancelled())
    error = task.exception()
    if isinstance(error, ToolError):
        return failed(error)
    if error is not None:
        raise error  # only a crash of the executor itself gets here
    output = task.result()
    assert isinstance(output, ToolOutput)
    return ToolSucceeded(output)


def outcome_of(task: asyncio.Task[Any]) -> Any:
    """A finished preparation's or authorization's value, or the `ToolError` it ended with."""
    if task.cancelled():
        return ToolError.cancelled()
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, ToolError):
        return error
    raise error


def failed(error: ToolError) -> ToolFailed:
    """A typed failure as a completion, with the facts it carries."""
    plain = ToolFailed(error.tool_kind, error.message)
    if not error.details:
        return plain
    try:
        return replace(plain, metadata=plain.metadata.with_details(**error.details))
    except ValueError:  # facts that are no JSON are the tool's mistake, not the run's end
        return plain


def _is_cancellation(completion: ToolCompletion) -> bool:
    return isinstance(completion, ToolFailed) and completion.kind is ToolErrorKind.CANCELLED
