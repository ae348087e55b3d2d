"""Which edit tool a conversation gets: by configuration, else by provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core.tools.file_tools import EditFormat
from rho_tui.host.config import ConfigError, load_config
from rho_tui.host.edit_format import edit_format_for


@pytest.mark.clause("T1.4")
def test_auto_is_the_format_every_model_knows_and_a_choice_goes_first() -> None:
    assert edit_format_for("auto") is EditFormat.STR_REPLACE
    assert edit_format_for("hashline") is EditFormat.HASHLINE
    assert edit_format_for("apply_patch") is EditFormat.APPLY_PATCH
    assert edit_format_for("str_replace") is EditFormat.STR_REPLACE


@pytest.mark.clause("APP6.8")
def test_the_setting_is_read_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[behavior]\nedit_tool = "apply_patch"\n')
    assert load_config(path).config.behavior.edit_tool == "apply_patch"
    path.write_text('[behavior]\nedit_tool = "sed"\n')
    with pytest.raises(ConfigError, match=r"edit_tool.*hashline.*apply_patch.*str_replace"):
        load_config(path)


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
