"""First run: how Rho gets a model when no provider is configured (APP9.8, 9.9)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol
from urllib.parse import urlsplit

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static

from rho_tui.screens.dialog import Dialog
from rho_tui.transcript.sanitize import clean_line
from rho_tui.widgets.choice_list import Choice, ChoiceList
from rho_tui.widgets.filter_list import FilterList, ListEntry
from rho_tui.widgets.line_input import LineInput
from rho_tui.widgets.line_view import LineView
from rho_tui.widgets.lines import text_line

DEFAULT_LOCAL_URL = "http://localhost:11434/v1"
PROBE_SECONDS = 10.0
MAX_KEY = 4096


class SetupKind(StrEnum):
    """What was set up; the values of the first two are provider names."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    LOCAL = "local"
    DEMO = "demo"


@dataclass(frozen=True, slots=True)
class SetupChoice:
    """The result. `api_key` never shows in a `repr`; it is the caller's to store."""

    kind: SetupKind
    api_key: str = field(default="", repr=False)
    base_url: str = ""
    model: str = ""


class ProbeFailed(Exception):
    """A server could not be asked for its models; the message is for people."""


class ModelProbe(Protocol):
    """Asks a server for its models."""

    async def models(self, base_url: str, api_key: str) -> Sequence[str]:
        """Model ids of an OpenAI-compatible server. Raises `ProbeFailed`."""
        ...


_CHOICES = (
    Choice("OpenAI", "paste an API key"),
    Choice("Anthropic", "paste an API key"),
    Choice("Local or other server", "anything that speaks the OpenAI protocol"),
    Choice("Demo", "a built-in scripted model, no network, no key"),
)
_KINDS = (SetupKind.OPENAI, SetupKind.ANTHROPIC, SetupKind.LOCAL, SetupKind.DEMO)


