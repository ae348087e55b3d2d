"""What the tests of runs share: collecting events, waiting, and judging histories."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from rho_core import events as ev
from rho_core.errors import RhoError
from rho_core.events import RunEvent, RunOutcome
from rho_core.history.messages import (
    AssistantMessage,
    EnrichedAssistant,
    History,
    Message,
    ToolCall,
    ToolResult,
    tool_calls_of,
)
from rho_core.run import Run
from rho_core.runtime import Rho
from rho_core.session import Session
from rho_core.testing import PlannedTool, ScriptedProvider, ScriptedTurn
from rho_core.tooling.contract import AuthorizedToolContext, ToolInvocation
from rho_core.tooling.values import ToolOutput, ToolUnavailable

DEADLINE = 5.0
E = TypeVar("E")

TERMINAL = (ev.Completed, ev.Cancelled, ev.Failed)


async def until(condition: Callable[[], Any], what: str = "condition") -> None:
    """Let the loop run until `condition` holds; fail after a deadline."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"{what} did not come true"
        await asyncio.sleep(0)


async def within(work: Any) -> Any:
    """Await `work`; a hang is a failure, not a stuck suite."""
    return await asyncio.wait_for(work, DEADLINE)


async def collect(run: Run) -> list[RunEvent]:
    """All events to the end of the stream."""
    return [event async for event in run]


async def read_until(run: Run, kind: type[E]) -> E:
    """Read events up to the first of `kind`."""
    while True:
        event = await within(run.next_event())
        assert event is not None, f"the stream ended before a {kind.__name__}"
        if isinstance(event, kind):
            return event


async def open_session(
    turns: Iterable[ScriptedTurn], **options: Any
) -> tuple[Session, ScriptedProvider]:
    """A session of a fresh runtime over a script."""
    provider = ScriptedProvider(turns)
    return await Rho(provider, **options).session(), provider


async def run_all(session: Session, text: str = "go") -> tuple[list[RunEvent], RunOutcome]:
    """One turn to a good end: its events and outcome."""
    async with session.start(text) as run:
        events = await within(collect(run))
        return events, await run.outcome()


async def run_failing(session: Session, text: str = "go") -> tuple[list[RunEvent], RhoError]:
    """One turn to a bad end: its events and error."""
    async with session.start(text) as run:
        events = await within(collect(run))
        try:
            await run.outcome()
        except RhoError as error:
            return events, error
    raise AssertionError("the run did not fail")


def of(events: Sequence[RunEvent], *kinds: type[E]) -> list[E]:
    """The events of some kinds, in order."""
    return [event for event in events if isinstance(event, kinds)]


def names(events: Sequence[RunEvent]) -> list[str]:
    """The class names of events."""
    return [type(event).__name__ for event in events]


def results(history: Iterable[Message]) -> list[ToolResult]:
    """The tool results in history order."""
    return [message for message in history if isinstance(message, ToolResult)]


def assert_replay_safe(history: History) -> None:
    """Each call of a completed assistant has exactly one later result, and none is orphaned."""
    open_calls: Counter[str] = Counter()
    for message in history:
        if isinstance(message, AssistantMessage | EnrichedAssistant):
            open_calls.update(call.id for call in tool_calls_of(message.content))
        elif isinstance(message, ToolResult):
            assert open_calls[message.id] > 0, f"orphaned result {message.id}"
            open_calls[message.id] -= 1
    assert not +open_calls, f"dangling calls {dict(+open_calls)}"


def assert_calls_paired(events: Sequence[RunEvent]) -> None:
    """Every started call is proposed before and finished exactly once (X4)."""
    proposed = Counter(e.call.id for e in of(events, ev.ToolProposed))
    started = Counter(str(e.call_id) for e in of(events, ev.ToolStarted))
    finished = Counter(
        str(e.call_id)
        for e in of(events, ev.ToolFinished)
        if not isinstance(e.completion, ToolUnavailable)  # such a call never started
    )
    assert set(finished) <= set(started)
    for call_id, count in started.items():
        assert proposed[call_id] >= count
        assert finished[call_id] == count, f"{call_id}: started {count}, finished {finished}"


def call(id: str, name: str, **arguments: Any) -> ToolCall:
    """A tool call."""
    return ToolCall.of(id, name, arguments)


class Gate:
    """A tool body that tells when it started and waits to be opened."""

    def __init__(self) -> None:
        self.running: list[str] = []
        self.dropped: list[str] = []
        self.peak = 0
        self._active = 0
        self._doors: dict[str, asyncio.Event] = {}

    def door(self, key: str) -> asyncio.Event:
        return self._doors.setdefault(key, asyncio.Event())

    def open(self, key: str) -> None:
        self.door(key).set()

    async def body(self, invocation: ToolInvocation, context: AuthorizedToolContext) -> ToolOutput:
        key = str(invocation.id)
        self.running.append(key)
        self._active += 1
        self.peak = max(self.peak, self._active)
        try:
            await self.door(key).wait()
        except asyncio.CancelledError:
            self.dropped.append(key)
            raise
        finally:
            self._active -= 1
        return ToolOutput.text(f"done {key}")

    def tool(self, name: str, **options: Any) -> PlannedTool:
        return PlannedTool(name, self.body, **options)


def leaked_tasks() -> list[asyncio.Task[Any]]:
    """Tasks of this loop other than the current one."""
    current = asyncio.current_task()
    return [task for task in asyncio.all_tasks() if task is not current and not task.done()]
