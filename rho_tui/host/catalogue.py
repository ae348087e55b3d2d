"""Which provider and model answer, and how they are reached (section 9 of the app contracts)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from rho_tui.host.config import (
    UNREADABLE_PROVIDER,
    UNUSABLE_URL,
    Config,
    ConfigError,
    address_problem,
    with_overrides,
)
from rho_tui.host.credentials import CredentialStore

if TYPE_CHECKING:
    from rho_core.providers.contract import ModelProvider

DEMO = "demo"


@dataclass(frozen=True, slots=True)
class Vendor:
    """A provider that Rho knows by name."""

    name: str
    label: str
    wire: Literal["chat", "anthropic"]
    base_url: str
    key_env: str
    url_env: str
    default_model: str


VENDORS: Mapping[str, Vendor] = {
    "openai": Vendor(
        "openai",
        "OpenAI",
        "chat",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "gpt-5.5",
    ),
    "anthropic": Vendor(
        "anthropic",
        "Anthropic",
        "anthropic",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "claude-sonnet-5",
    ),
}

#: Tokens that fit the context of model families, by prefix of the model id; longest prefix wins.
_CONTEXT_WINDOWS: Mapping[str, int] = {
    "claude-": 200_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-5": 400_000,
    "o3": 200_000,
    "o4-mini": 200_000,
}


@dataclass(frozen=True, slots=True)
class ProviderChoice:
    """A provider that can be asked, with everything needed to reach it."""

    name: str
    label: str
    wire: Literal["chat", "anthropic", "demo"]
    model: str
    base_url: str = ""
    api_key: str | None = field(default=None, repr=False)
    context_window: int | None = None


@dataclass(frozen=True, slots=True)
class NotConfigured:
    """No provider can be asked; `reason` says what is missing and what to do."""

    reason: str


def resolve_provider(
    config: Config, environ: Mapping[str, str], credentials: CredentialStore
) -> ProviderChoice | NotConfigured:
    """Choose the provider. May block on the key store. Raises `ConfigError`: bad name, address."""
    name = config.model.provider or _first_reachable(config, environ)
    if not name:
        return NotConfigured(
            "no provider is configured: set OPENAI_API_KEY or ANTHROPIC_API_KEY, point "
            "OPENAI_BASE_URL to a local server, or try --provider demo"
        )
    if name == UNREADABLE_PROVIDER:
        raise ConfigError(
            "the provider in the configuration cannot be read; mend model.provider, or pass "
            "--provider"
        )
    if name == DEMO:
        return demo_choice()
    if name in VENDORS:
        return _resolve_vendor(VENDORS[name], config, environ, credentials)
    if name in config.providers.custom:
        return _resolve_custom(name, config, environ, credentials)
    known = ", ".join([*VENDORS, DEMO, *config.providers.custom])
    raise ConfigError(f"unknown provider {name!r}; known providers are {known}")


def resolve_model(
    reference: str,
    current: ProviderChoice,
    config: Config,
    environ: Mapping[str, str],
    credentials: CredentialStore,
) -> ProviderChoice | NotConfigured:
    """What `/model REFERENCE` means: `provider/model`, or a model of the provider in use (9.6).

    Only the name of a provider counts as one: other slashes belong to the id of a model, as many
    servers have them. Without a model it is the provider's default. May block on the key store.
    Raises `ConfigError` for a bad address.
    """
    provider, slash, model = reference.partition("/")
    known = {*VENDORS, DEMO, *config.providers.custom}
    if slash and provider in known and provider != current.name:
        other = with_overrides(config, provider=provider, model=model or None)
        found = resolve_provider(other, environ, credentials)
        if isinstance(found, NotConfigured):
            hint = f"(for a model of {current.label} write {current.name}/{reference})"
            return NotConfigured(f"{found.reason} {hint}")
        return found
    id = model if slash and provider == current.name else reference
    return current if not id or current.name == DEMO else with_model(current, id)


def with_model(choice: ProviderChoice, model: str) -> ProviderChoice:
    """Another model of the same provider."""
    window = context_window_of(model) if choice.name in VENDORS else choice.context_window
    return replace(choice, model=model, context_window=window)


def demo_choice() -> ProviderChoice:
    """The built-in demo: no model, rules."""
    return ProviderChoice(DEMO, "Demo", "demo", "rules")


def build_provider(choice: ProviderChoice) -> ModelProvider:
    """Make the adapter for a choice. Connects to nothing yet."""
    if choice.wire == "demo":
        from rho_core.providers.demo import DemoProvider

        return DemoProvider()
    if choice.wire == "anthropic":
        from rho_core.providers.anthropic import AnthropicProvider

        return AnthropicProvider(
            base_url=choice.base_url,
            api_key=choice.api_key,
            model=choice.model,
            name=choice.name,
            context_window=choice.context_window,
        )
    from rho_core.providers.openai_chat import OpenAIChatProvider

    return OpenAIChatProvider(
        base_url=choice.base_url,
        api_key=choice.api_key,
        model=choice.model,
        name=choice.name,
        context_window=choice.context_window,
    )


def credential_env_vars(config: Config) -> frozenset[str]:
    """The variables that hold provider keys: no child process inherits them (6.12)."""
    names = {vendor.key_env for vendor in VENDORS.values()}
    names |= {"ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"}
    names |= {p.api_key_env for p in config.providers.custom.values() if p.api_key_env}
    return frozenset(names)


def context_window_of(model: str) -> int | None:
    """Tokens that fit a model's context, where its family is known."""
    fitting = [prefix for prefix in _CONTEXT_WINDOWS if model.startswith(prefix)]
    return _CONTEXT_WINDOWS[max(fitting, key=len)] if fitting else None


