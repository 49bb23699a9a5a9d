"""What computes a convolution in the benchmark: our algorithms, and PyTorch's convolution in two layouts."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...contracts.convolution import ConvolutionProblem
from ...errors import Unsupported
from ...frameworks import framework
from ...micro_batches.micro_batched_conv import SHARED
from ...micro_batches.running import algorithm, refusal

TORCH = "torch"
CHANNELS_LAST = "torch channels_last"
REORDER = "torch reordering"
NATIVE = {TORCH, CHANNELS_LAST}
MASKS = {"data": [True, False, False], "filter": [False, True, False]}
Prepared = tuple[Callable[[], Any], Callable[[], np.ndarray]]


def prepared(
    name: str,
    problem: ConvolutionProblem,
    direction: str,
    a: np.ndarray,
    b: np.ndarray,
    threads: int,
) -> Prepared:
    """What is timed, and a function that returns the last result as an array."""
    if name == REORDER:
        return _reorder(problem, direction, a)
    if name in NATIVE:
        return _torch(name == CHANNELS_LAST, problem, direction, a, b)
    return _own(name, problem, direction, a, b, threads)


def workspace(
    name: str, problem: ConvolutionProblem, direction: str, threads: int
) -> int | None:
    """The bytes that an algorithm of ours declares; PyTorch does not tell."""
    if name in NATIVE or name == REORDER:
        return None
    return algorithm(name, problem.batch).workspace(problem, direction, threads)


def operations(name: str, problem: ConvolutionProblem, direction: str) -> int:
    """The additions and multiplications that are done; PyTorch's on x86 are those of the direct algorithm."""
    if name == REORDER:
        return 0
    if name in NATIVE:
        return problem.direct_operations
    return algorithm(name, problem.batch).operations(problem, direction)


def _own(
    name: str,
    problem: ConvolutionProblem,
    direction: str,
    a: np.ndarray,
    b: np.ndarray,
    threads: int,
) -> Prepared:
    reason = refusal(name, problem, direction)
    if reason is not None:
        raise Unsupported(f"{name}: {reason}")
    own = algorithm(name, problem.batch)
    out = np.empty(problem.shapes(direction)[2], problem.dtype)
    nbytes = own.workspace(problem, direction, threads)

    def run() -> None:
        memory = SHARED.take(nbytes)
        own.run(problem, direction, a, b, out, memory, threads=threads)

    return run, lambda: out


def _torch(
    channels_last: bool,
    problem: ConvolutionProblem,
    direction: str,
    a: np.ndarray,
    b: np.ndarray,
) -> Prepared:
    engine = framework("pytorch")
    torch: Any = engine.module
    top, left, bottom, right = problem.pads
    if (top, left) != (bottom, right):
        raise Unsupported(f"{TORCH}: its convolution pads both ends of an axis alike")
    layout = torch.channels_last if channels_last else torch.contiguous_format
    first, second = (engine.tensor(v).contiguous(memory_format=layout) for v in (a, b))
    window = problem.strides, (top, left), problem.dilations
    if direction == "forward":

        def run() -> Any:
            return torch.nn.functional.conv2d(
                first, second, None, *window, problem.groups
            )

    else:
        shape = problem.input_shape if direction == "data" else problem.filter_shape
        like = torch.empty(shape, dtype=first.dtype).contiguous(memory_format=layout)
        x, w, dy = (
            (like, second, first) if direction == "data" else (first, like, second)
        )
        others = (None, *window, False, [0, 0], problem.groups, MASKS[direction])
        place = 0 if direction == "data" else 1

        def run() -> Any:
            return torch.ops.aten.convolution_backward(dy, x, w, *others)[place]

    return run, lambda: engine.array(run().contiguous())


def _reorder(problem: ConvolutionProblem, direction: str, a: np.ndarray) -> Prepared:
    """The images to channels last, and results of the other images' size back."""
    engine = framework("pytorch")
    torch: Any = engine.module
    there = engine.tensor(a)
    shape = problem.input_shape if direction == "data" else problem.out_shape
    last = torch.channels_last
    result = torch.zeros(shape, dtype=there.dtype).contiguous(memory_format=last)

    def run() -> Any:
        there.contiguous(memory_format=last)
        return result.contiguous()

    return run, lambda: engine.array(run())
