"""The configuration: every key with its default (section 6 of the app contracts).

Plain dataclasses hold it, so that starting without a file never imports the validator; files are
read by `config_file`.
Precedence: flag > environment > project file (safe keys only) > user file > default.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

PermissionModeName = Literal["supervised", "allow_edits", "plan", "bypass"]
ReasoningName = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
EditToolName = Literal["auto", "hashline", "apply_patch", "str_replace"]
Wire = Literal["chat", "anthropic"]

_STRICT: Final[dict[str, Any]] = {"extra": "forbid", "strict": True}

UNUSABLE_URL: Final = ""
"""Stands for an address that could not be read: never the vendor's own, where keys would go."""
UNREADABLE_PROVIDER: Final = "?"
"""Stands for a provider that could not be read: never another one, which would get the prompts."""


class ConfigError(Exception):
    """The configuration cannot be used; the message names the file and the cause."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model answers."""

    __pydantic_config__ = _STRICT

    #: `openai`, `anthropic`, `demo` or the name of a custom provider; empty: whichever has a key;
    #: `UNREADABLE_PROVIDER` where the file names one that cannot be read
    provider: str = ""
    #: a model id of that provider; empty: the provider's default
    model: str = ""
    #: how hard the model is asked to think
    reasoning: ReasoningName = "medium"
    #: model steps in one turn before Rho stops and asks to go on
    max_steps: int = 100


@dataclass(frozen=True, slots=True)
class DisplayConfig:
    """How things look."""

    __pydantic_config__ = _STRICT

    #: a Textual theme name
    theme: str = "textual-dark"
    #: show the model's reasoning while it thinks
    show_reasoning: bool = True
    #: rows of a tool card before it is collapsed
    max_tool_output_lines: int = 10
    #: prompts kept for recall, 10,000 at most; 0 keeps none
    prompt_history_limit: int = 1000


@dataclass(frozen=True, slots=True)
class OutputConfig:
    """What the model gets to see of tool output."""

    __pydantic_config__ = _STRICT

    #: bytes of one tool result
    max_output_bytes: int = 64_000


@dataclass(frozen=True, slots=True)
class BehaviorConfig:
    """What Rho may do by itself."""

    __pydantic_config__ = _STRICT

    #: supervised asks before writes and commands; allow_edits before commands; plan refuses both
    permission_mode: PermissionModeName = "supervised"
    #: where `/login` keeps keys: the system's key store, or a file readable only by you
    credential_store: Literal["os", "file"] = "os"
    #: tell the terminal when Rho waits for you or has finished while you look elsewhere
    notify: Literal["bell", "osc9", "off"] = "bell"
    #: how the model writes edits; auto is what the models of the provider know best (APP6.8)
    edit_tool: EditToolName = "auto"


@dataclass(frozen=True, slots=True)
class QuestionnaireConfig:
    """Questions of the model."""

    __pydantic_config__ = _STRICT

    #: seconds before a form with a fallback answers itself, a week at most; absent: it waits
    timeout_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class BuiltInProviderConfig:
    """A vendor's provider reached at another address."""

    __pydantic_config__ = _STRICT

    #: `UNUSABLE_URL` where the file names one that cannot be read
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class CustomProviderConfig:
    """A server of your own that speaks a known wire."""

    __pydantic_config__ = _STRICT

    base_url: str
    #: the wire it speaks: `chat` (OpenAI Chat Completions) or `anthropic` (Messages)
    wire: Wire = "chat"
    #: its default model
    model: str = ""
    #: the environment variable that holds its key; absent: no key is sent
    api_key_env: str | None = None
    #: tokens that fit its context, for the status line
    context_window: int | None = None


@dataclass(frozen=True, slots=True)
class ProvidersConfig:
    """Where providers are."""

    __pydantic_config__ = _STRICT

    openai: BuiltInProviderConfig = field(default_factory=BuiltInProviderConfig)
    anthropic: BuiltInProviderConfig = field(default_factory=BuiltInProviderConfig)
    custom: dict[str, CustomProviderConfig] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PriceConfig:
    """What a model costs, in US dollars per million tokens; used for the status line only."""

    __pydantic_config__ = _STRICT

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration."""

    __pydantic_config__ = _STRICT

    model: ModelConfig = field(default_factory=ModelConfig)
    display: DisplayConfig = field(default_factory=DisplayConfig)
    output: OutputConfig = field(default_factory=OutputConfig)
    behavior: BehaviorConfig = field(default_factory=BehaviorConfig)
    questionnaire: QuestionnaireConfig = field(default_factory=QuestionnaireConfig)
    providers: ProvidersConfig = field(default_factory=ProvidersConfig)
    prices: dict[str, PriceConfig] = field(default_factory=dict)


def with_overrides(
    config: Config,
    *,
    provider: str | None = None,
    model: str | None = None,
    reasoning: str | None = None,
    permission_mode: str | None = None,
) -> Config:
    """Apply flags or environment values, for this run only."""
    if provider is not None:
        # a model chosen for another provider would not exist there
        kept = config.model.model if provider == config.model.provider else ""
        config = replace(config, model=replace(config.model, provider=provider, model=kept))
    if model is not None:
        config = replace(config, model=replace(config.model, model=model))
    if reasoning is not None:
        config = replace(config, model=replace(config.model, reasoning=reasoning))  # type: ignore[arg-type] # argparse checked it
    if permission_mode is not None:
        config = replace(
            config,
            behavior=replace(config.behavior, permission_mode=permission_mode),  # type: ignore[arg-type] # argparse checked it
        )
    return config


def address_problem(url: str) -> str | None:
    """Why `url` is not a plain http(s) address without credentials; None when it is one."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        plain = not (parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        valid = plain = False
    if not valid:
        return f"{url!r} is not an http or https address"
    return None if plain else "leave credentials, query and fragment out of the address"
