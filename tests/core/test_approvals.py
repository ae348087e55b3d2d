"""The approval channel: one decision, exactly once, whoever goes away (E32–E34)."""

from __future__ import annotations

import asyncio
import gc

import pytest

from rho_core.authority.approvals import (
    AllowForSession,
    AllowOnce,
    ApprovalContext,
    ApprovalRequest,
    ApprovalSession,
    Deny,
    approval_channel,
)
from rho_core.cancellation import CancellationToken
from tests.core.authorization import CALL, SESSION, read_request


def approval(name: str = "x") -> ApprovalRequest:
    context = ApprovalContext(SESSION, CancellationToken())
    return ApprovalRequest(read_request(name), "reason", CALL, context)


@pytest.mark.clause("E32")
def test_a_channel_needs_room() -> None:
    with pytest.raises(ValueError):
        approval_channel(0)


@pytest.mark.clause("E34")
async def test_exactly_one_decision_is_delivered() -> None:
    handler, receiver = approval_channel(1)
    asking = asyncio.create_task(handler.decide(approval()))
    pending = await receiver.recv()
    assert pending is not None
    assert pending.request == approval()
    assert pending.is_waiting
    assert pending.respond(AllowForSession())
    assert not pending.respond(Deny("too late"))
    assert await asking == AllowForSession()
    assert not pending.is_waiting


@pytest.mark.clause("E34")
async def test_a_decision_for_a_waiter_that_has_gone_fails() -> None:
    handler, receiver = approval_channel(1)
    asking = asyncio.create_task(handler.decide(approval()))
    pending = await receiver.recv()
    assert pending is not None
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert not pending.respond(AllowOnce())


@pytest.mark.clause("E32")
async def test_a_full_channel_makes_requesters_wait_in_order() -> None:
    handler, receiver = approval_channel(1)
    asking = [asyncio.create_task(handler.decide(approval(name))) for name in "abc"]
    for name in "abc":
        pending = await receiver.recv()
        assert pending is not None
        assert pending.request == approval(name)
        pending.respond(AllowOnce())
    assert await asyncio.gather(*asking) == [AllowOnce()] * 3


@pytest.mark.clause("E32")
async def test_a_receiver_that_leaves_denies_queued_waiting_and_later_requests() -> None:
    handler, receiver = approval_channel(1)
    async with receiver:
        queued = asyncio.create_task(handler.decide(approval("a")))
        waiting = asyncio.create_task(handler.decide(approval("b")))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert await queued == Deny("approval responder was dropped")
    assert await waiting == Deny("approval request receiver was dropped")
    assert await handler.decide(approval("c")) == Deny("approval request receiver was dropped")


@pytest.mark.clause("E32")
async def test_a_pending_approval_that_is_dropped_denies() -> None:
    handler, receiver = approval_channel(2)
    asking = [asyncio.create_task(handler.decide(approval(name))) for name in "ab"]
    explicit = await receiver.recv()
    assert explicit is not None
    explicit.drop()
    assert await asking[0] == Deny("approval responder was dropped")
    forgotten = await receiver.recv()
    del forgotten
    gc.collect()
    assert await asyncio.wait_for(asking[1], 5) == Deny("approval responder was dropped")


@pytest.mark.clause("E33")
async def test_the_receiver_skips_requests_cancelled_before_delivery() -> None:
    handler, receiver = approval_channel(3)
    first = asyncio.create_task(handler.decide(approval("gone")))
    second = asyncio.create_task(handler.decide(approval("here")))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    pending = await receiver.recv()
    assert pending is not None
    assert pending.request == approval("here")
    pending.respond(AllowOnce())
    assert await second == AllowOnce()


@pytest.mark.clause("E33")
async def test_recv_ends_once_the_handlers_are_gone_and_the_queue_is_empty() -> None:
    handler, receiver = approval_channel(1)
    asking = asyncio.create_task(handler.decide(approval()))
    await asyncio.sleep(0)
    handler.close()
    pending = await receiver.recv()
    assert pending is not None
    pending.respond(AllowOnce())
    assert await asking == AllowOnce()
    assert await receiver.recv() is None


@pytest.mark.clause("E33", "L3")
async def test_letting_go_of_both_ends_is_noticed() -> None:
    handler, receiver = approval_channel(1)
    receiving = asyncio.create_task(receiver.recv())
    await asyncio.sleep(0)
    del handler
    gc.collect()
    assert await asyncio.wait_for(receiving, 5) is None

    handler, receiver = approval_channel(1)
    del receiver
    gc.collect()
    assert await handler.decide(approval()) == Deny("approval request receiver was dropped")


@pytest.mark.clause("E31")
async def test_a_channel_handler_may_read_live_history() -> None:
    assert not approval_channel(1)[0].reads_live_history
    assert approval_channel(1, reads_live_history=True)[0].reads_live_history


@pytest.mark.clause("E24")
def test_memory_is_per_session_object() -> None:
    one, other = ApprovalSession(), ApprovalSession()
    one.remember(read_request())
    assert one.is_remembered(read_request())
    assert not one.is_remembered(read_request("y"))
    assert not other.is_remembered(read_request())
    assert "/w/x" not in repr(one)
