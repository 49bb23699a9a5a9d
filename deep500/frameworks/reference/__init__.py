"""NumPy: every operator through its formula, the yardstick for the other frameworks."""

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts.allocations import Allocations
from ...contracts.dtypes import ALL
from ...contracts.framework import Abilities, Framework
from ...contracts.network import Network
from ...contracts.operator import Operator
from ...contracts.rounding import rounded_once
from ...custom.operators import CustomOp, HostFunction
from ...errors import Unsupported
from ...namespace import Namespace

if TYPE_CHECKING:
    from .executor import ReferenceExecutor


HALF = {np.dtype("float16"), np.dtype("bfloat16")}


class Reference(Framework):
    """NumPy's arrays are the native values; operators of half precision compute in float32, and round once."""

    name = "reference"
    module_name = "numpy"
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
        """The threads of the BLAS that NumPy's wheels bring; everything else in NumPy runs on one."""
        folder = Path(np.__file__).parents[1] / "numpy.libs"
        libraries = [ctypes.CDLL(str(path)) for path in folder.glob("*scipy_openblas*")]
        for library in libraries:
            library.scipy_openblas_set_num_threads64_(count)
        if not libraries and os.environ.get("OMP_NUM_THREADS") != str(count):
            raise Unsupported(
                f"the threads of this NumPy's BLAS are set before it starts: OMP_NUM_THREADS={count}"
            )

    def formula(self, operator: Operator) -> Callable[..., tuple]:
        run = super().formula(operator)
        return lambda *inputs: (
            rounded_once(self.xp, operator, run, inputs, ("float16", "bfloat16"))
            if _halves(inputs)
            else run(*inputs)
        )

    def _gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
    ) -> list[np.ndarray | None]:
        found = super()._gradient(operator, _wide(inputs), _wide(grads))
        return [
            g if g is None or not _halves([x]) else g.astype(x.dtype)
            for g, x in zip(found, inputs, strict=True)
        ]

    def _custom_op(self, operator: CustomOp) -> HostFunction:
        """A function of NumPy arrays, with its `backward`."""
        return HostFunction(operator)

    def _executor(
        self, network: Network, seed: int, compile: bool
    ) -> "ReferenceExecutor":
        from .executor import ReferenceExecutor

        return ReferenceExecutor(self, network, seed, compile)


FRAMEWORK = Reference()
from_model = FRAMEWORK.from_model
custom_op = FRAMEWORK.custom_op


def _halves(values: Sequence[Any]) -> bool:
    return any(
        isinstance(x, np.ndarray | np.generic) and x.dtype in HALF for x in values
    )


def _wide(values: Sequence[Any]) -> list[Any]:
    return [x.astype("float32") if _halves([x]) else x for x in values]
