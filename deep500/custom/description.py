"""Describes the tensors of an operator: sizes are numbers, or names of sizes that are equal wherever they appear."""

import contextlib
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..contracts.dtypes import ALL, listed, name_of
from ..contracts.operator import TensorSpec
from ..errors import Deep500Error

BATCH = "batch"


@dataclass(frozen=True)
class TensorDesc:
    """A tensor; None stands for any shape, any dtype."""

    shape: tuple[int | str, ...] | None = None
    dtype: str | None = None

    def __str__(self) -> str:
        sizes = "…"
        if self.shape is not None:
            sizes = ", ".join(map(str, self.shape))
        dtype = self.dtype or "any"
        return f"{dtype}[{sizes}]"


def tensordesc(
    shape: Sequence[int | str | None] | None = None, dtype: Any = None
) -> TensorDesc:
    """Describe a tensor: `tensordesc([4, 6], np.float32)`; a size may be a name, and 0 or None is the batch."""
    name = None
    if dtype is not None:
        name = _dtype(dtype)
    if shape is None:
        return TensorDesc(None, name)
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise Deep500Error(
            f"a shape is a list of sizes, not {shape!r}: write tensordesc([4, 6], np.float32)"
        )
    return TensorDesc(tuple(map(_size, shape)), name)


@dataclass(frozen=True)
class OperatorSignature:
    """The tensors of one operator."""

    name: str
    inputs: tuple[TensorDesc, ...]
    outputs: tuple[TensorDesc, ...]

    def bind(self, tensors: Sequence[TensorSpec]) -> dict[str, int]:
        """The sizes that have names, from inputs; raises `Deep500Error` if these do not match the descriptions."""
        sizes: dict[str, int] = {}
        matches = len(tensors) == len(self.inputs)
        if matches:
            pairs = zip(self.inputs, tensors, strict=True)
            matches = all(_fits(desc, tensor, sizes) for desc, tensor in pairs)
        if not matches:
            described = ", ".join(map(str, self.inputs))
            actual = describe(tensors) or "nothing"
            advice = ""
            if len(tensors) != len(self.inputs):
                advice = f" (num_inputs of a class in Python is {len(self.inputs)})"
            raise Deep500Error(
                f"{self.name} takes {described}{advice}, and {actual} came"
            )
        return sizes

    def described_outputs(
        self, inputs: Sequence[TensorSpec]
    ) -> tuple[TensorSpec | None, ...]:
        """The outputs for these inputs; None for one whose shape is not described."""
        sizes = self.bind(inputs)
        outputs: list[TensorSpec | None] = []
        for desc in self.outputs:
            if desc.shape is None:
                outputs.append(None)
                continue
            shape = tuple(self._value(size, sizes) for size in desc.shape)
            dtype = desc.dtype or inputs[0].dtype
            outputs.append(TensorSpec(shape, dtype))
        return tuple(outputs)

    def in_dtype(self, dtype: str) -> "OperatorSignature":
        """The same with its floats in this dtype."""

        def cast(desc: TensorDesc) -> TensorDesc:
            if desc.dtype and "float" in desc.dtype:
                return replace(desc, dtype=dtype)
            return desc

        inputs = tuple(map(cast, self.inputs))
        outputs = tuple(map(cast, self.outputs))
        return replace(self, inputs=inputs, outputs=outputs)

    def _value(self, size: int | str, sizes: dict[str, int]) -> int:
        if isinstance(size, int):
            return size
        if size not in sizes:
            raise Deep500Error(
                f"{self.name} makes an output of the size {size!r}, which no input has"
            )
        return sizes[size]


def describe(tensors: Sequence[TensorSpec]) -> str:
    """Tensors as they are shown in messages."""
    descriptions = [TensorDesc(tensor.shape, tensor.dtype) for tensor in tensors]
    return ", ".join(map(str, descriptions))


def _fits(desc: TensorDesc, tensor: TensorSpec, sizes: dict[str, int]) -> bool:
    """Whether a tensor matches its description; adds named sizes to `sizes`."""
    if desc.dtype not in (None, tensor.dtype):
        return False
    if desc.shape is None:
        return True
    if len(desc.shape) != len(tensor.shape):
        return False
    for described, size in zip(desc.shape, tensor.shape, strict=True):
        expected = described
        if isinstance(described, str):
            expected = sizes.setdefault(described, size)
        if size != expected:
            return False
    return True


def _size(size: Any) -> int | str:
    if size in (0, None):
        return BATCH
    if isinstance(size, str) and size:
        return size
    number = 0
    with contextlib.suppress(TypeError):
        number = operator.index(size)
    if number <= 0:
        raise Deep500Error(
            f"a size is a number, a name, or 0 for the batch, not {size!r}"
        )
    return number


def _dtype(dtype: Any) -> str:
    name = getattr(dtype, "__name__", None) or name_of(dtype)
    python_types = {"float": "float64", "int": "int64"}
    name = python_types.get(name, name)
    if name not in ALL:
        raise Deep500Error(f"no dtype is named {name!r}; there are {listed(ALL)}")
    return name