def _first_reachable(config: Config, environ: Mapping[str, str]) -> str:
    for vendor in VENDORS.values():
        if environ.get(vendor.key_env) or environ.get(vendor.url_env):
            return vendor.name
    return next(iter(config.providers.custom), "")


def _resolve_vendor(
    vendor: Vendor, config: Config, environ: Mapping[str, str], credentials: CredentialStore
) -> ProviderChoice | NotConfigured:
    settings = config.providers.openai if vendor.wire == "chat" else config.providers.anthropic
    override = environ.get(vendor.url_env)
    if override and (problem := address_problem(override)):
        raise ConfigError(f"{vendor.url_env}: {problem}")
    if not override and settings.base_url == UNUSABLE_URL:
        raise ConfigError(
            f"{vendor.label} is configured with an address that cannot be used; mend "
            f"providers.{vendor.name}.base_url"
        )
    base_url = override or settings.base_url or vendor.base_url
    key = environ.get(vendor.key_env) or credentials.get(vendor.name)
    if key is None and base_url == vendor.base_url:
        return NotConfigured(
            f"{vendor.label} needs a key: set {vendor.key_env}, or paste one with /login"
        )
    model = config.model.model or vendor.default_model
    return ProviderChoice(
        vendor.name, vendor.label, vendor.wire, model, base_url, key, context_window_of(model)
    )


def _resolve_custom(
    name: str, config: Config, environ: Mapping[str, str], credentials: CredentialStore
) -> ProviderChoice | NotConfigured:
    settings = config.providers.custom[name]
    model = config.model.model or settings.model
    if not model:
        return NotConfigured(
            f"provider {name} has no model: set providers.custom.{name}.model or pass --model"
        )
    key = None
    if settings.api_key_env:
        key = environ.get(settings.api_key_env) or credentials.get(name)
        if key is None:
            return NotConfigured(f"provider {name} needs a key: set {settings.api_key_env}")
    return ProviderChoice(
        name, name, settings.wire, model, settings.base_url, key, settings.context_window
    )
