"""What one benchmark returns and how figures are taken."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value, its floor, and the ratio we hold ourselves to."""

    name: str
    value: float
    floor: float
    unit: str
    target: float
    #: `ratio` compares value / floor with the target, `excess` compares value - floor
    kind: str = "ratio"
    #: more that was seen in the same runs
    note: str = ""

    @property
    def result(self) -> float:
        """The figure that is compared with the target."""
        if self.kind == "excess":
            return self.value - self.floor
        return self.value / self.floor if self.floor else float("inf")

    @property
    def met(self) -> bool:
        """Whether the target is reached."""
        return self.result <= self.target


def median_of(measure: Callable[[], float], runs: int) -> float:
    """The median of several runs after one that is not counted."""
    measure()
    return statistics.median(measure() for _ in range(runs))


def interleaved(
    measures: Sequence[Callable[[], float]], runs: int, *, warm: bool = True
) -> list[float]:
    """Medians of several measurements taken in turn, so that drift hits all alike.

    With `warm` each is taken once before, uncounted.
    """
    for measure in measures if warm else ():
        measure()
    taken: list[list[float]] = [[] for _ in measures]
    for _ in range(runs):
        for place, measure in enumerate(measures):
            taken[place].append(measure())
    return [statistics.median(values) for values in taken]


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its living children."""
    process = psutil.Process(pid)
    total = 0.0
    for one in (process, *process.children(recursive=True)):
        times = one.cpu_times()
        total += times.user + times.system
    return total


def memory_mib(pid: int) -> float:
    """Resident memory of a process and its children, MiB."""
    process = psutil.Process(pid)
    everyone = (process, *process.children(recursive=True))
    return sum(one.memory_info().rss for one in everyone) / 2**20
