"""Mixed Markdown for benchmarks: prose, lists, code, tables; the same text for the same size."""

from __future__ import annotations

import random
from collections.abc import Iterator

PROSE = (
    "the run keeps its own history and every tool call passes the policy before it starts so that "
    "a `path` or a **rule** can be checked once while other *work* goes on in parallel without "
    "waiting for [the guide](https://example.org/guide) to be read by anyone at all"
)
WORDS = PROSE.split()


def _paragraph(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(30, 70))) + ".\n\n"


def _items(rng: random.Random) -> str:
    lines = [f"- {' '.join(rng.choices(WORDS, k=8))}" for _ in range(rng.randint(3, 7))]
    return "\n".join(lines) + "\n\n"


def _code(rng: random.Random) -> str:
    lines = [
        f"    value_{index} = compute({rng.randint(0, 99)}, name='x{index}')  # step {index}"
        for index in range(rng.randint(6, 18))
    ]
    return "```python\ndef main():\n" + "\n".join(lines) + "\n    return value_0\n```\n\n"


def _table(rng: random.Random) -> str:
    rows = [f"| item {index} | {rng.choice(WORDS)} | {rng.random():.3f} |" for index in range(5)]
    return "| name | word | value |\n|---|:-:|--:|\n" + "\n".join(rows) + "\n\n"


def _heading(rng: random.Random) -> str:
    return "## " + " ".join(rng.choices(WORDS, k=4)) + "\n\n"


def tokens(count: int) -> list[str]:
    """`count` pieces of about four characters."""
    return list(_pieces(count, random.Random(7)))


def _pieces(count: int, rng: random.Random) -> Iterator[str]:
    made = 0
    while True:
        make = rng.choice((_paragraph, _paragraph, _items, _code, _table, _heading))
        text = make(rng)
        for at in range(0, len(text), 4):
            yield text[at : at + 4]
            made += 1
            if made == count:
                return
