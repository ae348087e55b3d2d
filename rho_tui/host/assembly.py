"""Puts the core together for one conversation: tools, policy, prompt, runtime."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rho_core.authority.capabilities import ProcessEnvironment
from rho_core.authority.workspace import Workspace
from rho_core.history.compaction import CompactionPolicy, Compactor
from rho_core.history.summarise import SummarisingCompactor
from rho_core.providers.contract import ModelProvider
from rho_core.reasoning import ReasoningLevel
from rho_core.runtime import Rho
from rho_core.tooling.contract import Tool
from rho_core.tools.file_tools import FileTools
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.files.recovery import recover_interrupted
from rho_core.tools.process.manager import ProcessManager
from rho_core.tools.process.tool import ProcessTool
from rho_core.tools.questionnaire import QuestionnaireTool
from rho_core.tools.search.glob import GlobTool
from rho_core.tools.search.grep import GrepTool
from rho_core.tools.search.ripgrep import find_ripgrep
from rho_core.tools.shell.processes import ShellSupervisor
from rho_core.tools.shell.tool import BashTool
from rho_core.tools.skill import SkillTool
from rho_core.tools.skill_discovery import discover_skills
from rho_core.version import __version__
from rho_tui.host.approvals import InteractiveApprovals
from rho_tui.host.catalogue import ProviderChoice, credential_env_vars
from rho_tui.host.conversation import ConversationOptions
from rho_tui.host.edit_format import edit_format_for
from rho_tui.host.instructions import discover_instructions
from rho_tui.host.launch import Launch
from rho_tui.host.permissions import ModePolicy, PermissionMode
from rho_tui.host.prompt import PromptParts, build_prompt
from rho_tui.host.sensitive import SensitivePaths
from rho_tui.host.user_shell import ShellSettings

MAX_PARALLEL_TOOLS = 4
COMPACT_AT = 0.85
"""Share of the context window at which the history is compacted before the next step."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A runtime ready for a conversation, and what the user should know about it."""

    rho: Rho
    options: ConversationOptions
    warnings: tuple[str, ...]


def assemble(
    launch: Launch,
    choice: ProviderChoice,
    provider: ModelProvider,
    supervisor: ShellSupervisor,
    processes: ProcessManager,
    *,
    cwd: Path,
    permission_mode: str,
    interactive: bool,
    stored: bool,
) -> Assembly:
    """Build everything one conversation needs. Blocks on the disk; connects to nothing.

    Without `interactive` nobody can be asked: approvals are denied, questions not offered.
    Raises `WorkspaceError` when `cwd` cannot be a workspace.
    """
    # the app lets paths be named freely; whether they may be touched is for the policy (2.24)
    workspace = Workspace(cwd).with_unrestricted_file_access()
    private = (launch.paths.config_dir, launch.paths.state_dir)
    policy = ModePolicy(
        PermissionMode.parse(permission_mode),
        SensitivePaths(private),
        # what Rho itself saved of a command's output is the model's to read
        readable=[launch.paths.state_dir / "output"],
    )
    process_tool = _process_tool(launch, processes)
    undone = _undo_interrupted(launch.paths.state_dir / "recovery")
    files = _file_tools(launch, choice)
    tools = _tools(launch, supervisor, process_tool, files, interactive=interactive)
    instructions = discover_instructions(workspace, policy, user_dir=launch.paths.config_dir)
    skills = discover_skills(workspace)
    prompt = build_prompt(
        PromptParts(
            workspace.root,
            f"{choice.name}/{choice.model}",
            [tool.name for tool in tools],
            instructions.files,
            [skill for skill in skills.skills if not skill.is_user_only],
        )
    )
    approvals = InteractiveApprovals() if interactive else None
    compactor, compaction_policy = compaction_for(provider, choice)
    rho = Rho(
        provider,
        tools=tools,
        system_prompt=prompt.text,
        prompt_sources=prompt.sources,
        max_steps=launch.config.model.max_steps,
        max_parallel_tools=MAX_PARALLEL_TOOLS,
        workspace=workspace,
        policy=policy,
        approvals=approvals,
        compactor=compactor,
        compaction_policy=compaction_policy,
        reasoning=ReasoningLevel.parse(launch.config.model.reasoning),
        force_publish_live_history=True,
    )
    options = ConversationOptions(
        cwd=str(workspace.root),
        folder=launch.paths.sessions_dir if stored else None,
        version=__version__,
        approvals=approvals,
        policy=policy,
        take_notice=process_tool.take_notice,
        files=files,
        system_prompt=prompt.text,
        shell=shell_settings(launch, supervisor) if interactive else None,
        # argument models and their schemas: they take a while, and nobody may ever send
        load=lambda: [tool.spec() for tool in tools],
    )
    return Assembly(rho, options, (*undone, *instructions.warnings, *skills.warnings))


