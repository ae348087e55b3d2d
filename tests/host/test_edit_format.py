"""Which edit tool a conversation gets: by configuration, else by provider."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rho_core.tools.file_tools import EditFormat
from rho_tui.host.config_file import load_config
from rho_tui.host.edit_format import edit_format_for


@pytest.mark.clause("T1.4", "APP6.8")
@pytest.mark.parametrize(
    ("provider", "wire", "expected"),
    [
        ("openai-codex", "chat", EditFormat.APPLY_PATCH),
        ("anthropic", "anthropic", EditFormat.STR_REPLACE),
        ("xai", "chat", EditFormat.STR_REPLACE),
        ("demo", "demo", EditFormat.STR_REPLACE),
        ("claude-at-work", "anthropic", EditFormat.STR_REPLACE),
        ("openai", "chat", EditFormat.HASHLINE),
        ("local", "chat", EditFormat.HASHLINE),
    ],
)
def test_auto_goes_by_the_provider_and_a_choice_goes_first(
    provider: str, wire: str, expected: EditFormat
) -> None:
    assert edit_format_for("auto", provider, wire) is expected
    assert edit_format_for("hashline", provider, wire) is EditFormat.HASHLINE
    assert edit_format_for("apply_patch", provider, wire) is EditFormat.APPLY_PATCH
    assert edit_format_for("str_replace", provider, wire) is EditFormat.STR_REPLACE


@pytest.mark.clause("T1.4", "APP6.8")
@pytest.mark.parametrize("written", ["apply_patch", " Apply_Patch\\t"])
def test_the_setting_is_read_without_blanks_and_case(tmp_path: Path, written: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f'[behavior]\nnotify = "off"\nedit_tool = "{written}"\n')
    behavior = load_config(path).config.behavior
    assert (behavior.edit_tool, behavior.notify) == ("apply_patch", "off")


@pytest.mark.clause("T1.4", "APP6.8")
@pytest.mark.parametrize("written", ['"sed"', '""', "1", '["hashline"]'])
def test_an_unknown_setting_is_named_with_all_that_there_are_and_auto_holds(
    tmp_path: Path, written: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[behavior]\nedit_tool = {written}\n")
    loaded = load_config(path)
    assert loaded.config.behavior.edit_tool == "auto"
    (warning,) = loaded.warnings
    assert re.search("edit_tool.*hashline.*apply_patch.*str_replace", warning)


@pytest.mark.clause("T1.3", "T3.3")
@pytest.mark.parametrize(
    ("edit_format", "tool", "header"),
    [
        (EditFormat.HASHLINE, "edit", "[f#2CAB]"),
        (EditFormat.APPLY_PATCH, "apply_patch", "f"),
        (EditFormat.STR_REPLACE, "str_replace", "f"),
    ],
)
def test_a_format_has_its_tool_and_its_views(
    edit_format: EditFormat, tool: str, header: str
) -> None:
    assert edit_format.tool_name == tool
    assert edit_format.header("f", "hello") == header
