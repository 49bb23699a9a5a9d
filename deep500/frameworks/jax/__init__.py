"""JAX on the CPU, a GPU or a TPU."""

import importlib.metadata
import os
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...contracts.calls import Call
from ...contracts.device import HOST, DeviceInfo
from ...contracts.dtypes import ALL
from ...contracts.framework import (
    Abilities,
    Framework,
    cache_key,
    gradient_formula,
)
from ...contracts.network import Network
from ...contracts.operator import Operator
from ...custom.operators import CustomOp
from ...errors import Deep500Error, Unsupported
from ...graph.wrapping import Wrapping
from ...namespace import Namespace
from .optimizers import AdaGradOptimizer as AdaGradOptimizer
from .optimizers import AdamOptimizer as AdamOptimizer
from .optimizers import AdamWOptimizer as AdamWOptimizer
from .optimizers import LAMBOptimizer as LAMBOptimizer
from .optimizers import LionOptimizer as LionOptimizer
from .optimizers import MomentumOptimizer as MomentumOptimizer
from .optimizers import NesterovOptimizer as NesterovOptimizer
from .optimizers import OptaxOptimizer as OptaxOptimizer
from .optimizers import RMSPropOptimizer as RMSPropOptimizer
from .optimizers import SGDOptimizer as SGDOptimizer

if TYPE_CHECKING:
    import jax

    from .executor import JaxExecutor
    from .wrapped import WrappedFunction

THREADS = "PJRT_NPROC"  # read by JAX when it starts its threads
Variant = Literal["native", "composed", "gradient"]


class Jax(Framework):
    """jax.Array is the native value.

    The first use sets two options for the whole process: 64-bit types are enabled (labels and indices are int64, checks
    need float64; float32 stays float32), and calls on the CPU return when the result is there (so that timers need not
    wait). Parameters and states are committed to the adapter's device, and programs run where they are.
    """

    name = "jax"
    module_name = "jax"
    extra = "jax"
    lacks_leaves = "XLA orders the sums of a compiled step by its shapes, and by threads whose number cannot be set"
    abilities = Abilities(
        custom_operators=True,
        eager=True,
        compiled=True,
        transformable=True,
        autodiff=True,
        decentralised=True,  # psum between processes
        custom_distribution=True,  # ppermute and others in shard_map
    )
    usual_execution = "compiled"
    dtypes = ALL

    def __init__(self) -> None:
        self.threads: int | None = None  # JAX's choice

    @cached_property
    def module(self) -> ModuleType:
        jax = super().module
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        return jax

    def _namespace(self) -> Namespace:
        from .namespace import JaxNamespace

        xp = JaxNamespace()
        xp.threads = self.threads or 0
        return xp

    def devices(self) -> list[DeviceInfo]:
        self.require()
        from .devices import devices

        return devices()

    @property
    def without_gpu(self) -> str:
        if importlib.metadata.entry_points(group="jax_plugins"):
            return ""
        return "no plugin of JAX for GPUs or TPUs is installed"

    @property
    def place(self) -> "jax.Device":
        """JAX's own object for the device."""
        self.require()
        from .devices import local_device

        return local_device(self.device)

    @property
    def on_cpu(self) -> bool:
        """Whether its device is one of the host's, of which JAX can have several."""
        return DeviceInfo(self.device).kind == HOST

    def sync(self, outputs: Any = None) -> None:
        """Wait for the outputs; without them, for every array on the device that is still referenced."""
        jax = self.module
        if outputs is not None:
            jax.block_until_ready(outputs)
        elif not self._waits_by_itself():
            arrays = jax.live_arrays(self.place.platform)
            jax.block_until_ready([x for x in arrays if self.place in x.devices()])

    def _waits_by_itself(self) -> bool:
        """Whether calls return when their results are there."""
        if not self.on_cpu:
            return False
        return not self.module.config.read("jax_cpu_enable_async_dispatch")

    def tensor(self, array: Any, dtype: str | None = None) -> "jax.Array":
        """Return a copy, since JAX may share NumPy's memory and relies on it never to change."""
        jax = self.module
        from .devices import is_usual

        if is_usual(self.device):  # where it is without asking, in half the time
            return jax.numpy.array(array, dtype)
        return self.committed(array, dtype)

    def committed(self, array: Any, dtype: str | None = None) -> "jax.Array":
        """Return a copy that stays on the device in every context, as do the results of what it takes part in."""
        jax = self.module
        if isinstance(array, jax.Array):
            return jax.device_put(jax.numpy.array(array, dtype), self.place)
        return jax.device_put(np.array(array, dtype), self.place)

    def array(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor)

    def set_threads(self, count: int) -> None:
        """Set the number of threads, once: JAX starts them with the first array, and this raises Unsupported then."""
        current = self.threads or os.environ.get(THREADS)
        if str(count) == str(current):
            self.xp.threads = count
            return
        jax = self.module
        # there is no public way to ask
        from jax._src.xla_bridge import backends_are_initialized

        if backends_are_initialized():
            raise Unsupported(
                f"JAX starts its threads with the first array, and has done so: ask for {count} before "
                "anything is computed"
            )
        before = os.environ.get(THREADS)
        os.environ[THREADS] = str(count)
        try:
            jax.devices("cpu")
        finally:  # child processes choose for themselves
            del os.environ[THREADS]
            if before is not None:
                os.environ[THREADS] = before
        self.threads = count
        self.xp.threads = count

    def _evaluate(
        self, operator: Operator, inputs: Sequence[Any], composed: bool
    ) -> list[np.ndarray]:
        variant: Variant = "composed" if composed else "native"
        results = _run(self, operator, variant, inputs)
        return [self.array(y) for y in operator.published(results)]

    def _gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
    ) -> list[np.ndarray | None]:
        values = [*inputs, *grads]
        gradients = _run(self, operator, "gradient", values, len(inputs))
        return [None if g is None else self.array(g) for g in gradients]

    def compile(self, function: Callable) -> Callable:
        return self.module.jit(function)

    def _derivative(
        self, function: Callable, arrays: Sequence[Any], grads: Sequence[Any]
    ) -> Call:
        from .derivative import derivative

        return derivative(function, arrays, grads)

    def _custom_op(self, operator: CustomOp) -> Callable[..., Any]:
        """Return a differentiable function of arrays, for jit, grad and vmap."""
        from .custom import custom_op

        return custom_op(self, operator)

    def _executor(self, network: Network, seed: int, execution: str) -> "JaxExecutor":
        from .executor import JaxExecutor

        return JaxExecutor(self, network, seed, execution)

    def _wrap(
        self, model: Any, wrapping: Wrapping, seed: int | None, execution: str
    ) -> "WrappedFunction":
        if not callable(model) or isinstance(model, type):
            raise self.not_taken(model, "a function with params=…")
        if wrapping.params is None:
            raise Deep500Error(
                "a function of JAX comes with its parameters: from_model(function, params=…), where "
                "function(params, *inputs) gives the output"
            )
        from .wrapped import WrappedFunction

        return WrappedFunction(self, model, wrapping, seed, execution)


