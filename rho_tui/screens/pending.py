"""Input that has not reached the model: steering under way and prompts for later (APP2.45–2.49)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rho_core.ids import SteeringId
from rho_tui.host.kinds import TurnEndKind
from rho_tui.widgets.pending_input import PendingItem

if TYPE_CHECKING:
    from rho_tui.host.facts import TurnEnded


@dataclass(slots=True)
class Waiting:
    """One input that waits; a steer has an id once the run has accepted it.

    `after` says what a follow-up waits for.
    """

    kind: Literal["steer", "next"]
    text: str
    id: SteeringId | None = None
    after: Literal["turn", "compact"] = "turn"


class PendingInput:
    """The list itself; who sends and who draws is somebody else's business."""

    def __init__(self) -> None:
        self._items: list[Waiting] = []

    def add(
        self,
        kind: Literal["steer", "next"],
        text: str,
        *,
        after: Literal["turn", "compact"] = "turn",
    ) -> Waiting:
        """Something waits, behind what waits already."""
        item = Waiting(kind, text, after=after)
        self._items.append(item)
        return item

    def discard(self, item: Waiting) -> None:
        """It waits no more; an unknown one is no error."""
        self._items = [other for other in self._items if other is not item]

    def applied(self, id: SteeringId) -> None:
        """A steer has reached the model."""
        self._items = [item for item in self._items if item.id != id]

    def newest(self) -> Waiting | None:
        """What was added last."""
        return self._items[-1] if self._items else None

    def demote(self, item: Waiting) -> None:
        """The run refused a steer: it is the first follow-up now (APP2.47)."""
        self.discard(item)
        self._items.insert(0, Waiting("next", item.text))

    def turn_ended(self, ended: TurnEnded) -> tuple[list[str], str | None]:
        """What goes back to the composer, and the prompt that is to be sent now.

        After an interruption by the user everything goes back; else steers that never arrived
        come first among the follow-ups, and a completed turn releases the first of them.
        """
        lost = [*ended.unapplied_steering]
        later = [item.text for item in self._items if item.kind == "next"]
        accepted = set(lost)
        # a steer the run never accepted is not in the run's own list
        lost += [i.text for i in self._items if i.kind == "steer" and i.text not in accepted]
        if ended.kind is TurnEndKind.CANCELLED:
            self._items = []
            return [*lost, *later], None
        self._items = [Waiting("next", text) for text in (*lost, *later)]
        if ended.kind is TurnEndKind.COMPLETED and self._items:
            return [], self._items.pop(0).text
        return [], None

    @property
    def waits_for_compaction(self) -> bool:
        """Whether a prompt waits for the end of a compaction."""
        return any(item.after == "compact" for item in self._items)

    def compaction_ended(self, *, cancelled: bool = False) -> tuple[list[str], str | None]:
        """What goes back to the composer, and the prompt that is to be sent now (APP2.41).

        A compaction that the user cancelled gives everything back, any other end lets the first go.
        """
        texts = [item.text for item in self._items]
        self._items = []
        if cancelled or not texts:
            return texts, None
        first, *later = texts
        self._items = [Waiting("next", text) for text in later]
        return [], first

    def clear(self) -> None:
        """Nothing waits."""
        self._items = []

    def shown(self) -> Sequence[PendingItem]:
        """The list as the panel draws it."""
        return [PendingItem(item.kind, item.text, _context(item)) for item in self._items]


def _context(item: Waiting) -> str:
    if item.kind == "next":
        return f"after {item.after}"
    return "current run" if item.id is not None else "sending"
