"""What an approval prompt says about a structured request, as lines; no Textual.

Everything shown comes from the structured request, never from parsing a command (APP3.11-3.13). A
command is shown character for character; only what the eye can't see is made visible.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator

from rho_core.authority.capabilities import (
    CapabilityKind,
    CapabilityRequest,
    DirectInvocation,
    DiscoverInstructions,
    EnvironmentMode,
    ExecutableSelection,
    ExecuteProcess,
    GrantedRoot,
    HostProvidedTool,
    LoadSkill,
    NetworkAccess,
    NetworkUrl,
    PathScope,
    PrimaryWorkspace,
    ProcessEnvironment,
    ProcessExecution,
    PromptConstruction,
    ReadPath,
    ShellInvocation,
    WritePath,
)
from rho_core.tooling.values import ToolMetadata
from rho_tui.transcript.diff import LineKind, parse_diff
from rho_tui.transcript.diff_rows import DiffRows
from rho_tui.transcript.rows import RowSource, Run
from rho_tui.widgets.lines import Line, text_line

_VERBS = {
    CapabilityKind.READ: "read",
    CapabilityKind.WRITE: "write",
    CapabilityKind.PROCESS: "run a command",
    CapabilityKind.NETWORK: "access the network",
    CapabilityKind.SKILL: "load a skill",
    CapabilityKind.INSTRUCTION_DISCOVERY: "discover instructions",
}
_LONG_BLANK = re.compile(" {8,}|\t{3,}")
_BLANK_LINES_SHOWN = 2


def approval_title(capability: CapabilityRequest) -> tuple[Run, ...]:
    """`<actor> wants to <verb>`; a tool of the host says so first (APP3.11)."""
    verb = _VERBS[capability.kind]
    match capability.source:
        case PromptConstruction():
            actor: tuple[Run, ...] = (("rho", "accent"),)
        case HostProvidedTool(name=name):
            actor = (("host ", "muted"), (reveal(name), "accent"))
        case source:
            actor = ((reveal(source.name), "accent"),)
    return (*actor, (f" wants to {verb}", "bold"))


def approval_lines(
    capability: CapabilityRequest, reason: str = "", preview: ToolMetadata | None = None
) -> list[Line]:
    """The facts of a request; the rows of its diff come from `diff_tail`."""
    lines = list(_operation_lines(capability))
    if reason.strip():
        lines.append(Line((("reason ", "muted"), (reveal(reason), "")), hang=7))
    if preview is None:
        return lines
    lines.extend(_preview_lines(capability, preview))
    return lines


def diff_tail(preview: ToolMetadata | None) -> Callable[[int], RowSource] | None:
    """Makes the rows of the proposed diff for a width, as the transcript draws them."""
    if preview is None or not preview.diff:
        return None
    diff = preview.diff
    path = preview.affected_paths[0] if preview.affected_paths else ""
    return lambda width: DiffRows(diff, path, width)


def reveal(text: str) -> str:
    r"""Text in which nothing invisible is left: `\n`, `\t`, others as `\u{200b}` (APP3.13)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_revealed(char) for char in text)


def _revealed(char: str) -> str:
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    category = unicodedata.category(char)
    if category in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} or (category == "Zs" and char != " "):
        return f"\\u{{{ord(char):x}}}"
    return char


def _operation_lines(capability: CapabilityRequest) -> Iterator[Line]:
    match capability.operation:
        case (
            ReadPath(path=path, scope=scope)
            | WritePath(path=path, scope=scope)
            | DiscoverInstructions(path=path, scope=scope)
        ):
            yield text_line(reveal(str(path)), "bold", exact=True)
            yield _scope_line(scope)
        case ExecuteProcess(execution=execution):
            yield from _process_lines(execution)
        case NetworkAccess(target=NetworkUrl(url=url)):
            yield text_line(reveal(url), "bold", exact=True)
        case NetworkAccess():
            yield text_line("tool-managed network access", "bold")
        case LoadSkill(name=name, path=skill_path):
            yield text_line(reveal(name), "bold", exact=True)
            where = "embedded" if skill_path is None else reveal(str(skill_path))
            yield text_line(where, "muted", exact=True)


def _scope_line(scope: PathScope) -> Line:
    match scope:
        case PrimaryWorkspace():
            return text_line("in the workspace", "muted")
        case GrantedRoot(root=root):
            shown = reveal(str(root))
            return Line((("outside the workspace", "warning"), (f", in granted {shown}", "muted")))
        case _:
            return Line((("outside the workspace", "warning"), (", unrestricted", "muted")))


