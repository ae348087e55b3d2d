"""Cancellation as a value (L1, L4)."""

from __future__ import annotations

import asyncio
import threading

import pytest

from rho_core.cancellation import CancellationToken
from rho_core.errors import Cancelled

pytestmark = pytest.mark.clause("L1")


def test_cancellation_is_shared_and_idempotent() -> None:
    token = CancellationToken()
    same = token
    token.raise_if_cancelled()
    same.cancel()
    same.cancel()
    assert token.is_cancelled
    with pytest.raises(Cancelled):
        token.raise_if_cancelled()
    assert repr(token) == "CancellationToken(is_cancelled=True)"


def test_dropping_a_reference_or_a_child_does_not_cancel() -> None:
    token = CancellationToken()
    child = token.child()
    del child
    assert not token.is_cancelled


def test_a_child_follows_its_parent_but_not_the_other_way() -> None:
    parent = CancellationToken()
    alone, along = parent.child(), parent.child()
    alone.cancel()
    assert not parent.is_cancelled
    assert not along.is_cancelled
    parent.cancel()
    assert along.is_cancelled
    assert parent.child().is_cancelled


def test_callbacks_run_once_and_can_be_removed() -> None:
    token = CancellationToken()
    calls: list[str] = []
    token.on_cancel(lambda: calls.append("kept"))
    token.on_cancel(lambda: calls.append("removed"))()
    token.cancel()
    token.cancel()
    assert calls == ["kept"]
    token.on_cancel(lambda: calls.append("late"))
    assert calls == ["kept", "late"]


def test_one_bad_callback_does_not_mute_the_others() -> None:
    token = CancellationToken()
    calls: list[str] = []

    def bad() -> None:
        raise RuntimeError("broken listener")

    token.on_cancel(bad)
    token.on_cancel(lambda: calls.append("heard"))
    with pytest.raises(RuntimeError, match="broken listener"):
        token.cancel()
    assert calls == ["heard"]
    assert token.is_cancelled


async def test_waiting_ends_when_another_thread_cancels() -> None:
    token = CancellationToken()
    waiting = asyncio.create_task(token.cancelled())
    await asyncio.sleep(0)
    thread = threading.Thread(target=token.cancel)
    thread.start()
    await asyncio.wait_for(waiting, 5)
    thread.join()
    await token.cancelled()


async def test_race_returns_the_result_or_the_error_of_the_work() -> None:
    token = CancellationToken()

    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    async def fail() -> None:
        raise ValueError("own error")

    assert await token.race(work()) == 7
    with pytest.raises(ValueError, match="own error"):
        await token.race(fail())
    assert token._callbacks == {}


async def test_race_drops_the_work_and_waits_for_its_cleanup() -> None:
    token = CancellationToken()
    steps: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("cleaned up")

    task = asyncio.create_task(token.race(work()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    token.cancel()
    with pytest.raises(Cancelled):
        await task
    assert steps == ["cleaned up"]


async def test_work_never_starts_under_a_cancelled_token() -> None:
    token = CancellationToken()
    token.cancel()
    started: list[bool] = []

    async def work() -> None:
        started.append(True)

    with pytest.raises(Cancelled):
        await token.race(work())
    assert started == []


@pytest.mark.clause("D26", "L4")
async def test_a_result_that_is_there_wins_over_cancellation() -> None:
    token = CancellationToken()
    done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    racing = asyncio.create_task(token.race(done))
    await asyncio.sleep(0)
    done.set_result("finished")
    token.cancel()
    assert await racing == "finished"


async def test_dropping_the_racing_task_drops_the_work() -> None:
    token = CancellationToken()
    dropped: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            dropped.append(True)
            raise

    task = asyncio.create_task(token.race(work()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert dropped == [True]
    assert not token.is_cancelled
