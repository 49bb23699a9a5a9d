"""Operators in Python: a class with forward and backward on NumPy arrays."""

import ast
import inspect
import textwrap
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..contracts.operator import Tensor
from ..errors import Deep500Error, one_line
from .description import Signature, TensorDesc
from .operators import Arrays, CustomOp

PLAIN = (bool, int, float, str, tuple)


class CustomPythonOp(CustomOp):
    """Derive from this: `forward` gets the inputs and returns the output (or a tuple of several).

    `num_inputs` and `num_outputs` say how many there are; descriptions given to `__init__` say more, and are checked.
    Shapes of outputs that are not described are found by one run on ones: override `infer` where that will not do.
    """

    num_inputs: int = 1
    num_outputs: int = 1

    def __init__(
        self,
        inputs: Sequence[TensorDesc] | None = None,
        outputs: Sequence[TensorDesc] | None = None,
    ):
        self._inputs, self._outputs = inputs, outputs
        self._trials: dict[tuple[Tensor, ...], tuple[Tensor, ...]] = {}
        self._tried: set[tuple[Tensor, ...]] = set()

    def forward(self, inputs: Arrays) -> Any:
        raise NotImplementedError

    def backward(self, grads: Arrays, fwd_inputs: Arrays, fwd_outputs: Arrays) -> Any:
        """One gradient per input, from those of the outputs."""
        raise NotImplementedError

    @cached_property
    def signature(self) -> Signature:  # type: ignore[override]
        try:
            inputs, outputs = self._inputs, self._outputs
        except AttributeError:
            raise Deep500Error(
                f"{type(self).__name__}.__init__ does not call super().__init__()"
            ) from None
        return Signature(
            type(self).__name__,
            tuple(inputs or [TensorDesc()] * self.num_inputs),
            tuple(outputs or [TensorDesc()] * self.num_outputs),
        )

    @property
    def described_by_caller(self) -> bool:
        """Whether it was handed descriptions from outside, which its class does not know."""
        own = type(self).__init__ is not CustomPythonOp.__init__
        return not own and (self._inputs is not None or self._outputs is not None)

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        return type(self).backward is not CustomPythonOp.backward

    @property
    def attributes(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in vars(self).items()
            if not name.startswith("_") and isinstance(value, PLAIN)
        }

    @property
    def labels(self) -> tuple[str, ...]:
        """The names in `x, bias = inputs`, where forward begins like that."""
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(self.forward)))
        except (OSError, TypeError, SyntaxError):
            return ()
        given = next(iter(inspect.signature(self.forward).parameters))
        for node in ast.walk(tree):
            match node:
                case ast.Assign([ast.Tuple(names)], ast.Name(source)) if (
                    source == given
                ):
                    return tuple(
                        name.id for name in names if isinstance(name, ast.Name)
                    )
        return ()

    def run(self, inputs: Arrays) -> tuple[np.ndarray, ...]:
        return self.outputs_of(self.forward(inputs), inputs)

    def gradients(
        self, grads: Arrays, inputs: Arrays, outputs: Arrays
    ) -> tuple[np.ndarray, ...]:
        return self.gradients_of(
            self.backward(grads, inputs, outputs), grads, inputs, outputs
        )

    def outputs_of(self, made: Any, inputs: Arrays) -> tuple[np.ndarray, ...]:
        """What forward returned, as outputs."""
        results = made if isinstance(made, tuple | list) else (made,)
        if len(results) != (wanted := len(self.signature.outputs)):
            raise Deep500Error(
                f"{type(self).__name__}.forward returned {len(results)} outputs, and num_outputs is "
                f"{wanted}"
            )
        return tuple(_own(y, inputs) for y in results)

    def gradients_of(
        self, made: Any, grads: Arrays, inputs: Arrays, outputs: Arrays
    ) -> tuple[np.ndarray, ...]:
        """What backward returned, as one gradient for every input."""
        results = made if isinstance(made, tuple | list) else (made,)
        if len(results) != len(inputs):
            raise Deep500Error(
                f"{type(self).__name__}.backward returned {len(results)} gradients, and there are "
                f"{len(inputs)} inputs"
            )
        return tuple(
            self._gradient(i, g, x, (*grads, *inputs, *outputs))
            for i, (g, x) in enumerate(zip(results, inputs, strict=True))
        )

    def infer(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        described = self.signature.made(inputs)
        found = tuple(t for t in described if t is not None)
        return found if len(found) == len(described) else self._trial(inputs)

    def try_gradients(
        self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
    ) -> None:
        kinds = (*inputs, *outputs)
        if kinds in self._tried or any(n is None for t in kinds for n in t.shape):
            return
        self._tried.add(kinds)
        ones = [np.ones(t.shape, t.dtype) for t in (*outputs, *kinds)]
        m, n = len(outputs), len(inputs)
        try:
            self.gradients(ones[:m], ones[m : m + n], ones[m + n :])
        except Deep500Error:
            raise
        except (
            Exception
        ):  # ones may not be what this operator is for; the real values will tell
            return

    def _trial(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if inputs not in self._trials:
            try:
                made = self.run([np.ones(t.shape, t.dtype) for t in inputs])
            except Deep500Error:
                raise
            except Exception as error:  # whatever the user's code says
                shown = ", ".join(str(TensorDesc(t.shape, t.dtype)) for t in inputs)
                raise Deep500Error(
                    f"{type(self).__name__}.forward fails on {shown}: {one_line(error, kind=True)}"
                ) from error
            self._trials[inputs] = tuple(Tensor(y.shape, y.dtype.name) for y in made)
        return self._trials[inputs]

    def _gradient(
        self, i: int, gradient: Any, x: np.ndarray, given: Arrays
    ) -> np.ndarray:
        if gradient is None:
            return np.zeros(x.shape, x.dtype)
        if np.shape(gradient) != x.shape:
            raise Deep500Error(
                f"{type(self).__name__}.backward gives a gradient of the shape "
                f"{np.shape(gradient)} for input {i}, whose shape is {x.shape}"
            )
        return _own(
            gradient
            if getattr(gradient, "dtype", None) == x.dtype
            else np.asarray(gradient, x.dtype),
            given,
        )


def _own(array: Any, given: Arrays) -> np.ndarray:
    """The array in memory of its own, as frameworks want it: C order, and no view of what was given."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if not array.flags.c_contiguous or any(
        array is x or (array.base is not None and np.may_share_memory(array, x))
        for x in given
    ):
        return np.array(array, order="C")
    return array
