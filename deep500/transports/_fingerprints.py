"""What must be equal on all ranks that call a collective."""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from ..contracts.transport import CollectiveMismatch


def fingerprint(step: object) -> str:
    """What must be equal on all ranks, in words."""
    array = getattr(step, "array", None)
    if array is None:
        return type(step).__name__
    return _form(
        type(step).__name__,
        array.dtype,
        array.shape,
        getattr(step, "uneven", False),
        getattr(step, "op", None),
        getattr(step, "root", None),
    )


@lru_cache(maxsize=4096)
def _form(
    kind: str,
    dtype: np.dtype,
    shape: tuple[int, ...],
    uneven: bool,
    op: str | None,
    root: int | None,
) -> str:
    facts = [str(dtype), "any length" if uneven else str([*shape])]
    for fact in (op, root):
        if fact is not None:
            facts.append(str(fact))
    return f"{kind}({', '.join(facts)})"


def check_fingerprints(by_rank: Mapping[int, str], number: int) -> None:
    """Refuse ranks that call different collectives, or the same one with other shapes."""
    first_rank = min(by_rank)
    first = by_rank[first_rank]
    for rank in sorted(by_rank):
        if by_rank[rank] != first:
            raise CollectiveMismatch(
                f"collective number {number + 1} is {first} on rank {first_rank} and {by_rank[rank]} on rank {rank}: "
                "all ranks must call the same ones in the same order"
            )
