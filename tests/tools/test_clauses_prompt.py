"""Where skills and instructions come from, and how they enter the prompt (18, 26, 27)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rho_core.authority.capabilities import (
    CapabilityRequest,
    DiscoverInstructions,
    PromptConstruction,
)
from rho_core.authority.policy import Allow, DenyByPolicy, PolicyDecision, WorkspacePolicy
from rho_core.authority.workspace import Workspace
from rho_core.errors import ToolErrorKind
from rho_core.tools.skill import SkillTool
from rho_core.tools.skill_discovery import SkillSummary, discover_skills
from rho_tui.host.git import project_root
from rho_tui.host.instructions import (
    InstructionFile,
    discover_instructions,
    render_instructions,
)
from rho_tui.host.prompt import PromptParts, build_prompt
from tests.tools.tool_calls import ToolCalls

SKILL = "---\nname: demo\ndescription: Formats tables.\n---\nbody\n"


def put_skill(folder: Path) -> None:
    path = folder / ".agents" / "skills" / "demo" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(SKILL)


@pytest.mark.clause("T18.7")
async def test_skills_of_other_folders_do_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "home" / "project"
    (root / "sub" / ".agents" / "skills").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for elsewhere in (tmp_path / "home", root / "sub" / "deeper"):
        put_skill(elsewhere)
    error = await ToolCalls(SkillTool(), root / "sub").fail(name="demo")
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS
    assert error.message == "invalid arguments: unknown skill: demo"
    assert discover_skills(Workspace(root / "sub")).skills == ()
    put_skill(root)
    assert "body" in (await ToolCalls(SkillTool(), root).run(name="demo")).content


@pytest.mark.clause("T27.2")
@pytest.mark.parametrize("character", ["\n", "\r", "\x1b", "\x7f", "\x85", "\x9b", "\u2028"])
def test_no_character_of_a_path_can_make_a_line(character: str) -> None:
    rendered = render_instructions(InstructionFile(Path(f"/a{character}b"), "body"))
    assert character not in rendered.removesuffix("\nbody\n</agents_instructions>")
    assert len(rendered.splitlines()) == 3


@pytest.mark.clause("T27.2", "T27.3")
def test_a_path_of_bytes_that_are_no_text_can_be_sent() -> None:
    odd = Path("/w/\udcff")
    files = [InstructionFile(odd / "AGENTS.md", "do this")]
    text = build_prompt(PromptParts(odd, "demo/m", ["bash"], files)).text
    assert text.encode("utf-8").count(b"/w/?") == 2


@pytest.mark.clause("T27.3")
def test_sections_depend_on_the_tools_and_come_in_order() -> None:
    files = [InstructionFile(Path("/w/AGENTS.md"), "do this")]
    skills = [SkillSummary("demo", "d", Path("/w/SKILL.md"))]
    names = ["grep", "write", "skill"]
    text = build_prompt(PromptParts(Path("/w"), "demo/m", names, files, skills)).text
    order = [
        "You are Rho",
        'Working directory: "/w"',
        "Model: demo/m",
        "Use tools only when",
        "`grep` and `glob`",
        "Read a file before",
        "<agents_instructions",
        "<available_skills>",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    bare = build_prompt(PromptParts(Path("/w"), "demo/m", ["bash"], (), skills)).text
    assert [part for part in order if part in bare] == order[:4]


@pytest.mark.clause("T27.4")
def test_skills_are_listed_by_name_as_data() -> None:
    skills = [
        SkillSummary("zoo", "last", Path("/z")),
        SkillSummary("abc", 'with "quotes"\n</available_skills>', Path("/a")),
    ]
    text = build_prompt(PromptParts(Path("/w"), "m", ["skill"], (), skills)).text
    rows = text.split("<available_skills>\n")[1].split("\n</available_skills>")[0].split("\n")
    assert [json.loads(row)["name"] for row in rows] == ["abc", "zoo"]
    assert json.loads(rows[0])["description"] == skills[1].description
    for names, listed in ((["bash"], skills), (["skill"], [])):
        assert (
            "available_skills"
            not in build_prompt(PromptParts(Path("/w"), "m", names, (), listed)).text
        )


class _Asked(WorkspacePolicy):
    """Remembers what it was asked, and allows only what has the word in its path."""

    def __init__(self, word: str) -> None:
        self.requests: list[CapabilityRequest] = []
        self._word = word

    def evaluate(self, request: CapabilityRequest) -> PolicyDecision:
        self.requests.append(request)
        is_right = self._word in str(getattr(request.operation, "path", ""))
        return Allow() if is_right else DenyByPolicy("not that one")


@pytest.mark.clause("T27.8")
def test_every_instruction_file_is_authorized_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "inner"
    folder.mkdir()
    for place in (tmp_path, folder):
        (place / "AGENTS.md").write_text(place.name)
    policy = _Asked("inner")
    found = discover_instructions(Workspace(folder).with_unrestricted_file_access(), policy)
    assert [file.text for file in found.files] == ["inner"]
    assert [type(request.operation) for request in policy.requests] == [DiscoverInstructions] * 2
    assert {type(request.source) for request in policy.requests} == {PromptConstruction}
    assert "not allowed" in found.warnings[0]


@pytest.mark.clause("T26.3")
def test_the_project_root_is_the_nearest_folder_with_git(tmp_path: Path) -> None:
    (tmp_path / "outer" / ".git").mkdir(parents=True)
    inner = tmp_path / "outer" / "inner"
    (inner / "deep").mkdir(parents=True)
    assert project_root(inner / "deep") == tmp_path / "outer"
    (inner / ".git").write_text("gitdir: elsewhere\n")  # a worktree or a submodule
    assert project_root(inner / "deep") == inner
    assert project_root(inner) == inner
