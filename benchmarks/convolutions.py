"""Our algorithms of convolution against torch.nn.functional.conv2d in the faster of its two layouts.

    python benchmarks/convolutions.py [--threads 1 2] [--budget 1.5] [--only winograd4]

Every line is a shape, a direction and an algorithm: the paired ratio ours / PyTorch in mirrored order with its interval
at 95 %, GF/s of the direct count for both, and the workspace. PyTorch's gradients are aten.convolution_backward, each
alone; its arrays are in the layout already that it is fastest in. About 4 minutes.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from deep500 import measure, registry
from deep500.contracts.convolution import (
    DIRECTIONS,
    ConvolutionAlgorithm,
    ConvolutionProblem,
)

FEWEST_ROUNDS = 10
Run = Callable[[], Any]


def square(
    batch: int, channels: int, size: int, filters: int, kernel: int, stride: int = 1
) -> ConvolutionProblem:
    pad = kernel // 2
    return ConvolutionProblem(
        batch,
        channels,
        size,
        size,
        filters,
        (kernel, kernel),
        (stride, stride),
        (pad,) * 4,
    )


@dataclass(frozen=True)
class Goal:
    """The algorithms and directions that are measured on some shapes, and the ratio to be reached."""

    title: str
    algorithms: tuple[str, ...]
    directions: tuple[str, ...]
    shapes: tuple[ConvolutionProblem, ...]
    most: float
    enough: int  # of the shapes, in each direction
    threads: tuple[int, ...] = (1, 2)


RESNET = (
    square(8, 64, 56, 64, 3),
    square(8, 128, 28, 128, 3),
    square(8, 256, 14, 256, 3),
)
VGG = (
    square(2, 128, 112, 128, 3),
    square(2, 256, 56, 256, 3),
    square(2, 512, 28, 512, 3),
)
FIRST = square(8, 3, 224, 64, 7, 2)
SPEECH = ConvolutionProblem(4, 1, 161, 700, 32, (5, 20), (2, 2))
LARGE = (square(4, 32, 56, 32, 7), square(4, 32, 56, 32, 11))
POINTS = (
    square(8, 256, 56, 64, 1),
    square(8, 128, 28, 512, 1),
    square(8, 1024, 14, 256, 1),
)
GOALS = (
    Goal("winograd", ("winograd4", "winograd6"), DIRECTIONS, RESNET + VGG, 0.75, 4),
    Goal("fft", ("fft_tiled", "fft"), DIRECTIONS, LARGE, 0.8, 2),
    Goal("strided data gradient", ("direct",), ("data",), (FIRST, SPEECH), 0.5, 2),
    Goal("1 x 1", ("pointwise",), DIRECTIONS, POINTS, 0.7, 3, (1,)),
    Goal("direct", ("direct",), DIRECTIONS, (*RESNET, FIRST), 1.5, 4),
    Goal("im2col", ("im2col",), DIRECTIONS, RESNET, float("inf"), 3),
)


def torch_runs(
    problem: ConvolutionProblem, direction: str, a: np.ndarray, b: np.ndarray
) -> Iterator[tuple[str, Run]]:
    """PyTorch's call in both layouts."""
    layouts = {"NCHW": torch.contiguous_format, "channels last": torch.channels_last}
    top, left = problem.pads[:2]
    for name, layout in layouts.items():
        first, second = (
            torch.from_numpy(array).to(memory_format=layout) for array in (a, b)
        )
        fixed = (problem.strides, (top, left), problem.dilations)
        if direction == "forward":

            def run(x=first, w=second, fixed=fixed):
                return torch.nn.functional.conv2d(x, w, None, *fixed, problem.groups)

        else:
            x, dy, w = first, second, torch.empty(problem.filter_shape)
            if direction == "data":
                dy, w, x = first, second, torch.empty(problem.input_shape)
            x, w = (array.to(memory_format=layout) for array in (x, w))
            mask = [direction == "data", direction == "filter", False]

            def run(dy=dy, x=x, w=w, fixed=fixed, mask=mask):
                return torch.ops.aten.convolution_backward(
                    dy, x, w, None, *fixed, False, [0, 0], problem.groups, mask
                )

        yield name, run


