"""Random kernels for planners, and every plan there is for them."""

import itertools
import random
from collections.abc import Iterator

from deep500.micro_batches.batch_plan import BatchPlan, TimedKernel

INSTANCES = range(200)


def random_kernels(seed: int, batch: int) -> list[TimedKernel]:
    """Some kernels of few sizes; the whole batch is always possible. Small numbers make ties."""
    draw = random.Random(seed)
    sizes = {batch, *draw.sample(range(1, batch + 1), k=min(batch, draw.randint(1, 4)))}
    kernels = []
    for size in sorted(sizes):
        for name in draw.sample(["direct", "im2col", "fft"], k=draw.randint(1, 3)):
            seconds = draw.choice([draw.randint(1, 9), draw.uniform(0.1, 9.0)])
            workspace = draw.choice([0, draw.randint(0, 6), draw.randint(0, 1 << 30)])
            kernels.append(TimedKernel(name, size, float(seconds), workspace))
    return kernels


def every_plan(kernels: list[TimedKernel], batch: int) -> Iterator[BatchPlan]:
    """Every multiset of kernels whose examples add up to the batch."""

    def fill(first: int, rest: int) -> Iterator[tuple[TimedKernel, ...]]:
        if rest == 0:
            yield ()
            return
        for i in range(first, len(kernels)):
            if kernels[i].examples <= rest:
                for more in fill(i, rest - kernels[i].examples):
                    yield (kernels[i], *more)

    return map(BatchPlan, fill(0, batch))


def front_of(plans: list[BatchPlan]) -> list[tuple[int, float]]:
    """Workspace and time of every plan that no other beats, by increasing time."""
    points = {(plan.workspace, round(plan.seconds, 9)) for plan in plans}
    kept = []
    for point in points:
        others = points - {point}
        if not any(w <= point[0] and t <= point[1] for w, t in others):
            kept.append(point)
    return sorted(kept, key=lambda point: point[1])


def best_division(choices: list[list[BatchPlan]], budget: int) -> float | None:
    """The least sum of times of all combinations within the budget; None if there is none."""
    sums = []
    for combination in itertools.product(*choices):
        if sum(plan.workspace for plan in combination) <= budget:
            sums.append(sum(plan.seconds for plan in combination))
    return min(sums, default=None)
