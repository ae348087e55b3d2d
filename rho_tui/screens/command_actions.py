"""What the slash commands do beyond a word to the conversation: pickers and settings."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from rho_core.errors import RhoError
from rho_core.reasoning import ReasoningLevel
from rho_tui.host.catalogue import (
    DEMO,
    NotConfigured,
    ProviderChoice,
    resolve_model,
    with_model,
)
from rho_tui.host.config import ConfigError
from rho_tui.host.credentials import CredentialError
from rho_tui.host.facts import Severity
from rho_tui.host.folders import folder_exists
from rho_tui.host.model_list import ModelListError, list_models
from rho_tui.host.permissions import PermissionMode
from rho_tui.host.sessions.index import (
    SessionNotFound,
    SessionSummary,
    find_session,
    list_sessions,
)
from rho_tui.screens.picker import Picker, PickerItem

if TYPE_CHECKING:
    from rho_tui.screens.chat_host import ChatHost

_ONLY_THE_DEMO = "the demo is the only model here; /login sets up another provider"
_MODE_DETAILS = {
    PermissionMode.SUPERVISED: "ask before every write and command",
    PermissionMode.ALLOW_EDITS: "write in the workspace without asking; ask before commands",
    PermissionMode.PLAN: "no writes, no commands",
    PermissionMode.BYPASS: "never ask",
}


async def pick_session(screen: ChatHost, args: str) -> SessionSummary | None:
    """The session that `args` names, or the one the user picks; None when there is none."""
    folder, cwd = screen.bench.launch.paths.sessions_dir, str(screen.control.folder)
    if args:
        try:
            return await asyncio.to_thread(find_session, folder, args, cwd=cwd)
        except SessionNotFound as error:
            screen.say(str(error), Severity.ERROR)
            return None
    sessions = await asyncio.to_thread(list_sessions, folder, cwd=cwd)
    open_id = screen.control.conversation.id if screen.control.conversation else None
    items = [
        PickerItem(summary, summary.title or summary.prompt or "(no prompt)", _session_row(summary))
        for summary in sessions
        if summary.id != open_id
    ]
    picker = Picker("Resume a session", items, empty="no other session was started here")
    return await screen.app.push_screen_wait(picker)


async def move_session(screen: ChatHost) -> None:
    """`/move`: go on where Rho was started, if the session's own folder is gone (case G6)."""
    conversation, here = screen.control.conversation, screen.bench.launch.cwd
    if conversation is None:
        screen.say("there is no session to move", Severity.WARNING)
    elif await asyncio.to_thread(folder_exists, conversation.folder):
        screen.say(
            f"this session works in {conversation.folder}, which is there; only a session whose "
            "folder is gone can be moved"
        )
    elif not await asyncio.to_thread(folder_exists, here):
        screen.say(
            f"{here} is gone too: start Rho in the folder where the session is to go on, then "
            f"/resume {conversation.id[:8]} and /move",
            Severity.WARNING,
        )
    else:
        await screen.open_session(conversation.path, here)


async def choose_model(screen: ChatHost, args: str) -> None:
    """`/model`: another model, by name (of any provider) or from the list of the one in use."""
    conversation, choice = screen.control.conversation, screen.bench.choice
    if conversation is None or choice is None:
        screen.say("no provider is connected yet; /login sets one up", Severity.WARNING)
        return
    changed = await (_named_model(screen, args, choice) if args else _pick_model(screen, choice))
    if changed is None or (changed.name, changed.model) == (choice.name, choice.model):
        return
    try:
        screen.bench.switch_model(conversation, changed)
    except RhoError as error:
        screen.say(str(error), Severity.ERROR)
        return
    screen.presenter.provider(changed)


async def _named_model(
    screen: ChatHost, reference: str, choice: ProviderChoice
) -> ProviderChoice | None:
    launch = screen.bench.launch
    try:
        found = await asyncio.to_thread(
            resolve_model,
            reference,
            choice,
            launch.config,
            launch.environ,
            screen.bench.credentials,
        )
    except (ConfigError, CredentialError) as error:
        screen.say(str(error), Severity.ERROR)
        return None
    if isinstance(found, NotConfigured):
        screen.say(found.reason, Severity.WARNING)
        return None
    if found is choice and choice.name == DEMO:
        screen.say(_ONLY_THE_DEMO)
    return found


async def _pick_model(screen: ChatHost, choice: ProviderChoice) -> ProviderChoice | None:
    if choice.name == DEMO:
        screen.say(_ONLY_THE_DEMO)
        return None
    try:
        models = await list_models(
            choice.base_url,
            choice.api_key,
            "anthropic" if choice.wire == "anthropic" else "chat",
        )
    except ModelListError as error:
        screen.say(f"{error}; name the model instead: /model NAME", Severity.WARNING)
        return None
    items = [PickerItem(name, name, "now" if name == choice.model else "") for name in models]
    selected = models.index(choice.model) if choice.model in models else 0
    picker = Picker(f"Models of {choice.label}", items, selected=selected)
    model = await screen.app.push_screen_wait(picker)
    return None if model is None else with_model(choice, model)


async def choose_mode(screen: ChatHost, args: str) -> None:
    """`/mode`: another permission mode, from the next request on."""
    conversation = screen.control.conversation
    mode: PermissionMode | None
    if args:
        try:
            mode = PermissionMode.parse(args)
        except RhoError as error:
            screen.say(str(error), Severity.ERROR)
            return
    else:
        items = [PickerItem(mode, mode.label, _MODE_DETAILS[mode]) for mode in PermissionMode]
        mode = await screen.app.push_screen_wait(Picker("Permission mode", items))
    if mode is not None and conversation is not None:
        screen.bench.permission_mode = mode.value
        conversation.set_permission_mode(mode)


async def choose_reasoning(screen: ChatHost, args: str) -> None:
    """`/reasoning`: how hard the model thinks from the next turn on."""
    conversation = screen.control.conversation
    level: ReasoningLevel | None
    try:
        if args:
            level = ReasoningLevel.parse(args)
        else:
            items = [PickerItem(level, level.value) for level in ReasoningLevel]
            level = await screen.app.push_screen_wait(Picker("Reasoning", items))
        if level is not None and conversation is not None:
            conversation.set_reasoning(level)
            screen.composer.reasoning = level.value
    except (ValueError, RhoError) as error:
        screen.say(str(error), Severity.ERROR)


def _session_row(summary: SessionSummary) -> str:
    ago = _ago(time.time() - summary.updated)
    count = "" if summary.messages is None else f" · {summary.messages} messages"
    return f"{ago} ago{count} · {summary.id[:8]}"


def _ago(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return "moments"
