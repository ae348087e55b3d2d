"""AGENTS.md: which files apply, in which order, and how they enter the prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from rho_core.authority.policy import DenyAllPolicy
from rho_core.authority.workspace import Workspace
from rho_tui.host.instructions import (
    MAX_INSTRUCTION_BYTES,
    InstructionFile,
    discover_instructions,
    project_root,
    render_instructions,
)
from rho_tui.host.permissions import ModePolicy
from rho_tui.host.prompt import PromptParts, build_prompt


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / ".git").mkdir(parents=True)
    (root / "pkg" / "deep").mkdir(parents=True)
    return root.resolve()


def _workspace(folder: Path) -> Workspace:
    return Workspace(folder).with_unrestricted_file_access()


@pytest.mark.clause("T27.1", "case:I6")
def test_files_apply_from_the_user_then_the_git_root_down(project: Path, tmp_path: Path) -> None:
    user = tmp_path / "user"
    user.mkdir()
    for folder, text in ((user, "u"), (project, "root"), (project / "pkg", "pkg")):
        (folder / "AGENTS.md").write_text(f"{text}\n\n")
    (tmp_path / "AGENTS.md").write_text("above the repository")
    (project / "pkg" / "deep" / "AGENTS.md").write_text("below the workspace")
    found = discover_instructions(_workspace(project / "pkg"), ModePolicy(), user_dir=user)
    assert [file.text for file in found.files] == ["u", "root", "pkg"]
    assert found.warnings == ()


def test_discovery_needs_authority(project: Path) -> None:
    (project / "AGENTS.md").write_text("x")
    found = discover_instructions(_workspace(project), DenyAllPolicy())
    assert found.files == ()
    assert "not allowed" in found.warnings[0]


@pytest.mark.clause("T27.1")
@pytest.mark.parametrize("content", [b"\xff\xfe", b"a" * (MAX_INSTRUCTION_BYTES + 1)])
def test_unreadable_files_are_left_out_and_named(project: Path, content: bytes) -> None:
    (project / "AGENTS.md").write_bytes(content)
    found = discover_instructions(_workspace(project), ModePolicy())
    assert found.files == ()
    assert "AGENTS.md was not used" in found.warnings[0]


@pytest.mark.clause("T27.1")
def test_a_folder_that_cannot_be_looked_into_costs_only_its_file(project: Path) -> None:
    (project / "AGENTS.md").write_text("root")
    impossible = project / ("x" * 300)  # no file system takes a name of that length
    found = discover_instructions(_workspace(project), ModePolicy(), user_dir=impossible)
    assert [file.text for file in found.files] == ["root"]
    assert len(found.warnings) == 1


def test_without_any_file_there_is_nothing_and_nobody_is_warned(project: Path) -> None:
    found = discover_instructions(_workspace(project), ModePolicy(), user_dir=project / "none")
    assert (found.files, found.warnings) == ((), ())


def test_a_folder_of_that_name_is_nothing(project: Path) -> None:
    (project / "AGENTS.md").mkdir()
    assert discover_instructions(_workspace(project), ModePolicy()).files == ()


@pytest.mark.clause("T26.3")
def test_without_git_only_the_folder_itself_counts(tmp_path: Path) -> None:
    assert project_root(tmp_path / "x") == tmp_path / "x" or (tmp_path / ".git").exists()


@pytest.mark.clause("T27.2")
def test_a_path_cannot_break_out_of_its_tag() -> None:
    file = InstructionFile(Path('/a"b<c>\n&'), "body")
    opening, body, closing = render_instructions(file).split("\n")
    assert opening.count("<") == opening.count(">") == 1
    assert (body, closing) == ("body", "</agents_instructions>")


@pytest.mark.clause("T27.3", "T27.6")
def test_the_prompt_lists_every_source_in_order(project: Path) -> None:
    files = [InstructionFile(project / "AGENTS.md", "do this")]
    built = build_prompt(PromptParts(project / 'a"\nb', "demo/demo", ["grep", "write"], files))
    assert "do this" in built.text
    assert '"\n' not in built.text.split("Working directory: ")[1].split("\n")[0]
    assert [source.label for source in built.sources] == ["rho coding prompt", "AGENTS.md"]
    assert "available_skills" not in built.text
