"""What tensors an operator takes and makes: sizes are numbers, or names for what is the same wherever it appears."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..contracts.dtypes import ALL, listed, name_of
from ..contracts.operator import Tensor
from ..errors import Deep500Error

BATCH = "batch"


@dataclass(frozen=True)
class TensorDesc:
    """A tensor; None stands for any shape, any dtype."""

    shape: tuple[int | str, ...] | None = None
    dtype: str | None = None

    def __str__(self) -> str:
        sizes = "…" if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.dtype or 'any'}[{sizes}]"


def tensordesc(
    shape: Sequence[int | str | None] | None = None, dtype: Any = None
) -> TensorDesc:
    """Describe a tensor: `tensordesc([4, 6], np.float32)`; a size may be a name, and 0 or None is the batch."""
    name = None if dtype is None else _dtype(dtype)
    if shape is None:
        return TensorDesc(None, name)
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise Deep500Error(
            f"a shape is a list of sizes, not {shape!r}: write tensordesc([4, 6], np.float32)"
        )
    return TensorDesc(tuple(map(_size, shape)), name)


@dataclass(frozen=True)
class Signature:
    """The tensors of one operator."""

    name: str
    inputs: tuple[TensorDesc, ...]
    outputs: tuple[TensorDesc, ...]

    def bind(self, given: Sequence[Tensor]) -> dict[str, int]:
        """The sizes that have names, from inputs that must match."""
        sizes: dict[str, int] = {}
        if len(given) != len(self.inputs) or not all(
            _fits(desc, tensor, sizes)
            for desc, tensor in zip(self.inputs, given, strict=True)
        ):
            came = (
                ", ".join(str(TensorDesc(t.shape, t.dtype)) for t in given) or "nothing"
            )
            raise Deep500Error(
                f"{self.name} takes {', '.join(map(str, self.inputs))}, and {came} came"
            )
        return sizes

    def made(self, given: Sequence[Tensor]) -> tuple[Tensor | None, ...]:
        """The outputs as they are described; None where no shape is."""
        sizes = self.bind(given)
        return tuple(
            None
            if desc.shape is None
            else Tensor(
                tuple(self._value(n, sizes) for n in desc.shape),
                desc.dtype or given[0].dtype,
            )
            for desc in self.outputs
        )

    def in_dtype(self, dtype: str) -> "Signature":
        """The same with its floats in this dtype."""

        def cast(desc: TensorDesc) -> TensorDesc:
            return (
                replace(desc, dtype=dtype)
                if desc.dtype and "float" in desc.dtype
                else desc
            )

        return replace(
            self,
            inputs=tuple(map(cast, self.inputs)),
            outputs=tuple(map(cast, self.outputs)),
        )

    def _value(self, size: int | str, sizes: dict[str, int]) -> int:
        if isinstance(size, int):
            return size
        if size not in sizes:
            raise Deep500Error(
                f"{self.name} makes an output of the size {size!r}, which no input has"
            )
        return sizes[size]


def _fits(desc: TensorDesc, tensor: Tensor, sizes: dict[str, int]) -> bool:
    if desc.dtype not in (None, tensor.dtype):
        return False
    if desc.shape is None:
        return True
    return len(desc.shape) == len(tensor.shape) and all(
        n == (wanted if isinstance(wanted, int) else sizes.setdefault(wanted, n))
        for wanted, n in zip(desc.shape, tensor.shape, strict=True)
    )


def _size(size: Any) -> int | str:
    if size in (0, None):
        return BATCH
    if isinstance(size, str) and size:
        return size
    try:
        if (number := operator.index(size)) > 0:
            return number
    except TypeError:
        pass
    raise Deep500Error(f"a size is a number, a name, or 0 for the batch, not {size!r}")


def _dtype(dtype: Any) -> str:
    name = getattr(dtype, "__name__", None) or name_of(dtype)
    name = {"float": "float64", "int": "int64"}.get(name, name)
    if name not in ALL:
        raise Deep500Error(f"no dtype is named {name!r}; there are {listed(ALL)}")
    return name
