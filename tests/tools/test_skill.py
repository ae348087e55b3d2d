"""`skill` and the discovery of skills (sections 18 and 26, I1–I5)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rho_core.authority.capabilities import CapabilityKind, LoadSkill
from rho_core.authority.workspace import Workspace
from rho_core.errors import ToolError, ToolErrorKind
from rho_core.tooling.contract import InvocationSource
from rho_core.tooling.resources import Opaque, ToolResourceAccess, WorkspacePath
from rho_core.tools.skill import SkillTool
from rho_core.tools.skill_discovery import MAX_SKILLS, discover_skills
from rho_core.tools.skill_document import BrokenSkill, parse_header
from tests.tools.tool_calls import ToolCalls

HEADER = "---\nname: demo\ndescription: Formats tables.\n---\n"


def put_skill(root: Path, name: str, text: str | bytes) -> Path:
    path = root / ".agents" / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def header(name: str, **extra: str) -> str:
    lines = [
        f"name: {name}",
        "description: d",
        *(f"{key}: {value}" for key, value in extra.items()),
    ]
    return "---\n" + "\n".join(lines) + "\n---\nbody\n"


@pytest.fixture
def skill(tmp_path: Path) -> ToolCalls:
    return ToolCalls(SkillTool(), tmp_path)


@pytest.mark.clause("T18.5", "T18.6")
async def test_a_skill_is_loaded_whole_with_its_source(skill: ToolCalls, tmp_path: Path) -> None:
    path = put_skill(tmp_path, "demo", HEADER + "Use `ref.md`.\n")
    plan = await skill.prepare(name="demo")
    assert plan.capabilities[0].operation == LoadSkill("demo", path)
    assert plan.accesses == (ToolResourceAccess.shared(WorkspacePath(path)),)
    assert skill.tool.security().classes == (CapabilityKind.SKILL,)
    assert (await skill.execute(plan)).content == (
        "Loaded skill: demo\nSource: .agents/skills/demo/SKILL.md\n"
        "Relative references resolve against .agents/skills/demo\n\n" + HEADER + "Use `ref.md`.\n"
    )


@pytest.mark.clause("T18.6")
async def test_the_text_is_read_when_it_is_executed_and_is_bounded(tmp_path: Path) -> None:
    put_skill(tmp_path, "demo", HEADER)
    calls = ToolCalls(SkillTool(max_output_bytes=200), tmp_path)
    plan = await calls.prepare(name="demo")
    put_skill(tmp_path, "demo", HEADER + "é" * 500)
    text = (await calls.execute(plan)).content
    assert text.endswith("é\n[truncated]")
    assert len(text.encode()) <= 212


@pytest.mark.clause("T18.3", "T18.5")
async def test_an_embedded_skill_comes_first_and_needs_no_workspace(tmp_path: Path) -> None:
    put_skill(tmp_path, "demo", header("demo"))
    tool = SkillTool(embedded={"demo": HEADER + "built in"})
    plan = await ToolCalls(tool, None).prepare(name="demo")
    assert plan.capabilities[0].operation == LoadSkill("demo", None)
    assert plan.accesses == (ToolResourceAccess.shared(Opaque("rho.skill.builtin", "demo")),)
    text = (await ToolCalls(tool, tmp_path).run(name="demo")).content
    assert text.startswith("Loaded skill: demo\nSource: built in to rho\n\n---\n")


@pytest.mark.clause("T18.1", "T18.2", "case:I4")
@pytest.mark.parametrize(
    "name",
    [
        "../../secret",
        "/tmp/other",
        "a/b",
        "",
        ".",
        "..",
        "x\0",
        "a b",
        "é",
        "x" * 300,
        3,
        None,
        ["a"],
    ],
)
async def test_a_bad_name_is_refused_before_any_path_is_made(
    skill: ToolCalls, name: object
) -> None:
    error = await skill.fail(name=name)
    assert error.tool_kind is ToolErrorKind.INVALID_ARGUMENTS


@pytest.mark.clause("T18.2")
async def test_unknown_skills_and_keys_are_refused(skill: ToolCalls) -> None:
    assert (await skill.fail(name="CON")).message.endswith("unknown skill: CON")
    assert "path" in (await skill.fail(name="demo", path="/")).message
    homeless = ToolCalls(skill.tool, None)
    assert "requires a configured workspace" in (await homeless.fail(name="demo")).message


@pytest.mark.clause("T18.4")
async def test_a_user_only_skill_is_for_the_host(skill: ToolCalls, tmp_path: Path) -> None:
    put_skill(tmp_path, "mine", header("mine", **{"disable-model-invocation": '"True"'}))
    error = await skill.fail(name="mine")
    assert error.tool_kind is ToolErrorKind.POLICY_DENIED
    assert "direct user invocation" in error.message
    skill.source = InvocationSource.HOST
    assert (await skill.run(name="mine")).content.endswith("body\n")


@pytest.mark.clause("T18.5", "case:I5")
async def test_links_never_lead_out_of_the_skill(skill: ToolCalls, tmp_path: Path) -> None:
    root = tmp_path / "root"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "SKILL.md").write_text(header("linked"))
    folder = root / ".agents" / "skills"
    (folder / "file").mkdir(parents=True)
    (folder / "file" / "SKILL.md").symlink_to(tmp_path / "out" / "SKILL.md")
    (folder / "linked").symlink_to(tmp_path / "out")
    (folder / "loop").symlink_to("loop")
    (folder / "inside").symlink_to("../../shared/inside")
    (root / "shared" / "inside").mkdir(parents=True)
    (root / "shared" / "inside" / "SKILL.md").write_text(header("inside"))
    calls = ToolCalls(skill.tool, root)
    for name in ("file", "linked", "loop"):
        assert (await calls.fail(name=name)).tool_kind is ToolErrorKind.EXECUTION
    assert "body" in (await calls.run(name="inside")).content
    discovery = discover_skills(Workspace(root))
    assert [found.name for found in discovery.skills] == ["inside"]
    assert len(discovery.warnings) == 2  # the loop is no folder at all


@pytest.mark.clause("T18.5", "T2.11")
async def test_a_skill_that_changed_its_place_is_denied(skill: ToolCalls, tmp_path: Path) -> None:
    path = put_skill(tmp_path, "demo", HEADER)
    plan = await skill.prepare(name="demo")
    other = tmp_path / "other.md"
    path.rename(other)
    path.symlink_to(other)
    with pytest.raises(ToolError) as caught:
        await skill.execute(plan)
    assert caught.value.tool_kind is ToolErrorKind.POLICY_DENIED


@pytest.mark.clause("T26.9")
async def test_special_and_huge_files_are_never_waited_for(
    skill: ToolCalls, tmp_path: Path
) -> None:
    folder = tmp_path / ".agents" / "skills"
    (folder / "pipe").mkdir(parents=True)
    os.mkfifo(folder / "pipe" / "SKILL.md")
    put_skill(tmp_path, "huge", HEADER + "x" * 2_000_000)
    (folder / "empty").mkdir()
    for name in ("pipe", "huge", "empty"):
        assert (await skill.fail(name=name)).tool_kind is ToolErrorKind.EXECUTION
    assert len(discover_skills(Workspace(tmp_path)).warnings) == 3


@pytest.mark.clause("T26.2", "T26.6", "case:I1")
def test_discovery_is_sorted_and_tells_what_is_broken(tmp_path: Path) -> None:
    put_skill(tmp_path, "b", header("b"))
    put_skill(tmp_path, "a", header("a", **{"disable-model-invocation": "true"}))
    put_skill(tmp_path, "other", header("another"))
    put_skill(tmp_path, "bad", "no front matter")
    put_skill(tmp_path, "latin", HEADER.replace("tables", "t\xe9").encode("latin-1"))
    (tmp_path / ".agents" / "skills" / "README.md").write_text("not a skill")
    discovery = discover_skills(Workspace(tmp_path))
    assert [(found.name, found.is_user_only) for found in discovery.skills] == [
        ("a", True),
        ("b", False),
    ]
    assert len(discovery.warnings) == 3
    assert "skills/bad/SKILL.md" in discovery.warnings[0]
    assert "line 1" in discovery.warnings[0]
    assert "not UTF-8" in discovery.warnings[1]
    assert "'another'" in discovery.warnings[2]
    assert discover_skills(Workspace(tmp_path / ".agents")).skills == ()


def test_discovery_is_bounded(tmp_path: Path) -> None:
    for number in range(MAX_SKILLS + 3):
        (tmp_path / ".agents" / "skills" / f"s{number:04}").mkdir(parents=True)
    discovery = discover_skills(Workspace(tmp_path))
    assert "3 more skill folders" in discovery.warnings[-1]


@pytest.mark.clause("T26.4", "case:I1", "case:I2")
@pytest.mark.parametrize(
    "text",
    [
        HEADER,
        "\ufeff" + HEADER,
        HEADER.replace("\n", "\r\n"),
        HEADER.rstrip("\n"),
        "---\nname: demo\ndescription: Formats tables.\nmetadata: [1, {a: b}]\n# c\n---",
        "---\nname: 'demo'\ndescription: >\n  Formats\n  tables.\n---\n",
        "---\nname: demo\ndescription: Formats tables. Tip: run twice\n---\n",
    ],
)
def test_equivalent_front_matter_loads_alike(text: str) -> None:
    found = parse_header(text.encode(), "demo")
    assert found.name == "demo"
    assert found.description.startswith("Formats tables.")


@pytest.mark.clause("T26.5")
@pytest.mark.parametrize(
    "block",
    [
        "name: demo",
        "description: d",
        "name: demo\ndescription: ''",
        "name: demo\ndescription: 3",
        "name: Demo\ndescription: d",
        "name: demo-\ndescription: d",
        "name: de--mo\ndescription: d",
        "name: other\ndescription: d",
        f"name: demo\ndescription: {'d' * 1025}",
        "name: demo\ndescription: d\nallowed-tools: [a]",
        "name: demo\ndescription: d\ndisable-model-invocation: 1",
        "name: demo\ndescription: d\ncompatibility: ''",
        f"name: demo\ndescription: d\ncompatibility: {'c' * 501}",
        "name: demo\ndescription: d\nlicense: 3",
        "- name",
        "name: demo\n\tdescription",
        "a: &a [x]\nb: *a\nname: demo\ndescription: d",
        "name: demo\ndescription: !!python/object/apply:os.system [ls]",
        "name: demo\ndescription: " + "[" * 2_000,
        "name: demo\ndescription: d\nx: [" + "1," * 600 + "]",
        "x: y\n" * 5_000 + "name: demo\ndescription: d",
    ],
)
def test_broken_front_matter_is_named(block: str) -> None:
    with pytest.raises(BrokenSkill):
        parse_header(f"---\n{block}\n---\n".encode(), "demo")


@pytest.mark.clause("T26.5")
def test_front_matter_may_be_as_long_as_the_limits_and_no_longer() -> None:
    def parsed(name: int, description: int, compatibility: int) -> str:
        lines = (
            f"name: {'n' * name}",
            f"description: {'d' * description}",
            f"compatibility: {'c' * compatibility}",
        )
        text = "\n".join(("---", *lines, "---", ""))
        return parse_header(text.encode(), "n" * name).name

    assert parsed(64, 1024, 500) == "n" * 64
    for sizes in ((65, 1, 1), (1, 1025, 1), (1, 1, 501)):
        with pytest.raises(BrokenSkill):
            parsed(*sizes)


@settings(max_examples=100)
@given(st.text("ab:-&*!|>[]{}'\"#%@`,\n\t ?~<1.\0\ud800é", max_size=60))
def test_hostile_front_matter_is_broken_or_valid(block: str) -> None:
    data = f"---\nname: demo\ndescription: d\n{block}\n---\n".encode("utf-8", "surrogatepass")
    assert _name_or_refusal(data) in ("demo", None)


def _name_or_refusal(data: bytes) -> str | None:
    try:
        return parse_header(data, "demo").name
    except BrokenSkill:
        return None
