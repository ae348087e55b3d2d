"""`rho run`: one prompt without a screen (section 8 of the app contracts)."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from dataclasses import dataclass, replace

from rho_core.errors import format_retry_after
from rho_core.events import (
    ProviderStreamReset,
    RetryableFailureReset,
    ToolFinished,
    ToolProposed,
    ToolStarted,
)
from rho_core.tooling.values import ToolSucceeded
from rho_tui.cli import event_loop
from rho_tui.cli.exit_codes import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_LIMIT,
    EXIT_OK,
    EXIT_TERMINATED,
    EXIT_USAGE,
)
from rho_tui.cli.launching import complain, launch_from
from rho_tui.host import facts
from rho_tui.host.catalogue import NotConfigured
from rho_tui.host.config import ConfigError
from rho_tui.host.conversation import Conversation
from rho_tui.host.credentials import CredentialError
from rho_tui.host.launch import Launch
from rho_tui.host.workbench import CannotOpen, Workbench
from rho_tui.transcript.sanitize import clean_line
from rho_tui.transcript.tool_cards import CallFacts, tool_card

_MAX_NARRATED = 200


@dataclass(slots=True)
class _Stop:
    """Why the run was asked to stop, as the exit code that follows from it."""

    code: int | None = None


def run_headless(options: argparse.Namespace) -> int:
    """Answer the prompt of the command line; returns the exit code (8.6)."""
    try:
        prompt = _prompt(options)
        launch = launch_from(options)
    except (ConfigError, ValueError) as error:
        complain(error)
        return EXIT_USAGE
    if options.max_steps is not None:
        steps = replace(launch.config.model, max_steps=options.max_steps)
        launch = replace(launch, config=replace(launch.config, model=steps))
    return event_loop.run(_answer(launch, prompt, options.timeout))


def _prompt(options: argparse.Namespace) -> str:
    """The words of the command line, then standard input where it was asked for."""
    parts = [" ".join(options.words)]
    if options.stdin:
        parts.append(sys.stdin.buffer.read().decode("utf-8", "replace"))
    elif not options.words and not sys.stdin.isatty():
        raise ValueError("to read the prompt from standard input, add --stdin")
    prompt = "\n\n".join(part for part in parts if part.strip())
    if not prompt:
        raise ValueError('the prompt is empty; say what to do: rho run "…"')
    return prompt


async def _answer(launch: Launch, prompt: str, timeout: float | None) -> int:
    bench = Workbench(launch, interactive=False, stored=False)
    for warning in launch.warnings:
        _say(f"warning: {clean_line(warning)}")
    try:
        choice = await bench.connect()
        if isinstance(choice, NotConfigured):
            complain(choice.reason)
            return EXIT_USAGE
        opened = await bench.open()
        for warning in opened.warnings:
            _say(f"warning: {clean_line(warning)}")
        async with opened.conversation as conversation:
            return await _converse(conversation, prompt, timeout)
    except (ConfigError, CredentialError, CannotOpen) as error:
        complain(error)
        return EXIT_USAGE
    finally:
        await bench.aclose()


async def _converse(conversation: Conversation, prompt: str, timeout: float | None) -> int:
    stop = _Stop()

    def ask_to_stop(code: int) -> None:
        if stop.code is None:
            stop.code = code
        conversation.cancel()

    loop = asyncio.get_running_loop()
    for number, code in ((signal.SIGINT, EXIT_INTERRUPTED), (signal.SIGTERM, EXIT_TERMINATED)):
        with contextlib.suppress(NotImplementedError):  # Windows: Ctrl+C raises instead
            loop.add_signal_handler(number, ask_to_stop, code)
    timer = loop.call_later(timeout, ask_to_stop, EXIT_LIMIT) if timeout else None
    try:
        await conversation.send(prompt)
        ended = await _follow(conversation)
    finally:
        if timer is not None:
            timer.cancel()
    return _report(ended, stop)


async def _follow(conversation: Conversation) -> facts.TurnEnded:
    """Narrate the turn on standard error until it ends."""
    calls: dict[str, CallFacts] = {}
    async for event in conversation.events():
        match event:
            case ToolProposed(call=proposed):
                calls[proposed.id] = CallFacts(proposed.name, proposed.arguments)
            case ToolStarted(call_id=call_id) if call_id in calls:
                _narrate(f"● {_title(calls[call_id])}")
            case ToolFinished(call_id=call_id, completion=completion) if call_id in calls:
                mark = "✓" if isinstance(completion, ToolSucceeded) else "✗"
                call = replace(calls[call_id], completion=completion)
                outcome = [fact.text for fact in tool_card(call).facts]
                _narrate("  ".join([f"{mark} {_title(call)}", *outcome]))
            case ProviderStreamReset(reason=RetryableFailureReset(), detail=detail, delay=delay):
                _say(clean_line(f"{detail}; again in {format_retry_after(delay)}"))
            case facts.Notice(text=text):
                _narrate(text)
            case facts.TurnEnded():
                return event
            case _:
                pass
    raise RuntimeError("the conversation ended without the end of its turn")


def _title(call: CallFacts) -> str:
    header = tool_card(call).header
    return f"{header.verb} {header.primary}".strip()


def _report(ended: facts.TurnEnded, stop: _Stop) -> int:
    """The answer on standard output, the rest on standard error (8.3, 8.5)."""
    if ended.text and not _print_answer(ended.text):
        return EXIT_FAILED
    if stop.code is not None:
        complain("time limit reached" if stop.code == EXIT_LIMIT else "interrupted")
        return stop.code
    match ended.kind:
        case facts.TurnEndKind.COMPLETED:
            return EXIT_OK
        case facts.TurnEndKind.MAX_STEPS:
            complain("step limit reached")
            return EXIT_LIMIT
        case _:
            complain(clean_line(ended.message or "the run was interrupted"))
            return EXIT_FAILED


def _print_answer(text: str) -> bool:
    try:
        sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
        sys.stdout.flush()
    except OSError as error:
        complain(f"the answer could not be written: {error.strerror}")
        sys.stdout = None  # the interpreter must not flush it again
        return False
    return True


def _narrate(text: str) -> None:
    line = clean_line(text)
    if len(line) > _MAX_NARRATED:
        line = line[: _MAX_NARRATED - 1] + "…"
    _say(line)


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)
