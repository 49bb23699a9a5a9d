"""Plans equal those of brute force on random instances; errors planted in the recurrences are found."""

import math
import random

import pytest

import deep500 as d5
from deep500.micro_batches import planning
from deep500.micro_batches.batch_plan import BatchPlan, TimedKernel, parts_of
from deep500.micro_batches.dividing import divided
from deep500.micro_batches.planning import (
    fastest_plan,
    least_workspace,
    micro_batches,
    pareto_plans,
)

from .instances import (
    INSTANCES,
    best_division,
    every_plan,
    front_of,
    random_kernels,
)


def check_fastest(seed: int) -> None:
    batch = 1 + seed % 9
    kernels = random_kernels(seed, batch)
    plans = [*every_plan(kernels, batch)]
    limits = [0, math.inf, *(kernel.workspace for kernel in kernels)]
    for limit in limits:
        times = [plan.seconds for plan in plans if plan.workspace <= limit]
        found = fastest_plan(kernels, batch, limit)
        if not times:
            assert found is None
            continue
        assert found is not None
        assert found.examples == batch
        assert found.workspace <= limit
        assert found.seconds == pytest.approx(min(times))
    least = min((plan.workspace for plan in plans), default=None)
    assert least_workspace(kernels, batch) == least


def check_front(seed: int) -> None:
    batch = 1 + seed % 9
    kernels = random_kernels(seed, batch)
    found = pareto_plans(kernels, batch)
    points = [(plan.workspace, round(plan.seconds, 9)) for plan in found]
    assert points == front_of([*every_plan(kernels, batch)])


def check_division(seed: int) -> None:
    draw = random.Random(seed)
    choices = []
    for layer in range(draw.randint(1, 4)):
        batch = draw.randint(1, 6)
        choices.append(pareto_plans(random_kernels(1000 * seed + layer, batch), batch))
    most = sum(plans[0].workspace for plans in choices)
    for budget in (0, draw.randint(0, most), most - 1, most):
        expected = best_division(choices, budget)
        found = divided(choices, budget)
        if expected is None:
            assert found is None
            continue
        assert found is not None
        assert sum(plan.workspace for plan in found) <= budget
        assert all(plan in plans for plan, plans in zip(found, choices, strict=True))
        assert sum(plan.seconds for plan in found) == pytest.approx(expected)


def test_the_fastest_plan_is_that_of_brute_force() -> None:
    for seed in INSTANCES:
        check_fastest(seed)


def test_the_pareto_front_is_that_of_brute_force() -> None:
    for seed in INSTANCES:
        check_front(seed)


def test_the_division_of_a_budget_is_that_of_brute_force() -> None:
    for seed in INSTANCES:
        check_division(seed)


def test_a_divided_batch_is_never_slower_than_the_whole() -> None:
    for seed in INSTANCES:
        batch = 1 + seed % 9
        kernels = random_kernels(seed, batch)
        whole = [kernel for kernel in kernels if kernel.examples == batch]
        for limit in (kernel.workspace for kernel in whole):
            undivided, best = (
                fastest_plan(some, batch, limit) for some in (whole, kernels)
            )
            assert undivided is not None
            assert best is not None
            assert best.seconds <= undivided.seconds


def test_a_workspace_that_is_added_up_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        BatchPlan,
        "workspace",
        property(lambda plan: sum(k.workspace for k in plan.kernels)),
    )
    with pytest.raises(AssertionError):
        for seed in INSTANCES:
            check_fastest(seed)


def test_a_limit_that_is_taken_as_exclusive_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = planning._fastest_kernels
    monkeypatch.setattr(
        planning, "_fastest_kernels", lambda kernels, limit: right(kernels, limit - 1)
    )
    with pytest.raises(AssertionError):
        for seed in INSTANCES:
            check_fastest(seed)


def test_a_budget_that_is_taken_for_each_alone_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def each_alone(
        choices: list[list[BatchPlan]], budget: int
    ) -> list[BatchPlan] | None:
        within = [[p for p in plans if p.workspace <= budget] for plans in choices]
        return [plans[0] for plans in within] if all(within) else None

    monkeypatch.setitem(globals(), "divided", each_alone)
    with pytest.raises(AssertionError):
        for seed in INSTANCES:
            check_division(seed)


def test_a_budget_that_one_byte_exceeds() -> None:
    # differences that the solver cannot see
    large, small = 1 << 40, 1
    dear = BatchPlan((TimedKernel("fft", 1, 1.0, large),))
    cheap = BatchPlan((TimedKernel("direct", 1, 2.0, small),))
    found = divided([[dear, cheap], [dear, cheap]], 2 * large - 1)
    assert found is not None
    assert sorted(plan.workspace for plan in found) == [small, large]


@pytest.mark.parametrize(
    ("policy", "batch", "sizes"),
    [
        ("undivided", 12, [12]),
        ("powers of two", 12, [1, 2, 4, 8, 12]),
        ("powers of two", 8, [1, 2, 4, 8]),
        ("powers of two", 1, [1]),
        ("any", 5, [1, 2, 3, 4, 5]),
    ],
)
def test_sizes_of_micro_batches(policy: str, batch: int, sizes: list[int]) -> None:
    assert micro_batches(policy, batch) == sizes


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(d5.Deep500Error, match="Did you mean 'powers of two'"):
        micro_batches("power of two", 4)


def test_plans_as_text() -> None:
    eight, four = TimedKernel("im2col", 8, 1.0, 5), TimedKernel("direct", 4, 1.0, 0)
    plan = BatchPlan((four, eight, eight))
    assert plan.text == "2 x 8 im2col + 4 direct"
    assert parts_of(plan.text) == [(8, "im2col"), (8, "im2col"), (4, "direct")]
    for text in ("", "im2col", "0 im2col", "4 im2col +", "2x8 im2col"):
        with pytest.raises(d5.Deep500Error, match="is no plan of micro-batches"):
            parts_of(text)
