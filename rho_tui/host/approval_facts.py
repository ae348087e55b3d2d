"""What a decided approval leaves behind for people: one line, no environment, no URL details."""

from __future__ import annotations

from urllib.parse import urlsplit

from rho_core.authority.approvals import (
    AllowForSession,
    AllowOnce,
    ApprovalDecision,
    Deny,
)
from rho_core.authority.capabilities import (
    CapabilityOperation,
    DirectInvocation,
    DiscoverInstructions,
    ExecuteProcess,
    LoadSkill,
    NetworkAccess,
    NetworkUrl,
    ReadPath,
    ShellInvocation,
    WritePath,
)
from rho_tui.host.approvals import QueuedApproval
from rho_tui.host.facts import ApprovalVerdict
from rho_tui.host.sessions.records import ApprovalDecided

MAX_SUBJECT = 500


def decided(pending: QueuedApproval, decision: ApprovalDecision) -> ApprovalDecided:
    """The record of a decision."""
    capability = pending.request.capability
    return ApprovalDecided(
        approval_id=pending.id,
        call_id=pending.request.tool_call_id,
        tool=capability.source_name,
        subject=subject_of(capability.operation),
        verdict=_verdict(decision),
        feedback=decision.reason if isinstance(decision, Deny) else "",
    )


def subject_of(operation: CapabilityOperation) -> str:
    """What a request is about, in one line of at most `MAX_SUBJECT` characters."""
    text = _subject(operation)
    line = text.split("\n", 1)[0]
    shortened = line[:MAX_SUBJECT]
    return shortened if shortened == text else f"{shortened}…"


def _subject(operation: CapabilityOperation) -> str:
    match operation:
        case ReadPath(path=path) | WritePath(path=path) | DiscoverInstructions(path=path):
            return str(path)
        case ExecuteProcess(execution=execution):
            match execution.invocation:
                case ShellInvocation(command=command):
                    return command
                case DirectInvocation(executable=executable, arguments=arguments):
                    return " ".join((executable, *arguments))
        case NetworkAccess(target=NetworkUrl(url=url)):
            return _origin(url)
        case NetworkAccess():
            return "network access of the tool's own"
        case LoadSkill(name=name):
            return name


def _origin(url: str) -> str:
    """Scheme, host and port: paths and queries may carry secrets."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an invalid URL"
    return f"{parts.scheme}://{parts.hostname}{port}" if parts.hostname else "an invalid URL"


def _verdict(decision: ApprovalDecision) -> ApprovalVerdict:
    match decision:
        case AllowOnce():
            return ApprovalVerdict.ALLOWED_ONCE
        case AllowForSession():
            return ApprovalVerdict.ALLOWED_FOR_SESSION
        case Deny():
            return ApprovalVerdict.DENIED
