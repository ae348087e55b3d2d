"""What outlives a single conversation: the provider, the running commands, the configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rho_tui.host.catalogue import (
    NotConfigured,
    ProviderChoice,
    build_provider,
    demo_choice,
    resolve_provider,
)
from rho_tui.host.credentials import CredentialStore, credential_store
from rho_tui.host.folders import folder_exists
from rho_tui.host.launch import Launch

if TYPE_CHECKING:
    from rho_core.providers.contract import ModelProvider
    from rho_core.tools.process.manager import ProcessManager
    from rho_core.tools.shell.processes import ShellSupervisor
    from rho_tui.host.assembly import Assembly
    from rho_tui.host.conversation import Conversation
    from rho_tui.host.recording import OpenedSession


@dataclass(frozen=True, slots=True)
class OpenedConversation:
    """A conversation and what the user should know about how it was opened."""

    conversation: Conversation
    warnings: tuple[str, ...] = ()


class CannotOpen(Exception):
    """The folder cannot be used, or the file holds no session; the message says which and why."""


class Workbench:
    """Opens conversations and ends what they leave. Making one does nothing yet.

    `connect` chooses a provider, `open` starts or resumes a conversation with it, `aclose` ends
    every command and connection. Heavy modules are imported by these calls, in a thread, so that
    the first screen does not wait for them.

    Args:
        launch: Configuration and folders.
        interactive: Whether a person can answer approvals and questions.
        stored: Whether sessions are written to disk.
        make_provider: Makes the adapter for a choice.
        supervisor: Owner of the commands; this workbench closes it. None: one of its own.
    """

    def __init__(
        self,
        launch: Launch,
        *,
        interactive: bool = True,
        stored: bool = True,
        make_provider: Callable[[ProviderChoice], ModelProvider] = build_provider,
        supervisor: ShellSupervisor | None = None,
    ) -> None:
        self.launch = launch
        self.choice: ProviderChoice | None = None
        #: the mode of the next conversation; a running one is changed through `Conversation`
        self.permission_mode: str = launch.config.behavior.permission_mode
        self._interactive = interactive
        self._stored = stored
        self._make_provider = make_provider
        self._supervisor = supervisor
        self._processes: ProcessManager | None = None
        self._providers: list[ModelProvider] = []

    @property
    def credentials(self) -> CredentialStore:
        """Where keys are kept."""
        kind = self.launch.config.behavior.credential_store
        return credential_store(kind, self.launch.paths.credentials_file)

    @property
    def supervisor(self) -> ShellSupervisor:
        """The owner of every command that runs."""
        if self._supervisor is None:
            from rho_core.tools.shell.processes import ShellSupervisor

            self._supervisor = ShellSupervisor()
        return self._supervisor

    @property
    def processes(self) -> ProcessManager:
        """The owner of what runs in the background, under `supervisor`."""
        if self._processes is None:
            from rho_core.tools.process.manager import ProcessManager

            self._processes = ProcessManager(self.supervisor)
        return self._processes

    async def connect(self) -> ProviderChoice | NotConfigured:
        """Choose the provider as configured. Raises `ConfigError`, `CredentialError`."""
        launch = self.launch
        choice = await asyncio.to_thread(
            resolve_provider, launch.config, launch.environ, self.credentials
        )
        unnamed = not launch.config.model.provider
        if isinstance(choice, NotConfigured) and launch.or_demo and unnamed:
            choice = demo_choice()
        if isinstance(choice, ProviderChoice):
            self.choice = choice
        return choice

    async def open(
        self, resume: Path | None = None, *, folder: Path | None = None
    ) -> OpenedConversation:
        """Start a conversation, or go on with the session in the file `resume`.

        It works in `folder`. None: a new one works where Rho was started, a resumed one in its own
        folder; if that is gone, it can only be read.

        Raises:
            CannotOpen: The folder cannot be used, or the file holds no session that can be read.
            OSError: The file cannot be read.
            RuntimeShutdown: The runtime takes no more work.
        """
        if self.choice is None:
            raise RuntimeError("no provider is connected")
        choice = self.choice
        stored = None if resume is None else await asyncio.to_thread(_open_stored, resume)
        try:
            assembly = await asyncio.to_thread(self._assemble, choice, stored, folder)
        except BaseException:
            if stored is not None:
                stored.let_go()
            raise
        from rho_tui.host.conversation import Conversation

        if stored is None:
            conversation = await Conversation.new(assembly.rho, assembly.options)
        else:
            conversation = await Conversation.resume(assembly.rho, stored, assembly.options)
        return OpenedConversation(conversation, assembly.warnings)

    async def warm_up(self, conversation: Conversation) -> None:
        """Load now what the first turn of `conversation` needs. Twice does nothing."""
        await conversation.warm_up()
        if self._providers:
            await self._providers[-1].warm_up()

    def switch_model(self, conversation: Conversation, choice: ProviderChoice) -> None:
        """Use another model, of any provider, from the next turn on. Raises `SessionBusy`."""
        from rho_tui.host.assembly import compaction_for
        from rho_tui.host.edit_format import edit_format_for

        provider = self._make_provider(choice)
        setting = self.launch.config.behavior.edit_tool
        conversation.set_provider(provider, edit_format_for(setting, choice.name, choice.wire))
        conversation.session.set_compaction(*compaction_for(provider, choice))
        self._providers.append(provider)
        self.choice = choice

    async def aclose(self) -> None:
        """End every command and let go of every connection."""
        if self._processes is not None:
            await self._processes.aclose()
        if self._supervisor is not None:
            await self._supervisor.aclose()
        providers, self._providers = self._providers, []
        for provider in providers:
            await provider.aclose()

    def _assemble(
        self, choice: ProviderChoice, session: OpenedSession | None, folder: Path | None
    ) -> Assembly:
        from rho_core.authority.workspace import WorkspaceError
        from rho_tui.host.assembly import assemble, assemble_for_reading

        own = None if session is None else Path(session.stored.folder)
        provider = self._make_provider(choice)
        self._providers.append(provider)
        if own is not None and folder is None and not folder_exists(own):
            return assemble_for_reading(self.launch, provider, own)
        try:
            return assemble(
                self.launch,
                choice,
                provider,
                self.supervisor,
                self.processes,
                cwd=folder or own or self.launch.cwd,
                permission_mode=self.permission_mode,
                interactive=self._interactive,
                stored=self._stored,
            )
        except WorkspaceError as error:
            raise CannotOpen(error.message) from error


def _open_stored(path: Path) -> OpenedSession:
    from rho_tui.host.recording import open_stored
    from rho_tui.host.sessions.file import UnreadableSession

    try:
        return open_stored(path)
    except UnreadableSession as error:
        raise CannotOpen(str(error)) from error
