"""How many threads frameworks compute with, in the parent, in the processes that time, and in the report."""

from collections.abc import Sequence
from functools import cache

from ..contracts.framework import ITS_OWN
from ..errors import Deep500Error
from ..frameworks import framework
from ..measure.sensing.others import allowed_cpus


def checked_threads(requested: int | None) -> int:
    """The number of threads, by default that of CPUs."""
    if requested is None:
        return len(allowed_cpus())
    if not 0 <= requested <= 4096:
        raise Deep500Error(
            f"threads is {requested}: give 1 or more, or 0 for each framework's own choice"
        )
    return requested


def busy_threads(requested: int, frameworks: Sequence[str]) -> int:
    """How many threads will compute at once; a framework without a setting for it may use every CPU."""
    if requested and not _choosing(frameworks):
        return requested
    return len(allowed_cpus())


def threads_text(requested: int, frameworks: Sequence[str]) -> int | str:
    """How many threads every framework computed with, as the report says it."""
    if not requested:
        return "each framework's choice"
    choosing = _choosing(frameworks)
    if not choosing:
        return requested
    names = ", ".join(choosing)
    return f"{requested}; {ITS_OWN} on {names}"


def _choosing(frameworks: Sequence[str]) -> list[str]:
    """The frameworks that choose the number of threads by themselves."""
    return [name for name in frameworks if not framework(name).sets_threads]


@cache
def use_threads(name: str, count: int) -> None:
    """Once per process: some frameworks start their threads once and for all."""
    if count and framework(name).sets_threads:
        framework(name).set_threads(count)
