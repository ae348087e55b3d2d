"""The skills of a workspace: `.agents/skills/<name>/SKILL.md`, and nothing else (section 26).

The host authorizes the discovery. Blocking: run it in a thread.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rho_core.authority.workspace import Workspace
from rho_core.errors import ToolError
from rho_core.tools.files.display import display_path, visible_name
from rho_core.tools.files.reading import read_regular
from rho_core.tools.skill_document import BrokenSkill, parse_header

SKILLS_FOLDER = Path(".agents", "skills")
SKILL_FILE = "SKILL.md"
MAX_SKILLS = 256
MAX_SKILL_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SkillSummary:
    """A skill as the prompt and the palette list it; `path` is its canonical SKILL.md.

    A user-only skill is not offered to the model (18.4).
    """

    name: str
    description: str
    path: Path
    is_user_only: bool = False


@dataclass(frozen=True, slots=True)
class SkillDiscovery:
    """The usable skills by name, and a line for each folder that holds none."""

    skills: tuple[SkillSummary, ...] = ()
    warnings: tuple[str, ...] = ()


def discover_skills(workspace: Workspace) -> SkillDiscovery:
    """All skills beneath the canonical workspace root. Never raises for what it finds."""
    folder = workspace.root / SKILLS_FOLDER
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if _is_folder(entry))
    except OSError:
        return SkillDiscovery()
    skills: list[SkillSummary] = []
    warnings: list[str] = []
    for name in names[:MAX_SKILLS]:
        try:
            skills.append(_summary(workspace, name))
        except (BrokenSkill, ToolError) as error:
            reason = error.message if isinstance(error, ToolError) else str(error)
            shown = display_path(folder / name / SKILL_FILE, workspace.root)
            warnings.append(f"skill {shown} was skipped: {visible_name(reason)}")
    if len(names) > MAX_SKILLS:
        warnings.append(f"{len(names) - MAX_SKILLS} more skill folders were not looked at")
    return SkillDiscovery(tuple(skills), tuple(warnings))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself must not hide its neighbours
        return False


def skill_file(root: Path, name: str) -> Path:
    """The canonical SKILL.md of a skill. Raises `BrokenSkill` when a link leads outside.

    The folder may be a link within the workspace; the file must lie in that folder itself (I5).
    """
    try:
        folder = Path(os.path.realpath(root / SKILLS_FOLDER / name, strict=True))
        path = Path(os.path.realpath(folder / SKILL_FILE, strict=True))
    except OSError as error:
        raise BrokenSkill(f"{SKILL_FILE}: {error.strerror}") from None
    if not folder.is_relative_to(root) or path != folder / SKILL_FILE:
        raise BrokenSkill("a link leads outside of the skill's folder or the workspace")
    return path


def _summary(workspace: Workspace, name: str) -> SkillSummary:
    path = skill_file(workspace.root, name)
    data = read_regular(path, display_path(path, workspace.root), max_bytes=MAX_SKILL_BYTES)
    header = parse_header(data, name)
    return SkillSummary(header.name, header.description, path, header.is_user_only)
