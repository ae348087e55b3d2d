from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rho_core.authority.approvals import (
    AllowOnce,
    ApprovalContext,
    ApprovalRequest,
    Deny,
)
from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityOperation,
    CapabilityRequest,
    DiscoverInstructions,
    ExecutableSelection,
    ExecuteProcess,
    GrantedRoot,
    LoadSkill,
    NetworkAccess,
    NetworkUrl,
    PathScope,
    PrimaryWorkspace,
    ProcessEnvironment,
    ProcessExecution,
    ProcessLimits,
    ReadPath,
    ShellInvocation,
    UnrestrictedFilesystem,
    WritePath,
)
from rho_core.authority.policy import Allow, DenyByPolicy, PolicyDecision, RequireApproval
from rho_core.cancellation import CancellationToken
from rho_core.errors import InvalidConfiguration
from rho_core.ids import SessionId, ToolCallId
from rho_tui.host.approval_facts import subject_of
from rho_tui.host.approvals import InteractiveApprovals, QueuedApproval
from rho_tui.host.permissions import ModePolicy, PermissionMode
from rho_tui.host.sensitive import SensitivePaths

HERE, GRANTED, ANYWHERE = PrimaryWorkspace(), GrantedRoot(Path("/g")), UnrestrictedFilesystem()
S, E, P, B = (
    PermissionMode.SUPERVISED,
    PermissionMode.ALLOW_EDITS,
    PermissionMode.PLAN,
    PermissionMode.BYPASS,
)
ASK, ALLOW, DENY = RequireApproval, Allow, DenyByPolicy


def shell(command: str) -> ExecuteProcess:
    invocation = ShellInvocation("/bin/sh", ExecutableSelection.EXACT_PATH, ("-c",), command)
    return ExecuteProcess(
        ProcessExecution(Path("/w"), invocation, ProcessEnvironment(), ProcessLimits(1024))
    )


def read(path: str, scope: PathScope = HERE) -> ReadPath:
    return ReadPath(Path(path), scope)


def write(path: str, scope: PathScope = HERE) -> WritePath:
    return WritePath(Path(path), scope)


def evaluate(policy: ModePolicy, operation: CapabilityOperation) -> PolicyDecision:
    return policy.evaluate(CapabilityRequest(operation, BuiltInTool("tool")))


TABLE: list[tuple[CapabilityOperation, list[type]]] = [
    (read("/w/a.py"), [ALLOW, ALLOW, ALLOW, ALLOW]),
    (read("/g/a.py", GRANTED), [ALLOW, ALLOW, ALLOW, ALLOW]),
    (read("/etc/passwd", ANYWHERE), [ASK, ASK, ASK, ALLOW]),
    (read("/w/.env"), [ASK, ASK, ASK, ALLOW]),
    (read("/w/.git/config"), [ALLOW, ALLOW, ALLOW, ALLOW]),
    (write("/w/a.py"), [ASK, ALLOW, DENY, ALLOW]),
    (write("/w/new/.env.example"), [ASK, ALLOW, DENY, ALLOW]),
    (write("/w/.env"), [ASK, ASK, DENY, ALLOW]),
    (write("/w/.git/hooks/pre-commit"), [ASK, ASK, DENY, ALLOW]),
    (write("/w/.rho/config.toml"), [ASK, ASK, DENY, ALLOW]),
    (write("/g/a.py", GRANTED), [ASK, ASK, DENY, ALLOW]),
    (write("/etc/hosts", ANYWHERE), [ASK, ASK, DENY, ALLOW]),
    (shell("ls"), [ASK, ASK, DENY, ALLOW]),
    (shell("git status && touch pwned"), [ASK, ASK, DENY, ALLOW]),
    (NetworkAccess(NetworkUrl("https://x.test")), [ALLOW, ALLOW, ALLOW, ALLOW]),
    (LoadSkill("tidy", None), [ALLOW, ALLOW, ALLOW, ALLOW]),
    (DiscoverInstructions(Path("/w/AGENTS.md"), HERE), [ALLOW, ALLOW, ALLOW, ALLOW]),
]


@pytest.mark.clause("APP3.2", "case:E8", "case:E1", "T28.4")
@pytest.mark.parametrize(("operation", "decisions"), TABLE)
def test_the_decision_table(operation: CapabilityOperation, decisions: list[type]) -> None:
    for mode, decision in zip((S, E, P, B), decisions, strict=True):
        assert isinstance(evaluate(ModePolicy(mode), operation), decision), mode


@pytest.mark.clause("APP3.7")
def test_a_changed_mode_holds_at_once() -> None:
    policy = ModePolicy()
    assert isinstance(evaluate(policy, shell("ls")), ASK)
    policy.mode = P
    assert isinstance(evaluate(policy, shell("ls")), DENY)


def test_plan_mode_tells_the_model_what_to_do_instead() -> None:
    for operation in (shell("ls"), write("/w/a")):
        decision = evaluate(ModePolicy(P), operation)
        assert isinstance(decision, DenyByPolicy)
        assert "plan mode" in decision.reason


