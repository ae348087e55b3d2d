"""Carries out what the setup screen returned: keeps the key, writes the configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from rho_tui.host.catalogue import DEMO
from rho_tui.host.config import with_overrides
from rho_tui.host.credentials import CredentialError, FileKeyStore
from rho_tui.host.launch import Launch, reloaded
from rho_tui.host.model_list import ModelListError, list_models
from rho_tui.host.settings import save_settings
from rho_tui.host.workbench import Workbench
from rho_tui.screens.setup import ProbeFailed, SetupChoice, SetupKind

LOCAL_PROVIDER = "local"


class ServerProbe:
    """Asks a server for its models, for the setup screen."""

    async def models(self, base_url: str, api_key: str) -> Sequence[str]:
        """Model ids. Raises `ProbeFailed`."""
        try:
            return await list_models(base_url, api_key or None)
        except ModelListError as error:
            raise ProbeFailed(str(error)) from None


async def apply_setup(bench: Workbench, choice: SetupChoice) -> str:
    """Make `choice` the configuration of `bench`; returns a line for the user, or nothing.

    Keys go to the configured store; where the system has none, to a file only the user can read,
    and the line says so. Raises `ConfigError`, `CredentialError`.
    """
    if choice.kind is SetupKind.DEMO:
        bench.launch = _with_provider(bench.launch, DEMO)
        return ""
    if choice.kind is SetupKind.LOCAL:
        return await asyncio.to_thread(_use_server, bench, choice)
    return await asyncio.to_thread(_use_key, bench, choice)


def _use_server(bench: Workbench, choice: SetupChoice) -> str:
    table = f"providers.custom.{LOCAL_PROVIDER}"
    values = {
        f"{table}.base_url": choice.base_url,
        f"{table}.wire": "chat",
        f"{table}.model": choice.model,
        "model.provider": LOCAL_PROVIDER,
        "model.model": "",
    }
    said = ""
    if choice.api_key:
        values[f"{table}.api_key_env"] = "RHO_LOCAL_API_KEY"
        said = _keep_key(bench, LOCAL_PROVIDER, choice.api_key)
    save_settings(bench.launch.config_file, values)
    bench.launch = _with_provider(reloaded(bench.launch), LOCAL_PROVIDER)
    return said


def _use_key(bench: Workbench, choice: SetupChoice) -> str:
    provider = choice.kind.value
    said = _keep_key(bench, provider, choice.api_key)
    save_settings(bench.launch.config_file, {"model.provider": provider, "model.model": ""})
    bench.launch = _with_provider(reloaded(bench.launch), provider)
    return said


def _keep_key(bench: Workbench, provider: str, key: str) -> str:
    try:
        bench.credentials.set(provider, key)
        return ""
    except CredentialError:
        path = bench.launch.paths.credentials_file
        FileKeyStore(path).set(provider, key)
        save_settings(bench.launch.config_file, {"behavior.credential_store": "file"})
        bench.launch = reloaded(bench.launch)
        return f"this system has no key store: the key is kept in {path}, readable only by you"


def _with_provider(launch: Launch, provider: str) -> Launch:
    return replace(launch, config=with_overrides(launch.config, provider=provider))
