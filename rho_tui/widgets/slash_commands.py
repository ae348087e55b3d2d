"""Slash commands as the composer knows them: names, help, parsing (APP5.1-5.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_NAME = re.compile(r"/([A-Za-z][\w:.-]*)(?:[ \t]+(.*))?\Z")


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One command. `hint` shows its arguments, such as `[id]`; `aliases` are other names.

    `needs_argument` makes Enter in the palette complete the name and wait, instead of running it.
    """

    name: str
    help: str
    hint: str = ""
    aliases: tuple[str, ...] = ()
    needs_argument: bool = False

    @property
    def usage(self) -> str:
        """`/name` and its arguments."""
        return f"/{self.name} {self.hint}".rstrip()


class CommandRegistry:
    """The commands that can be completed; names are case-insensitive, in alphabetical order."""

    def __init__(self, commands: Iterable[SlashCommand] = ()) -> None:
        self._commands: dict[str, SlashCommand] = {}
        for command in commands:
            self.add(command)

    def add(self, command: SlashCommand) -> None:
        """Add a command; a name that is taken raises `ValueError`."""
        key = command.name.casefold()
        if key in self._commands:
            raise ValueError(f"command /{command.name} exists already")
        self._commands[key] = command

    def all(self) -> list[SlashCommand]:
        """Every command, by name."""
        return [self._commands[key] for key in sorted(self._commands)]

    def get(self, name: str) -> SlashCommand | None:
        """The command of that name or alias."""
        key = name.casefold()
        found = self._commands.get(key)
        if found is not None:
            return found
        for command in self._commands.values():
            if key in (alias.casefold() for alias in command.aliases):
                return command
        return None

    def complete(self, prefix: str) -> list[SlashCommand]:
        """Commands whose name starts with `prefix`, an exact name first."""
        key = prefix.casefold()
        found = [command for command in self.all() if command.name.casefold().startswith(key)]
        return sorted(found, key=lambda command: command.name.casefold() != key)


def parse_command(text: str) -> tuple[str, str] | None:
    """Name and arguments of a command line, None for ordinary text (APP5.1).

    A command is one line whose first character is `/`; `//x` and paths such as `/usr/bin` are text.
    """
    if "\n" in text:
        return None
    match = _NAME.match(text.rstrip())
    if match is None:
        return None
    return match[1], (match[2] or "").strip()
