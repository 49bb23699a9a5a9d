"""The noise contract: when the operating system takes the processors away from the work."""

import math
from dataclasses import dataclass, field

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, lacking

NANO = 10**9
LONGEST = 1e6  # seconds
LEAST_PAUSE = 100.0  # nanoseconds of work between two detours, on average


def _none() -> np.ndarray:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Detours:
    """Intervals, in nanoseconds, in which a host does no work: a table that repeats, or drawn ones.

    starts, ends   The table, ascending, within `period`; every host begins at another place in it.
    every, lasting   Without a table: the mean work between two detours, and the mean length of one.
    shape      How lengths are drawn: 0 all alike, 1 exponential, above 1 the exponent of a Pareto tail.
    together   All hosts have their detours at the same time.
    """

    starts: np.ndarray = field(default_factory=_none)
    ends: np.ndarray = field(default_factory=_none)
    period: int = 0
    every: float = 0.0
    lasting: float = 0.0
    shape: float = 0.0
    together: bool = False

    def __post_init__(self) -> None:
        if self.period:
            self._check_table()
        elif not self.every >= LEAST_PAUSE or not 0 <= self.lasting < math.inf:
            raise Deep500Error(
                f"detours of {self.lasting:g} ns every {self.every:g} ns: give {LEAST_PAUSE:g} ns of work or more "
                "between two of them"
            )
        if self.shape != 0 and not 1 <= self.shape < math.inf:
            raise Deep500Error(
                f"a tail of {self.shape:g}: give 0 (all alike), 1 (exponential) or an exponent above 1 (Pareto)"
            )

    def _check_table(self) -> None:
        ordered = np.stack([self.starts, self.ends], 1).ravel()
        is_ascending = bool(np.all(ordered[1:] >= ordered[:-1]))
        lost = int(np.sum(self.ends - self.starts))
        if not len(ordered) or not is_ascending or ordered[0] < 0:
            raise Deep500Error(
                "detours must be ascending, without overlaps, and one at least"
            )
        if ordered[-1] > self.period or lost >= self.period:
            raise Deep500Error(
                f"detours of {lost} ns until {ordered[-1]} ns do not fit into {self.period} ns, with work between them"
            )

    @property
    def share(self) -> float:
        """The share of the time that they take, in the long run."""
        if self.period:
            return float(np.sum(self.ends - self.starts)) / self.period
        return self.lasting / (self.every + self.lasting)


class Noise(Definition):
    """What interrupts the work of hosts; all times are in seconds, and a seed says what is drawn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in self.settings.items():
            if isinstance(value, float) and not 0 <= value <= LONGEST:
                raise Deep500Error(
                    f"{name}={value:g} of {type(self).__name__}: give a number from 0 to {LONGEST:g}"
                )

    def detours(self) -> Detours:
        raise lacking(self, "detours")
