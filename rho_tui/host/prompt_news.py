"""What the model is told with the next prompt besides what a person wrote (T1.5, T17.14, T28.1).

Each piece of news is a text block before the prompt's own: the model reads all, people see them
apart. A message of its own would break servers that want prompts and answers to alternate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rho_core.history.messages import ContentBlock, History, Text
from rho_core.inputs import UserInput
from rho_core.tools.process.notice import NOTICE_HEAD, ProcessNotice
from rho_tui.host.command_news import COMMAND_NEWS_HEAD, CommandNews
from rho_tui.host.edit_tool import EDIT_NOTICE_HEAD, ConversationEditTool


@dataclass(frozen=True, slots=True)
class News:
    """What goes along with one prompt."""

    edit_tool: str | None = None
    processes: ProcessNotice | None = None
    commands: tuple[str, ...] = ()

    def before(self, prompt: UserInput) -> UserInput:
        """The prompt with the news in front of it."""
        processes = self.processes.text if self.processes else None
        told = (self.edit_tool, processes, *self.commands)
        blocks = tuple(Text(f"{text}\n\n") for text in told if text)
        return UserInput((*blocks, *prompt.content)) if blocks else prompt


class PromptNews:
    """Collects the news of one conversation.

    Args:
        take_notice: Gives what is to be told of background processes, once.
        edit_tool: The edit tool, whose change is told until `told` is called.
        commands: What the user ran.
    """

    def __init__(
        self,
        take_notice: Callable[[], ProcessNotice | None] | None = None,
        edit_tool: ConversationEditTool | None = None,
        commands: CommandNews | None = None,
    ) -> None:
        self._take_notice = take_notice
        self._edit_tool = edit_tool
        self._commands = commands or CommandNews()

    async def take(self, history: History) -> News:
        """What is new to a model that knows `history`."""
        tool, edit = self._edit_tool, None
        if tool is not None and tool.is_news_to(history):
            edit = await asyncio.to_thread(tool.notice)  # it makes a schema
        notice = self._take_notice() if self._take_notice is not None else None
        return News(edit, notice, self._commands.take())

    def restore(self, news: News) -> None:
        """The prompt did not go out: tell it with the next one."""
        if news.processes is not None:
            news.processes.restore()
        self._commands.restore(news.commands)

    def told(self) -> None:
        """The prompt went out, and the news with it."""
        if self._edit_tool is not None:
            self._edit_tool.told()


def without_news(content: Sequence[ContentBlock]) -> tuple[ContentBlock, ...]:
    """What a person wrote of a prompt that may carry news."""
    rest = tuple(content)
    while len(rest) > 1 and isinstance(rest[0], Text) and rest[0].text.startswith(_HEADS):
        rest = rest[1:]
    return rest


_HEADS = (EDIT_NOTICE_HEAD, NOTICE_HEAD, COMMAND_NEWS_HEAD)
