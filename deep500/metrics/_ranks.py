"""What a history of many ranks has of each of them."""

from ..contracts.metric import History


def by_rank(numbers: dict, name: str) -> dict[int, object]:
    """The entries "<name> of rank r" by r."""
    prefix = f"{name} of rank "
    found = {}
    for key, value in numbers.items():
        if key.startswith(prefix):
            found[int(key.removeprefix(prefix))] = value
    return dict(sorted(found.items()))


def rank_series(history: History, name: str) -> dict[int, list[float]]:
    """A series of every rank that has one; empty for a run of one process without ranks."""
    return by_rank(history.series, name)  # type: ignore[return-value]


def rank_counters(history: History, name: str) -> dict[int, float]:
    return by_rank(history.counters, name)  # type: ignore[return-value]
