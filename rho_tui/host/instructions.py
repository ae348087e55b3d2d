"""AGENTS.md files: which apply here, and how they enter the prompt (27.1, 27.2)."""

from __future__ import annotations

import html
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rho_core.authority.capabilities import (
    CapabilityRequest,
    DiscoverInstructions,
    PromptConstruction,
)
from rho_core.errors import RhoError
from rho_tui.host.git import project_root

if TYPE_CHECKING:
    from rho_core.authority.policy import WorkspacePolicy
    from rho_core.authority.workspace import Workspace

FILE_NAME = "AGENTS.md"
MAX_INSTRUCTION_BYTES = 256 * 1024

#: What could end a line or steer a terminal: C0, DEL and C1, and the Unicode separators.
_CONTROLS = {code: f"&#{code};" for code in (*range(32), *range(127, 160), 0x2028, 0x2029)}


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """One AGENTS.md that is part of the prompt."""

    path: Path
    text: str


@dataclass(frozen=True, slots=True)
class Instructions:
    """What was found, outermost first, and what was passed over and why."""

    files: tuple[InstructionFile, ...] = ()
    warnings: tuple[str, ...] = ()


def discover_instructions(
    workspace: Workspace, policy: WorkspacePolicy, *, user_dir: Path | None = None
) -> Instructions:
    """Read the user's AGENTS.md, then each one from the git root down to the workspace root.

    Every file is authorized as instruction discovery before it is read. Blocks on the disk.
    """
    candidates = [directory / FILE_NAME for directory in _ancestry(workspace.root)]
    if user_dir is not None:
        candidates.insert(0, user_dir / FILE_NAME)
    files: list[InstructionFile] = []
    warnings: list[str] = []
    for candidate in candidates:
        try:
            if not candidate.is_file():
                continue
            text = _read_authorized(candidate, workspace, policy)
        except (OSError, ValueError, RhoError) as error:
            warnings.append(f"{candidate} was not used: {error}")
            continue
        files.append(InstructionFile(candidate, text.rstrip()))
    return Instructions(tuple(files), tuple(warnings))


def render_instructions(file: InstructionFile) -> str:
    """The file wrapped so that its path cannot be taken for something else (27.2)."""
    # not `xml.sax.saxutils.quoteattr`: that imports urllib, http and email, 1.5 MiB of them
    path = html.escape(sendable_path(file.path)).translate(_CONTROLS)
    return f'<agents_instructions path="{path}">\n{file.text}\n</agents_instructions>'


def sendable_path(path: Path) -> str:
    """The path as text that can be sent; bytes of it that are no UTF-8 become `?`."""
    return str(path).encode("utf-8", "replace").decode()


def _ancestry(directory: Path) -> list[Path]:
    root = project_root(directory)
    chain = [directory, *directory.parents]
    return list(reversed(chain[: chain.index(root) + 1]))


def _read_authorized(path: Path, workspace: Workspace, policy: WorkspacePolicy) -> str:
    from rho_core.authority.policy import Allow

    resolved = workspace.resolve_for_read(path)
    request = CapabilityRequest(
        DiscoverInstructions(resolved.path, resolved.scope), PromptConstruction()
    )
    decision = policy.evaluate(request)
    if not isinstance(decision, Allow):
        raise ValueError("instruction discovery is not allowed here")
    workspace.revalidate(resolved)
    with resolved.path.open("rb") as file:
        data = file.read(MAX_INSTRUCTION_BYTES + 1)
    if len(data) > MAX_INSTRUCTION_BYTES:
        raise ValueError(f"the file is larger than {MAX_INSTRUCTION_BYTES // 1024} KiB")
    return data.decode("utf-8")
