"""Everything that the parts of one run share while it lasts."""

from __future__ import annotations

from dataclasses import dataclass, field

from rho_core.cancellation import CancellationToken
from rho_core.event_sink import EventSink
from rho_core.events import RunEvent
from rho_core.history.messages import AbortedAssistant, ModelIdentity
from rho_core.hooks.dispatch import RunHooks
from rho_core.ids import RunId
from rho_core.providers.contract import ModelRequest, ToolSpec
from rho_core.running.candidate import CandidateHistory
from rho_core.running.commands import HostCommands
from rho_core.running.configuration import RuntimeConfiguration
from rho_core.running.session_core import SessionCore
from rho_core.signals import Signal
from rho_core.tooling.detached import DetachedJobs
from rho_core.tooling.environment import ToolEnvironment
from rho_core.usage import ModelUsage


@dataclass(slots=True)
class RunContext:
    """The state of one run. Owned by its worker; nothing else touches it."""

    session: SessionCore
    configuration: RuntimeConfiguration
    run_id: RunId
    token: CancellationToken
    sink: EventSink[RunEvent]
    signal: Signal
    commands: HostCommands
    history: CandidateHistory
    specs: tuple[ToolSpec, ...]
    identity: ModelIdentity
    environment: ToolEnvironment
    jobs: DetachedJobs
    hooks: RunHooks
    #: Usage of the successful attempts of finished steps (C91).
    usage: ModelUsage = field(default_factory=ModelUsage)
    #: What arrived of an answer that was cut off for good; the terminal commit keeps it (C66).
    partial: AbortedAssistant | None = None

    def request(self) -> ModelRequest:
        """The next model request over the history as it stands."""
        configuration = self.configuration
        return ModelRequest(
            messages=self.history.messages,
            tools=self.specs,
            cancellation=self.token,
            reasoning=configuration.reasoning,
            prompt_cache_key=self.session.prompt_cache_key,
            service_tier=configuration.service_tier,
        )
