"""Which provider answers, and where its key comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_tui.host.catalogue import (
    NotConfigured,
    ProviderChoice,
    context_window_of,
    credential_env_vars,
    demo_choice,
    resolve_model,
    resolve_provider,
    with_model,
)
from rho_tui.host.config import (
    Config,
    ConfigError,
    CustomProviderConfig,
    ProvidersConfig,
    with_overrides,
)
from rho_tui.host.credentials import CredentialError, FileKeyStore


@pytest.fixture
def store(tmp_path: Path) -> FileKeyStore:
    return FileKeyStore(tmp_path / "credentials.toml")


def test_nothing_configured_says_what_to_do(store: FileKeyStore) -> None:
    choice = resolve_provider(Config(), {}, store)
    assert isinstance(choice, NotConfigured)
    assert "OPENAI_API_KEY" in choice.reason
    assert "--provider demo" in choice.reason


@pytest.mark.clause("APP9.1")
def test_a_key_in_the_environment_is_enough(store: FileKeyStore) -> None:
    choice = resolve_provider(Config(), {"ANTHROPIC_API_KEY": "sk-a"}, store)
    assert isinstance(choice, ProviderChoice)
    assert (choice.name, choice.wire, choice.api_key) == ("anthropic", "anthropic", "sk-a")
    assert "sk-a" not in repr(choice)


def test_a_local_address_needs_no_key(store: FileKeyStore) -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    choice = resolve_provider(Config(), environ, store)
    assert isinstance(choice, ProviderChoice)
    assert choice.base_url == "http://127.0.0.1:9/v1"
    assert choice.api_key is None


def test_a_bad_address_in_the_environment_is_named(store: FileKeyStore) -> None:
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL"):
        resolve_provider(Config(), {"OPENAI_BASE_URL": "localhost:80"}, store)


@pytest.mark.clause("APP9.4")
def test_the_environment_wins_over_the_store(store: FileKeyStore) -> None:
    store.set("openai", "stored")
    config = with_overrides(Config(), provider="openai")
    stored = resolve_provider(config, {}, store)
    from_env = resolve_provider(config, {"OPENAI_API_KEY": "env"}, store)
    assert isinstance(stored, ProviderChoice)
    assert isinstance(from_env, ProviderChoice)
    assert (stored.api_key, from_env.api_key) == ("stored", "env")


def test_custom_providers_bring_wire_key_and_window(store: FileKeyStore) -> None:
    custom = CustomProviderConfig(
        "http://127.0.0.1:8/v1", model="m", api_key_env="MINE", context_window=7
    )
    config = Config(providers=ProvidersConfig(custom={"local": custom}))
    missing = resolve_provider(config, {}, store)
    assert isinstance(missing, NotConfigured)
    assert "MINE" in missing.reason
    choice = resolve_provider(config, {"MINE": "k"}, store)
    assert choice == ProviderChoice("local", "local", "chat", "m", custom.base_url, "k", 7)
    assert "MINE" in credential_env_vars(config)


def test_an_unknown_provider_lists_the_known_ones(store: FileKeyStore) -> None:
    with pytest.raises(ConfigError, match="openai, anthropic, demo"):
        resolve_provider(with_overrides(Config(), provider="nope"), {}, store)


def test_context_windows_go_by_the_longest_prefix() -> None:
    assert context_window_of("gpt-4.1-mini") == 1_047_576
    assert context_window_of("unheard-of") is None


def test_the_key_file_is_private_and_survives_other_keys(store: FileKeyStore) -> None:
    store.set("openai", "a")
    store.set("anthropic", "b")
    store.delete("openai")
    store.delete("openai")
    assert (store.get("openai"), store.get("anthropic")) == (None, "b")
    assert Path(store.label).stat().st_mode & 0o777 == 0o600


def test_a_broken_key_file_is_never_overwritten(store: FileKeyStore) -> None:
    Path(store.label).write_text("not [ toml")
    with pytest.raises(CredentialError, match="cannot be read"):
        store.set("openai", "a")
    assert Path(store.label).read_text() == "not [ toml"


LOCAL = CustomProviderConfig("http://127.0.0.1:9/v1", model="qwen", context_window=7)
WITH_LOCAL = Config(providers=ProvidersConfig(custom={"local": LOCAL}))
OPENAI = ProviderChoice("openai", "OpenAI", "chat", "gpt-5.5", "http://x/v1", "k", 400_000)


@pytest.mark.clause("APP9.6")
@pytest.mark.parametrize(
    ("reference", "name", "model", "window"),
    [
        ("gpt-4o", "openai", "gpt-4o", 128_000),
        ("openai/o3", "openai", "o3", 200_000),
        ("openai/", "openai", "gpt-5.5", 400_000),
        ("meta/llama-4", "openai", "meta/llama-4", None),  # no provider of that name
        ("anthropic/claude-x", "anthropic", "claude-x", 200_000),
        ("anthropic/", "anthropic", "claude-sonnet-5", 200_000),
        ("local/", "local", "qwen", 7),
        ("local/a/b", "local", "a/b", 7),
        ("demo/", "demo", "rules", None),
    ],
)
def test_a_model_is_named_alone_or_with_its_provider(
    store: FileKeyStore, reference: str, name: str, model: str, window: int | None
) -> None:
    environ = {"ANTHROPIC_API_KEY": "sk-a"}
    found = resolve_model(reference, OPENAI, WITH_LOCAL, environ, store)
    assert isinstance(found, ProviderChoice)
    assert (found.name, found.model, found.context_window) == (name, model, window)
    assert (found.api_key == OPENAI.api_key) is (name == "openai")


@pytest.mark.clause("APP9.6")
def test_a_provider_without_a_key_says_what_to_do_and_how_to_name_a_model_of_this_one(
    store: FileKeyStore,
) -> None:
    found = resolve_model("anthropic/claude-x", OPENAI, WITH_LOCAL, {}, store)
    assert isinstance(found, NotConfigured)
    assert "ANTHROPIC_API_KEY" in found.reason
    assert "openai/anthropic/claude-x" in found.reason
    own = resolve_model("openai/anthropic/claude-x", OPENAI, WITH_LOCAL, {}, store)
    assert own == with_model(OPENAI, "anthropic/claude-x")


def test_the_demo_has_one_model(store: FileKeyStore) -> None:
    for reference in ("gpt-5.5", "demo/other", "demo/"):
        assert resolve_model(reference, demo_choice(), Config(), {}, store) == demo_choice()