@pytest.mark.parametrize(
    "name",
    [
        ".env", ".env.local", "prod.env", ".ENV", ".envrc", "id_rsa", "id_ed25519", "server.pem",
        "tls.key", "x.p12", ".netrc", ".npmrc", ".git-credentials", ".aws/config", ".ssh/config",
        "credentials.json",
    ],
)  # fmt: skip
def test_secrets_ask_before_they_are_read(name: str) -> None:
    assert SensitivePaths().reason_to_ask_before_reading(Path("/w") / name)


@pytest.mark.parametrize(
    "name",
    ["env.py", "README.md", ".env.example", "id_rsa.pub", "keys.py", ".gitignore", "environment"],
)
def test_ordinary_files_do_not(name: str) -> None:
    assert SensitivePaths().reason_to_ask_before_writing(Path("/w") / name) is None


def test_other_spellings_of_a_protected_folder_are_seen() -> None:
    for folder in (".git", ".GIT", ".git.", ".git "):
        assert SensitivePaths().reason_to_ask_before_writing(Path(f"/w/{folder}/hooks/x"))
    assert SensitivePaths().reason_to_ask_before_writing(Path("/w/.git"))


def test_rhos_own_files_ask_even_behind_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    sensitive = SensitivePaths([link])
    for root in (real, link):
        assert sensitive.reason_to_ask_before_reading(root / "sessions" / "x.jsonl")
    assert sensitive.reason_to_ask_before_reading(tmp_path / "realistic") is None


def test_folders_named_readable_may_be_read_and_not_written() -> None:
    policy = ModePolicy(S, SensitivePaths([Path("/state")]), readable=[Path("/state/output")])
    assert isinstance(evaluate(policy, read("/state/output/1.log", ANYWHERE)), ALLOW)
    assert isinstance(evaluate(policy, read("/state/outputs", ANYWHERE)), ASK)
    assert isinstance(evaluate(policy, write("/state/output/1.log", ANYWHERE)), ASK)


@pytest.mark.clause("APP3.1")
def test_modes_have_words_and_labels() -> None:
    assert PermissionMode.parse(" Allow-Edits ") is E
    assert [mode.label for mode in (S, E, P, B)] == ["Supervised", "Allow edits", "Plan", "Bypass"]
    with pytest.raises(InvalidConfiguration, match="supervised, allow_edits, plan, bypass"):
        PermissionMode.parse("yolo")


def test_subjects_are_one_line_without_url_secrets() -> None:
    assert subject_of(shell("a\nb")) == "a…"
    assert subject_of(shell("x" * 501)).endswith("x…")
    url = NetworkUrl("https://user:pw@x.test:8443/path?token=secret")
    assert subject_of(NetworkAccess(url)) == "https://x.test:8443"
    assert subject_of(NetworkAccess(NetworkUrl("http://[bad"))) == "an invalid URL"


# -- approvals that a person answers ----------------------------------------------------------


def request(call_id: str) -> ApprovalRequest:
    return ApprovalRequest(
        CapabilityRequest(shell("ls"), BuiltInTool("bash")),
        "commands need approval",
        ToolCallId(call_id),
        ApprovalContext(SessionId("s"), CancellationToken()),
    )


async def test_without_a_listener_nothing_is_allowed() -> None:
    assert isinstance(await InteractiveApprovals().decide(request("1")), Deny)


@pytest.mark.clause("E32", "E34")
async def test_requests_are_asked_in_order_and_answered_once() -> None:
    asked: list[QueuedApproval] = []
    approvals = InteractiveApprovals()
    approvals.connect(asked.append, lambda pending: None)
    waits = [asyncio.create_task(approvals.decide(request(id))) for id in ("1", "2")]
    await asyncio.sleep(0)
    assert [pending.request.tool_call_id for pending in asked] == ["1", "2"]
    assert approvals.pending == tuple(asked)
    assert approvals.answer(asked[1].id, Deny("no"))
    assert not approvals.answer(asked[1].id, AllowOnce())
    assert await waits[1] == Deny("no")
    assert not waits[0].done()
    assert approvals.answer(asked[0].id, AllowOnce())
    assert await waits[0] == AllowOnce()
    assert not approvals.answer("approval-99", AllowOnce())


@pytest.mark.clause("E33", "APP3.19")
async def test_a_request_whose_call_is_gone_is_withdrawn() -> None:
    asked: list[QueuedApproval] = []
    gone: list[QueuedApproval] = []
    approvals = InteractiveApprovals()
    approvals.connect(asked.append, gone.append)
    wait = asyncio.create_task(approvals.decide(request("1")))
    await asyncio.sleep(0)
    wait.cancel()
    await asyncio.wait((wait,))
    assert gone == asked
    assert not approvals.answer(asked[0].id, AllowOnce())


async def test_disconnecting_denies_what_waits() -> None:
    approvals = InteractiveApprovals()
    approvals.connect(lambda pending: None, lambda pending: None)
    wait = asyncio.create_task(approvals.decide(request("1")))
    await asyncio.sleep(0)
    approvals.disconnect()
    assert isinstance(await wait, Deny)
