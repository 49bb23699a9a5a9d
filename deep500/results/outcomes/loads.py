"""Whether others on the machine can explain why the times of two results differ."""

from collections.abc import Sequence

from ...measure.machine import Difference
from ...reports.tables import is_number, percent

LOAD = "load (1 min)"
LOAD_THAT_MATTERS = 0.5  # of a CPU, as `d5 doctor` judges it
SHARE_THAT_MATTERS = 0.1  # of the CPUs: what others may use of a quiet machine
BUSY_SHARE = 0.5  # of the CPUs: if others use more, a thread waits for a CPU by chance


def different_loads(differences: Sequence[Difference]) -> str:
    """One line if the machine was busier when one of the two began; empty if it was not."""
    for difference in differences:
        load_a = difference.left.value
        load_b = difference.right.value
        if difference.fact != LOAD:
            continue
        if not is_number(load_a) or not is_number(load_b):
            continue
        if abs(load_a - load_b) >= LOAD_THAT_MATTERS:
            return (
                f"The load of the machine was {load_a:g} when A began and {load_b:g} when B began: "
                "times can differ for that alone."
            )
    return ""


def disturbing_shares(others_a: float, others_b: float) -> str:
    """One line if others used most of the CPUs during a run, or more during one of two; else empty.

    The shares are those of the epochs, at the median.
    """
    are_alike = abs(others_a - others_b) <= SHARE_THAT_MATTERS
    if are_alike and max(others_a, others_b) <= BUSY_SHARE:
        return ""
    return (
        f"Others used {percent(others_a)} of the CPUs during A and {percent(others_b)} during B: times can differ for "
        "that alone."
    )