def assemble_for_reading(launch: Launch, provider: ModelProvider, cwd: Path) -> Assembly:
    """Enough to look at a session whose folder `cwd` is gone: no tools, no prompts."""
    options = ConversationOptions(
        cwd=str(cwd),
        folder=launch.paths.sessions_dir,
        version=__version__,
        folder_is_missing=True,
    )
    return Assembly(Rho(provider), options, ())


def shell_settings(launch: Launch, supervisor: ShellSupervisor) -> ShellSettings:
    """What the user's own commands run with: the environment and the budget of the model's."""
    return ShellSettings(
        supervisor,
        ProcessEnvironment.inherit_except(credential_env_vars(launch.config)),
        launch.config.output.max_output_bytes,
        launch.paths.state_dir / "output",
    )


def compaction_for(
    provider: ModelProvider, choice: ProviderChoice
) -> tuple[Compactor, CompactionPolicy | None]:
    """How a history is shortened: on request, and by itself where the window is known."""
    window = choice.context_window
    policy = CompactionPolicy.at_context_tokens(int(window * COMPACT_AT)) if window else None
    return SummarisingCompactor(provider), policy


def _undo_interrupted(recovery_dir: Path) -> list[str]:
    """Undo changes of several files that a crash cut short; what to tell of it."""
    notes = []
    for found in recover_interrupted(recovery_dir):
        if found.restored:
            names = ", ".join(str(path) for path in found.restored)
            notes.append(f"an edit of several files was cut short and has been undone: {names}")
        if found.left:
            names = ", ".join(str(path) for path in found.left)
            notes.append(
                f"an edit of several files was cut short and could not be undone for {names}; "
                f"the original contents are in {found.kept}"
            )
    return notes


def _process_tool(launch: Launch, processes: ProcessManager) -> ProcessTool:
    """The conversation's way to the processes: it hears of the end of its own only."""
    return ProcessTool(
        processes,
        environment=ProcessEnvironment.inherit_except(credential_env_vars(launch.config)),
        max_output_bytes=launch.config.output.max_output_bytes,
    )


def _file_tools(launch: Launch, choice: ProviderChoice) -> FileTools:
    """The conversation's file tools; what it has read and written is its own affair."""
    setting = launch.config.behavior.edit_tool
    return FileTools(
        FileLedger(),
        max_output_bytes=launch.config.output.max_output_bytes,
        recovery_dir=launch.paths.state_dir / "recovery",
        edit_format=edit_format_for(setting, choice.name, choice.wire),
    )


def _tools(
    launch: Launch,
    supervisor: ShellSupervisor,
    process: ProcessTool,
    files: FileTools,
    *,
    interactive: bool,
) -> list[Tool]:
    """The tools of one conversation."""
    limit = launch.config.output.max_output_bytes
    state = launch.paths.state_dir
    environment = ProcessEnvironment.inherit_except(credential_env_vars(launch.config))
    tools: list[Tool] = [
        *files.tools,
        GrepTool(max_output_bytes=limit, ripgrep=find_ripgrep(), header=files.header),
        GlobTool(max_output_bytes=limit),
        BashTool(
            supervisor=supervisor,
            environment=environment,
            max_output_bytes=limit,
            spill_folder=state / "output",
            has_process_tool=True,
        ),
        process,
        SkillTool(max_output_bytes=limit),
    ]
    return [*tools, QuestionnaireTool()] if interactive else tools
