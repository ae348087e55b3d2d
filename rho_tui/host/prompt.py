"""The system prompt, built from parts whose sources are listed (27.3–27.6)."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rho_core.diagnostics import PromptSource, PromptSourceKind
from rho_tui.host.instructions import InstructionFile, render_instructions, sendable_path

if TYPE_CHECKING:
    from rho_core.tools.skill_discovery import SkillSummary

_ROLE = """\
You are Rho, a coding agent in the user's terminal. You help with software work in their project: \
reading, explaining, changing and running code.

Work like a careful colleague:
- Look before you change: read the files that matter, follow the project's own style and tools.
- Make the smallest change that fully solves the task; leave unrelated code alone.
- Check your work by running what the project offers (tests, linters, the program itself).
- Say plainly what you did, what you saw, and what is still open. Never claim what you did not see.
- The user may refuse an action and say why; take the reason seriously and do not work around it."""

_GUIDANCE = """\
Use tools only when they help, and only the ones you are given. Independent calls can be made \
together. Never invent a tool's result. Answer in Markdown, briefly; name files as `path:line`."""

_SEARCH = (
    "Use `grep` and `glob` to find things rather than shell commands; they respect ignore rules."
)

_EDITS = """\
Read a file before you change it, and prefer an edit to rewriting the whole file. An edit is \
refused when the file has changed since it was read: read it again then."""


@dataclass(frozen=True, slots=True)
class PromptParts:
    """Everything the prompt depends on."""

    cwd: Path
    model: str
    tool_names: Collection[str]
    instructions: Sequence[InstructionFile] = ()
    skills: Sequence[SkillSummary] = ()


@dataclass(frozen=True, slots=True)
class BuiltPrompt:
    """The assembled text and where its parts come from."""

    text: str
    sources: tuple[PromptSource, ...]


def build_prompt(parts: PromptParts) -> BuiltPrompt:
    """Assemble the prompt in a fixed order: base, AGENTS.md outermost first, skills."""
    sections = [_base(parts)]
    sources = [PromptSource(PromptSourceKind.BUILT_IN, "rho coding prompt")]
    if parts.instructions:
        sections.append(
            "The following instructions come from AGENTS.md files; later ones take precedence."
        )
        for file in parts.instructions:
            sections.append(render_instructions(file))
            sources.append(
                PromptSource(PromptSourceKind.WORKSPACE_INSTRUCTION, file.path.name, path=file.path)
            )
    if "skill" in parts.tool_names and parts.skills:
        sections.append(_skills(parts.skills))
        sources += [
            PromptSource(PromptSourceKind.SKILL, skill.name, path=skill.path)
            for skill in parts.skills
        ]
    return BuiltPrompt("\n\n".join(sections) + "\n", tuple(sources))


def _base(parts: PromptParts) -> str:
    lines = [
        _ROLE,
        # as a JSON string, so that a path cannot start a new line of the prompt
        f"Working directory: {json.dumps(sendable_path(parts.cwd), ensure_ascii=False)}\n"
        f"Model: {parts.model} (it may change during the session)",
        _GUIDANCE,
    ]
    names = set(parts.tool_names)
    if names & {"grep", "glob"}:
        lines.append(_SEARCH)
    if names & {"write", "str_replace", "edit", "apply_patch"}:
        lines.append(_EDITS)
    return "\n\n".join(lines)


def _skills(skills: Sequence[SkillSummary]) -> str:
    rows = [
        json.dumps({"name": skill.name, "description": skill.description}, ensure_ascii=False)
        for skill in sorted(skills, key=lambda skill: skill.name.lower())
    ]
    listed = "\n".join(rows)
    return (
        "Load a skill with the `skill` tool before doing work that its description covers.\n"
        f"<available_skills>\n{listed}\n</available_skills>"
    )