def _process_lines(execution: ProcessExecution) -> Iterator[Line]:
    match execution.invocation:
        case ShellInvocation(command=command):
            yield from command_lines(command)
        case DirectInvocation(executable=executable, arguments=arguments):
            argv = json.dumps([executable, *arguments], ensure_ascii=False)
            yield Line((("run ", "accent"), *_visible_blanks(reveal(argv))), hang=4, exact=True)
    limits = execution.limits
    seconds = limits.timeout_seconds
    timeout = "no timeout" if seconds is None else f"timeout {seconds:g}s"
    invocation = execution.invocation
    by_path = invocation.selection is ExecutableSelection.SEARCH_PATH
    found = "PATH" if by_path else "exact path"
    via = json.dumps([invocation.executable, *invocation.arguments], ensure_ascii=False)
    facts = [
        ("cwd", reveal(str(execution.working_directory))),
        ("env", _environment(execution.environment)),
        ("limits", f"{timeout} · {limits.max_output_bytes:,} B out"),
    ]
    if isinstance(invocation, ShellInvocation):
        facts.append(("via", f"{reveal(via)} ({found})"))
    else:
        facts.append(("via", found))
    for name, value in facts:
        yield Line(((f"{name:<7}", "muted"), (value, "muted")), hang=7, exact=True)


def _environment(environment: ProcessEnvironment) -> str:
    match environment.mode:
        case EnvironmentMode.EMPTY:
            return "empty"
        case EnvironmentMode.INHERIT_ALL:
            return "inherit all"
        case EnvironmentMode.INHERIT_EXCEPT:
            return f"inherit ({len(environment.names)} stripped)"
        case EnvironmentMode.INHERIT_LISTED:
            return reveal(json.dumps(list(environment.names), ensure_ascii=False))


def command_lines(command: str) -> Iterator[Line]:
    """A shell command, line for line; long blank stretches can't hide what follows (case E5)."""
    blank = 0
    prompt = "$ "
    for raw in command.split("\n"):
        if not raw.strip(" \t\r"):
            blank += 1
            continue
        yield from _blank_lines(blank)
        blank = 0
        yield Line(((prompt, "accent"), *_visible_blanks(raw)), hang=2, exact=True)
        prompt = "  "
    yield from _blank_lines(blank)


def _blank_lines(count: int) -> Iterator[Line]:
    if count <= _BLANK_LINES_SHOWN:
        yield from (text_line("") for _ in range(count))
    else:
        yield text_line(f"  ⋮ {count} blank lines", "warning")


def _visible_blanks(line: str) -> tuple[Run, ...]:
    runs: list[Run] = []
    at = 0
    for match in _LONG_BLANK.finditer(line):
        # An indent is no hiding place; blanks in front of more text are.
        if match.start() == 0 and len(match.group()) < 40:
            continue
        runs.append((_reveal_command(line[at : match.start()]), "bold"))
        runs.append(("·" * len(match.group().expandtabs(8)), "warning"))
        at = match.end()
    runs.append((_reveal_command(line[at:]), "bold"))
    return tuple(run for run in runs if run[0])


def _reveal_command(text: str) -> str:
    return "\t".join(reveal(part) for part in text.split("\t"))


def _preview_lines(capability: CapabilityRequest, preview: ToolMetadata) -> Iterator[Line]:
    for notice in preview.presentation_notices:
        yield text_line(reveal(notice), "warning")
    if preview.diff:
        added, removed = _diff_counts(preview.diff)
        yield Line(((f"+{added}", "success"), (f" -{removed}", "error"), (" lines", "muted")))
    elif capability.kind is CapabilityKind.WRITE:
        yield text_line("no preview of the change is available", "warning")
    others = [path for path in preview.affected_paths if not _is_shown(path, capability)]
    if others:
        yield text_line("this call also touches", "muted")
        for path in others:
            yield text_line(f"  {reveal(path)}", hang=2, exact=True)


def _diff_counts(diff: str) -> tuple[int, int]:
    kinds = [line.kind for line in parse_diff(diff).lines]
    return kinds.count(LineKind.ADDED), kinds.count(LineKind.REMOVED)


def _is_shown(path: str, capability: CapabilityRequest) -> bool:
    match capability.operation:
        case ReadPath(path=shown) | WritePath(path=shown) | DiscoverInstructions(path=shown):
            return str(shown).endswith(path)
        case _:
            return False
