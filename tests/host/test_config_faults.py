"""A faulty key in the configuration: named with its line, and never more than it is lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rho_tui.host.catalogue import resolve_provider
from rho_tui.host.config import (
    BuiltInProviderConfig,
    Config,
    ConfigError,
    CustomProviderConfig,
    ModelConfig,
    ProvidersConfig,
)
from rho_tui.host.config_faults import fit
from rho_tui.host.config_file import LoadedConfig, load_config
from rho_tui.host.credentials import FileKeyStore


def load(folder: Path, text: str) -> LoadedConfig:
    path = folder / "config.toml"
    path.write_text(text)
    loaded = load_config(path)
    assert all(warning.startswith(str(path)) for warning in loaded.warnings)
    told = tuple(warning.removeprefix(str(path)) for warning in loaded.warnings)
    return LoadedConfig(loaded.config, told)


@pytest.mark.clause("case:J2", "APP6.3", "APP6.4")
@pytest.mark.parametrize(
    ("text", "warning"),
    [
        # the case's own inputs, as they are and with Rho's names
        ('aproval = "ask"', ":1: unknown key aproval is ignored; known here: model, display, out"),
        ('[shell]\ntimeout = "soon"', ":1: unknown key shell is ignored; known here: model, dis"),
        ('[behavior]\npermision_mode = "supervised"', ":2: unknown key behavior.permision_mode is "
         "ignored; did you mean behavior.permission_mode?"),
        ('[questionnaire]\ntimeout_seconds = "soon"', ":2: questionnaire.timeout_seconds: Input"),
        ("[questionnaire]\ntimeout_seconds = -1", ":2: questionnaire.timeout_seconds: must be at"),
        ("[questionnaire]\ntimeout_seconds = true", ":2: questionnaire.timeout_seconds: Input s"),
        ("[questionnaire]\ntimeout_seconds = 0", "timeout_seconds: must be at least 1; it is ign"),
        ("[questionnaire]\ntimeout_seconds = 604801", "must be at most 604800; it is ignored"),
        ('permission_mode = "plan"', "did you mean behavior.permission_mode?"),
        ("[model]\nmax_stepz = 1", "did you mean model.max_steps?"),
        ("[dispaly]\nshow_reasoning = false", ":1: unknown key dispaly is ignored; did you mean d"),
        ("[model]\n\n# why\nmax_steps = true", ":4: model.max_steps: Input should be a valid int"),
        ("[model]\nmax_steps = 0", "model.max_steps: must be at least 1; using 100"),
        ('[model]\nmax_steps = "9"', "model.max_steps: Input should be a valid integer; using 100"),
        ("model.max_steps = 1.5", ":1: model.max_steps: "),
        ("model = {max_steps = 0}", ":1: model.max_steps: "),
        ("[display]\nprompt_history_limit = 10001", "must be at most 10000; using 1000"),
        ('[behavior]\npermission_mode = "yolo"', "'plan' or 'bypass'; using \"supervised\""),
        ("[behavior]\npermission_mode = true", 'using "supervised"'),
        ('behavior = "bypass"', ":1: behavior: a table is needed; it is ignored"),
        ("[model]\nmax_steps = 2026-01-01", "model.max_steps"),
        ("[prices.m]\ninput = true\noutput = 1", ":2: prices.m.input: "),
        ("[prices.m]\ninput = 1\noutput = -1", ":3: prices.m.output: must be an amount"),
        ("[prices.m]\ninput = nan\noutput = 1", "prices.m is left out"),
        ("[prices.m]\ninput = 1", "prices.m.output: it is missing; prices.m is left out"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_line_and_the_default_holds(
    tmp_path: Path, text: str, warning: str
) -> None:
    loaded = load(tmp_path, text)
    assert len(loaded.warnings) == 1, loaded.warnings
    assert warning in loaded.warnings[0]
    assert loaded.config == Config()


@pytest.mark.clause("case:J3")
def test_the_good_parts_of_a_file_apply_beside_a_bad_entry(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """
[model]
provider = "good"
model = "my-model"

[providers.custom.good]
base_url = "http://127.0.0.1:1/v1"
note = "an unknown key costs nothing but itself"

