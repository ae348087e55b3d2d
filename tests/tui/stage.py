"""A stage for the real app on which nothing is left to chance: folders, clocks, model, version.

Everything is the product's own: the app, its screens, the conversation, the tools on real files and
real processes. What a picture must not depend on comes in through the app's own openings.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rho_core.authority.capabilities import CapabilityOperation, ExecuteProcess, ReadPath, WritePath
from rho_core.events import StepStarted
from rho_core.providers.contract import ModelProvider
from rho_core.tools.shell.processes import ShellSupervisor
from rho_tui.app import RhoApp
from rho_tui.host.catalogue import DEMO
from rho_tui.host.config import (
    BehaviorConfig,
    Config,
    CustomProviderConfig,
    DisplayConfig,
    ModelConfig,
    ProvidersConfig,
    QuestionnaireConfig,
)
from rho_tui.host.facts import ApprovalAsked, ConversationEvent, UsageTotals
from rho_tui.host.launch import Launch
from rho_tui.host.paths import RhoPaths
from rho_tui.host.workbench import OpenedConversation, Workbench
from tests.tui.shop import make_shop
from tests.tui.terminal import ScriptClock

SHOWN_HOME = Path("/home/ada")
"""Where the pictures say that the project lies; nothing is ever read or written there."""
VERSION = "1.0.0"
COMMAND_SECONDS = 0.4
CONTEXT_TOKENS = 12_300
"""What the context is said to hold: the real estimate follows every word of prompts and tools."""


class Stage:
    """A home with a project in it, and everything that an app on it is made with.

    Args:
        root: An empty folder that the caller removes.
        theme: A Textual theme.
        timeout_seconds: `[questionnaire].timeout_seconds`.
        provider: The model that answers; None: nothing is configured, `demo`: the built-in one.

    The caller sets `HOME` to `home` before it makes the app, and calls `close` after it has ended.
    """

    def __init__(
        self,
        root: Path,
        *,
        theme: str = "textual-dark",
        timeout_seconds: int | None = None,
        provider: ModelProvider | None = None,
    ) -> None:
        base = root.resolve()
        self.home = base / SHOWN_HOME.relative_to("/")
        self.project = self.home / "shop"
        make_shop(self.project)
        self.clock = ScriptClock()
        self.provider = provider
        ticks = itertools.count()
        self._supervisor = ShellSupervisor(stopwatch=lambda: next(ticks) * COMMAND_SECONDS)
        config_dir = base / "config"
        self.launch = Launch(
            config=_config(theme, timeout_seconds, provider),
            config_file=config_dir / "config.toml",
            paths=RhoPaths(config_dir, base / "state"),
            cwd=self.project,
            environ={},
        )

    def app(self) -> RhoApp:
        """The real app."""
        make: dict[str, Any] = {}
        if self.provider is not None:
            make["make_provider"] = lambda _choice: self.provider
        bench = StageBench(
            self.launch, relabel=self._relabelled, supervisor=self._supervisor, **make
        )
        app = RhoApp(self.launch, bench=bench, version=VERSION, clock=self.clock)
        app.animation_level = "none"
        return app

    def close(self) -> None:
        """End every process that a picture left behind."""
        asyncio.run(self._supervisor.aclose())

    def _relabelled(self, event: ConversationEvent) -> ConversationEvent:
        """The event as the pictures show it: approvals name whole paths, steps an estimate."""
        match event:
            case StepStarted():
                return replace(event, estimated_context_tokens=CONTEXT_TOKENS)
            case UsageTotals(context_tokens=int()):
                return replace(event, context_tokens=CONTEXT_TOKENS)
            case ApprovalAsked():
                return self._approval(event)
            case _:
                return event

    def _approval(self, event: ApprovalAsked) -> ApprovalAsked:
        capability = event.request.capability
        operation = self._operation(capability.operation)
        request = replace(event.request, capability=replace(capability, operation=operation))
        return replace(event, request=request)

    def _operation(self, operation: CapabilityOperation) -> CapabilityOperation:
        match operation:
            case ReadPath(path=path) | WritePath(path=path):
                return replace(operation, path=self._shown(path))
            case ExecuteProcess(execution=execution):
                shown = self._shown(execution.working_directory)
                return ExecuteProcess(replace(execution, working_directory=shown))
            case _:
                return operation

    def _shown(self, path: Path) -> Path:
        return SHOWN_HOME / path.relative_to(self.home)


class StageBench(Workbench):
    """A workbench whose conversations tell of the shown folder."""

    def __init__(
        self,
        launch: Launch,
        *,
        relabel: Callable[[ConversationEvent], ConversationEvent],
        **more: Any,
    ) -> None:
        super().__init__(launch, **more)
        self._relabel = relabel

    async def open(
        self, resume: Path | None = None, *, folder: Path | None = None
    ) -> OpenedConversation:
        opened = await super().open(resume, folder=folder)
        return replace(opened, conversation=_Relabelled(opened.conversation, self._relabel))


class _Relabelled:
    """A conversation whose events pass through a function."""

    def __init__(
        self, conversation: Any, relabel: Callable[[ConversationEvent], ConversationEvent]
    ) -> None:
        self._conversation = conversation
        self._relabel = relabel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._conversation, name)

    async def events(self) -> AsyncIterator[ConversationEvent]:
        async for event in self._conversation.events():
            yield self._relabel(event)


def _config(theme: str, timeout_seconds: int | None, provider: ModelProvider | None) -> Config:
    local = CustomProviderConfig(
        "http://127.0.0.1:9/v1", model="qwen3-coder", context_window=128_000
    )
    demo = provider is not None and provider.identity.provider == DEMO
    name = "" if provider is None else DEMO if demo else "local"
    custom = {"local": local} if name == "local" else {}
    return Config(
        model=ModelConfig(provider=name),
        display=DisplayConfig(theme=theme),
        behavior=BehaviorConfig(credential_store="file", edit_tool="str_replace", notify="off"),
        questionnaire=QuestionnaireConfig(timeout_seconds),
        providers=ProvidersConfig(custom=custom),
    )
