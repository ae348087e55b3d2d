"""A snapshot of a thousand messages as JSON, against `json.dumps` of the same document."""

from __future__ import annotations

import json
import time

from benchmarks.figures import Figure, interleaved

MESSAGES = 1000
RUNS = 5


def run() -> list[Figure]:
    """Milliseconds; writing walks typed values, the floor only prints plain ones."""
    from rho_core import EnrichedAssistant, ModelIdentity, SessionSnapshot, Text, UserMessage
    from rho_core.ids import Revision, SessionId

    identity = ModelIdentity("provider", "api", "model")
    history = []
    for number in range(MESSAGES // 2):
        history += [
            UserMessage.of_text(f"question {number}: what does this line of code do?"),
            EnrichedAssistant((Text(f"answer {number}: it counts words."),), identity),
        ]
    snapshot = SessionSnapshot(
        session_id=SessionId(), revision=Revision(1), history=tuple(history), provider=identity
    )
    text = snapshot.to_json()
    document = json.loads(text)

    def write() -> float:
        began = time.perf_counter()
        written = snapshot.to_json()
        seconds = time.perf_counter() - began
        if written != text:
            raise RuntimeError("the snapshot changed while it was written")
        return seconds

    def dump() -> float:
        began = time.perf_counter()
        json.dumps(document, indent=2, ensure_ascii=False)
        return time.perf_counter() - began

    value, floor = interleaved((write, dump), RUNS)
    note = f"{len(text) / MESSAGES:.0f} bytes per message"
    return [Figure("core_snapshot", 1e3 * value, 1e3 * floor, "ms", 4, note=note)]