[providers.custom.bad]
base_url = "http://127.0.0.1:2/v1"
context_window = "x"
args = "x"
""",
    )
    good = CustomProviderConfig("http://127.0.0.1:1/v1")
    assert loaded.config == Config(
        model=ModelConfig(provider="good", model="my-model"),
        providers=ProvidersConfig(custom={"good": good}),
    )
    lines = sorted(re.match(r":(\d+): ", warning)[1] for warning in loaded.warnings)  # type: ignore[index] # a warning without a line fails the test
    assert lines == ["12", "13", "8"]
    assert any("providers.custom.bad is left out" in warning for warning in loaded.warnings)


@pytest.mark.clause("case:J3")
@pytest.mark.parametrize(
    ("entry", "named"),
    [
        ('[providers.custom.x]\nwire = "chat"', "x.base_url: it is missing"),
        ('[providers.custom.Ab]\nbase_url = "http://x"', "lowercase letters"),
        ('[providers.custom.demo]\nbase_url = "http://x"', "built-in provider"),
        ('[providers.custom.x]\nbase_url = "http://u:p@x"', "leave credentials"),
        ('[providers.custom.x]\nbase_url = "file:///x"', "not an http or https address"),
        ('[providers.custom.x]\nbase_url = "http://x"\nwire = "grpc"', "x.wire: Input should be"),
        ('[providers.custom.x]\nbase_url = "http://x"\ncontext_window = 0', "at least 1"),
        ("[providers.custom]\nx = 1", "x: a table is needed"),
        ("[providers]\ncustom = 1", "providers.custom: a table is needed"),
    ],
)
def test_a_provider_that_cannot_be_reached_as_written_is_left_out(
    tmp_path: Path, entry: str, named: str
) -> None:
    loaded = load(tmp_path, f"{entry}\n[display]\nshow_reasoning = false\n")
    assert loaded.config.providers == ProvidersConfig()
    assert not loaded.config.display.show_reasoning
    assert named in loaded.warnings[0]


@pytest.mark.clause("case:J2")
@pytest.mark.parametrize(
    "text",
    [
        '[providers.openai]\nbase_url = "gateway.test"',
        "[providers.openai]\nbase_url = 5",
        '[providers.openai]\nbaseurl = "http://gateway.test"',
        '[providers]\nopenai = "http://gateway.test"',
        '[provider.openai]\nbase_url = "http://gateway.test"',
    ],
)
def test_a_vendor_whose_address_cannot_be_read_gets_no_key_and_no_prompt(
    tmp_path: Path, text: str
) -> None:
    loaded = load(tmp_path, text)
    assert "openai cannot be used before this is mended" in loaded.warnings[0]
    store = FileKeyStore(tmp_path / "credentials.toml")
    with pytest.raises(ConfigError, match=r"providers\.openai\.base_url"):
        resolve_provider(loaded.config, {"OPENAI_API_KEY": "sk-test-123"}, store)
    # the environment has an address of its own, and other providers are not concerned
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    assert resolve_provider(loaded.config, environ, store)
    assert resolve_provider(loaded.config, {"ANTHROPIC_API_KEY": "sk-test-123"}, store)


@pytest.mark.clause("case:J2")
@pytest.mark.parametrize(
    "text",
    [
        "[model]\nprovider = 5",
        '[model]\nprovidr = "local"',
        '[modell]\nprovider = "local"',
        'provider = "local"',
    ],
)
def test_a_provider_that_cannot_be_read_is_not_replaced_by_another(
    tmp_path: Path, text: str
) -> None:
    loaded = load(tmp_path, text)
    assert "no provider is chosen before this is mended" in loaded.warnings[0]
    store = FileKeyStore(tmp_path / "credentials.toml")
    with pytest.raises(ConfigError, match=r"mend model\.provider"):
        resolve_provider(loaded.config, {"OPENAI_API_KEY": "sk-test-123"}, store)


@pytest.mark.clause("case:J2")
def test_a_misspelled_key_beside_the_right_one_changes_nothing(tmp_path: Path) -> None:
    text = '[model]\nprovider = "demo"\nprovidr = "x"\n[providers.openai]\n'
    loaded = load(tmp_path, text + 'base_url = "http://127.0.0.1:9"\nbase_ur = "x"\n')
    assert loaded.config.model.provider == "demo"
    assert loaded.config.providers.openai == BuiltInProviderConfig("http://127.0.0.1:9")
    assert len(loaded.warnings) == 2


_keys = st.sampled_from(
    ["model", "provider", "max_steps", "providers", "openai", "base_url", "custom", "a", "prices"]
) | st.text(max_size=3)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_keys, _values, max_size=4))
@pytest.mark.clause("case:J3")
def test_any_tables_make_a_configuration_and_what_is_kept_has_no_fault(tables: dict) -> None:
    fitted = fit(tables)
    again = fit(fitted.data)
    assert again.faults == []
    assert (again.config, again.data) == (fitted.config, fitted.data)
