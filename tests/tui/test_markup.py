"""Untrusted text never becomes markup: brackets and backslashes are shown as they came."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rho_tui
from rho_core.providers.contract import ModelProvider
from rho_core.testing import ScriptedTurn
from rho_tui.screens.picker import Picker, PickerItem
from tests.tui import scripts
from tests.tui.scene import Scene
from tests.tui.scripts import calls, form, model, says
from tests.tui.stage import Stage
from tests.tui.terminal import screen_text

#: Some stay markup behind the library's `escape`, some swallow what follows.
TRICKY = ("call f[q + 2", "[/", "[WARN] x", "[$accent]y", "x\\")
FOLLOWED = "and then: plain"


@pytest.fixture
def stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[ModelProvider], Stage]]:
    """Makes the stage of a test, and ends the processes it leaves."""
    made: list[Stage] = []

    def make(provider: ModelProvider) -> Stage:
        made.append(Stage(tmp_path, provider=provider))
        monkeypatch.setenv("HOME", str(made[0].home))
        return made[0]

    yield make
    for stage in made:
        stage.close()


@pytest.mark.clause("case:D2", "case:D1")
@pytest.mark.parametrize("text", TRICKY)
async def test_brackets_that_escaping_does_not_save_are_shown_as_they_came(
    stages: Callable[[ModelProvider], Stage], text: str
) -> None:
    """In prompts, answers, cards, approvals, forms, notices, toasts and pickers of the real app."""
    question = {**scripts.CONFIRM, "question": f"{text}?", "header": text}
    provider = model(
        says(f"{text}\n\n{FOLLOWED}"),
        calls(("bash", {"command": f"printf '%s\\n' '{text}' # {FOLLOWED}"})),
        says("Past the command."),
        form(question, title=text),
        ScriptedTurn.completed("Past the form."),
    )
    stage = stages(provider)
    app = stage.app()
    async with app.run_test(size=(100, 40)) as pilot:
        scene = Scene(stage, pilot)
        await scene.turn(f"{text} {FOLLOWED}")
        assert screen_text(app).count(text) == 2  # prompt, answer
        assert screen_text(app).count(FOLLOWED) == 2
        scene.ask("run it")
        await scene.approval()
        assert f"printf '%s\\n' '{text}' # {FOLLOWED}" in screen_text(app)
        await scene.allow()
        await scene.ended()
        await scene.shows(f"'{text}' # {FOLLOWED}")  # the card's header
        assert f"    {text}\n" in screen_text(app)  # and its output
        scene.ask("ask me")
        await scene.form()
        assert f"{text}?" in screen_text(app)
        await pilot.press("y", "enter")
        await scene.ended()
        scene.chat.say(f"{text} {FOLLOWED}")
        await scene.shows(f"{text} {FOLLOWED}")
        items = [PickerItem(1, f"{text} one", f"{text} detail"), PickerItem(2, FOLLOWED)]
        app.push_screen(Picker(text, items))
        await scene.shows(f"{text} one")
        assert FOLLOWED in screen_text(app)


@pytest.mark.clause("case:D2")
def test_no_widget_of_the_app_reads_markup() -> None:
    """What takes a string and would parse it is told not to; nobody builds markup."""
    root = Path(rho_tui.__file__).parent
    found = [
        f"{path.relative_to(root)}:{node.lineno}: {why}"
        for path in sorted(root.rglob("*.py"))
        for node, why in _parsed_strings(ast.parse(path.read_text("utf-8")))
    ]
    assert found == []


def test_the_check_sees_what_it_is_for() -> None:
    bad = (
        "Static(f'[b]{x}')",
        "Label('x')",
        "self.notify(x)",
        "Content.from_markup(x)",
        "Text.from_markup(x)",
        "Static('', markup=True)",
        "class W:\n def render(self):\n  return f'{self.x}'",
    )
    for source in bad:
        assert list(_parsed_strings(ast.parse(source))), source
    assert not list(_parsed_strings(ast.parse("Static(x, markup=False); Content(x)")))


def _parsed_strings(tree: ast.AST) -> Iterator[tuple[ast.Call | ast.Return, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            flags = {word.arg: ast.unparse(word.value) for word in node.keywords}
            if name.endswith("from_markup"):
                yield node, f"{name} parses markup"
            takes_markup = name in ("Static", "Label") or name.endswith(
                ("app.notify", "self.notify")
            )
            if takes_markup and flags.get("markup") != "False":
                yield node, f"{name} without markup=False"
        elif isinstance(node, ast.FunctionDef) and node.name == "render":
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and isinstance(
                    inner.value, ast.JoinedStr | ast.Constant
                ):
                    yield inner, "render returns a string, which is parsed"
