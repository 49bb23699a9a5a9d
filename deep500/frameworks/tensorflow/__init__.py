"""TensorFlow on the CPU, a GPU or a TPU."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts.calls import Call
from ...contracts.device import HOST, DeviceInfo
from ...contracts.dtypes import PLAIN
from ...contracts.framework import Abilities, Framework
from ...contracts.network import Network
from ...contracts.operator import Operator
from ...custom.operators import CustomOp
from ...errors import Deep500Error, Unsupported
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
    """tf.Tensor is the native value. Everything is created and called in the scope of the adapter's device."""

    name = "tensorflow"
    module_name = "tensorflow"
    extra = "tensorflow"
    lacks_leaves = "a compiled step orders its sums by its shapes, and its threads are set once for a process"
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

    def devices(self) -> list[DeviceInfo]:
        self.require()
        from .devices import devices

        return devices()

    @property
    def without_gpu(self) -> str:
        if self.module.test.is_built_with_gpu_support():
            return ""
        version = self.module.__version__
        return f"TensorFlow {version} is built without support for GPUs"

    @property
    def scope_name(self) -> str:
        """The device as `tf.device` names it; empty on a machine without another one."""
        self.require()
        from .devices import scope_name

        return scope_name(self.device)

    def scope(self) -> AbstractContextManager:
        """A context whose tensors and operators are on the device."""
        name = self.scope_name
        return self.module.device(name) if name else nullcontext()

    def scoped(self, function: Callable) -> Callable:
        """The function, called in the scope of the device."""
        name = self.scope_name
        if not name:
            return function
        device = self.module.device

        def run(*values: Any, **options: Any) -> Any:
            with device(name):
                return function(*values, **options)

        return run

    def check_place(self, tensor: Any, subject: str) -> None:
        """Raise an error if a tensor is on another device: a graph would copy it without a word."""
        expected = self.scope_name
        if expected and not tensor.device.endswith(expected.removeprefix("/")):
            actual = tensor.device.rpartition("device:")[2]
            raise Deep500Error(
                f"{subject} is on {actual}, and the network on {self.device}: create it in "
                f"`with tf.device({expected!r})`, or give a NumPy array"
            )

    def sync(self, outputs: Any = None) -> None:
        config = self.module.config.experimental
        if self.device != HOST or not config.get_synchronous_execution():
            self.module.test.experimental.sync_devices()

    def tensor(self, array: Any, dtype: str | None = None) -> Any:
        """Return a copy, since TensorFlow may share NumPy's memory and relies on it never to change."""
        if self.module.is_tensor(array):
            if dtype is None:
                return array
            return self.module.cast(array, dtype)
        values = np.array(array, dtype)
        self.dtype(values.dtype.name)
        with self.scope():
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
        compiled = self.module.function(function, jit_compile=True, autograph=False)
        return self.scoped(compiled)

    def native(self, operator: Operator) -> Callable[..., Any] | None:
        function = super().native(operator)
        return function and self.scoped(function)

    def formula(self, operator: Operator) -> Callable[..., tuple]:
        return self.scoped(super().formula(operator))

    def _gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
    ) -> list[np.ndarray | None]:
        with self.scope():
            return super()._gradient(operator, inputs, grads)

    def _forward_call(
        self, operator: Operator, inputs: Sequence[Any], kernel: str
    ) -> Call:
        call = super()._forward_call(operator, inputs, kernel)
        return replace(call, function=self.scoped(call.function))

    def _backward_call(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[Any],
        kernel: str,
    ) -> Call:
        with self.scope():
            call = super()._backward_call(operator, inputs, grads, kernel)
        return replace(call, function=self.scoped(call.function))

    def _derivative(
        self, function: Callable, arrays: Sequence[Any], grads: Sequence[Any]
    ) -> Call:
        from .derivative import derivative

        return derivative(function, arrays, grads)

    def _custom_op(self, operator: CustomOp) -> Callable[..., Any]:
        """Return a differentiable function of tensors, for tf.function and GradientTape."""
        if DeviceInfo(self.device).kind != HOST:
            raise Unsupported(
                f"{operator.name} runs in the host's memory, and TensorFlow would copy its tensors from "
                f"{self.device} and back: leave the device out (`--device cpu`)"
            )
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
