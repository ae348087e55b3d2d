"""A frame with a long history against one with a short: both should cost the same."""

from __future__ import annotations

from benchmarks import frame_cost
from benchmarks.figures import Figure


def run() -> list[Figure]:
    """Milliseconds of CPU of a streamed and of a scrolled frame at both lengths."""
    measured = frame_cost.run()
    return [
        Figure(
            name,
            float(measured[f"long_{key}_ms"]),
            float(measured[f"short_{key}_ms"]),
            "CPU ms",
            1.15,
            note=f"{measured['long_turns']} and {measured['short_turns']} turns of history",
        )
        for name, key in (("frame_streamed", "frame"), ("frame_scrolled", "scroll"))
    ]
