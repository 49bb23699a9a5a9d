"""The fastest way to compute a batch in micro-batches under a limit of workspace: dynamic programming over its size."""

import math
from collections.abc import Iterable, Mapping

from ..errors import unknown
from .batch_plan import BatchPlan, TimedKernel

UNDIVIDED = "undivided"
POWERS = "powers of two"
ANY = "any"
POLICIES = (UNDIVIDED, POWERS, ANY)


def micro_batches(policy: str, batch: int) -> list[int]:
    """The sizes that a policy allows; the whole batch is always one of them."""
    if policy not in POLICIES:
        raise unknown("policy of micro-batches", policy, POLICIES)
    if policy == UNDIVIDED:
        return [batch]
    if policy == ANY:
        return list(range(1, batch + 1))
    powers = [2**exponent for exponent in range(batch.bit_length())]
    return sorted({*powers, batch})


def fastest_plan(
    kernels: Iterable[TimedKernel], batch: int, limit: float = math.inf
) -> BatchPlan | None:
    """The plan for this batch with the least sum of times, no kernel above the limit; None if there is none.

    Of equally fast kernels, it takes the one with the smaller workspace.
    """
    fastest = _fastest_kernels(kernels, limit)
    seconds = [0.0] + [math.inf] * batch
    last: list[TimedKernel | None] = [None] * (batch + 1)
    for examples in range(1, batch + 1):
        for size, kernel in fastest.items():
            if size > examples:
                continue
            total = seconds[examples - size] + kernel.seconds
            if total < seconds[examples]:
                seconds[examples] = total
                last[examples] = kernel
    return _traced_back(last, batch)


def pareto_plans(kernels: Iterable[TimedKernel], batch: int) -> list[BatchPlan]:
    """The plans that no other beats in time and workspace, the fastest first.

    Each is the fastest one under a limit just below the workspace of the plan before.
    """
    kernels = list(kernels)
    plans: list[BatchPlan] = []
    limit = math.inf
    while plan := fastest_plan(kernels, batch, limit):
        if plans and plans[-1].seconds >= plan.seconds:
            plans.pop()
        plans.append(plan)
        limit = plan.workspace - 1
    return plans


def least_workspace(kernels: Iterable[TimedKernel], batch: int) -> int | None:
    """The least limit under which there is a plan; None if there is none under any."""
    kernels = list(kernels)
    for limit in sorted({kernel.workspace for kernel in kernels}):
        if fastest_plan(kernels, batch, limit):
            return limit
    return None


def _fastest_kernels(
    kernels: Iterable[TimedKernel], limit: float
) -> Mapping[int, TimedKernel]:
    """The fastest kernel for every number of examples, of those within the limit."""
    fastest: dict[int, TimedKernel] = {}
    for kernel in kernels:
        if kernel.workspace > limit:
            continue
        rival = fastest.get(kernel.examples)
        if rival is None or _order(kernel) < _order(rival):
            fastest[kernel.examples] = kernel
    return fastest


def _order(kernel: TimedKernel) -> tuple[float, int]:
    return kernel.seconds, kernel.workspace


def _traced_back(last: list[TimedKernel | None], batch: int) -> BatchPlan | None:
    """The plan of which `last` holds the last kernel for every number of examples."""
    parts = []
    examples = batch
    while examples:
        kernel = last[examples]
        if kernel is None:
            return None
        parts.append(kernel)
        examples -= kernel.examples
    return BatchPlan(tuple(parts))
