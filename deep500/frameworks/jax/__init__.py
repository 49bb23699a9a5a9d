"""JAX on the CPU."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...contracts.calls import Call
from ...contracts.dtypes import ALL
from ...contracts.framework import (
    Abilities,
    Framework,
    gradient_formula,
    told_apart,
)
from ...contracts.network import Network
from ...contracts.operator import Operator
from ...contracts.wrapping import Wrapping
from ...custom.operators import CustomOp
from ...errors import Deep500Error, Unsupported
from ...namespace import Namespace
from .optimizers import AdaGradOptimizer as AdaGradOptimizer
from .optimizers import AdamOptimizer as AdamOptimizer
from .optimizers import AdamWOptimizer as AdamWOptimizer
from .optimizers import LAMBOptimizer as LAMBOptimizer
from .optimizers import LionOptimizer as LionOptimizer
from .optimizers import MomentumOptimizer as MomentumOptimizer
from .optimizers import NesterovOptimizer as NesterovOptimizer
from .optimizers import RMSPropOptimizer as RMSPropOptimizer
from .optimizers import SGDOptimizer as SGDOptimizer

if TYPE_CHECKING:
    import jax

    from .executor import JaxExecutor
    from .wrapped import WrappedFunction

THREADS = "PJRT_NPROC"  # read by JAX when it starts its threads


class Jax(Framework):
    """jax.Array is the native value.

    When first used, two switches are set for the whole process: 64-bit types exist (labels and indices are int64,
    checks need float64; what is float32 stays so), and calls return when they are done (so that no clock need wait).
    """

    name = "jax"
    module_name = "jax"
    extra = "jax"
    abilities = Abilities(
        custom_operators=True,
        eager=True,
        compiled=True,
        transformable=True,
        autodiff=True,
        decentralised=True,  # psum between processes
        custom_distribution=True,  # ppermute and others in shard_map
    )
    dtypes = ALL

    def __init__(self) -> None:
        self.threads: int | None = None  # JAX's choice

    @cached_property
    def module(self) -> ModuleType:
        found = super().module
        found.config.update("jax_enable_x64", True)
        found.config.update("jax_cpu_enable_async_dispatch", False)
        return found

    def _namespace(self) -> Namespace:
        from .namespace import JaxNamespace

        return JaxNamespace()

    def tensor(self, array: Any, dtype: str | None = None) -> "jax.Array":
        """A copy: JAX may share NumPy's memory, and relies on it never to change."""
        return self.module.numpy.array(array, dtype)

    def array(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor)

    def set_threads(self, count: int) -> None:
        """Once, before anything is computed: JAX starts its threads with the first array."""
        if str(count) == str(self.threads or os.environ.get(THREADS)):
            return
        jax = self.module
        from jax._src.xla_bridge import (
            backends_are_initialized,
        )  # there is no public way to ask

        if backends_are_initialized():
            raise Unsupported(
                f"JAX starts its threads with the first array, and has done so: ask for {count} before "
                "anything is computed"
            )
        before = os.environ.get(THREADS)
        os.environ[THREADS] = str(count)
        try:
            jax.devices("cpu")
        finally:  # other processes, started from here, choose for themselves
            del os.environ[THREADS]
            os.environ.update({} if before is None else {THREADS: before})
        self.threads = count

    def _evaluate(
        self, operator: Operator, inputs: Sequence[Any], composed: bool
    ) -> list[np.ndarray]:
        found = _run(operator, "composed" if composed else "native", inputs)
        return [self.array(y) for y in operator.published(found)]

    def _gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
    ) -> list[np.ndarray | None]:
        found = _run(operator, "gradient", [*inputs, *grads], len(inputs))
        return [None if g is None else self.array(g) for g in found]

    def compile(self, function: Callable) -> Callable:
        return self.module.jit(function)

    def _derivative(
        self, function: Callable, arrays: Sequence[Any], grads: Sequence[Any]
    ) -> Call:
        from .derivative import derivative

        return derivative(function, arrays, grads)

    def _custom_op(self, operator: CustomOp) -> Callable[..., Any]:
        """A differentiable function of arrays, for jit, grad and vmap."""
        from .custom import custom_op

        return custom_op(operator)

    def _executor(self, network: Network, seed: int, compile: bool) -> "JaxExecutor":
        from .executor import JaxExecutor

        return JaxExecutor(self, network, seed, compile)

    def _wrap(
        self, model: Any, wrapping: Wrapping, seed: int | None, compile: bool
    ) -> "WrappedFunction":
        if not callable(model) or isinstance(model, type):
            raise self.not_taken(model, "a function with params=…")
        if wrapping.params is None:
            raise Deep500Error(
                "a function of JAX comes with its parameters: from_model(function, params=…), where "
                "function(params, *inputs) gives the output"
            )
        from .wrapped import WrappedFunction

        return WrappedFunction(self, model, wrapping, seed, compile)


FRAMEWORK = Jax()
from_model = FRAMEWORK.from_model
custom_op = FRAMEWORK.custom_op


def _run(
    operator: Operator,
    what: Literal["native", "composed", "gradient"],
    values: Sequence[Any],
    inputs: int = 0,
) -> Sequence[Any]:
    """One operator, compiled as a whole: one by one, JAX would compile every step of it."""
    arrays = {
        i: FRAMEWORK.tensor(v)
        for i, v in enumerate(values)
        if isinstance(v, np.ndarray)
    }
    static = tuple((i, v) for i, v in enumerate(values) if i not in arrays)
    return _program(
        operator, what, static, inputs, told_apart(operator, [v for _, v in static])
    )(arrays)


@lru_cache(maxsize=256)
def _program(
    operator: Operator,
    what: Literal["native", "composed", "gradient"],
    static: tuple,
    inputs: int,
    told: str,
) -> Callable[[dict[int, Any]], Sequence[Any]]:
    """A function of the arrays by their places; the first `inputs` values are inputs when gradients follow them."""

    def run(arrays: dict[int, Any]) -> Sequence[Any]:
        values = [
            value
            for _, value in sorted(
                (arrays | dict(static)).items(), key=lambda pair: pair[0]
            )
        ]
        if what == "gradient":
            return gradient_formula(
                FRAMEWORK.xp, operator, values[:inputs], values[inputs:]
            )
        native = what == "native"
        return (
            FRAMEWORK.kernel(operator, inputs=values)[0]
            if native
            else FRAMEWORK.formula(operator)
        )(*values)

    return FRAMEWORK.module.jit(run)
