"""Checks the times that a process reports against the clock of the process that asked for them. Standard library only.

The same work has three times, and each contains the next: `wall_ns`, from the request to the answer, by the clock of
whoever asked; `spent_ns`, what the other process says that its rounds took; `timed_ns`, the sum of the timed intervals.
`untimed_ns` is the sum of the visits before the timed ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import Deep500Error
from ..schema import Count

if TYPE_CHECKING:
    from .bench_blocks import TimedBlock

LARGEST = 1 << 62
# share of the wall time; messages and waiting for a CPU take the rest
LEAST_SPENT = 0.3
# share of what was spent, besides the loop around the timed intervals
LEAST_TIMED = 0.7
VISIT_NS = 50_000  # what that loop may take for one visit on a busy machine
NOTICED_NS = 100_000_000  # a shorter difference is the scheduler's


@dataclass(frozen=True)
class Clocks:
    """The times of one or more answers."""

    wall_ns: Count
    spent_ns: Count
    timed_ns: Count
    untimed_ns: Count = 0

    def __post_init__(self) -> None:
        used_ns = self.timed_ns + self.untimed_ns
        if not used_ns <= self.spent_ns <= self.wall_ns:
            raise ValueError("times of which each contains the next")

    def __add__(self, other: "Clocks") -> "Clocks":
        return Clocks(
            wall_ns=self.wall_ns + other.wall_ns,
            spent_ns=self.spent_ns + other.spent_ns,
            timed_ns=self.timed_ns + other.timed_ns,
            untimed_ns=self.untimed_ns + other.untimed_ns,
        )


def checked_calls(calls: object, entries: int) -> list[int]:
    """The numbers of calls that a process has sent, one for each entry; anything else raises a Deep500Error."""
    if not isinstance(calls, list) or not _are_counts(calls, entries, 1):
        raise Deep500Error(f"it sent no numbers of calls: {_shown(calls)}")
    return calls


def checked_rounds(
    rounds: object, orders: Sequence[Sequence[int]], least: int
) -> list[list[int]]:
    """The nanoseconds that a process has sent, one for each visit; anything else raises a Deep500Error."""
    count = len(orders)
    if not isinstance(rounds, list) or len(rounds) != count:
        raise Deep500Error(f"it sent no times of {count} rounds: {_shown(rounds)}")
    for times, order in zip(rounds, orders, strict=True):
        visits = len(order)
        if not _are_counts(times, visits, least):
            raise Deep500Error(f"it sent no times of {visits} visits: {_shown(times)}")
    return rounds


def checked_preparation(
    prepared: object, entries: int
) -> tuple[list[int], list[float | None]]:
    """What a process has found about its entries before the first round; anything else raises a Deep500Error."""
    parts = prepared if isinstance(prepared, dict) else {}
    untimed = parts.get("untimed")
    after = parts.get("after")
    if not _is_untimed(untimed, entries) or not _is_after(after, entries):
        raise Deep500Error(f"it sent no preparation: {_shown(prepared)}")
    return untimed, after  # type: ignore[return-value]


def _is_untimed(untimed: object, entries: int) -> bool:
    """Whether these can be numbers of untimed visits, one for each entry."""
    return isinstance(untimed, list) and _are_counts(untimed, entries, 0)


def _is_after(after: object, entries: int) -> bool:
    """Whether these can be shares of CPU time after the clock stopped, one (or None) for each entry."""
    if not isinstance(after, list) or len(after) != entries:
        return False
    return all(share is None or _is_share(share) for share in after)


def _is_share(share: object) -> bool:
    return type(share) in (int, float) and 0 <= share < LARGEST  # type: ignore[operator]


def checked_clocks(
    wall_ns: int,
    spent_ns: object,
    rounds: Sequence[Sequence[int]],
    untimed_ns: object = 0,
) -> Clocks:
    """The times of one answer; raises a Deep500Error if the process reports more time than has passed."""
    if type(spent_ns) is not int or not 0 <= spent_ns <= wall_ns:
        raise Deep500Error(
            f"it reports {_shown(spent_ns)} ns of work while {wall_ns} ns passed: something in it changed the clock"
        )
    timed_ns = sum(map(sum, rounds))
    if timed_ns > spent_ns:
        raise Deep500Error(
            f"it reports {timed_ns} ns of timed work in {spent_ns} ns: something in it changed the clock"
        )
    rest_ns = spent_ns - timed_ns
    if type(untimed_ns) is not int or not 0 <= untimed_ns <= rest_ns:
        raise Deep500Error(
            f"it reports {_shown(untimed_ns)} ns of untimed work in {rest_ns} ns: something in it changed the clock"
        )
    return Clocks(wall_ns, spent_ns, timed_ns, untimed_ns)


def disagreement(
    blocks: Sequence["TimedBlock"], bare: bool, one_group: bool
) -> str | None:
    """A warning if the clocks of a run's blocks disagree; None if they agree or were not recorded.

    `bare`: nothing but the timed statements runs in a round, neither emptying of caches nor waiting for a device.
    `one_group`: a block is one message, not one for every visit.
    """
    total = _total(blocks)
    if one_group and _too_little(total.spent_ns, total.wall_ns, LEAST_SPENT):
        return _note(
            "processes say that they worked for", total.spent_ns, total.wall_ns
        )
    visited_ns = total.timed_ns + total.untimed_ns
    visited_and_loop_ns = visited_ns + _visits(blocks) * VISIT_NS
    if bare and _too_little(visited_and_loop_ns, total.spent_ns, LEAST_TIMED):
        return _note("timed intervals add up to", visited_ns, total.spent_ns)
    return None


def _total(blocks: Sequence["TimedBlock"]) -> Clocks:
    total = Clocks(0, 0, 0)
    for block in blocks:
        if block.clocks:
            total += block.clocks
    return total


def _visits(blocks: Sequence["TimedBlock"]) -> int:
    visits = 0
    for block in blocks:
        visits += sum(map(len, block.orders))
    return visits


def _too_little(part_ns: int, whole_ns: int, share: float) -> bool:
    is_noticed = whole_ns - part_ns > NOTICED_NS
    return is_noticed and part_ns < share * whole_ns


def _note(claim: str, part_ns: int, whole_ns: int) -> str:
    part = f"{part_ns / 1e9:.3g} s"
    whole = f"{whole_ns / 1e9:.3g} s"
    return (
        f"the {claim} {part} of the {whole} that passed: "
        "the code changed the clock, or the machine was busy with something else"
    )


def _are_counts(values: object, length: int, least: int) -> bool:
    if not isinstance(values, list) or len(values) != length:
        return False
    return all(type(value) is int and least <= value < LARGEST for value in values)


def _shown(value: object) -> str:
    text = str(value)
    return repr(text[:40])
