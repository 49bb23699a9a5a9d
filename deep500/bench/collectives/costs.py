"""The cost that the collective of a case declares."""

from ...contracts.collective_cost import CollectiveCost
from ...definition_text import definition_of
from ...errors import Deep500Error
from ...results.collectives.data import LIBRARIES, MESSAGE, TimedCase
from .subjects import element_count


def declared_cost(case: TimedCase, ranks: int) -> CollectiveCost | None:
    """None for what declares none, such as the library's own call, and where it is not all that takes time."""
    if case.algorithm in LIBRARIES or case.operation == MESSAGE or case.progress:
        return None
    try:
        collective = definition_of(case.algorithm, "collectives")
        if not collective.plain_sums:
            return None
        count = element_count(case)
        gamma = case.bytes / count if count else 1.0
        return collective.cost(case.operation, ranks, count, gamma)
    except Deep500Error:
        return None
