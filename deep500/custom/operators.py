"""The base of all custom operators: they run on NumPy arrays, and are wrapped as Operators for everything else."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..contracts.dtypes import name_of
from ..contracts.operator import (
    Adapted,
    Operator,
    TensorSpec,
    case,
)
from ..errors import Deep500Error
from ..namespace import Namespace, kind
from .description import OperatorSignature, TensorDesc

Arrays = Sequence[np.ndarray]


class CustomOp(Adapted):
    """An operator that a user wrote. `run` and `gradients` work on NumPy arrays, and neither copies nor keeps them."""

    signature: OperatorSignature
    differentiable: bool = True

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def attributes(self) -> dict[str, Any]:
        """The settings, for reports."""
        return {}

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its inputs in its own code, as far as they are known."""
        return ()

    @abstractmethod
    def run(self, inputs: Arrays, threads: int = 0) -> tuple[np.ndarray, ...]:
        """The outputs, each in memory of its own; by so many threads, if it has threads (0: as many as it likes)."""

    @abstractmethod
    def gradients(
        self,
        grads: Arrays,
        inputs: Arrays,
        outputs: Arrays,
        threads: int = 0,
    ) -> tuple[np.ndarray, ...]:
        """One gradient per input, of its shape and dtype."""

    @abstractmethod
    def infer(self, *inputs: TensorSpec) -> tuple[TensorSpec, ...]:
        """Shapes and dtypes of the outputs; raises `Deep500Error` for inputs that do not match."""

    def try_gradients(
        self, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
    ) -> None:
        """Raise an error for gradients of a wrong shape now: in a framework's callback its message would be lost."""

    def taken(self, inputs: Sequence[Any]) -> Sequence[TensorSpec]:
        """What is known of the outputs before it runs; raises `Deep500Error` for inputs that do not match."""
        return self.kinds(inputs)

    def in_dtype(self, dtype: str) -> "CustomOp":
        """The same operator computing in this float dtype, where it is bound to one."""
        return self

    @cached_property
    def operator(self) -> "Custom":
        """This as an Operator: for networks, checks and benchmarks."""
        case_inputs = [_case_input(desc) for desc in self.signature.inputs]
        members = {
            "__doc__": type(self).__doc__,
            "cases": (case(self.attributes, xs=case_inputs),),
            "arity": len(case_inputs),
            "labels": self.labels,
        }
        cls = type(self.name, (self.operator_base,), members)
        return cls(self)

    @property
    def operator_base(self) -> "type[Custom]":
        """The class that the operator is derived from."""
        return Differentiable if self.differentiable else Custom

    def kinds(self, inputs: Sequence[Any]) -> tuple[TensorSpec, ...]:
        """The result of `infer` for values of any framework; sizes that are not known yet are None."""
        specs = specs_of(inputs)
        if all(map(has_known_shape, specs)):
            return self.infer(*specs)
        twos = [_filled(spec, 2) for spec in specs]
        with_twos = self.infer(*twos)
        threes = [_filled(spec, 3) for spec in specs]
        with_threes = self.infer(*threes)
        outputs = []
        for first, second in zip(with_twos, with_threes, strict=True):
            shape: list[Any] = []
            for size, other in zip(first.shape, second.shape, strict=True):
                shape.append(size if size == other else None)
            outputs.append(TensorSpec(tuple(shape), first.dtype))
        return tuple(outputs)


class Custom(Operator):
    """A custom operator as an Operator; its formula calls the user's code."""

    domain: ClassVar[str] = "deep500.custom"
    outputs: ClassVar[tuple[str, ...]] = ("*ys",)
    op: CustomOp

    def forward(self, xp, *xs):  # an annotation would make them static
        op = self._in_dtype_of(xs)

        def run(*arrays):
            return op.run(arrays, xp.threads)

        run.__qualname__ = f"{op.name}.forward"  # for error messages
        kinds = op.kinds(xs) if xp.calls_back else op.taken(xs)
        results = xp.host(run, kinds, *xs)
        return tuple(results)

    def infer(self, *xs: TensorSpec) -> tuple[TensorSpec, ...]:
        return self.op.infer(*xs)

    @property
    def settings(self) -> dict[str, Any]:
        return self.op.attributes

    @property
    def adapted(self) -> CustomOp:
        return self.op

    @property
    def on_host(self) -> bool:
        return True

    def _in_dtype_of(self, xs: Sequence[Any]) -> CustomOp:
        """The operator in the dtype of its first float input, such as float64, in which checks compute references."""
        for x in xs:
            dtype = name_of(x.dtype)
            if "float" in dtype:
                return self.op.in_dtype(dtype)
        return self.op