def seconds(run: Run) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def fastest(runs: Iterator[tuple[str, Run]]) -> tuple[str, Run]:
    """The run with the least of a few times, each after one untimed call."""
    times = {}
    for name, run in runs:
        run()
        times[min(seconds(run) for _ in range(5))] = (name, run)
    return times[min(times)]


def paired(theirs: Run, ours: Run, budget_s: float) -> tuple[Any, float, float]:
    """The ratio ours / theirs, and the median times of both."""
    theirs(), ours()
    rounds: list[tuple[float, float]] = []
    began = time.perf_counter()
    while len(rounds) < FEWEST_ROUNDS or time.perf_counter() - began < budget_s:
        first, own = seconds(theirs), seconds(ours)
        rounds.append((own + seconds(ours), first + seconds(theirs)))
    table = np.array(rounds)
    ratio = measure.interval([*(table[:, 0] / table[:, 1])])
    own_s, their_s = np.median(table, axis=0) / 2
    return ratio, float(own_s), float(their_s)


def measured(
    name: str,
    problem: ConvolutionProblem,
    direction: str,
    threads: int,
    budget_s: float,
) -> float:
    """The ratio of one line, which is printed."""
    random = np.random.default_rng(0)
    shapes = problem.shapes(direction)
    a, b = (random.standard_normal(shape, np.float32) for shape in shapes[:2])
    out = np.empty(shapes[2], np.float32)
    algorithm: ConvolutionAlgorithm = registry.named("convolutions", name)()
    workspace = np.empty(algorithm.workspace(problem, direction, threads), np.uint8)

    def ours() -> None:
        algorithm.run(problem, direction, a, b, out, workspace, threads=threads)

    layout, theirs = fastest(torch_runs(problem, direction, a, b))
    ratio, own_s, their_s = paired(theirs, ours, budget_s)
    giga = problem.direct_operations / 1e9
    kernel = "x".join(map(str, problem.kernel))
    sizes = "x".join(map(str, problem.input_shape))
    print(
        f"{sizes:>15} -> {problem.filters:<4} {kernel:>5}/{problem.strides[0]} {direction:<8} {name:<10} "
        f"{ratio.estimate:6.3f} [{ratio.low:.3f}, {ratio.high:.3f}]  {giga / own_s:6.0f} GF/s, PyTorch "
        f"{giga / their_s:5.0f} ({layout})  {workspace.nbytes / 2**20:7.1f} MiB",
        flush=True,
    )
    return float(ratio.estimate)


def reached(goal: Goal, threads: int, budget_s: float) -> bool:
    """Whether the best of the goal's algorithms reaches its ratio on enough shapes, in every direction."""
    print(
        f"\n{goal.title}, threads {threads}: at most {goal.most} of PyTorch on {goal.enough} shapes"
    )
    is_reached = True
    for direction in goal.directions:
        best = []
        for problem in goal.shapes:
            ratios = []
            for name in goal.algorithms:
                ratios.append(measured(name, problem, direction, threads, budget_s))
            best.append(min(ratios))
        count = sum(ratio <= goal.most for ratio in best)
        is_reached = is_reached and count >= goal.enough
        print(f"  {direction}: {count} of {len(best)}")
    return is_reached


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument(
        "--budget", type=float, default=1.5, help="seconds for each line (1.5)"
    )
    parser.add_argument("--only", default="", help="goals whose title has this text")
    args = parser.parse_args()
    results = {}
    for threads in args.threads:
        torch.set_num_threads(threads)
        for goal in GOALS:
            if args.only in goal.title and threads in goal.threads:
                results[goal.title, threads] = reached(goal, threads, args.budget)
    print(f"\nload {os.getloadavg()[0]:.1f}")
    for (title, threads), is_reached in results.items():
        print(f"{title}, threads {threads}: {'reached' if is_reached else 'missed'}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
