"""A convolution whose batch is computed in micro-batches, forward and backward, as an operator for every framework."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..contracts.convolution import DIRECTIONS, ConvolutionProblem
from ..contracts.operator import TensorSpec
from ..custom.description import TensorDesc
from ..custom.operators import Arrays, Differentiable
from ..custom.python import CustomPythonOp
from ..errors import Deep500Error
from ..frameworks import evaluate, gradient
from ..operators._convolving import problem_of
from ..operators.conv import Conv
from .batch_plan import parts_of
from .running import Parts, parts_workspace, run_parts

DTYPE = "float32"  # of all algorithms; the formula computes in others, such as float64 for a check


class Workspaces(threading.local):
    """Memory that only grows, of each thread: one piece for all operators, or one for each."""

    def __init__(self) -> None:
        self._shared = np.empty(0, np.uint8)

    def take(self, nbytes: int) -> np.ndarray:
        if self._shared.size < nbytes:
            self._shared = np.empty(nbytes, np.uint8)
        return self._shared


SHARED = Workspaces()


class MicroBatchedConv(CustomPythonOp):
    """`conv` by a plan for each direction, such as "2 x 32 winograd4"; with another batch, its parts are used in turn.

    Gradients by the filter add up over micro-batches. The gradient by x is not computed if PyTorch does not need it.
    With `own_workspaces`, every direction keeps its own; otherwise all operators of a thread share one.
    """

    def __init__(
        self,
        conv: Conv,
        plans: Sequence[str],
        threads: int = 1,
        bias: bool = False,
        own_workspaces: bool = False,
    ):
        super().__init__([TensorDesc()] * (3 if bias else 2))
        self._conv = conv
        self.plans = tuple(plans)
        self.threads = threads
        self.own_workspaces = own_workspaces
        self._parts = self.parsed(plans)
        self._workspaces = {direction: SHARED for direction in DIRECTIONS}
        if own_workspaces:
            self._workspaces = {direction: Workspaces() for direction in DIRECTIONS}

    @staticmethod
    def parsed(plans: Sequence[str]) -> dict[str, Parts]:
        """The parts of these plans, one for each direction."""
        return dict(zip(DIRECTIONS, map(parts_of, plans), strict=True))

    def use(self, parts: dict[str, Parts]) -> None:
        """Compute by other plans from now on."""
        self._parts = parts

    @property
    def attributes(self) -> dict[str, Any]:
        return {**self._conv.settings, **super().attributes}

    @property
    def operator_base(self) -> "type[MicroBatched]":
        return MicroBatched

    def infer(self, *inputs: TensorSpec) -> tuple[TensorSpec, ...]:
        return self._conv.infer(*inputs)

    def forward(self, inputs: Arrays) -> np.ndarray:
        if inputs[0].dtype != DTYPE:
            return evaluate(self._conv, inputs)[0]
        x, w, *bias = map(np.ascontiguousarray, inputs)
        problem = convolution_problem(self._conv, x, w)
        y = np.empty(problem.out_shape, x.dtype)
        self._run(problem, "forward", x, w, y)
        for b in bias:
            y += b.reshape(-1, 1, 1)
        return y

    def backward(self, grads: Arrays, fwd_inputs: Arrays, fwd_outputs: Arrays) -> Any:
        needed = [True] * len(fwd_inputs)
        return self.needed_gradients(needed, grads, fwd_inputs, fwd_outputs)

    def needed_gradients(
        self,
        needed: Sequence[bool],
        grads: Arrays,
        inputs: Arrays,
        outputs: Arrays,
    ) -> tuple[np.ndarray | None, ...]:
        if inputs[0].dtype != DTYPE:
            return tuple(gradient(self._conv, inputs, grads=grads))
        x, w, *bias = map(np.ascontiguousarray, inputs)
        dy = np.ascontiguousarray(grads[0])
        problem = convolution_problem(self._conv, x, w)
        dx = dw = None
        if needed[0]:
            dx = np.empty_like(x)
            self._run(problem, "data", dy, w, dx)
        if needed[1]:
            dw = np.empty_like(w)
            self._run(problem, "filter", x, dy, dw)
        if not bias:
            return dx, dw
        rows = dy.reshape(*dy.shape[:2], -1)
        return dx, dw, rows.sum(-1).sum(0)

    def workspace(self, direction: str, problem: ConvolutionProblem) -> int:
        """The bytes that a direction uses for this problem."""
        parts = self._parts[direction]
        return parts_workspace(parts, problem, direction, self.threads)

    def _run(
        self,
        problem: ConvolutionProblem,
        direction: str,
        a: np.ndarray,
        b: np.ndarray,
        out: np.ndarray,
    ) -> None:
        if problem.batch == 0:
            out.fill(0)
            return
        parts = self._parts[direction]
        nbytes = parts_workspace(parts, problem, direction, self.threads)
        memory = self._workspaces[direction].take(nbytes)
        run_parts(parts, problem, direction, a, b, out, memory, self.threads)


class MicroBatched(Differentiable):
    """The operator in a network, which costs what the convolution costs."""

    def flops(self, *xs: TensorSpec) -> int:
        return self._op._conv.flops(*xs)

    def backward_flops(self, *xs: TensorSpec) -> int:
        return self._op._conv.backward_flops(*xs)

    def workspace(self, framework: str, direction: str, *xs: TensorSpec) -> int:
        problem = convolution_problem(self._op._conv, *xs[:2])
        if direction == "forward":
            return self._op.workspace("forward", problem)
        both = [self._op.workspace(each, problem) for each in ("data", "filter")]
        return max(both)

    @property
    def _op(self) -> MicroBatchedConv:
        assert isinstance(self.op, MicroBatchedConv)  # it is made by one
        return self.op


def convolution_problem(conv: Conv, x: Any, w: Any) -> ConvolutionProblem:
    """The sizes of a convolution of two axes; x and w are arrays or their specs. Raises a Deep500Error for others."""
    if len(x.shape) != 4:
        raise Deep500Error(
            f"a convolution of {len(x.shape) - 2} axes cannot be divided: there are algorithms for two"
        )
    return problem_of(x, w, conv._windows(x, w), conv.group)
