"""The blocking hook: it may stop a tool from acting, never let it (I11, I12)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

from rho_core.authority.pipeline import PolicyOutcome
from rho_core.hooks.envelope import HookEnvelope


@dataclass(frozen=True, slots=True)
class ContinueToolUse:
    """The decision of policy stands; a required approval is still required."""


@dataclass(frozen=True, slots=True)
class DenyToolUse:
    """The request is refused; the reason reaches the model."""

    reason: str


GateDecision: TypeAlias = ContinueToolUse | DenyToolUse


@dataclass(frozen=True, slots=True)
class PreToolUseRequest:
    """One declared capability of one call, as the gate sees it."""

    envelope: HookEnvelope
    policy: PolicyOutcome


class PreToolUseGate(ABC):
    """The host's judge of tool use. The core sets no deadline; an exception denies (E28)."""

    def applies_to_tool(self, name: str) -> bool:
        """Whether this tool is judged; `<prompt>` stands for prompt construction (E18)."""
        return True

    @abstractmethod
    async def evaluate(self, request: PreToolUseRequest) -> GateDecision:
        """Continue or deny. Dropped (cancelled as a task) when the call is cancelled."""


class AllowAllGate(PreToolUseGate):
    """A gate that narrows nothing."""

    async def evaluate(self, request: PreToolUseRequest) -> GateDecision:
        """Continue."""
        return ContinueToolUse()
