"""The slash commands of the chat screen: what they are called and what they do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rho_tui.widgets.slash_commands import CommandRegistry, SlashCommand

if TYPE_CHECKING:
    from rho_tui.screens.chat_host import ChatHost


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command; `run` gets the screen and the arguments.

    `while_running`: it may come while a turn runs. `leaves_session`: another session follows.
    """

    entry: SlashCommand
    run: Callable[[ChatHost, str], Awaitable[None]]
    while_running: bool = False
    leaves_session: bool = False


async def _help(screen: ChatHost, _args: str) -> None:
    screen.show_help()


async def _exit(screen: ChatHost, _args: str) -> None:
    await screen.leave()


async def _new(screen: ChatHost, _args: str) -> None:
    await screen.open_session(None)


async def _resume(screen: ChatHost, args: str) -> None:
    from rho_tui.screens.command_actions import pick_session

    summary = await pick_session(screen, args)
    if summary is not None:
        await screen.open_session(summary.path)


async def _move(screen: ChatHost, _args: str) -> None:
    from rho_tui.screens.command_actions import move_session

    await move_session(screen)


async def _model(screen: ChatHost, args: str) -> None:
    from rho_tui.screens.command_actions import choose_model

    await choose_model(screen, args)


async def _mode(screen: ChatHost, args: str) -> None:
    from rho_tui.screens.command_actions import choose_mode

    await choose_mode(screen, args)


async def _reasoning(screen: ChatHost, args: str) -> None:
    from rho_tui.screens.command_actions import choose_reasoning

    await choose_reasoning(screen, args)


async def _login(screen: ChatHost, _args: str) -> None:
    await screen.set_up()


async def _compact(screen: ChatHost, _args: str) -> None:
    # in a group of its own: another command must not end it, as it would end a picker
    screen.run_worker(screen.control.compact(), group="compaction")


_ALL = (
    ChatCommand(SlashCommand("help", "keys and commands", aliases=("?",)), _help, True),
    ChatCommand(SlashCommand("exit", "leave Rho", aliases=("quit",)), _exit, True),
    ChatCommand(
        SlashCommand("new", "start a new session", aliases=("clear",)),
        _new,
        leaves_session=True,
    ),
    ChatCommand(
        SlashCommand("resume", "go on with an earlier session", "[id]"),
        _resume,
        leaves_session=True,
    ),
    ChatCommand(
        SlashCommand("move", "go on here, when the session's folder is gone"),
        _move,
        leaves_session=True,
    ),
    ChatCommand(SlashCommand("model", "use another model", "[model]"), _model),
    ChatCommand(SlashCommand("mode", "change the permission mode", "[mode]"), _mode),
    ChatCommand(SlashCommand("reasoning", "how hard the model thinks", "[level]"), _reasoning),
    ChatCommand(SlashCommand("login", "set up a provider"), _login, leaves_session=True),
    ChatCommand(SlashCommand("compact", "summarise the history to make room"), _compact),
)


def find_command(name: str) -> ChatCommand | None:
    """The command of that name or alias, in any case."""
    entry = chat_registry().get(name)
    return next((command for command in _ALL if command.entry is entry), None)


def chat_registry() -> CommandRegistry:
    """The commands as the composer completes them."""
    return CommandRegistry(command.entry for command in _ALL)
