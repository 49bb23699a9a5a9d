"""Problems and arrays for tests of convolutions, and what PyTorch gives for them in float64."""

import numpy as np
import torch

from deep500 import registry
from deep500.contracts.convolution import (
    DIRECTIONS,
    ConvolutionAlgorithm,
    ConvolutionProblem,
)

NAMES = sorted(registry.known("convolutions"))


def algorithms() -> list[ConvolutionAlgorithm]:
    return [registry.find("convolutions", name)() for name in NAMES]


def random_problem(seed: int) -> ConvolutionProblem:
    """Sizes at random: half of the kernels are 3 x 3, a third of the problems have strides, dilations or groups."""
    random = np.random.default_rng(seed)

    def pair(*choices: int) -> tuple[int, int]:
        first, second = random.choice(choices, 2)
        return int(first), int(second)

    kernel = (3, 3)
    if seed % 2:
        kernel = pair(1, 1, 2, 4, 5, 7)
    if seed % 8 == 1:
        kernel = (1, 1)
    groups, strides, dilations = 1, (1, 1), (1, 1)
    if seed % 3 == 0:
        groups = int(random.choice([1, 2, 3]))
        strides, dilations = pair(1, 1, 2, 3), pair(1, 1, 1, 2)
    most = 1 if kernel == (1, 1) else 3
    (top, left), (bottom, right) = pair(0, 0, 1, most), pair(0, 0, 1, most)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    channels, filters = (int(n) for n in random.choice([1, 2, 3, 5, 17, 33, 70], 2))
    return ConvolutionProblem(
        int(random.integers(1, 4)),
        channels * groups,
        int(extents[0] + random.integers(0, 20)),
        int(extents[1] + random.integers(0, 20)),
        filters * groups,
        kernel,
        strides,
        (top, left, bottom, right),
        dilations,
        groups,
    )


def arguments(
    problem: ConvolutionProblem, direction: str, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """a and b: numbers around 0, or in turn positive ones."""
    random = np.random.default_rng([seed, DIRECTIONS.index(direction)])
    arrays = []
    for shape in problem.shapes(direction)[:2]:
        array = random.standard_normal(shape, np.float32)
        arrays.append(np.abs(array) if seed % 4 == 3 else array)
    return arrays[0], arrays[1]


def by_torch(
    problem: ConvolutionProblem, direction: str, a: np.ndarray, b: np.ndarray
) -> np.ndarray:
    """The result in float64, by PyTorch's convolution and its derivatives."""
    first, second = (torch.from_numpy(array).double() for array in (a, b))
    top, left, bottom, right = problem.pads

    def forward(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        padded = torch.nn.functional.pad(x, (left, right, top, bottom))
        return torch.nn.functional.conv2d(
            padded, w, None, problem.strides, 0, problem.dilations, problem.groups
        )

    if direction == "forward":
        return forward(first, second).numpy()
    x = torch.zeros(problem.input_shape, dtype=torch.float64)
    w = torch.zeros(problem.filter_shape, dtype=torch.float64)
    if direction == "data":
        _, dx = torch.autograd.functional.vjp(lambda x: forward(x, second), x, first)
        return dx.numpy()
    _, dw = torch.autograd.functional.vjp(lambda w: forward(first, w), w, second)
    return dw.numpy()


def computed(
    algorithm: ConvolutionAlgorithm,
    problem: ConvolutionProblem,
    direction: str,
    a: np.ndarray,
    b: np.ndarray,
    threads: int = 1,
) -> np.ndarray:
    """The result in an array that held NaN before."""
    out = np.full(problem.shapes(direction)[2], np.nan, np.float32)
    algorithm.run(problem, direction, a, b, out, threads=threads)
    return out
