"""The approval prompt: facts, guard, keys, one answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App, ComposeResult

from rho_core.authority.approvals import (
    AllowForSession,
    AllowOnce,
    ApprovalContext,
    ApprovalRequest,
    Deny,
)
from rho_core.authority.capabilities import (
    BuiltInTool,
    CapabilityOperation,
    CapabilityRequest,
    DirectInvocation,
    ExecutableSelection,
    ExecuteProcess,
    GrantedRoot,
    HostProvidedTool,
    LoadSkill,
    NetworkAccess,
    NetworkUrl,
    PrimaryWorkspace,
    ProcessEnvironment,
    ProcessExecution,
    ProcessLimits,
    PromptConstruction,
    ShellInvocation,
    ToolManagedNetwork,
    UnrestrictedFilesystem,
    WritePath,
)
from rho_core.cancellation import CancellationToken
from rho_core.ids import SessionId
from rho_core.tooling.values import ToolMetadata
from rho_tui.widgets.approval_facts import approval_lines, approval_title, reveal
from rho_tui.widgets.approval_prompt import CANCELLED, DENIED, ApprovalPrompt
from rho_tui.widgets.composer import Composer
from rho_tui.widgets.line_input import LineInput
from rho_tui.widgets.lines import lay_out
from rho_tui.widgets.typing_guard import TypingGuard
from tests.tui.terminal import (
    HOSTILE,
    HUGE,
    ScriptClock,
    assert_no_controls,
    screen_text,
    settle,
    until,
    write,
)

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,3 @@\n keep\n-old [/red]\n+new \x1b[31m\n tail\n"


def shell(command: str) -> ExecuteProcess:
    return ExecuteProcess(
        ProcessExecution(
            Path("/srv/proj"),
            ShellInvocation("bash", ExecutableSelection.SEARCH_PATH, ("-c",), command),
            ProcessEnvironment.inherit_except(["OPENAI_API_KEY"]),
            ProcessLimits(64_000, 120.0),
        )
    )


def asked(operation: CapabilityOperation, reason: str = "", tool: str = "bash") -> ApprovalRequest:
    context = ApprovalContext(SessionId(), CancellationToken())
    return ApprovalRequest(CapabilityRequest(operation, BuiltInTool(tool)), reason, None, context)


def told(operation: CapabilityOperation, reason: str = "", width: int = 76) -> str:
    request = asked(operation, reason)
    rows = lay_out(approval_lines(request.capability, reason), width).rows
    return "\n".join(row.text for row in rows)


class PromptApp(App):
    """A composer with a prompt docked above it, as the chat screen wires them."""

    def __init__(
        self,
        request: ApprovalRequest | None = None,
        *,
        quiet: float = 0.7,
        preview: ToolMetadata | None = None,
    ) -> None:
        super().__init__()
        self.clock = ScriptClock()
        self.guard = TypingGuard(quiet, self.clock)
        self.composer = Composer(guard=self.guard)
        self.request = request or asked(shell("make test"))
        self.preview = preview
        self.answers: list[ApprovalPrompt.Answered] = []
        self.sent: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.composer

    def on_mount(self) -> None:
        self.composer.focus()

    async def ask(self) -> ApprovalPrompt:
        prompt = ApprovalPrompt("a1", self.request, preview=self.preview, guard=self.guard)
        self.composer.hold_submission = True
        await self.mount(prompt, before=self.composer)
        return prompt

    def on_approval_prompt_answered(self, message: ApprovalPrompt.Answered) -> None:
        self.answers.append(message)

    def on_composer_submitted(self, message: Composer.Submitted) -> None:
        self.sent.append(message.text)


async def armed(app: PromptApp, pilot) -> ApprovalPrompt:
    prompt = await app.ask()
    app.clock.now += 1.0
    await until(pilot, lambda: prompt.armed and prompt.has_focus)
    return prompt


@pytest.mark.clause("case:E4")
async def test_keys_in_flight_decide_nothing_and_stay_in_the_draft() -> None:
    app = PromptApp()
    async with app.run_test() as pilot:
        write(app, "yes pl")
        await until(pilot, lambda: app.composer.text == "yes pl")
        prompt = await app.ask()
        write(app, "ease 1y\r")
        await until(pilot, lambda: app.composer.text == "yes please 1y")
        await settle(pilot)
        assert not prompt.armed
        assert (app.answers, app.sent) == ([], [])
        assert "keys active in" in screen_text(app)
        app.clock.now += 0.69  # since the last key, not since the prompt appeared
        await pilot.pause(0.25)
        assert not prompt.armed
        app.clock.now += 0.02
        await until(pilot, lambda: prompt.armed and prompt.has_focus)
        write(app, "y")
        await until(pilot, lambda: app.answers)
        assert app.answers[0].decision == AllowOnce()
        assert app.composer.text == "yes please 1y"


@pytest.mark.clause("case:E4")
async def test_keys_that_reach_an_unarmed_prompt_are_ignored_and_restart_the_wait() -> None:
    app = PromptApp()
    async with app.run_test() as pilot:
        prompt = await app.ask()
        prompt.focus()
        app.clock.now += 0.6
        write(app, "y1\r\x03")
        write(app, "\x1b")
        await settle(pilot)
        app.clock.now += 0.6
        await pilot.pause(0.25)
        assert not prompt.armed
        assert app.answers == []


DECISIONS = [
    ("1", AllowOnce(), False),
    ("y", AllowOnce(), False),
    ("2", AllowForSession(), False),
    ("a", AllowForSession(), False),
    ("3", Deny(DENIED), False),
    ("n", Deny(DENIED), False),
    ("\r", Deny(DENIED), False),
    ("\x03", Deny(CANCELLED), True),
    ("\x1b", Deny(CANCELLED), True),
    ("\x1b[A\r", AllowForSession(), False),
    ("\x1b[A\x1b[A\x1b[A\x1b[A\r", AllowOnce(), False),
    ("4use the other file\r", Deny("use the other file"), False),
    ("f\r", Deny(DENIED), False),
    ("fno\x03", Deny(CANCELLED), True),
]


@pytest.mark.clause("APP3.15", "APP3.16", "APP3.20")
async def test_each_key_means_one_decision() -> None:
    app = PromptApp()
    async with app.run_test() as pilot:
        for keys, decision, cancels in DECISIONS:
            app.answers.clear()
            prompt = await armed(app, pilot)
            if keys[0] in "4f":
                write(app, keys[0])
                await until(pilot, lambda: isinstance(app.focused, LineInput))
                keys = keys[1:]
            write(app, keys)
            await until(pilot, lambda: app.answers)
            answer = app.answers[0]
            assert (answer.decision, answer.cancel_run) == (decision, cancels), repr(keys)
            assert answer.approval_id == "a1"
            await prompt.remove()


async def test_only_the_first_answer_counts() -> None:
    app = PromptApp()
    async with app.run_test() as pilot:
        await armed(app, pilot)
        write(app, "n1y2a\r\r\x03")
        await until(pilot, lambda: app.answers)
        await settle(pilot)
        assert [m.decision for m in app.answers] == [Deny(DENIED)]


async def test_escape_in_the_feedback_goes_back_and_other_keys_do_nothing() -> None:
    app = PromptApp()
    async with app.run_test() as pilot:
        prompt = await armed(app, pilot)
        write(app, "xqz0")
        write(app, "\x1b[200~y\r\x1b[201~")
        write(app, "f")
        await until(pilot, lambda: prompt.has_class("-feedback"))
        await settle(pilot)
        write(app, "y1")
        write(app, "\x1b")
        await until(pilot, lambda: not prompt.has_class("-feedback"))
        await settle(pilot)
        assert app.answers == []
        assert prompt.has_focus


@pytest.mark.clause("case:E5")
async def test_a_hidden_tail_is_announced_and_can_be_reached() -> None:
    command = "\n".join(f"echo {number}" for number in range(60)) + "\nrm -rf demo"
    app = PromptApp(asked(shell(command)))
    async with app.run_test(size=(40, 24)) as pilot:
        await armed(app, pilot)
        await until(pilot, lambda: "more below" in screen_text(app))
        assert "rm -rf demo" not in screen_text(app)
        for _ in range(8):
            write(app, "\x1b[6~")
            await settle(pilot)
        assert "rm -rf demo" in screen_text(app)
        assert " above" in screen_text(app)


@pytest.mark.clause("case:E5")
@pytest.mark.parametrize("gap", [" " * 300, "\n" * 60, "\t" * 50, " \n" * 40])
def test_blank_stretches_hide_nothing(gap: str) -> None:
    text = told(shell(f"echo hi{gap}; rm -rf demo"), width=40)
    assert "rm-rfdemo" in "".join(text.split())
    assert "·····" in text or "blank lines" in text


@pytest.mark.clause("case:E7")
async def test_commands_are_shown_character_for_character() -> None:
    commands = ["rm -rf [keep] x", "[ -f a ] && rm b", 'echo "[/]"', "echo [@click=app.quit]x[/]"]
    app = PromptApp(asked(shell("\n".join(commands))))
    async with app.run_test() as pilot:
        await app.ask()
        await until(pilot, lambda: all(f" {line}\n" in screen_text(app) for line in commands))


@pytest.mark.clause("APP3.13")
def test_invisible_characters_are_spelled_out() -> None:
    assert reveal("a\u202eb\u200bc\x1b\n\t\u00a0\U000e0041") == (
        r"a\u{202e}b\u{200b}c\u{1b}\n\t\u{a0}\u{e0041}"
    )
    assert reveal("naïve 漢字 👩") == "naïve 漢字 👩"


@pytest.mark.clause("APP3.12")
def test_facts_of_each_capability() -> None:
    text = told(shell("make test\ncd x"), reason="because")
    assert "$ make test\n  cd x" in text
    for fact in (
        "/srv/proj",
        "inherit (1 stripped)",
        "timeout 120s",
        "64,000 B",
        '["bash", "-c"]',
    ):
        assert fact in text
    assert "reason because" in text
    direct = DirectInvocation("/bin/ls", ExecutableSelection.EXACT_PATH, ("a b", "c\nd"))
    execution = ProcessExecution(Path("/w"), direct, ProcessEnvironment(), ProcessLimits(10, None))
    text = told(ExecuteProcess(execution))
    assert '["/bin/ls", "a b", "c\\nd"]' in text
    assert "no timeout" in text
    assert "exact path" in text
    assert "in the workspace" in told(WritePath(Path("/w/a"), PrimaryWorkspace()))
    assert "granted /g" in told(WritePath(Path("/g/a"), GrantedRoot(Path("/g"))))
    assert "unrestricted" in told(WritePath(Path("/a"), UnrestrictedFilesystem()))
    assert "https://x.test/p?q" in told(NetworkAccess(NetworkUrl("https://x.test/p?q")))
    assert "tool-managed" in told(NetworkAccess(ToolManagedNetwork()))
    assert "embedded" in told(LoadSkill("pdf", None))


@pytest.mark.clause("APP3.11")
def test_titles_name_the_actor() -> None:
    operation = WritePath(Path("/w/a"), PrimaryWorkspace())

    def title(source) -> str:
        return "".join(text for text, _ in approval_title(CapabilityRequest(operation, source)))

    assert title(BuiltInTool("edit")) == "edit wants to write"
    assert title(HostProvidedTool("edit")) == "host edit wants to write"
    assert title(PromptConstruction()) == "rho wants to write"


@pytest.mark.clause("APP3.20")
async def test_a_write_shows_its_diff_with_signs_and_line_numbers() -> None:
    write_request = asked(WritePath(Path("/w/x.py"), PrimaryWorkspace()), tool="str_replace")
    app = PromptApp(write_request, preview=ToolMetadata(diff=DIFF))
    async with app.run_test() as pilot:
        await app.ask()
        await until(pilot, lambda: "2 + new ␛[31m" in screen_text(app))
        text = screen_text(app)
        assert "+1 -1 lines" in text
        assert "2 - old [/red]" in text
        assert "str_replace wants to write" in text
        assert_no_controls(app)


async def test_a_write_without_a_preview_says_so() -> None:
    request = asked(WritePath(Path("/w/x"), PrimaryWorkspace()))
    lines = approval_lines(request.capability, "", ToolMetadata())
    assert any("no preview" in run[0] for line in lines for run in line.runs)


async def test_a_diff_of_many_lines_opens_at_once() -> None:
    body = "".join(f"+line {number}\n" for number in range(20_000))
    diff = f"--- /dev/null\n+++ b/big\n@@ -0,0 +1,20000 @@\n{body}"
    request = asked(WritePath(Path("/w/big"), PrimaryWorkspace()))
    app = PromptApp(request, preview=ToolMetadata(diff=diff))
    async with app.run_test() as pilot:
        await app.ask()
        await until(
            pilot, lambda: "20000 lines" in screen_text(app) or "+20000" in screen_text(app)
        )


@pytest.mark.parametrize("theme", ["textual-light", "ansi-dark"])
async def test_hostile_requests_are_readable_at_every_size(theme: str) -> None:
    request = asked(shell(f"{HOSTILE}\n{HUGE}"), reason=HOSTILE)
    app = PromptApp(request, preview=ToolMetadata(diff=DIFF, affected_paths=(HOSTILE,)))
    app.theme = theme
    async with app.run_test(size=(1, 1)) as pilot:
        await armed(app, pilot)
        for size in ((20, 4), (120, 36), (80, 24), (40, 12)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert_no_controls(app)
            if size[1] >= 12:
                for words in ("Allow once", "[/red]", "more below", "Deny with feedback"):
                    assert words in screen_text(app), size


async def test_the_queue_behind_it_is_counted() -> None:
    app = PromptApp()
    async with app.run_test() as pilot:
        prompt = await app.ask()
        prompt.waiting = 2
        await until(pilot, lambda: "2 more waiting" in screen_text(app))


async def test_a_lower_terminal_shrinks_the_details_and_says_so() -> None:
    command = "\n".join(f"echo {number}" for number in range(12))
    app = PromptApp(asked(shell(command)))
    async with app.run_test(size=(80, 36)) as pilot:
        await armed(app, pilot)
        await settle(pilot)
        assert "more below" not in screen_text(app)
        await pilot.resize_terminal(80, 20)  # only the height changes
        await until(pilot, lambda: "more below" in screen_text(app))
        assert "Deny with feedback" in screen_text(app)
