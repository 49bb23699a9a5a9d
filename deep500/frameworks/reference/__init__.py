"""NumPy: runs every operator by its formula, as the reference that other frameworks are compared with."""

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts.dtypes import ALL
from ...contracts.framework import Abilities, Framework
from ...contracts.network import Network
from ...contracts.operator import Operator
from ...custom.operators import CustomOp, HostFunction
from ...errors import Unsupported
from ...graph.rounding import rounded_once
from ...measure.allocations import Allocations
from ...namespace import Namespace

if TYPE_CHECKING:
    from .executor import ReferenceExecutor


NUMPY = (np.ndarray, np.generic)
HALF_NAMES = ("float16", "bfloat16")
HALF = {np.dtype(name) for name in HALF_NAMES}


class Reference(Framework):
    """Native values are NumPy arrays; operators on half precision compute in float32 and round once at the end."""

    name = "reference"
    module_name = "numpy"
    lacks_leaves = ""
    abilities = Abilities(custom_operators=True, eager=True)
    dtypes = ALL

    def _namespace(self) -> Namespace:
        from .namespace import NumpyNamespace

        return NumpyNamespace()

    def tensor(self, array: Any, dtype: str | None = None) -> np.ndarray:
        return np.asarray(array, dtype)

    def array(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor)

    def allocations(self) -> Allocations:
        return Allocations()

    def set_threads(self, count: int) -> None:
        """Set the threads of the BLAS in NumPy's wheels and of C++ operators; all else in NumPy runs on one thread."""
        folder = Path(np.__file__).parents[1] / "numpy.libs"
        paths = [*folder.glob("*scipy_openblas*")]
        for path in paths:
            library = ctypes.CDLL(str(path))
            library.scipy_openblas_set_num_threads64_(count)
        if not paths and os.environ.get("OMP_NUM_THREADS") != str(count):
            raise Unsupported(
                f"the threads of this NumPy's BLAS are set before it starts: OMP_NUM_THREADS={count}"
            )
        self.xp.threads = count

    def formula(self, operator: Operator) -> Callable[..., tuple]:
        formula = super().formula(operator)

        def run(*inputs: Any) -> tuple:
            if _has_half(inputs):
                return rounded_once(self.xp, operator, formula, inputs, HALF_NAMES)
            return formula(*inputs)

        return run

    def _gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
    ) -> list[np.ndarray | None]:
        gradients = super()._gradient(operator, _widened(inputs), _widened(grads))
        for i, value in enumerate(inputs):
            gradient = gradients[i]
            if gradient is not None and _has_half([value]):
                gradients[i] = gradient.astype(value.dtype)
        return gradients

    def _custom_op(self, operator: CustomOp) -> HostFunction:
        """Return a function of NumPy arrays that has a `backward`."""
        return HostFunction(operator, self.xp)

    def _executor(
        self, network: Network, seed: int, execution: str
    ) -> "ReferenceExecutor":
        from .executor import ReferenceExecutor

        return ReferenceExecutor(self, network, seed, execution)


FRAMEWORK = Reference()
from_model = FRAMEWORK.from_model
custom_op = FRAMEWORK.custom_op


def _has_half(values: Sequence[Any]) -> bool:
    return any(isinstance(x, NUMPY) and x.dtype in HALF for x in values)


def _widened(values: Sequence[Any]) -> list[Any]:
    """The values, with those of half precision as float32."""
    widened = list(values)
    for i, value in enumerate(values):
        if _has_half([value]):
            widened[i] = value.astype("float32")
    return widened
