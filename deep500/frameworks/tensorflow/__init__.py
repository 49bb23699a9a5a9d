"""TensorFlow on the CPU."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts.calls import Call
from ...contracts.dtypes import PLAIN
from ...contracts.framework import Abilities, Framework
from ...contracts.network import Network
from ...custom.operators import CustomOp
from ...errors import Unsupported
from ...graph.wrapping import Wrapping
from ...namespace import Namespace
from .optimizers import AdaGradOptimizer as AdaGradOptimizer
from .optimizers import AdamOptimizer as AdamOptimizer
from .optimizers import AdamWOptimizer as AdamWOptimizer
from .optimizers import KerasOptimizer as KerasOptimizer
from .optimizers import LAMBOptimizer as LAMBOptimizer
from .optimizers import LionOptimizer as LionOptimizer
from .optimizers import MomentumOptimizer as MomentumOptimizer
from .optimizers import NesterovOptimizer as NesterovOptimizer
from .optimizers import RMSPropOptimizer as RMSPropOptimizer
from .optimizers import SGDOptimizer as SGDOptimizer
from .quiet_import import without_notes

if TYPE_CHECKING:
    from .executor import TensorFlowExecutor
    from .wrapped import WrappedKeras

# Environment variables that TensorFlow reads when it starts its threads.
THREADS = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS")


class TensorFlow(Framework):
    """tf.Tensor is the native value."""

    name = "tensorflow"
    module_name = "tensorflow"
    extra = "tensorflow"
    abilities = Abilities(
        custom_operators=True,
        deferred=True,
        eager=True,
        compiled=True,
        transformable=True,
        autodiff=True,
        datasets=True,
        optimizers=True,
        parameter_server=True,  # tf.distribute.ParameterServerStrategy
        decentralised=True,  # MultiWorkerMirroredStrategy
        asynchronous=True,
        custom_distribution=True,  # CrossDeviceOps
    )
    usual_execution = "deferred"
    dtypes = PLAIN | {
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2",
        "int4",
        "uint4",
    }

    @cached_property
    def module(self) -> ModuleType:
        with without_notes():
            return super().module

    def _namespace(self) -> Namespace:
        from .namespace import TensorFlowNamespace

        return TensorFlowNamespace()

    def tensor(self, array: Any, dtype: str | None = None) -> Any:
        """Return a copy, since TensorFlow may share NumPy's memory and relies on it never to change."""
        if self.module.is_tensor(array):
            if dtype is None:
                return array
            return self.module.cast(array, dtype)
        values = np.array(array, dtype)
        self.dtype(values.dtype.name)
        return self.module.convert_to_tensor(values)

    def array(self, tensor: Any) -> np.ndarray:
        if self.module.is_tensor(tensor):
            tensor = tensor.numpy()
        return np.asarray(tensor)

    def seed_generator(self, seed: int) -> bool:
        self.module.random.set_seed(seed)
        return True

    def set_threads(self, count: int) -> None:
        """Set the number of threads before anything is computed; raises Unsupported after the first tensor."""
        threading = self.module.config.threading
        chosen = str(threading.get_intra_op_parallelism_threads() or "")
        current = [chosen or os.environ.get(name) for name in THREADS]
        if all(threads == str(count) for threads in current):
            self.xp.threads = count
            return
        try:
            threading.set_intra_op_parallelism_threads(count)
            threading.set_inter_op_parallelism_threads(count)
        except RuntimeError:
            raise Unsupported(
                f"TensorFlow starts its threads with the first tensor, and has done so: ask for {count} "
                "before anything is computed"
            ) from None
        self.xp.threads = count

    def compile(self, function: Callable) -> Callable:
        """Compile a function of tensors by XLA."""
        return self.module.function(function, jit_compile=True, autograph=False)

    def _derivative(
        self, function: Callable, arrays: Sequence[Any], grads: Sequence[Any]
    ) -> Call:
        from .derivative import derivative

        return derivative(function, arrays, grads)

    def _custom_op(self, operator: CustomOp) -> Callable[..., Any]:
        """Return a differentiable function of tensors, for tf.function and GradientTape."""
        from .custom import custom_op

        return custom_op(operator)

    def _executor(
        self, network: Network, seed: int, execution: str
    ) -> "TensorFlowExecutor":
        from .executor import TensorFlowExecutor

        return TensorFlowExecutor(self, network, seed, execution)

    def _wrap(
        self, model: Any, wrapping: Wrapping, seed: int | None, execution: str
    ) -> "WrappedKeras":
        keras = self.module.keras
        if not isinstance(model, keras.Model) or wrapping.params is not None:
            raise self.not_taken(model, "a Keras model")
        backend = keras.backend.backend()
        if backend != "tensorflow":
            raise Unsupported(
                f"Keras computes with {backend} here: set KERAS_BACKEND=tensorflow"
            )
        from .wrapped import WrappedKeras

        return WrappedKeras(self, model, wrapping, seed, execution)


FRAMEWORK = TensorFlow()
from_model = FRAMEWORK.from_model
custom_op = FRAMEWORK.custom_op
