"""A timer that fires once, however late the event loop is.

`set_timer` of Textual 8.2.8 skips ticks that are overdue, the only tick of a one-shot timer too:
when the process is held up for longer than `delay` while the timer starts, the callback never
comes, and whoever waits for it (a frame, an Enter) waits for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.message_pump import MessagePump
from textual.timer import Timer


def set_one_shot(owner: MessagePump, delay: float, callback: Callable[[], object]) -> Timer:
    """Call `callback` in `owner`'s queue after `delay` seconds, unless either is stopped first."""
    timer = Timer(owner, delay, callback=partial(owner.call_next, callback), repeat=0, skip=False)
    timer._start()
    owner._timers.add(timer)
    return timer
