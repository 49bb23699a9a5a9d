"""The base of the algorithms in C++: what they have in common before and after a call."""

from abc import abstractmethod

import numpy as np

from ..contracts.convolution import (
    DIRECTIONS,
    ConvolutionAlgorithm,
    ConvolutionProblem,
)
from ..errors import Deep500Error, unknown
from . import _native

UNIT = 2.0**-24  # the largest relative error of one rounding in float32


class Kernel(ConvolutionAlgorithm):
    """An algorithm in C++; a subclass names its kernel, and says what that cannot compute.

    kernel(problem, direction)         Its number in _native.py, and two sizes.
    own_refusal(problem, direction)    As `refusal`, for a sound problem in float32.
    """

    @abstractmethod
    def kernel(
        self, problem: ConvolutionProblem, direction: str
    ) -> tuple[int, int, int]: ...

    def own_refusal(self, problem: ConvolutionProblem, direction: str) -> str | None:
        return None

    def refusal(self, problem: ConvolutionProblem, direction: str) -> str | None:
        if direction not in DIRECTIONS:
            raise unknown("direction of a convolution", direction, DIRECTIONS)
        return unsound(problem) or self.own_refusal(problem, direction)

    def workspace(
        self, problem: ConvolutionProblem, direction: str, threads: int = 1
    ) -> int:
        self._check(problem, direction)
        if not problem.batch:
            return 0
        kernel = self.kernel(problem, direction)
        return _native.call(problem, direction, kernel, threads)

    def run(
        self,
        problem: ConvolutionProblem,
        direction: str,
        a: np.ndarray,
        b: np.ndarray,
        out: np.ndarray,
        workspace: np.ndarray | None = None,
        *,
        accumulate: bool = False,
        threads: int = 1,
    ) -> None:
        needed = self.workspace(problem, direction, threads)
        for array, shape in zip((a, b, out), problem.shapes(direction), strict=True):
            _check_array(array, shape)
        if not problem.batch:
            if direction == "filter" and not accumulate:
                out.fill(0)
            return
        if workspace is None:
            workspace = np.empty(needed, np.uint8)
        if workspace.nbytes < needed:
            raise Deep500Error(
                f"{type(self).__name__} needs a workspace of {needed} bytes for {direction}, and {workspace.nbytes} "
                "are given: give more, or another algorithm"
            )
        kernel = self.kernel(problem, direction)
        arrays = (a, b, out)
        _native.call(problem, direction, kernel, threads, arrays, workspace, accumulate)

    def _check(self, problem: ConvolutionProblem, direction: str) -> None:
        reason = self.refusal(problem, direction)
        if reason:
            raise Deep500Error(
                f"{type(self).__name__} cannot compute this convolution ({direction}): {reason}"
            )


def unsound(problem: ConvolutionProblem) -> str | None:
    """Why no kernel can compute a problem."""
    if problem.dtype != "float32":
        return f"it computes in float32, and the dtype is {problem.dtype}"
    sizes = (*problem.input_shape[1:], problem.filters, *problem.kernel)
    steps = (*problem.strides, *problem.dilations, problem.groups)
    if min(*sizes, *steps) < 1 or problem.batch < 0:
        return "sizes, strides, dilations and groups are whole numbers from 1 on"
    if min(problem.pads) < 0:
        return f"pads are {problem.pads}, and none may be negative"
    if problem.channels % problem.groups or problem.filters % problem.groups:
        return (
            f"{problem.channels} channels and {problem.filters} filters "
            f"are no {problem.groups} groups of equal size"
        )
    if 0 in problem.out_shape[2:]:
        return f"the kernel of {problem.kernel} is larger than the padded input"
    return None


def _check_array(array: np.ndarray, shape: tuple[int, ...]) -> None:
    is_right = array.shape == shape and array.dtype == np.float32
    if is_right and array.flags.c_contiguous:
        return
    raise Deep500Error(
        f"a contiguous array float32{list(shape)} is needed, and {array.dtype}{list(array.shape)} is given"
    )
