"""Every built-in tool at once, for what must hold of all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from rho_core.tooling.contract import Tool
from rho_core.tools.file_tools import EditFormat, file_tools
from rho_core.tools.files.ledger import FileLedger
from rho_core.tools.process.manager import ProcessManager
from rho_core.tools.process.tool import ProcessTool
from rho_core.tools.questionnaire import QuestionnaireTool
from rho_core.tools.search.glob import GlobTool
from rho_core.tools.search.grep import GrepTool
from rho_core.tools.shell.processes import ShellSupervisor
from rho_core.tools.shell.tool import BashTool
from rho_core.tools.skill import SkillTool


@asynccontextmanager
async def built_in_tools() -> AsyncIterator[dict[str, Tool]]:
    """The tools by name, with all three edit formats; their processes end with the block."""
    supervisor = ShellSupervisor()
    manager = ProcessManager(supervisor)
    made: list[Tool] = [
        *(tool for chosen in EditFormat for tool in file_tools(FileLedger(), edit_format=chosen)),
        GrepTool(use_global_excludes=False),
        GlobTool(use_global_excludes=False),
        BashTool(supervisor=supervisor),
        ProcessTool(manager),
        SkillTool(),
        QuestionnaireTool(),
    ]
    try:
        yield {tool.spec().name: tool for tool in made}
    finally:
        await manager.aclose()
        await supervisor.aclose()