FRAMEWORK = Jax()
from_model = FRAMEWORK.from_model
custom_op = FRAMEWORK.custom_op


def _run(
    framework: Jax,
    operator: Operator,
    variant: Variant,
    values: Sequence[Any],
    inputs: int = 0,
) -> Sequence[Any]:
    """Run one operator, compiled as a whole: JAX would compile its steps one by one otherwise."""
    arrays = {}
    static = []
    for i, value in enumerate(values):
        if isinstance(value, np.ndarray):
            arrays[i] = framework.tensor(value)
        else:
            static.append((i, value))
    key = cache_key(operator, [value for _, value in static])
    program = _program(framework, operator, variant, tuple(static), inputs, key)
    return program(arrays)


@lru_cache(maxsize=256)
def _program(
    framework: Jax,
    operator: Operator,
    variant: Variant,
    static: tuple,
    inputs: int,
    key: str,
) -> Callable[[dict[int, Any]], Sequence[Any]]:
    """A compiled function of the arrays by position.

    For gradients, the first `inputs` values are inputs, and the others are the gradients of the outputs. `key` tells
    equal static values of different types apart, such as 1 and True.
    """

    def run(arrays: dict[int, Any]) -> Sequence[Any]:
        by_position = arrays | dict(static)
        values = [by_position[i] for i in sorted(by_position)]
        if variant == "gradient":
            return gradient_formula(
                framework.xp, operator, values[:inputs], values[inputs:]
            )
        if variant == "native":
            kernel, _ = framework.kernel(operator, inputs=values)
        else:
            kernel = framework.formula(operator)
        return kernel(*values)

    # without an input, only this says where
    place = framework.module.sharding.SingleDeviceSharding(framework.place)
    return framework.module.jit(run, out_shardings=place)
