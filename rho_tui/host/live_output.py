"""How much of a command's live output is kept, and where it is cut."""

from __future__ import annotations

import re

MAX_OUTPUT_TAIL = 16 * 1024
"""Characters that are kept of a call which did not come to a result."""

LOOK_BACK = 64
"""Characters before a cut that tell whether it lies inside an escape sequence."""

_OPEN_SEQUENCE = re.compile(r"(?:\x1b\[?|\x9b)[0-?]*\Z")
_REST_OF_SEQUENCE = re.compile(r"\[?[0-?]*[@-~]?")


def output_tail(output: str, limit: int = MAX_OUTPUT_TAIL) -> str:
    """At most the last `limit` characters: from a line's start on, if one is near.

    Nothing else than the last `limit + LOOK_BACK` characters counts.
    """
    if len(output) <= limit:
        return output
    cut = len(output) - limit
    line_end = output.find("\n", cut, cut + limit // 4)
    if line_end >= 0:
        return output[line_end + 1 :]
    if _OPEN_SEQUENCE.search(output, max(0, cut - LOOK_BACK), cut):
        rest = _REST_OF_SEQUENCE.match(output, cut)
        cut = rest.end() if rest else cut
    return output[cut:]