class Differentiable(Custom):
    """A custom operator that has a backward."""

    def backward(self, xp: Any, xs: tuple, ys: tuple, dys: tuple) -> tuple:
        op = self._in_dtype_of(xs)
        first_input = len(ys)
        first_output = first_input + len(xs)

        def gradients(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
            grads = arrays[:first_input]
            inputs = arrays[first_input:first_output]
            outputs = arrays[first_output:]
            return op.gradients(grads, inputs, outputs, xp.threads)

        gradients.__qualname__ = f"{op.name}.backward"
        input_specs = specs_of(xs)
        output_specs = specs_of(ys)
        if xp.calls_back:
            op.try_gradients(input_specs, output_specs)
        results = xp.host(gradients, input_specs, *dys, *xs, *ys)
        return tuple(results)

    def gradients(
        self, xp: Any, grads: Sequence, inputs: Sequence, results: Sequence
    ) -> list:
        """One gradient per float input; each has its input's shape already, so that nothing is summed."""
        gradients = self.backward(xp, tuple(inputs), tuple(results), tuple(grads))
        float_gradients = []
        for gradient, x in zip(gradients, inputs, strict=True):
            if kind(x) != "float":
                gradient = None
            float_gradients.append(gradient)
        return float_gradients


def specs_of(values: Sequence[Any]) -> tuple[TensorSpec, ...]:
    """Shapes and dtypes of values of any framework."""
    specs = []
    for value in values:
        shape = tuple(value.shape)
        specs.append(TensorSpec(shape, name_of(value.dtype)))
    return tuple(specs)


def has_known_shape(spec: TensorSpec) -> bool:
    return all(size is not None for size in spec.shape)


def _filled(spec: TensorSpec, size: int) -> TensorSpec:
    """The tensor with this size in the place of sizes that are not known."""
    shape = list(spec.shape)
    for axis, known_size in enumerate(spec.shape):
        if known_size is None:
            shape[axis] = size
    return TensorSpec(tuple(shape), spec.dtype)


def _case_input(desc: TensorDesc) -> Any:
    """An input of a test case that matches a description: a shape, or a tensor if it is no float."""
    shape: tuple[int, ...] = (4, 6)
    if desc.shape is not None:
        sizes = [3 if isinstance(size, str) else size for size in desc.shape]
        shape = tuple(sizes)
    if not desc.dtype or "float" in desc.dtype:
        return shape
    return TensorSpec(shape, desc.dtype)


def as_operator(value: Any) -> Operator:
    """An Operator as it is, or a custom operator as one; raises `Deep500Error` for anything else."""
    if isinstance(value, CustomOp):
        return value.operator
    if isinstance(value, Operator):
        return value
    raise Deep500Error(
        f"{value!r} is no operator: give an Operator, a CustomPythonOp or what compile_custom_cppop "
        "returned"
    )


def one_or_all(results: Sequence[Any]) -> Any:
    """The only result by itself, several as a tuple."""
    if len(results) == 1:
        return results[0]
    return tuple(results)


class HostFunction:
    """A custom operator as a function of NumPy arrays, with its derivative beside it."""

    def __init__(self, op: CustomOp, xp: Namespace):
        self.op = op
        self.xp = xp

    def __call__(self, *inputs: Any) -> Any:
        arrays = [np.asarray(x) for x in inputs]
        self.op.kinds(arrays)
        return one_or_all(self.op.run(arrays, self.xp.threads))

    def backward(
        self, grads: Sequence[Any], inputs: Sequence[Any]
    ) -> tuple[np.ndarray, ...]:
        """One gradient per input, from one per output."""
        if not self.op.differentiable:
            raise Deep500Error(f"{self.op.name} has no backward")
        arrays = [np.asarray(x) for x in inputs]
        self.op.kinds(arrays)
        grad_arrays = [np.asarray(gradient) for gradient in grads]
        threads = self.xp.threads
        outputs = self.op.run(arrays, threads)
        return self.op.gradients(grad_arrays, arrays, outputs, threads)
