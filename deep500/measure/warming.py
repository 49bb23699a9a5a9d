"""How many untimed visits a candidate needs before its times are those of a row of its own calls.

What ran before a visit, another candidate above all, leaves caches, translations of addresses and branch predictors in
a state that is not the candidate's. Rows of visits after such a disturbance show how long that lasts. Standard library
only.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .clock import now

SMALLEST_TOLERANCE = 0.005  # repetitions do not show less
IN_A_ROW = 20  # visits after a disturbance: the last half is taken as undisturbed
FEWEST, MOST = 5, 40  # repetitions
# What the untimed visits before a timed one may take together, unless one takes longer; beside neighbours that take
# longer, as much as they: after much data of theirs, a last-level cache keeps ours only after several visits.
MOST_NS = 2_000_000
# What is assumed of visits that cannot be measured in time: at most so long, in ns, and the number before them.
ASSUMED = ((125_000, 4), (250_000, 2), (20_000_000, 1))


@dataclass
class Allowance:
    """The time that may still be spent on the search, shared among the entries to come."""

    left_ns: float
    entries: int

    def share_ns(self) -> float:
        return self.left_ns / max(1, self.entries)

    def spend(self, ns: float) -> None:
        self.left_ns -= ns
        self.entries -= 1


def untimed_visits(
    visit: Callable[[], int],
    visit_ns: int,
    disturb: Callable[[], None],
    disturb_ns: int,
    tolerance: float,
    allowance: Allowance,
) -> int:
    """The fewest visits after which the next is within the tolerance of a row's.

    Where there is no time to find out, by what a visit and a disturbance take, it is assumed and nothing is called.
    """
    began = now()
    most = max(1, int(max(MOST_NS, disturb_ns) / max(1, visit_ns)))
    share_ns = allowance.share_ns()
    affordable = int((share_ns / FEWEST - disturb_ns) / max(1, visit_ns))
    in_a_row = min(max(2 * most, affordable), IN_A_ROW)
    row_ns = disturb_ns + in_a_row * visit_ns
    repetitions = int(share_ns / max(1, row_ns))
    if repetitions < FEWEST:
        allowance.spend(0)
        return _assumed(visit_ns)
    rows = []
    for _ in range(min(repetitions, MOST)):
        disturb()
        rows.append([visit() for _ in range(in_a_row)])
    allowance.spend(now() - began)
    usual = [_usual(list(times)) for times in zip(*rows, strict=True)]
    return min(_settled_after(usual, tolerance), most)


def _usual(times: list[int]) -> int:
    """The median: what ran before may disturb some of the visits only."""
    return sorted(times)[len(times) // 2]


def _settled_after(usual: list[int], tolerance: float) -> int:
    """How many places from the start on are longer than undisturbed ones."""
    half = len(usual) // 2
    undisturbed = sorted(usual[half:])
    middle = undisturbed[len(undisturbed) // 2]
    tolerated = middle * (1 + max(tolerance, SMALLEST_TOLERANCE))
    # one of them may have been interrupted every time
    most = max(tolerated, undisturbed[max(0, len(undisturbed) - 2)])
    disturbed = [place for place in range(half) if usual[place] > most]
    return max(disturbed, default=-1) + 1


def _assumed(visit_ns: int) -> int:
    for most_ns, count in ASSUMED:
        if visit_ns <= most_ns:
            return count
    return 0