class SetupScreen(Dialog[SetupChoice | None]):
    """Dismisses with what to use, or None when the person skips with Esc.

    Args:
        probe: How to list the models of a server.
    """

    DEFAULT_CSS = """
    SetupScreen ChoiceList { max-height: 8; }
    SetupScreen .setup--step { display: none; height: auto; }
    SetupScreen.-step-choose #setup-choose, SetupScreen.-step-key #setup-key,
    SetupScreen.-step-server #setup-server, SetupScreen.-step-model #setup-model {
        display: block;
    }
    SetupScreen #setup-error { color: $text-error; height: auto; max-height: 3; display: none; }
    SetupScreen #setup-footer { color: $text-muted; height: 1; }
    SetupScreen LineInput { background: $panel; }
    """

    def __init__(self, probe: ModelProbe) -> None:
        super().__init__()
        self._probe = probe
        self._kind = SetupKind.DEMO
        self._models: tuple[str, ...] = ()
        self._probing = False

    def compose(self) -> ComposeResult:
        """Every step; a class on the screen shows one."""
        with Vertical():
            yield LineView([text_line("Welcome to Rho. Which model should it use?", "accent")])
            with Vertical(id="setup-choose", classes="setup--step"):
                yield ChoiceList(_CHOICES)
            with Vertical(id="setup-key", classes="setup--step"):
                yield LineView([text_line("API key (it is not shown)")], id="setup-key-title")
                yield LineInput(password=True, placeholder="paste the key", id="api-key")
            with Vertical(id="setup-server", classes="setup--step"):
                yield LineView([text_line("Address, up to and including /v1")])
                yield LineInput(DEFAULT_LOCAL_URL, id="server-url")
                yield LineView([text_line("API key, if the server wants one")])
                yield LineInput(password=True, placeholder="optional", id="server-key")
                yield LineView([text_line("Model, or leave empty to list them")])
                yield LineInput(placeholder="optional", id="server-model")
            with Vertical(id="setup-model", classes="setup--step"):
                yield FilterList((), placeholder="type to filter the models")
            yield Static("", id="setup-error", markup=False)
            yield Static("", id="setup-footer", markup=False)

    def on_mount(self) -> None:
        """Begin with the choice."""
        self._go("choose")

    def on_resize(self, event: events.Resize) -> None:
        """Keep the model list inside the screen."""
        self.query_one(FilterList).set_max_rows(event.size.height - 8)

    def on_choice_list_chosen(self, event: ChoiceList.Chosen) -> None:
        """The first step is decided."""
        event.stop()
        self._kind = _KINDS[event.index]
        match self._kind:
            case SetupKind.DEMO:
                self._finish(SetupChoice(SetupKind.DEMO))
            case SetupKind.LOCAL:
                self._go("server")
            case _:
                self._go("key")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in a field."""
        event.stop()
        if event.input.id == "api-key":
            self._take_key(event.value)
        else:
            self._take_server()

    def on_filter_list_chosen(self, event: FilterList.Chosen) -> None:
        """A model of the server is chosen."""
        event.stop()
        self._finish(self._server_choice(self._models[event.index]))

    def on_filter_list_cancelled(self, event: FilterList.Cancelled) -> None:
        """Back to the address."""
        event.stop()
        self._go("server")

    def on_key(self, event: events.Key) -> None:
        """Esc goes a step back; on the first step it skips the setup."""
        if event.key not in ("escape", "ctrl+c"):
            return
        event.stop()
        event.prevent_default()
        if self.has_class("-step-choose"):
            self._finish(None)
        else:
            self.workers.cancel_group(self, "probe")
            self._probing = False
            self._go("choose")

    def _take_key(self, value: str) -> None:
        key = value.strip()
        problem = key_problem(key)
        if problem:
            self._show_error(problem)
            return
        self._finish(SetupChoice(self._kind, api_key=key))

    def _take_server(self) -> None:
        url = self.query_one("#server-url", LineInput).value.strip()
        key = self.query_one("#server-key", LineInput).value.strip()
        problem = url_problem(url) or (key_problem(key) if key else "")
        if problem:
            self._show_error(problem)
            return
        model = self.query_one("#server-model", LineInput).value.strip()
        if model:
            self._finish(self._server_choice(model))
        elif not self._probing:
            self._probing = True
            self._show_error("")
            self._footer("asking the server for its models… · Esc back")
            self.run_worker(self._list_models(url, key), group="probe", exclusive=True)

    async def _list_models(self, url: str, key: str) -> None:
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                models = await self._probe.models(url, key)
        except ProbeFailed as error:
            problem = str(error)
        except TimeoutError:
            problem = f"no answer within {PROBE_SECONDS:g} seconds"
        else:
            problem = "" if models else "the server lists no models; name one above"
            self._models = tuple(models)
        self._probing = False
        if problem:
            self._footer_of("server")
            self._show_error(problem)
            return
        self.query_one(FilterList).reset([ListEntry(model) for model in self._models])
        self._go("model")

    def _server_choice(self, model: str) -> SetupChoice:
        return SetupChoice(
            SetupKind.LOCAL,
            api_key=self.query_one("#server-key", LineInput).value.strip(),
            base_url=self.query_one("#server-url", LineInput).value.strip().rstrip("/"),
            model=model,
        )

    def _go(self, step: str) -> None:
        for name in ("choose", "key", "server", "model"):
            self.set_class(name == step, f"-step-{name}")
        self._show_error("")
        self._footer_of(step)
        match step:
            case "choose":
                for field_id in ("#api-key", "#server-key"):
                    self.query_one(field_id, LineInput).value = ""
                self.query_one(ChoiceList).focus()
            case "key":
                self.query_one("#api-key").focus()
            case "server":
                self.query_one("#server-url").focus()
            case _:
                self.query_one(FilterList).focus_filter()

    def _footer_of(self, step: str) -> None:
        self._footer(
            {
                "choose": "↑↓ Enter or digit · Esc skip",
                "key": "Enter continue · Esc back",
                "server": "Tab next field · Enter continue · Esc back",
                "model": "↑↓ choose · Enter take · Esc back",
            }[step]
        )

    def _footer(self, text: str) -> None:
        self.query_one("#setup-footer", Static).update(text)

    def _show_error(self, text: str) -> None:
        error = self.query_one("#setup-error", Static)
        error.update(clean_line(text[:500]))
        error.display = bool(text)

    def _finish(self, choice: SetupChoice | None) -> None:
        if self.is_current:  # `dismiss` pops whatever screen is on top
            self.dismiss(choice)


def key_problem(key: str) -> str:
    """Why a key can't be one, without repeating it; empty when it can."""
    if not key:
        return "paste a key first"
    if len(key) > MAX_KEY or not key.isascii() or not key.isprintable() or " " in key:
        return "that doesn't look like an API key: one word of plain characters"
    return ""


def url_problem(url: str) -> str:
    """Why an address can't be used, empty when it can (APP6.7)."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "that is not a valid address"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "an address begins with http:// or https:// and names a host"
    if parts.username or parts.password:
        return "put the key into the key field, not into the address"
    if parts.query or parts.fragment:
        return "an address here has no ? or # part"
    return ""
