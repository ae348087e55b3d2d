"""What the scripted model says in the pictures."""

from __future__ import annotations

from typing import Any

from rho_core.providers.contract import ModelEvent, OutputDelta, ReasoningDelta
from rho_core.testing import ScriptedProvider, ScriptedTurn

ANSWER = """\
## How a total comes about

The rule is in `pricing.py`, and **members** pay less:

1. the prices are summed up,
2. a member gets the discount off,
   - it is `DISCOUNT`, *20 %* for now
3. the rest is what the cart costs.

| cart | guest | member |
|:-----|------:|-------:|
| tea | 4.50 | 3.60 |
| tea and cups | 23.40 | 18.72 |

```python
def total(prices: list[int], member: bool = False) -> int:
    \"\"\"What a cart costs; members pay less.\"\"\"
    return sum(prices)  # no discount yet
```

> A float comes back for members: `4432.0`, not `4432`.

More on rounding in [the guide](https://example.org/rounding).
"""
SHORT_ANSWER = "The discount is read in one place, so this is the only line that changes."
COMMAND = """\
for file in pricing.py receipt.py; do
  python3 -m py_compile "$file" || exit 1
done
rm -rf __pycache__"""

EDIT = {
    "path": "pricing.py",
    "old_string": "        amount -= amount * DISCOUNT\n    return amount",
    "new_string": "        amount = round(amount * (1 - DISCOUNT))\n    return amount",
}
NEW_FILE = {
    "path": "test_pricing.py",
    "content": (
        "from pricing import total\n\n\n"
        "def test_members_pay_whole_cents():\n"
        "    assert total([1999], member=True) == 1599\n"
    ),
}

CHOICE: dict[str, Any] = {
    "id": "store",
    "header": "Store",
    "question": "Where should carts be kept between visits?",
    "type": "choice",
    "choices": [
        {"label": "In the browser", "description": "nothing to run, lost with the browser"},
        {"label": "SQLite", "description": "one file beside the shop"},
        {"label": "Redis", "description": "fast, one more service"},
    ],
    "default": "SQLite",
    "default_selection": "focused",
}
MULTI: dict[str, Any] = {
    "id": "checks",
    "header": "Checks",
    "question": "What should run before each commit?",
    "help": "pick any number",
    "type": "multi_select",
    "choices": ["formatter", "linter", "types", "tests"],
    "required": False,
}
CONFIRM: dict[str, Any] = {
    "id": "rename",
    "header": "Rename",
    "question": "Rename `total` to `cart_total` everywhere?",
    "type": "confirm",
}
OTHER: dict[str, Any] = {**CHOICE, "allow_other": True}
FALLBACK = {"answers": {"store": "SQLite"}, "reason": "It needs nothing to be installed."}


def form(*questions: dict[str, Any], title: str = "Carts", **more: Any) -> ScriptedTurn:
    """A turn that opens a form."""
    arguments = {"title": title, "questions": list(questions), **more}
    return calls(("questionnaire", arguments))


def calls(*wanted: tuple[str, dict[str, Any]], text: str = "") -> ScriptedTurn:
    """A turn that says something and calls tools."""
    from rho_core.history.messages import Text, ToolCall

    made = [
        ToolCall.of(f"call_{number}", name, arguments)
        for number, (name, arguments) in enumerate(wanted)
    ]
    said = (Text(text),) if text else ()
    return ScriptedTurn.streaming(pieces(text), *said, *made)


def says(text: str) -> ScriptedTurn:
    """A turn that streams its text and ends."""
    return ScriptedTurn.streaming(pieces(text))


def stops_in(text: str, *, thoughts: str = "") -> ScriptedTurn:
    """A turn that streams thoughts and text, and then hangs."""
    thinking = [ReasoningDelta(thoughts)] if thoughts else []
    return ScriptedTurn.hanging(*thinking, *pieces(text))


def pieces(text: str) -> list[ModelEvent]:
    """The text in the small pieces in which models send it."""
    return [OutputDelta(text[at : at + 7]) for at in range(0, len(text), 7)]


def model(*turns: ScriptedTurn) -> ScriptedProvider:
    """A model that plays these turns."""
    return ScriptedProvider(turns)
