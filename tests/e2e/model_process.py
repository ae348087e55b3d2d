"""A scripted model server as a process of its own, and what Rho sent to it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from tests.e2e.terminal import wait_until
from tests.servers import Scenario, Turn

ROOT = Path(__file__).resolve().parents[2]
TEST_KEY = "test-key-that-nobody-may-see"

Wire = Literal["chat", "anthropic"]


@dataclass(frozen=True)
class SentRequest:
    """A recorded request, read the same way on both wires."""

    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def prompts(self) -> list[str]:
        """What people said, oldest first."""
        found = []
        for message in self.messages:
            if message["role"] == "user":
                texts = [_text(part) for part in _parts(message) if part["type"] == "text"]
                found += ["\n".join(texts)] if texts else []
        return found

    @property
    def answers(self) -> list[str]:
        """What the model said, oldest first; steps without text are left out."""
        found = []
        for message in self.messages:
            if message["role"] == "assistant":
                texts = [_text(part) for part in _parts(message) if part["type"] == "text"]
                found += ["".join(texts)] if any(texts) else []
        return found

    @property
    def tools(self) -> list[str]:
        """Names of the advertised tools."""
        return [tool.get("function", tool)["name"] for tool in self.body["tools"]]

    @property
    def calls(self) -> list[str]:
        """Names of the called tools, in order."""
        found = []
        for message in self.messages:
            found += [call["function"]["name"] for call in message.get("tool_calls") or ()]
            found += [part["name"] for part in _parts(message) if part["type"] == "tool_use"]
        return found

    @property
    def results(self) -> list[str]:
        """What the tools returned, in order."""
        found = []
        for message in self.messages:
            if message["role"] == "tool":
                found.append("\n".join(_text(part) for part in _parts(message)))
            else:
                results = [part for part in _parts(message) if part["type"] == "tool_result"]
                found += ["\n".join(_text(p) for p in _parts(result)) for result in results]
        return found


class ScriptedModel:
    """`python -m tests.servers` with a scenario; ends with the `with` block.

    `environment` is what points Rho to it.
    """

    def __init__(self, wire: Wire, scenario: Scenario | list[Turn] | Turn, folder: Path) -> None:
        self.wire = wire
        folder.mkdir(parents=True, exist_ok=True)
        self._record = folder / "requests.jsonl"
        file = folder / "scenario.json"
        file.write_text(json.dumps(asdict(Scenario.of(scenario))), "utf-8")
        command = [sys.executable, "-m", "tests.servers", wire, "--scenario", str(file)]
        command += ["--record", str(self._record), "--until-stdin-closes"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._address: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    @property
    def base_url(self) -> str:
        """Its address, once it listens."""
        if self._address is None:
            assert self._process.stdout is not None
            self._address = json.loads(self._process.stdout.readline())["base_url"]
        return self._address

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make this server Rho's provider."""
        vendor = "OPENAI" if self.wire == "chat" else "ANTHROPIC"
        return {f"{vendor}_BASE_URL": self.base_url, f"{vendor}_API_KEY": TEST_KEY}

    @property
    def requests(self) -> list[SentRequest]:
        """The requests for an answer so far."""
        if not self._record.exists():
            return []
        # the last line may be half written; questions for models have no body
        lines = self._record.read_bytes().split(b"\n")[:-1]
        return [SentRequest(json.loads(line)) for line in lines if line]

    def request(self, number: int, *, seconds: float = 15.0) -> SentRequest:
        """The request of that number, once it was sent."""
        wait_until(lambda: len(self.requests) > number, seconds=seconds, what=f"request {number}")
        return self.requests[number]


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content or []


def _text(part: dict[str, Any]) -> str:
    return str(part.get("text", ""))
