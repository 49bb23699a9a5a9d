"""Operators in Python: a class with forward and backward on NumPy arrays."""

import ast
import inspect
import textwrap
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..canonical import shown
from ..contracts.operator import TensorSpec
from ..errors import Deep500Error, one_line
from .description import OperatorSignature, TensorDesc, describe
from .operators import Arrays, CustomOp, has_known_shape, specs_of

NO_NUMBERS = "OSUMm"  # kinds of NumPy's dtypes
PLAIN = (bool, int, float, str, tuple)


class CustomPythonOp(CustomOp):
    """Derive from this: `forward` gets the inputs and returns the output (or a tuple of several).

    `num_inputs` and `num_outputs` say how many there are (of inputs, `x, bias = inputs` in `forward` says it, too);
    descriptions passed to `__init__` are checked as well.
    Shapes of outputs that are not described are found by one run on ones: override `infer` if that does not work.
    """

    num_inputs: int = 1
    num_outputs: int = 1

    def __init__(
        self,
        inputs: Sequence[TensorDesc] | None = None,
        outputs: Sequence[TensorDesc] | None = None,
    ):
        self._inputs = inputs
        self._outputs = outputs
        self._trials: dict[tuple[TensorSpec, ...], tuple[TensorSpec, ...]] = {}
        self._tried_gradients: set[tuple[TensorSpec, ...]] = set()

    def forward(self, inputs: Arrays) -> Any:
        raise NotImplementedError

    def backward(self, grads: Arrays, fwd_inputs: Arrays, fwd_outputs: Arrays) -> Any:
        """One gradient per input, from the gradients of the outputs."""
        raise NotImplementedError

    @cached_property
    def signature(self) -> OperatorSignature:  # type: ignore[override]
        try:
            inputs = self._inputs
            outputs = self._outputs
        except AttributeError:
            raise Deep500Error(
                f"{type(self).__name__}.__init__ does not call super().__init__()"
            ) from None
        if not inputs:
            # `x, bias = inputs` in forward takes two, whether or not `num_inputs` says so
            count = max(self.num_inputs, len(self.labels))
            inputs = [TensorDesc()] * count
        if not outputs:
            outputs = [TensorDesc()] * self.num_outputs
        return OperatorSignature(type(self).__name__, tuple(inputs), tuple(outputs))

    @property
    def described_by_caller(self) -> bool:
        """Whether the caller passed descriptions that its class does not know."""
        if type(self).__init__ is not CustomPythonOp.__init__:
            return False
        return self._inputs is not None or self._outputs is not None

    @property
    def differentiable(self) -> bool:  # type: ignore[override]
        return type(self).backward is not CustomPythonOp.backward

    @property
    def attributes(self) -> dict[str, Any]:
        attributes = {}
        for name, value in vars(self).items():
            if not name.startswith("_") and isinstance(value, PLAIN):
                attributes[name] = value
        return attributes

    @property
    def labels(self) -> tuple[str, ...]:
        """The names in `x, bias = inputs`, if forward has such a statement."""
        try:
            source = inspect.getsource(self.forward)
            tree = ast.parse(textwrap.dedent(source))
        except (OSError, TypeError, SyntaxError):
            return ()
        parameters = inspect.signature(self.forward).parameters
        inputs = next(iter(parameters))
        for node in ast.walk(tree):
            match node:
                case ast.Assign([ast.Tuple(targets)], ast.Name(value)):
                    if value != inputs:
                        continue
                    names = [
                        target for target in targets if isinstance(target, ast.Name)
                    ]
                    return tuple(name.id for name in names)
        return ()

    def run(self, inputs: Arrays, threads: int = 0) -> tuple[np.ndarray, ...]:
        result = self.forward(inputs)
        return self.outputs_of(result, inputs)

    def gradients(
        self,
        grads: Arrays,
        inputs: Arrays,
        outputs: Arrays,
        threads: int = 0,
    ) -> tuple[np.ndarray, ...]:
        result = self.backward(grads, inputs, outputs)
        return self.gradients_of(result, grads, inputs, outputs)

    def needed_gradients(
        self, needed: Sequence[bool], grads: Arrays, inputs: Arrays, outputs: Arrays
    ) -> Sequence[np.ndarray | None]:
        """One gradient per input; an operator may leave out those that are not needed."""
        return self.gradients(grads, inputs, outputs)

    def outputs_of(self, result: Any, inputs: Arrays) -> tuple[np.ndarray, ...]:
        """The outputs from what forward returned; raises `Deep500Error` if their number is wrong."""
        results = _as_sequence(result)
        expected = len(self.signature.outputs)
        if len(results) != expected:
            raise Deep500Error(
                f"{type(self).__name__}.forward returned {len(results)} outputs, and num_outputs is "
                f"{expected}"
            )
        outputs = tuple([_detached(output, inputs) for output in results])
        for output, value in zip(outputs, results, strict=True):
            if output.dtype.kind in NO_NUMBERS:
                raise Deep500Error(
                    f"{type(self).__name__}.forward returned {shown(value)}: return an array of numbers for each output"
                )
        return outputs

    def gradients_of(
        self, result: Any, grads: Arrays, inputs: Arrays, outputs: Arrays
    ) -> tuple[np.ndarray, ...]:
        """One gradient per input from what backward returned; raises `Deep500Error` if their number is wrong."""
        results = _as_sequence(result)
        if len(results) != len(inputs):
            raise Deep500Error(
                f"{type(self).__name__}.backward returned {len(results)} gradients, and there are "
                f"{len(inputs)} inputs"
            )
        arguments = (*grads, *inputs, *outputs)
        gradients = []
        for i, (gradient, x) in enumerate(zip(results, inputs, strict=True)):
            gradients.append(self._gradient(i, gradient, x, arguments))
        return tuple(gradients)

    def taken(self, inputs: Sequence[Any]) -> Sequence[TensorSpec]:
        """Without a run on ones: code that keeps its results would remember it."""
        if type(self).infer is not CustomPythonOp.infer:
            return self.kinds(inputs)
        described = self.signature.described_outputs(specs_of(inputs))
        return [tensor for tensor in described if tensor is not None]

    def infer(self, *inputs: TensorSpec) -> tuple[TensorSpec, ...]:
        described = self.signature.described_outputs(inputs)
        outputs = tuple(tensor for tensor in described if tensor is not None)
        if len(outputs) < len(described):
            return self._trial(inputs)
        return outputs

    def try_gradients(
        self, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
    ) -> None:
        specs = (*inputs, *outputs)
        if specs in self._tried_gradients:
            return
        if not all(map(has_known_shape, specs)):
            return
        self._tried_gradients.add(specs)
        output_grads = [*map(_ones, outputs)]
        input_ones = [*map(_ones, inputs)]
        output_ones = [*map(_ones, outputs)]
        try:
            self.gradients(output_grads, input_ones, output_ones)
        except Deep500Error:
            raise
        except Exception:
            # The operator may not be meant for ones; an error with the real values will be reported.
            return

    def _trial(self, inputs: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
        """The outputs that a run on ones gives; each combination of inputs is tried once."""
        if inputs not in self._trials:
            try:
                outputs = self.run([*map(_ones, inputs)])
            except Deep500Error:
                raise
            except Exception as error:  # anything that the user's code raises
                reason = one_line(error, kind=True)
                raise Deep500Error(
                    f"{type(self).__name__}.forward fails on {describe(inputs)}: {reason}"
                ) from error
            specs = [TensorSpec(y.shape, y.dtype.name) for y in outputs]
            self._trials[inputs] = tuple(specs)
        return self._trials[inputs]

    def _gradient(
        self, i: int, gradient: Any, x: np.ndarray, arguments: Arrays
    ) -> np.ndarray:
        """The gradient of input `i`, of its shape and dtype."""
        if gradient is None:
            return np.zeros(x.shape, x.dtype)
        if np.shape(gradient) != x.shape:
            raise Deep500Error(
                f"{type(self).__name__}.backward gives a gradient of the shape "
                f"{np.shape(gradient)} for input {i}, whose shape is {x.shape}"
            )
        if getattr(gradient, "dtype", None) != x.dtype:
            gradient = np.asarray(gradient, x.dtype)
        return _detached(gradient, arguments)


def _as_sequence(result: Any) -> Sequence[Any]:
    if isinstance(result, tuple | list):
        return result
    return (result,)


def _ones(spec: TensorSpec) -> np.ndarray:
    return np.ones(spec.shape, spec.dtype)


def _detached(array: Any, arguments: Arrays) -> np.ndarray:
    """The array as frameworks need it: in C order, copied if it is one of the arguments or a view of one."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if not array.flags.c_contiguous:
        return np.array(array, order="C")
    has_base = array.base is not None
    for argument in arguments:
        is_view = has_base and np.may_share_memory(array, argument)
        if array is argument or is_view:
            return np.array(array, order="C")
    return array
