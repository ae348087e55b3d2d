"""Real HTTP servers on 127.0.0.1 that answer like a model vendor, by script.

    async with ChatServer([Turn(text="hello")]) as server:
        provider = OpenAIChatProvider(server.base_url, "test-key", "test-model")
        ...
        assert server.requests[0].body["stream"] is True

`with ChatServer(scenario).in_thread() as server:` runs one beside synchronous code, and
`python -m tests.servers chat --scenario FILE` runs one as a process that prints its address.
"""

from tests.servers.anthropic_server import AnthropicServer
from tests.servers.chat_server import ChatServer
from tests.servers.model_server import ModelServer, RecordedRequest
from tests.servers.scenario import Call, Facts, Rule, Scenario, Turn, Usage

__all__ = [
    "AnthropicServer",
    "Call",
    "ChatServer",
    "Facts",
    "ModelServer",
    "RecordedRequest",
    "Rule",
    "Scenario",
    "Turn",
    "Usage",
]
