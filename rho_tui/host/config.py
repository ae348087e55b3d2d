"""The configuration: strict, with defaults that need no file (section 6 of the app contracts).

Plain dataclasses hold it, so that starting without a file never imports the validator.
Precedence: flag > environment > project file (safe keys only) > user file > default.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

PermissionModeName = Literal["supervised", "allow_edits", "plan", "bypass"]
ReasoningName = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
EditToolName = Literal["auto", "hashline", "apply_patch", "str_replace"]
Wire = Literal["chat", "anthropic"]

_STRICT: Final[dict[str, Any]] = {"extra": "forbid", "strict": True}

#: What a project may set in `.rho/config.toml`; a repository is not trusted with more.
PROJECT_SAFE_KEYS: Final = frozenset({"display", "output", "questionnaire", "model.reasoning"})


class ConfigError(Exception):
    """The configuration cannot be used; the message names the file, the key and what would fit."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Which model answers."""

    __pydantic_config__ = _STRICT

    #: `openai`, `anthropic`, `demo` or the name of a custom provider; empty: whichever has a key
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
    #: prompts kept for recall; 0 keeps none
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

    #: seconds before a form with a fallback answers itself; absent: it always waits
    timeout_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class BuiltInProviderConfig:
    """A vendor's provider reached at another address."""

    __pydantic_config__ = _STRICT

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

    __pydantic_config__ = {"extra": "forbid"}

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


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A configuration and what the user should know about how it came to be."""

    config: Config
    warnings: tuple[str, ...] = ()


def load_config(
    user_file: Path, *, project_file: Path | None = None, required: bool = False
) -> LoadedConfig:
    """Read the user's file and the project's safe keys. Raises `ConfigError`.

    A missing user file means the defaults, unless it is `required` (it was named by a flag).
    """
    data = _read(user_file, required=required)
    warnings: list[str] = []
    if project_file is not None and (project := _read(project_file)):
        safe, refused = _safe_part(project)
        warnings += [
            f"{project_file}: {key} is ignored, a project cannot set it" for key in refused
        ]
        # judged alone first, so that an error names the file it is in
        _validate(safe, project_file)
        data = _merge(data, safe)
    config = _validate(data, user_file) if data else Config()
    return LoadedConfig(config, tuple(warnings))


def check_config(text: str, path: Path) -> None:
    """Raise `ConfigError` unless `text` could stand in the file at `path`."""
    _validate(_parsed(text, path), path)


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


def _read(path: Path, *, required: bool = False) -> dict[str, Any]:
    try:
        return _parsed(path.read_bytes().decode("utf-8"), path)
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{path}: no such configuration file") from None
        return {}
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: the file is not UTF-8 text") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _parsed(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _safe_part(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    safe: dict[str, Any] = {}
    refused: list[str] = []
    for table, value in data.items():
        if table in PROJECT_SAFE_KEYS:
            safe[table] = value
        elif isinstance(value, dict):
            for key, item in value.items():
                name = f"{table}.{key}"
                if name in PROJECT_SAFE_KEYS:
                    safe.setdefault(table, {})[key] = item
                else:
                    refused.append(name)
        else:
            refused.append(table)
    return safe, refused


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            merged[key] = _merge(below, value)
        else:
            merged[key] = value
    return merged


def _validate(data: Mapping[str, Any], path: Path) -> Config:
    from pydantic import TypeAdapter, ValidationError

    try:
        # strict dataclasses accept tables only from JSON; TOML dates become (refused) strings
        config = TypeAdapter(Config).validate_json(json.dumps(_tidied(data), default=str))
    except ValidationError as error:
        lines = [_describe(fault) for fault in error.errors(include_url=False)]
        raise ConfigError(f"{path}: " + "; ".join(lines)) from None
    _check_ranges(config, path)
    return config


def _tidied(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data with `behavior.edit_tool` trimmed and in lower case (T1.4)."""
    behavior = data.get("behavior")
    if not isinstance(behavior, dict) or not isinstance(behavior.get("edit_tool"), str):
        return data
    return {**data, "behavior": {**behavior, "edit_tool": behavior["edit_tool"].strip().lower()}}


def _describe(fault: Mapping[str, Any]) -> str:
    where = ".".join(str(part) for part in fault["loc"]) or "the file"
    if fault["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"unknown key {where}"
    if fault["type"] == "missing":
        return f"{where} is missing"
    return f"{where}: {fault['msg']}"


def _check_ranges(config: Config, path: Path) -> None:
    at_least_one = {
        "model.max_steps": config.model.max_steps,
        "display.max_tool_output_lines": config.display.max_tool_output_lines,
        "output.max_output_bytes": config.output.max_output_bytes,
    }
    for key, value in at_least_one.items():
        if value < 1:
            raise ConfigError(f"{path}: {key} must be at least 1, not {value}")
    if config.display.prompt_history_limit < 0:
        raise ConfigError(f"{path}: display.prompt_history_limit must not be negative")
    timeout = config.questionnaire.timeout_seconds
    if timeout is not None and timeout < 1:
        raise ConfigError(f"{path}: questionnaire.timeout_seconds must be at least 1")
    for name, provider in config.providers.custom.items():
        _check_provider(name, provider, path)
    for name, built_in in (
        ("openai", config.providers.openai),
        ("anthropic", config.providers.anthropic),
    ):
        if built_in.base_url is not None:
            check_base_url(built_in.base_url, f"{path}: providers.{name}.base_url")


def _check_provider(name: str, provider: CustomProviderConfig, path: Path) -> None:
    key = f"{path}: providers.custom.{name}"
    if name in ("openai", "anthropic", "demo"):
        raise ConfigError(f"{key}: {name} is the name of a built-in provider")
    if not name or not all(c.isascii() and (c.islower() or c.isdigit() or c == "-") for c in name):
        raise ConfigError(f"{key}: use lowercase letters, digits and hyphens for the name")
    check_base_url(provider.base_url, f"{key}.base_url")


def check_base_url(url: str, key: str) -> None:
    """Raise `ConfigError` unless `url` is a plain http(s) address without credentials."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        plain = not (parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        valid = plain = False
    if not valid:
        raise ConfigError(f"{key}: {url!r} is not an http or https address")
    if not plain:
        raise ConfigError(f"{key}: leave credentials, query and fragment out of the address")
