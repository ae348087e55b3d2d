"""What the app saves into the user's configuration, and everything there that it leaves alone."""

from __future__ import annotations

import difflib
import os
import stat
from pathlib import Path

import pytest

from rho_tui.host.config import ConfigError
from rho_tui.host.config_file import load_config
from rho_tui.host.launch import Flags, prepare_launch
from rho_tui.host.settings import save_settings
from rho_tui.host.workbench import Workbench
from rho_tui.screens.setup import SetupChoice, SetupKind
from rho_tui.screens.setup_flow import apply_setup

#: Comments, inline tables, an unknown key, an order and spellings of numbers of the user's own.
OWN = b"""\
# my configuration
future_key = "keep"   # of a later version

[providers]
# mine first
custom = { local = { base_url = "http://127.0.0.1:1/v1", model = 'old', context_window = 32_768 } }

[prices.'old']
output = 1e1
input  = +1.50 # dollars

[model]
\tprovider = "local"
\tmodel    = "old"     # the good one
\tmax_steps = 0x64

[mcp]
servers = [ "a",   # first
  "b" ]
"""


def changed_lines(before: bytes, after: bytes) -> list[str]:
    """The lines that went and came, with their sign."""
    old, new = (text.decode().split("\n") for text in (before, after))
    return [line for line in difflib.ndiff(old, new) if line[0] in "+-"]


@pytest.mark.clause("case:J4", "APP6.5")
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_saving_one_setting_changes_its_line_and_no_other(tmp_path: Path, newline: bytes) -> None:
    path = tmp_path / "config.toml"
    before = OWN.replace(b"\n", newline)
    path.write_bytes(before)
    save_settings(path, {"model.model": "new"})
    end = newline.decode().rstrip("\n")
    assert changed_lines(before, path.read_bytes()) == [
        f'- \tmodel    = "old"     # the good one{end}',
        f'+ \tmodel    = "new"     # the good one{end}',
    ]
    assert load_config(path).config.model.model == "new"
    assert [file.name for file in tmp_path.iterdir()] == ["config.toml"]


@pytest.mark.clause("case:J4")
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_new_setting_is_one_more_line_with_the_files_own_ending(
    tmp_path: Path, newline: bytes
) -> None:
    path = tmp_path / "config.toml"
    before = OWN.replace(b"\n", newline)
    path.write_bytes(before)
    save_settings(path, {"model.reasoning": "low"})
    (line,) = changed_lines(before, path.read_bytes())
    assert line.split() == ["+", "reasoning", "=", '"low"']
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(newline)


@pytest.mark.clause("case:J4", "APP9.9")
async def test_another_model_chosen_in_the_setup_changes_its_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "config.toml"
    path.parent.mkdir()
    before = (
        b'# mine\n[providers.custom.local]\nmodel = "old" # good\n'
        b'wire = "chat"\nbase_url = "http://127.0.0.1:1/v1"\nfuture_key = "keep"\n\n'
        b'[model]\nmodel = ""\nprovider = "local"\n'
    )
    path.write_bytes(before)
    launch = prepare_launch(Flags(), environ={"RHO_HOME": str(path.parent)}, cwd=tmp_path)
    bench = Workbench(launch)
    choice = SetupChoice(SetupKind.LOCAL, base_url="http://127.0.0.1:1/v1", model="new")
    assert await apply_setup(bench, choice) == ""
    assert changed_lines(before, path.read_bytes()) == [
        '- model = "old" # good',
        '+ model = "new" # good',
    ]
    assert bench.launch.config.providers.custom["local"].model == "new"


@pytest.mark.clause("case:J7")
@pytest.mark.parametrize(
    "before",
    [
        "[tools]\nx = 1\n",
        "[tools]\nx = 1",
        "[tools]\nx = 1\n\n# the end\n",
        "# only a comment\n",
        "",
    ],
)
def test_the_first_save_lands_in_no_table_of_somebody_else(tmp_path: Path, before: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(before)
    save_settings(path, {"model.model": "new", "model.provider": "demo"})
    assert path.read_text().startswith(before)
    model = load_config(path).config.model
    assert (model.provider, model.model) == ("demo", "new")


@pytest.mark.clause("case:J7")
def test_a_key_of_the_top_level_is_written_above_the_first_header(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('model.reasoning = "low"\n\n[tools]\nx = 1\n')
    save_settings(path, {"model.model": "new"})
    assert path.read_text() == 'model.reasoning = "low"\nmodel.model = "new"\n\n[tools]\nx = 1\n'
    assert load_config(path).config.model.model == "new"


@pytest.mark.parametrize(
    ("before", "values"),
    [
        ("[model]\n", {"model.max_steps": 0}),
        ("[model]\n", {"model.modle": "x"}),
        ("model = 5\n", {"model.model": "x"}),
        ("[[model]]\n", {"model.model": "x"}),
        ("model = ", {"model.model": "x"}),
    ],
)
def test_what_could_not_be_read_back_changes_nothing(
    tmp_path: Path, before: str, values: dict[str, str | int | bool]
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(before)
    with pytest.raises(ConfigError, match=str(path)):
        save_settings(path, values)
    assert path.read_text() == before


@pytest.mark.clause("case:J5")
@pytest.mark.skipif(os.name == "nt", reason="modes and links as on POSIX")
def test_a_config_that_is_a_link_into_dotfiles_stays_one(tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles" / "rho.toml"
    dotfiles.parent.mkdir()
    dotfiles.write_bytes(OWN)
    link = tmp_path / "home" / "config.toml"
    link.parent.mkdir()
    link.symlink_to(Path("..") / "dotfiles" / "rho.toml")
    for model in ("new", "newer"):
        save_settings(link, {"model.model": model})
        assert link.is_symlink()
        assert f'"{model}"'.encode() in dotfiles.read_bytes()
        assert stat.S_IMODE(dotfiles.stat().st_mode) == 0o600
    assert [file.name for file in link.parent.iterdir()] == ["config.toml"]
    assert [file.name for file in dotfiles.parent.iterdir()] == ["rho.toml"]
