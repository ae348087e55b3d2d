"""docs/embedding.md keeps its word: its blocks run, in order, and print what they say."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).parents[2] / "docs" / "embedding.md"


def test_every_block_of_the_embedding_guide_runs_and_prints_what_it_says() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.S | re.M)
    assert len(blocks) >= 6
    scope: dict[str, Any] = {"__name__": "guide"}
    for block in blocks:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(block, str(GUIDE), "exec"), scope)
        promised = re.findall(r"^\s*print\(.*\)  # (.*)$", block, re.M)
        printed = said.getvalue().splitlines()
        assert len(printed) == len(promised)
        for line, promise in zip(printed, promised, strict=True):
            # an ellipsis or a remark after a colon leaves the rest open
            start = promise.partition("…")[0].partition(": the")[0].rstrip(", ")
            assert line.startswith(start), (line, promise)
