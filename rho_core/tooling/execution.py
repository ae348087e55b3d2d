"""The stages of one call: prepare, authorize, execute. Every failure leaves as a `ToolError`.

Shared by the run's batches, its detached jobs and the tool host, so that a tool meets the same
treatment everywhere (L9, E26).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Final

from rho_core.authority.approvals import AuthorizationError, AuthorizationOutcome
from rho_core.authority.capabilities import CapabilityRequest
from rho_core.errors import Cancelled, RhoError, ToolError, ToolErrorKind
from rho_core.history.messages import ToolCall
from rho_core.ids import ToolCallId
from rho_core.json_values import thaw
from rho_core.tooling.contract import (
    AuthorizedToolContext,
    InvocationSource,
    PreparedToolInvocation,
    Tool,
    ToolContext,
    ToolExecutionPolicy,
    ToolInvocation,
    ToolPreparationContext,
)
from rho_core.tooling.values import ToolFailed, ToolOutput

INTERRUPTED_TEXT: Final = "tool call interrupted before completion"

_MAX_ERROR_TEXT = 500
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")

#: Asks for authority on behalf of one call; raises `AuthorizationError` when it is denied.
CallAuthorization = Callable[[CapabilityRequest], Awaitable[AuthorizationOutcome]]


def interrupted() -> ToolFailed:
    """The completion of a call that was cut off (D29)."""
    return ToolFailed(ToolErrorKind.CANCELLED, INTERRUPTED_TEXT)


async def prepare_call(
    tool: Tool, call: ToolCall, source: InvocationSource, context: ToolPreparationContext
) -> PreparedToolInvocation:
    """Parse and resolve a call. Raises `ToolError` only (D4, L9)."""
    if call.argument_error is not None:
        raise ToolError.invalid_arguments(call.argument_error)
    try:
        invocation = ToolInvocation(ToolCallId(call.id), thaw(call.arguments), source)
        plan = await tool.prepare(invocation, context)
    except Exception as error:  # a tool's failure is a result, never the run's end
        raise as_tool_error(error) from error
    if not isinstance(plan, PreparedToolInvocation):
        raise ToolError.execution("tool preparation returned no plan")
    return plan


async def authorize_plan(plan: PreparedToolInvocation, authorize: CallAuthorization) -> None:
    """Ask for each declared capability in order; the first denial ends it (D24)."""
    try:
        for request in plan.capabilities:
            await authorize(request)
    except Exception as error:  # whatever goes wrong here denies (E28)
        raise as_tool_error(error) from error


async def execute_plan(plan: PreparedToolInvocation, context: ToolContext) -> ToolOutput:
    """Run the executor with the context that its policy allows. Raises `ToolError` only."""
    try:
        output = await plan.execute(_narrowed(plan, context))
    except Exception as error:  # a tool's failure is a result, never the run's end
        raise as_tool_error(error) from error
    if not isinstance(output, ToolOutput):
        raise ToolError.execution("tool returned no output")
    return output


def as_tool_error(error: Exception) -> ToolError:
    """Any exception as the typed, printable failure that the model reads."""
    if isinstance(error, ToolError):
        return error
    if isinstance(error, AuthorizationError):
        return error.to_tool_error()
    if isinstance(error, Cancelled):
        return ToolError.cancelled()
    if isinstance(error, RhoError):
        return ToolError.execution(error.message)
    text = _CONTROL.sub(" ", str(error)).strip()[:_MAX_ERROR_TEXT]
    name = type(error).__name__
    return ToolError.execution(f"tool raised {name}: {text}" if text else f"tool raised {name}")


def _narrowed(plan: PreparedToolInvocation, context: ToolContext) -> AuthorizedToolContext:
    """A resource-aware executor declared everything: it gets no way to ask for more (D10)."""
    if plan.policy is ToolExecutionPolicy.EXCLUSIVE:
        return context
    return context.without_authorization()
