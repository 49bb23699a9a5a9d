"""The series and counters of each rank in the history of a distributed run."""

from ..contracts.metric import History


def by_rank(numbers: dict, name: str) -> dict[int, object]:
    """The entries "<name> of rank r", by r in ascending order."""
    prefix = f"{name} of rank "
    values = {}
    for key, value in numbers.items():
        if key.startswith(prefix):
            rank = int(key.removeprefix(prefix))
            values[rank] = value
    return {rank: values[rank] for rank in sorted(values)}


def rank_series(history: History, name: str) -> dict[int, list[float]]:
    """A series of each rank that has it; empty for a run that is not distributed."""
    return by_rank(history.series, name)  # type: ignore[return-value]


def rank_counters(history: History, name: str) -> dict[int, float]:
    return by_rank(history.counters, name)  # type: ignore[return-value]
