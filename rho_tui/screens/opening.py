"""How the chat gets a provider and a conversation: at the start, after `/login`, for `/resume`."""

from __future__ import annotations

from pathlib import Path

from rho_core.errors import RhoError
from rho_tui.host.kinds import Severity
from rho_tui.host.workbench import CannotOpen
from rho_tui.screens.chat_host import ChatHost


class SessionOpening:
    """Opens conversations for a chat screen; failures are said there, never raised."""

    def __init__(self, chat: ChatHost) -> None:
        self._chat = chat

    async def begin(self, resume: Path | None, prompt: str | None) -> None:
        """Choose the provider, open the first conversation and send `prompt` if there is one."""
        chat = self._chat
        if not await self._choose_provider():
            chat.composer.ready = True  # commands work all the same
            return
        await self._open(resume)
        if prompt is not None and chat.control.conversation is not None:
            await chat.control.submit(prompt)

    async def _choose_provider(self) -> bool:
        from rho_tui.host.catalogue import NotConfigured
        from rho_tui.host.config import ConfigError
        from rho_tui.host.credentials import CredentialError

        try:
            choice = await self._chat.bench.connect()
        except (ConfigError, CredentialError) as error:
            self._chat.presenter.provider(None)
            self._chat.say(str(error), Severity.ERROR)
            return False
        if isinstance(choice, NotConfigured):
            self._chat.presenter.provider(None)
            self._chat.presenter.headline(choice.reason)
            return await self._ask_for_provider()
        self._chat.presenter.provider(choice)
        return True

    async def _ask_for_provider(self) -> bool:
        """The setup screen; False when the user skipped it or it could not be carried out."""
        from rho_tui.host.config import ConfigError
        from rho_tui.host.credentials import CredentialError
        from rho_tui.screens.setup import SetupScreen
        from rho_tui.screens.setup_flow import ServerProbe, apply_setup

        choice = await self._chat.app.push_screen_wait(SetupScreen(ServerProbe()))
        if choice is None:
            return False
        self._chat.composer.ready = False  # a prompt sent now is for the conversation to come
        try:
            remark = await apply_setup(self._chat.bench, choice)
        except (ConfigError, CredentialError) as error:
            self._chat.say(str(error), Severity.ERROR)
            return False
        if remark:
            self._chat.say(remark)
        return await self._choose_provider()

    async def set_up(self) -> None:
        """`/login`: set up a provider and open a conversation with it."""
        if await self._ask_for_provider():
            await self._open(None)
        else:
            self._chat.composer.ready = True

    async def open_session(self, path: Path | None, folder: Path | None = None) -> None:
        """Another session: a new one, or the one in `path`; with `folder`, it works there now."""
        if self._chat.bench.choice is None:
            await self.set_up()
        else:
            await self._open(path, folder)

    async def _open(self, path: Path | None, folder: Path | None = None) -> None:
        self._chat.composer.ready = False
        before = self._chat.control.conversation
        try:
            await self._chat.control.open(path, folder=folder)
        except (RhoError, OSError, ValueError, CannotOpen) as error:
            self._chat.say(f"the session cannot be opened: {error}", Severity.ERROR)
        conversation = self._chat.control.conversation
        if conversation is not None and conversation is not before:
            self._chat.presenter.provider(self._chat.bench.choice)
            self._chat.run_worker(
                self._chat.control.follow(conversation), group="conversation", name="follow"
            )
        self._chat.composer.ready = True
        self._chat.composer.focus()
