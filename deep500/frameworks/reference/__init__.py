"""NumPy: every operator through its formula, the yardstick for the other frameworks."""

import ctypes
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts.framework import Abilities, Framework
from ...contracts.network import Network
from ...errors import Unsupported
from ...namespace import Namespace

if TYPE_CHECKING:
    from .executor import ReferenceExecutor


class Reference(Framework):
    """NumPy's arrays are the native values."""

    name = "reference"
    module_name = "numpy"
    abilities = Abilities(custom_operators=True, eager=True)

    @cached_property
    def xp(self) -> Namespace:
        from .namespace import NumpyNamespace

        return NumpyNamespace()

    def tensor(self, array: Any, dtype: str | None = None) -> np.ndarray:
        return np.asarray(array, dtype)

    def array(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor)

    def set_threads(self, count: int) -> None:
        """The threads of the BLAS that NumPy's wheels bring; everything else in NumPy runs on one."""
        folder = Path(np.__file__).parents[1] / "numpy.libs"
        libraries = [ctypes.CDLL(str(path)) for path in folder.glob("*scipy_openblas*")]
        for library in libraries:
            library.scipy_openblas_set_num_threads64_(count)
        if not libraries and os.environ.get("OMP_NUM_THREADS") != str(count):
            raise Unsupported(f"the threads of this NumPy's BLAS are set before it starts: OMP_NUM_THREADS={count}")

    def executor(self, network: Network) -> "ReferenceExecutor":
        from .executor import ReferenceExecutor

        return ReferenceExecutor(self, network)


FRAMEWORK = Reference()
from_model = FRAMEWORK.from_model
