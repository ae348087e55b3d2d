"""Compaction values: policy, output, outcome, accumulated state (J6–J13)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rho_core.cancellation import CancellationToken
from rho_core.errors import InvalidConfiguration, InvalidHostResponse
from rho_core.history.compaction import (
    CompactionCancellation,
    CompactionOutcome,
    CompactionOutput,
    CompactionPolicy,
    CompactionRequest,
    Compactor,
)
from rho_core.history.compaction_state import CompactionState
from rho_core.history.messages import ModelIdentity, UserMessage
from rho_core.history.snapshot import SessionSnapshot
from rho_core.ids import Revision, RunId, SessionId

MESSAGE = UserMessage.of_text("x")


@pytest.mark.clause("J6")
def test_policy_uses_an_explicit_message_threshold() -> None:
    policy = CompactionPolicy.after_messages(3)
    assert not policy.is_due(message_count=2, context_tokens=10**9)
    assert policy.is_due(message_count=3, context_tokens=0)
    assert (policy.messages, policy.context_tokens) == (3, None)


@pytest.mark.clause("J6", "A36")
def test_policy_uses_an_explicit_context_token_threshold() -> None:
    policy = CompactionPolicy.at_context_tokens(100)
    assert not policy.is_due(message_count=10**9, context_tokens=99)
    assert policy.is_due(message_count=0, context_tokens=100)
    assert (policy.messages, policy.context_tokens) == (None, 100)


@pytest.mark.clause("J6", "A24")
@pytest.mark.parametrize("bad", [0, -1, True])
def test_thresholds_are_positive_integers(bad: int) -> None:
    for build in (CompactionPolicy.after_messages, CompactionPolicy.at_context_tokens):
        with pytest.raises(InvalidConfiguration):
            build(bad)


@pytest.mark.clause("J8")
def test_replacement_history_must_not_be_empty() -> None:
    with pytest.raises(InvalidHostResponse) as caught:
        CompactionOutput(())
    assert caught.value.message == "compaction replacement history must not be empty"
    assert CompactionOutput([MESSAGE]).messages == (MESSAGE,)  # type: ignore[arg-type]


class _Scripted(Compactor):
    async def compact(self, request: CompactionRequest) -> CompactionOutput:
        return CompactionOutput(request.messages[-1:])


@pytest.mark.clause("J7", "J9")
async def test_a_compactor_returns_complete_provider_neutral_history() -> None:
    request = CompactionRequest(
        (UserMessage.of_text("old"), MESSAGE), CancellationToken(), SessionId("s"), RunId("r")
    )
    assert request.step_index is None
    assert (await _Scripted().compact(request)).messages == (MESSAGE,)
    assert _Scripted.mode is CompactionCancellation.EXTERNAL


@pytest.mark.clause("J12")
def test_outcomes_compare_snapshots_by_id_and_revision_only() -> None:
    def outcome(history: tuple, session: str = "s", revision: int = 2) -> CompactionOutcome:
        identity = ModelIdentity("p", "a", "m")
        taken = SessionSnapshot(SessionId(session), Revision(revision), history, identity)
        return CompactionOutcome(9, 1, 1000, 100, Revision(2), None, taken)

    assert outcome(()) == outcome((MESSAGE,))
    assert hash(outcome(())) == hash(outcome((MESSAGE,)))
    assert outcome(()) != outcome((), session="t")
    assert outcome(()) != outcome((), revision=3)
    assert outcome(()) != replace(outcome(()), committed_snapshot=None)
    assert outcome(()) != replace(outcome(()), current_tokens=101)


@pytest.mark.clause("J12", "J13")
def test_nothing_is_ever_removed_negatively() -> None:
    grown = CompactionOutcome(1, 5, 10, 50, Revision(1))
    assert (grown.removed_messages, grown.removed_tokens) == (0, 0)
    state = CompactionState().after(grown)
    assert (state.completed_compactions, state.removed_messages, state.removed_tokens) == (1, 0, 0)


@pytest.mark.clause("J13", "B36")
def test_state_tracks_token_and_cost_accounting() -> None:
    outcome = CompactionOutcome(10, 3, 1000, 100, Revision(2), cost_usd_micros=2500)
    state = CompactionState().after(outcome)
    assert state == CompactionState(1, 7, 900, 2500, 1000, 100, Revision(2))
    free = replace(outcome, cost_usd_micros=None, revision=Revision(5))
    assert state.after(free) == CompactionState(2, 14, 1800, 2500, 1000, 100, Revision(5))
    assert CompactionState(2, 5) == CompactionState(2, 5, 0, 0, None, None, None)


@pytest.mark.clause("J13")
def test_state_saturates() -> None:
    full = CompactionState(2**64 - 1, 2**64 - 1, 2**64 - 1, 2**64 - 1)
    after = full.after(CompactionOutcome(10, 3, 1000, 100, Revision(2), cost_usd_micros=1))
    assert after.completed_compactions == after.removed_messages == 2**64 - 1
    assert after.removed_tokens == after.removed_cost_usd_micros == 2**64 - 1
