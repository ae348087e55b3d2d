"""What a frame costs with a short and with a long history: the ratio should be about one.

A frame takes streamed text in, lays it out and paints the whole view. Run
`python -m benchmarks.frame_cost`.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time

from textual.app import App, ComposeResult

from benchmarks.markdown_sample import tokens
from rho_tui.transcript.blocks import (
    AssistantBlock,
    CardHeader,
    CardStatus,
    ShellBody,
    ToolCard,
    UserBlock,
)
from rho_tui.widgets.transcript_view import TranscriptView

SHORT, LONG = 10, 500
FRAMES = 150


class _App(App[None]):
    def compose(self) -> ComposeResult:
        yield TranscriptView()


def _fill(view: TranscriptView, turns: int) -> None:
    answer = "".join(tokens(300))
    output = "line of output\n" * 30
    for number in range(turns):
        view.append(f"u{number}", UserBlock(f"prompt {number}"))
        view.append(f"a{number}", AssistantBlock(answer))
        header = CardHeader("$", "make test", dialect="shell")
        view.append(f"c{number}", ToolCard(header, CardStatus.OK, (), (ShellBody(output),)))


async def _measure(turns: int) -> tuple[float, float]:
    """Median CPU milliseconds of a streamed frame and of a scrolled one."""
    app = _App()
    pieces = tokens(FRAMES * 10)
    async with app.run_test(size=(120, 40)) as pilot:
        view = app.query_one(TranscriptView)
        _fill(view, turns)
        view.append("live", AssistantBlock(streaming=True))
        view.flush()
        await pilot.pause()
        streamed = []
        for frame in range(FRAMES):
            began = time.process_time()
            view.append_text("live", "".join(pieces[frame * 10 : frame * 10 + 10]))
            view.flush()
            view.render_lines(view.size.region)
            streamed.append(time.process_time() - began)
        scrolled = []
        for _frame in range(FRAMES):
            began = time.process_time()
            view.scroll_rows(-3)
            view.render_lines(view.size.region)
            scrolled.append(time.process_time() - began)
        return 1e3 * statistics.median(streamed), 1e3 * statistics.median(scrolled)


def run() -> dict[str, float | str]:
    """Milliseconds of CPU a frame at both lengths of history, and their ratios."""
    asyncio.run(_measure(2))  # imports are not part of the comparison
    taken: dict[int, list[tuple[float, float]]] = {SHORT: [], LONG: []}
    for _round in range(3):  # in turn, so that other load hits both
        for turns, figures in taken.items():
            figures.append(asyncio.run(_measure(turns)))
    short, short_scroll = (min(values) for values in zip(*taken[SHORT], strict=True))
    long, long_scroll = (min(values) for values in zip(*taken[LONG], strict=True))
    return {
        "name": "frame_cost",
        "short_turns": SHORT,
        "long_turns": LONG,
        "short_frame_ms": round(short, 3),
        "long_frame_ms": round(long, 3),
        "ratio": round(long / short, 3),
        "short_scroll_ms": round(short_scroll, 3),
        "long_scroll_ms": round(long_scroll, 3),
        "scroll_ratio": round(long_scroll / short_scroll, 3),
    }


if __name__ == "__main__":
    print(json.dumps(run()))
