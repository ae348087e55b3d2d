"""Prompt history: the file and the walk through it."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rho_tui.widgets.prompt_history import PromptHistory, PromptRecall


async def test_prompts_come_back_in_order_without_adjacent_repetitions(tmp_path: Path) -> None:
    path = tmp_path / "state" / "prompts.jsonl"
    history = PromptHistory(path)
    assert list(await history.load()) == []
    texts = ["one\nline", "two", "two", "漢 \u2028 \x85", "\ud83d broken", "one\nline"]
    for text in texts:
        await history.append(text)
    assert list(await PromptHistory(path).load()) == [
        "one\nline",
        "two",
        "漢 \u2028 \x85",
        "\ud83d broken",
        "one\nline",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
async def test_the_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    await PromptHistory(path).append("secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    history = PromptHistory(path, limit=1)
    for number in range(4):
        await history.append(str(number))
    await history.load()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_torn_and_foreign_lines_cost_only_themselves(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(b'{"text": "a"}\nnot json\n[1]\n{"text": 7}\n\xff\xfe\n{"text": "b"}\n{"te')
    history = PromptHistory(path)
    await history.append("c")
    assert list(await history.load()) == ["a", "b", "c"]


@pytest.mark.clause("APP5.45")
async def test_the_file_stays_bounded_and_long_prompts_stay_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    history = PromptHistory(path, limit=5)
    for number in range(30):
        await history.append(f"prompt {number}")
    await history.append("x" * 11_000)
    assert list(await history.load()) == [f"prompt {n}" for n in range(25, 30)]
    assert len(path.read_text().splitlines()) == 5
    off = PromptHistory(tmp_path / "none.jsonl", limit=0)
    await off.append("x")
    assert not (tmp_path / "none.jsonl").exists()


async def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    writers = [PromptHistory(path), PromptHistory(path)]
    await asyncio.gather(*(writers[n % 2].append(f"{n} " + "x" * 500) for n in range(60)))
    assert len([json.loads(line) for line in path.read_text().splitlines() if line]) == 60


@pytest.mark.clause("APP5.45")
def test_walking_back_and_forth_restores_the_draft() -> None:
    recall = PromptRecall()
    assert recall.older("draft") is None
    recall.add("a")
    assert not recall.add("a")
    assert not recall.add("  ")
    recall.add("b")
    assert [recall.older("draft"), recall.older("b"), recall.older("a")] == ["b", "a", None]
    assert [recall.newer(), recall.newer(), recall.newer()] == ["b", "draft", None]


@given(st.lists(st.sampled_from(["older", "newer"])), st.integers(0, 5))
def test_a_walk_never_leaves_the_history_and_ends_with_the_draft(moves: list[str], size: int):
    recall = PromptRecall()
    entries = [str(number) for number in range(size)]
    recall.fill(entries)
    for move in moves:
        shown = recall.older("draft") if move == "older" else recall.newer()
        assert shown is None or shown in entries or shown == "draft"
    last = "draft"
    while recall.walking:
        last = recall.newer() or last
    assert last == "draft"


def test_a_limit_keeps_the_newest() -> None:
    recall = PromptRecall(limit=2)
    recall.fill(["a", "b", "c"])
    recall.add("d")
    assert recall.entries == ("c", "d")
    assert not PromptRecall(limit=0).add("x")
