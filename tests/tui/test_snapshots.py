"""How the app looks: conversation, composer, overlays.

A failure writes `snapshot_report.html`; accept with `--snapshot-update`, after looking.
"""

from __future__ import annotations

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.testing import ScriptedTurn
from rho_tui.host.facts import AssistantSettled, Notice, PromptAccepted, ReasoningClosed, Severity
from tests.tui import scripts
from tests.tui.pictures import DARK, LIGHT, NARROW, NORMAL, WIDE, Picture, looks
from tests.tui.scene import Scene
from tests.tui.scripts import calls, model, says, stops_in


class TestStart:
    @looks((NORMAL, DARK), (WIDE, LIGHT), (NARROW, DARK))
    def test_empty(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """Version and keys on top, the composer with the caret, folder and model below."""

        async def play(scene: Scene) -> None:
            await scene.open()

        assert picture(play, size=size, theme=theme, provider=model())


class TestSetup:
    @looks((NORMAL, DARK), (WIDE, LIGHT))
    def test_choose(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """Nothing is configured: four ways to a model, over a header that says what is missing."""

        async def play(scene: Scene) -> None:
            await scene.shows("Which model should it use?")

        assert picture(play, size=size, theme=theme)

    def test_server(self, picture: Picture) -> None:
        """Address, optional key and optional model of a server, and why an address is refused."""

        async def play(scene: Scene) -> None:
            await scene.shows("Which model should it use?")
            await scene.pilot.press("3")
            await scene.shows("Address")
            await scene.pilot.press("end")
            await scene.type("?key=1\r")
            await scene.shows("no ? or #")

        assert picture(play)


class TestAnswer:
    @looks((NORMAL, DARK), (WIDE, LIGHT))
    def test_streaming(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """Half an answer: the open fence is drawn, the activity line counts, Esc is offered."""
        cut = scripts.ANSWER.index("    return sum")

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("how is a total made?")
            await scene.shows("What a cart costs")
            scene.clock.now += 7
            await scene.rest()

        provider = model(stops_in(scripts.ANSWER[:cut]))
        assert picture(play, size=size, theme=theme, provider=provider)

    @looks((NORMAL, DARK), (WIDE, LIGHT), (NARROW, DARK))
    def test_finished(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """Heading, lists, table, fence, quotation and link; nothing runs any more."""

        async def play(scene: Scene) -> None:
            await scene.turn("how is a total made?")

        assert picture(play, size=size, theme=theme, provider=model(says(scripts.ANSWER)))

    def test_reasoning(self, picture: Picture) -> None:
        """Thoughts are dim and say how long they took; a new one grows below."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("why a float?")
            await scene.shows("Integer times")
            scene.fold([ReasoningClosed(3.2), AssistantSettled(scripts.SHORT_ANSWER)])
            scene.fold([PromptAccepted("and is that right?", steering=True)])
            scene.clock.now += 65
            await scene.rest()

        thoughts = "Integer times float is a float.\nSo `total` returns one for members."
        assert picture(play, provider=model(stops_in("", thoughts=thoughts)))


class TestToolCards:
    @looks((NORMAL, DARK), (WIDE, LIGHT))
    def test_done(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """Reading and searching: what was asked, how much was found, matches marked."""

        async def play(scene: Scene) -> None:
            await scene.turn("find the open points")

        first = calls(
            ("read_file", {"path": "pricing.py"}),
            ("grep", {"pattern": "TODO"}),
            ("list_dir", {"path": "."}),
            text="I look for what is marked.",
        )
        provider = model(first, says(scripts.SHORT_ANSWER))
        assert picture(play, size=size, theme=theme, provider=provider)

    def test_commands(self, picture: Picture) -> None:
        """One command that succeeded and one that failed, with the colours of their output."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("check it")
            await scene.allow()
            await scene.allow()
            await scene.ended()

        provider = model(
            calls(("bash", {"command": "python3 receipt.py"})),
            calls(("bash", {"command": "sh check.sh"})),
            says("The cart's total is a float: `round` is missing."),
        )
        assert picture(play, provider=provider)

    def test_running(self, picture: Picture) -> None:
        """A command shows its output while it runs."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("check it")
            await scene.allow()
            await scene.shows("cart …")
            scene.clock.now += 12
            await scene.rest()

        provider = model(calls(("bash", {"command": "sh tests.sh", "timeout_seconds": 60})))
        assert picture(play, provider=provider)

    def test_failures(self, picture: Picture) -> None:
        """A missing file, an edit that does not fit, a denied command."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("break something")
            prompt = await scene.approval()
            await scene.pilot.press("3")
            await scene.until(lambda: not prompt.is_attached)
            await scene.ended()

        edit = {**scripts.EDIT, "old_string": "amount -= DISCOUNT"}
        provider = model(
            calls(("read_file", {"path": "prices.py"}), ("read_file", {"path": "pricing.py"})),
            calls(("str_replace", edit)),
            calls(("bash", {"command": "rm -rf ."})),
            says("Nothing was changed."),
        )
        assert picture(play, provider=provider)


class TestDiff:
    @looks((NORMAL, DARK), (WIDE, LIGHT))
    def test_edit(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """Line numbers, both signs, the changed words marked inside changed lines."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("whole cents, please")
            await scene.allow()
            await scene.ended()

        provider = model(
            calls(("read_file", {"path": "pricing.py"})),
            calls(("str_replace", scripts.EDIT)),
            says("Totals are whole cents now."),
        )
        assert picture(play, size=size, theme=theme, provider=provider)


class TestTrouble:
    @looks((NORMAL, DARK), (NORMAL, LIGHT))
    def test_error_and_notices(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """A turn that failed, a warning, a wrong command, a remark."""

        async def play(scene: Scene) -> None:
            await scene.turn("go on")
            scene.fold([Notice("AGENTS.md is longer than 32 KiB; its end is left out", WARNING)])
            scene.ask("/nonsense")
            await scene.shows("no command /nonsense")
            scene.fold([Notice("model: local/qwen3-coder")])

        WARNING = Severity.WARNING
        error = ProviderError(ProviderErrorKind.AUTHENTICATION, "the server refused the key")
        provider = model(ScriptedTurn.failed(error))
        assert picture(play, size=size, theme=theme, provider=provider)

    def test_interrupted(self, picture: Picture) -> None:
        """Esc: what was said stays, the running card is marked as interrupted."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("check it")
            await scene.allow()
            await scene.shows("cart …")
            await scene.pilot.press("escape")
            await scene.ended()

        provider = model(calls(("bash", {"command": "sh tests.sh"}), text="I run the checks."))
        assert picture(play, provider=provider)

    def test_waiting_input(self, picture: Picture) -> None:
        """Input that has not reached the model yet is listed above the activity line."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("check it")
            await scene.allow()
            await scene.shows("cart …")
            scene.ask("only the prices, please")
            await scene.shows("current run")
            await scene.type("then tidy up")
            await scene.pilot.press("alt+enter")
            await scene.shows("after turn")

        provider = model(calls(("bash", {"command": "sh tests.sh"}), text="I run the checks."))
        assert picture(play, provider=provider)


class TestScrolling:
    @looks((NORMAL, DARK), (NARROW, LIGHT))
    def test_scrolled_up(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """A long transcript off its end, and the way back to it."""

        async def play(scene: Scene) -> None:
            for number in range(1, 7):
                await scene.turn(f"line {number}, how is a total made?")
            await scene.rest()
            await scene.pilot.press("pageup", "pageup")

        provider = model(*[says(scripts.ANSWER) for _ in range(6)])
        assert picture(play, size=size, theme=theme, provider=provider)


class TestComposer:
    def test_commands(self, picture: Picture) -> None:
        """`/` lists the commands, the first is marked."""

        async def play(scene: Scene) -> None:
            await scene.open()
            await scene.pilot.press("slash")
            await scene.shows("/exit")

        assert picture(play, provider=model())

    def test_shell_line(self, picture: Picture) -> None:
        """`!` says on the divider that the output enters the context."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("!sh check.sh")
            await scene.shows("exit 1")
            await scene.type("!git status")
            await scene.shows("included in context")

        assert picture(play, provider=model())

    def test_mention(self, picture: Picture) -> None:
        """`@` lists files of the project."""

        async def play(scene: Scene) -> None:
            await scene.open()
            await scene.type("look at @r")
            await scene.shows("receipt.py")

        assert picture(play, provider=model())


class TestOverlays:
    def test_picker(self, picture: Picture) -> None:
        """Permission modes with what they mean."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("/mode")
            await scene.shows("never ask")
            await scene.pilot.press("down")

        assert picture(play, provider=model())

    @looks((NORMAL, DARK), (WIDE, LIGHT))
    def test_help(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """Keys and commands in two columns."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("/help")
            await scene.shows("Keys and commands")

        assert picture(play, size=size, theme=theme, provider=model())
