"""Divides one budget of memory among convolutions, each of which keeps a workspace of its own: a linear program."""

from collections.abc import Sequence
from typing import Any

from ..errors import InternalError
from .batch_plan import BatchPlan

# The solver knows differences down to 1e-6 only. Times are scaled to this sum; the budget gets this share more, so that
# what fits to the byte is not lost, and what does not fit is refused afterwards.
SCALE = 1e6
SLACK = 1e-5


def divided(
    choices: Sequence[Sequence[BatchPlan]], budget: int
) -> list[BatchPlan] | None:
    """One plan of each sequence, with the least sum of times and workspaces that add up to the budget at most.

    None if the smallest workspaces exceed the budget.
    """
    least = [min(plan.workspace for plan in plans) for plans in choices]
    if sum(least) > budget:
        return None
    affordable = []
    for plans, smallest in zip(choices, least, strict=True):
        room = budget - (sum(least) - smallest)
        affordable.append([plan for plan in plans if plan.workspace <= room])
    refused: list[list[int]] = []
    while True:
        chosen = _solved(affordable, budget, refused)
        plans = [own[i] for own, i in zip(affordable, chosen, strict=True)]
        if sum(plan.workspace for plan in plans) <= budget:
            return plans
        # above the budget by less than the solver can see
        refused.append(chosen)


def _solved(
    choices: Sequence[Sequence[BatchPlan]], budget: int, refused: Sequence[list[int]]
) -> list[int]:
    """The index of the plan that the solver takes of each sequence, in a combination that is not refused."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    owners = [i for i, plans in enumerate(choices) for _ in plans]
    flat = [plan for plans in choices for plan in plans]
    seconds = np.array([plan.seconds for plan in flat])
    workspaces = np.array([plan.workspace for plan in flat], float)
    one_of_each = np.zeros((len(choices), len(flat)))
    one_of_each[owners, range(len(flat))] = 1
    constraints: list[Any] = [
        LinearConstraint(one_of_each, 1, 1),
        LinearConstraint(workspaces / max(budget, 1), ub=1 + SLACK),
    ]
    starts = np.concatenate([[0], np.cumsum([len(plans) for plans in choices])])
    for combination in refused:
        row = np.zeros(len(flat))
        row[starts[:-1] + combination] = 1
        constraints.append(LinearConstraint(row, ub=len(choices) - 1))
    solution = milp(
        seconds * (SCALE / (seconds.sum() or 1)),
        integrality=np.ones(len(flat)),
        bounds=Bounds(0, 1),
        constraints=constraints,
        options={"mip_rel_gap": 0},
    )
    if solution.x is None:
        raise InternalError(f"no division of {budget} bytes: {solution.message}")
    taken = np.flatnonzero(np.round(solution.x))
    return [int(i) for i in taken - starts[:-1]]
