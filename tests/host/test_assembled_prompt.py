"""The system prompt that a conversation really gets, made from real folders (section 27)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rho_core.diagnostics import PromptSourceKind
from rho_core.history.messages import SystemMessage
from rho_core.testing import ScriptedProvider, ScriptedTurn
from rho_core.tools.file_tools import EditFormat
from rho_core.tools.process.manager import ProcessManager
from rho_core.tools.shell.processes import ShellSupervisor
from rho_tui.host.assembly import Assembly, assemble
from rho_tui.host.catalogue import ProviderChoice
from rho_tui.host.config import Config
from rho_tui.host.launch import Launch
from rho_tui.host.paths import RhoPaths
from tests.core.run_harness import run_all

CHOICE = ProviderChoice("local", "local", "chat", "m", "http://127.0.0.1:9/v1")


def put_skill(folder: Path, name: str, *lines: str) -> Path:
    path = folder / ".agents" / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(["---", f"name: {name}", *lines, "---", "body", ""]))
    return path


def assembled(base: Path, work: Path, provider: ScriptedProvider) -> Assembly:
    paths = RhoPaths(base / "config", base / "state")
    supervisor = ShellSupervisor()  # starts nothing before it is used
    return assemble(
        Launch(Config(), base / "config.toml", paths, work, {}),
        CHOICE,
        provider,
        supervisor,
        ProcessManager(supervisor),
        cwd=work,
        permission_mode="plan",
        interactive=True,
        stored=False,
    )


async def sent(made: Assembly, provider: ScriptedProvider) -> str:
    """The system prompt of a first request; there is only one."""
    await run_all(await made.rho.session())
    system, *rest = provider.requests[0].messages
    assert isinstance(system, SystemMessage)
    assert not any(isinstance(message, SystemMessage) for message in rest)
    return system.text


@pytest.mark.clause("T18.4", "T26.2", "T27.3", "T27.4", "T27.6")
async def test_the_prompt_holds_what_the_folders_offer_to_the_model(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (tmp_path / "config").mkdir()
    (work / "AGENTS.md").write_text("Use tabs.\n")
    (tmp_path / "config" / "AGENTS.md").write_text("Be brief.\n")
    tables = put_skill(work, "tables", "description: Formats tables.")
    put_skill(work, "mine", "description: Mine.", "disable-model-invocation: true")
    put_skill(work, "broken", "description: ''")
    provider = ScriptedProvider([ScriptedTurn.completed("done")])
    made = assembled(tmp_path, work, provider)
    text = await sent(made, provider)

    assert f"Working directory: {json.dumps(str(work))}\nModel: local/m (it may change" in text
    assert text.index("Be brief.") < text.index("Use tabs.") < text.index("<available_skills>")
    listed = text.split("<available_skills>\n")[1].split("\n</available_skills>")[0]
    assert json.loads(listed) == {"name": "tables", "description": "Formats tables."}
    assert not any(edit_format.value in text for edit_format in EditFormat)
    (warning,) = made.warnings
    assert "broken" in warning
    sources = made.rho.diagnostics().prompt_sources
    assert [(source.kind, source.path) for source in sources] == [
        (PromptSourceKind.BUILT_IN, None),
        (PromptSourceKind.WORKSPACE_INSTRUCTION, tmp_path / "config" / "AGENTS.md"),
        (PromptSourceKind.WORKSPACE_INSTRUCTION, work / "AGENTS.md"),
        (PromptSourceKind.SKILL, tables),
    ]


@pytest.mark.clause("T27.3", "T27.4")
async def test_a_bare_folder_has_a_prompt_without_instructions_and_skills(tmp_path: Path) -> None:
    work = tmp_path / "work"
    put_skill(work, "mine", "description: Mine.", "disable-model-invocation: true")
    provider = ScriptedProvider([ScriptedTurn.completed("done")])
    made = assembled(tmp_path, work, provider)
    text = await sent(made, provider)
    assert "agents_instructions" not in text
    assert "available_skills" not in text
    assert made.warnings == ()
    (source,) = made.rho.diagnostics().prompt_sources
    assert source.kind is PromptSourceKind.BUILT_IN
