"""How the app looks when it asks: approvals, questions, countdowns.

A failure writes `snapshot_report.html`; accept with `--snapshot-update`, after looking.
"""

from __future__ import annotations

from tests.tui import scripts
from tests.tui.pictures import DARK, LIGHT, NARROW, NORMAL, WIDE, Picture, looks
from tests.tui.scene import Scene
from tests.tui.scripts import calls, form, model, says


class TestApproval:
    @looks((NORMAL, DARK), (WIDE, LIGHT), (NARROW, DARK))
    def test_edit(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """The path, its place, the diff, four answers with Deny marked."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("whole cents, please")
            await scene.approval()

        provider = model(
            calls(("read_file", {"path": "pricing.py"})),
            calls(("str_replace", scripts.EDIT), text="Rounding goes where the discount is."),
        )
        assert picture(play, size=size, theme=theme, provider=provider)

    def test_new_file(self, picture: Picture) -> None:
        """A whole new file, before anybody may answer: the footer says when keys are active."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("add a test")
            await scene.shows("keys active in")
            scene.chat.composer.insert("and one more th")
            await scene.rest()

        assert picture(play, size=WIDE, provider=model(calls(("write", scripts.NEW_FILE))))

    def test_command(self, picture: Picture) -> None:
        """Every line of a command as it is, and how it would be run."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("does it compile?")
            await scene.approval()

        provider = model(calls(("bash", {"command": scripts.COMMAND, "timeout_seconds": 60})))
        assert picture(play, provider=provider)

    @looks((NORMAL, DARK), (NARROW, DARK))
    def test_feedback(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """Deny with feedback: a line to write in, which the model will read.

        In a low terminal it takes the place of what only informs.
        """

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("does it compile?")
            await scene.approval()
            await scene.pilot.press("4")
            await scene.type("use make")
            await scene.shows("use make")

        provider = model(calls(("bash", {"command": "python3 receipt.py"})))
        assert picture(play, size=size, theme=theme, provider=provider)


class TestQuestions:
    @looks((NORMAL, DARK), (NARROW, DARK))
    def test_choice(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """One question: options with descriptions, the model's favourite marked."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("keep carts")
            await scene.form()

        assert picture(play, size=size, theme=theme, provider=model(form(scripts.CHOICE)))

    def test_multi_select(self, picture: Picture) -> None:
        """Any number of options; two are picked."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("set up checks")
            await scene.form()
            await scene.pilot.press("space", "down", "down", "space")

        assert picture(play, provider=model(form(scripts.MULTI, title="Checks")))

    def test_confirm(self, picture: Picture) -> None:
        """Yes or no."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("tidy up")
            await scene.form()
            await scene.pilot.press("y")

        assert picture(play, provider=model(form(scripts.CONFIRM, title="Names")))

    def test_other(self, picture: Picture) -> None:
        """An answer of the user's own, written in place."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("keep carts")
            await scene.form()
            await scene.type("Postgres, as elsewhere")

        assert picture(play, provider=model(form(scripts.OTHER)))

    def test_several(self, picture: Picture) -> None:
        """A bar of questions with the answered ones ticked, the second is open."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("plan the shop")
            await scene.form()
            await scene.pilot.press("down", "enter", "space")

        questions = form(scripts.OTHER, scripts.MULTI, scripts.CONFIRM, title="The new shop")
        assert picture(play, provider=model(questions))

    def test_review(self, picture: Picture) -> None:
        """All answers before they are sent: given, left out, and still missing."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("plan the shop")
            await scene.form()
            await scene.pilot.press("enter", "tab", "tab")

        questions = form(scripts.OTHER, scripts.MULTI, scripts.CONFIRM, title="The new shop")
        assert picture(play, provider=model(questions))

    def test_answered(self, picture: Picture) -> None:
        """The card keeps question and answer."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("keep carts")
            form_widget = await scene.form()
            await scene.pilot.press("2", "enter")
            await scene.until(lambda: not form_widget.is_attached)
            await scene.ended()

        provider = model(form(scripts.CHOICE), says("SQLite it is."))
        assert picture(play, provider=provider)


class TestCountdown:
    @looks((NORMAL, DARK), (WIDE, LIGHT))
    def test_running(self, picture: Picture, size: tuple[int, int], theme: str) -> None:
        """Seconds left, what will be answered then, and why."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("keep carts")
            await scene.form()
            scene.clock.now += 11
            await scene.shows("within 18s")

        provider = model(form(scripts.CHOICE, on_timeout=scripts.FALLBACK))
        assert picture(play, size=size, theme=theme, provider=provider, timeout_seconds=30)

    def test_timed_out(self, picture: Picture) -> None:
        """Nobody answered: the card says so, and that it was not the user."""

        async def play(scene: Scene) -> None:
            await scene.open()
            scene.ask("keep carts")
            await scene.form()
            scene.clock.now += 30
            await scene.ended()

        provider = model(form(scripts.CHOICE, on_timeout=scripts.FALLBACK), says("SQLite then."))
        assert picture(play, provider=provider, timeout_seconds=30)
