"""Secrets appear where they must and nowhere else (K.7 redaction_canary)."""

from __future__ import annotations

import pytest

from rho_core.errors import ProviderError, ProviderErrorKind
from rho_core.providers.contract import OutputDelta, ProviderContext
from rho_core.runtime import Rho
from rho_core.testing import ScriptedProvider, ScriptedTool, ScriptedTurn
from tests.core.run_harness import call, collect, run_failing, within

CANARY = "canary-7f3a"


@pytest.mark.clause("A34", "A38", "C99")
async def test_canaries_are_absent_from_repr_diagnostics_and_errors() -> None:
    error = ProviderError(ProviderErrorKind.OTHER, "refused", diagnostic=f"body {CANARY}")
    provider = ScriptedProvider(
        [
            ScriptedTurn.streaming([ProviderContext("sig", CANARY), OutputDelta("hi")]),
            ScriptedTurn.failed(error),
        ]
    )
    rho = Rho(provider, system_prompt=f"prompt {CANARY}", tools=[ScriptedTool("t")])
    session = await rho.session()
    async with session.start("hello") as run:
        events = await within(collect(run))
        outcome = await run.outcome()
    failing, raised = await run_failing(session)
    shown = [
        repr(rho),
        repr(rho._configuration),
        repr(session),
        repr(session.snapshot()),
        repr(rho.diagnostics()),
        repr(session.diagnostics()),
        repr(events),
        repr(outcome),
        repr(failing),
        repr(raised),
        str(raised),
    ]
    for text in shown:
        assert CANARY not in text
    document = session.snapshot().to_json()
    assert document.count(CANARY) == 2  # the prompt and the provider's replay data


@pytest.mark.clause("D13", "E8")
async def test_a_failing_tools_arguments_do_not_leak_into_its_error() -> None:
    session = await Rho(
        ScriptedProvider(
            [ScriptedTurn.calls(call("a", "t", secret=CANARY)), ScriptedTurn.completed("end")]
        ),
        tools=[ScriptedTool("t", KeyError("missing"))],
    ).session()
    await session.complete("go")
    assert CANARY not in repr(session)
    assert CANARY not in session.history[2].content  # type: ignore[union-attr]
