"""How many untimed visits a candidate needs before its times are those of a row of its own calls.

What ran before a visit, another candidate above all, leaves caches, translations of addresses and branch predictors in
a state that is not the candidate's. Here the worst of all neighbours, one that empties all caches, stands for any, so
that the answer does not depend on which candidates happen to run beside. Standard library only.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .clock import now

SMALLEST_TOLERANCE = 0.005  # repetitions do not show less
IN_A_ROW = (
    8  # visits after a disturbance: the last half is taken as undisturbed
)
REPETITIONS = 3  # the shortest time of each place in the row counts
# What is assumed of visits that cannot be measured in time: at most so long, in ns, and the number before them.
ASSUMED = ((200_000, 4), (20_000_000, 1))
# A visit that is longer is worth one untimed one at most: it fills all caches.
LONG_NS = 1_000_000


@dataclass
class Allowance:
    """The time that may still be spent on the search."""

    left_ns: float

    def spend(self, ns: float) -> None:
        self.left_ns -= ns


def untimed_visits(
    visit: Callable[[], int],
    disturb: Callable[[], None],
    tolerance: float,
    allowance: Allowance,
) -> int:
    """The fewest visits after which the next is within the tolerance of a row's; assumed where time is short."""
    began = now()
    visit_ns = min(visit(), visit())
    disturb()
    in_a_row = 2 if visit_ns > LONG_NS else IN_A_ROW
    row_ns = now() - began + in_a_row * visit_ns
    if REPETITIONS * row_ns > allowance.left_ns:
        allowance.spend(now() - began)
        return _assumed(visit_ns)
    rows = []
    for _ in range(REPETITIONS):
        disturb()
        rows.append([visit() for _ in range(in_a_row)])
    allowance.spend(now() - began)
    shortest = [min(place) for place in zip(*rows, strict=True)]
    return _settled_after(shortest, tolerance)


def _settled_after(shortest: list[int], tolerance: float) -> int:
    """How many places from the start on are longer than undisturbed ones."""
    half = len(shortest) // 2
    undisturbed = shortest[half:]
    middle = sorted(undisturbed)[(len(undisturbed) - 1) // 2]
    most = middle * (1 + max(tolerance, SMALLEST_TOLERANCE))
    disturbed = [place for place in range(half) if shortest[place] > most]
    return max(disturbed, default=-1) + 1


def _assumed(visit_ns: int) -> int:
    for most_ns, count in ASSUMED:
        if visit_ns <= most_ns:
            return count
    return 0
