"""What one end-to-end test works with: a workspace, a home for Rho, and a scripted model."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

from tests.e2e.model_process import ScriptedModel, Wire
from tests.e2e.terminal import RHO, Terminal, wait_until
from tests.servers import Scenario, Turn

READY = "Type a message"
"""The empty composer says this."""
APPROVAL_ARMED = "1-4 or letter choose"
"""The approval prompt says this once it takes keys."""
NARROW = (80, 24)
WIDE = (120, 36)


class Bench:
    """Folders, environment, and everything that was started; `close` ends all of it.

    Attributes:
        workspace: Where Rho is started.
        home: Its `RHO_HOME`. Every process below Rho inherits the variable and is known by it.
    """

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "work"
        self.home = folder / "home"
        self._folder = folder
        self._stack = ExitStack()
        self._models = 0
        self.workspace.mkdir()
        self.home.mkdir()
        self.environment = {
            "RHO_HOME": str(self.home),
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
        }
        if "PYTHONPATH" in os.environ:  # the sources that this very process tests
            self.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]

    def close(self) -> None:
        """End what was started, children of Rho included."""
        self._stack.close()
        for process in self.survivors():
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def configure(self, toml: str) -> None:
        """Write Rho's configuration."""
        (self.home / "config.toml").write_text(toml, "utf-8")

    def file(self, name: str, content: str | bytes) -> Path:
        """Put a file into the workspace."""
        path = self.workspace / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def model(
        self, scenario: Scenario | list[Turn] | Turn, wire: Wire = "chat", *, use: bool = True
    ) -> ScriptedModel:
        """Start a scripted server; with `use`, make it the provider of what starts next."""
        self._models += 1
        folder = self._folder / f"model-{self._models}"
        model = self._stack.enter_context(ScriptedModel(wire, scenario, folder))
        if use:
            self.environment |= model.environment
        return model

    def rho(
        self,
        *arguments: str,
        size: tuple[int, int] = NARROW,
        command: Sequence[str] = RHO,
        until: str | None = READY,
        cwd: Path | None = None,
    ) -> Terminal:
        """Start Rho in a terminal and wait until it shows `until`; `cwd`: not in the workspace."""
        terminal = self._stack.enter_context(
            Terminal(
                [*command, *arguments],
                cwd=cwd or self.workspace,
                env=self.environment,
                size=size,
            )
        )
        if until is not None:
            terminal.wait_for(until, seconds=30)
        return terminal

    def headless(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """`rho run` to its end."""
        return subprocess.run(
            [*RHO, "run", *arguments],
            cwd=self.workspace,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def survivors(self) -> list[psutil.Process]:
        """Live processes that were started by Rho, or are Rho."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(
                    "RHO_HOME"
                ) == str(self.home):
                    found.append(process)
            except psutil.Error:
                continue  # gone, or somebody else's
        return found


def family(pid: int) -> list[psutil.Process]:
    """The descendants of a process."""
    return psutil.Process(pid).children(recursive=True)


def family_asleep(pid: int) -> list[psutil.Process]:
    """The descendants of a process, once two of them are a `sleep`."""

    wait_until(
        lambda: [_name(process) for process in family(pid)].count("sleep") == 2,
        what="the start of both sleeps",
    )
    return family(pid)


def _name(process: psutil.Process) -> str:
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return ""


def alive(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """Those that still run; a zombie does not."""
    _gone, running = psutil.wait_procs(processes, timeout=0)
    return [p for p in running if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def wait_dead(processes: Sequence[psutil.Process], *, seconds: float = 5.0) -> None:
    """Wait until none of them runs."""
    wait_until(lambda: not alive(processes), seconds=seconds, what="the end of all children")


def ask(terminal: Terminal, prompt: str) -> None:
    """Type a prompt and send it, as a person would: the Enter comes after the text is shown."""
    terminal.send(prompt)
    terminal.wait_for(prompt[-20:])
    terminal.send("\r")


def approve(terminal: Terminal, title: str, key: str = "1") -> str:
    """Wait for the approval prompt of that title to take keys, and answer; returns the screen."""
    screen = terminal.wait_for(lambda text: title in text and APPROVAL_ARMED in text)
    terminal.send(key)
    terminal.wait_gone(APPROVAL_ARMED)
    return screen


def draft(screen: str) -> str:
    """What is in the composer, without its line breaks."""
    lines = screen.split("\n")
    dividers = [number for number, line in enumerate(lines) if line.startswith("────")]
    inside = lines[dividers[-2] + 1 : dividers[-1]]
    return "".join(line[2:].strip() for line in inside)
