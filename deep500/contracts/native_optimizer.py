"""The frameworks' own optimizers with their settings, which are the same on every framework that has them.

deep500.frameworks.pytorch, jax and tensorflow have a subclass of each, such as MomentumOptimizer, which runs only on
that framework.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from ..errors import lacking
from .optimizer import Optimizer, Rate


class NativeOptimizer(Optimizer):
    """A framework's own optimizer, which can be used like any other with executors of that framework.

    create(library, rate)   The framework's object for these settings.
    """

    elementwise: ClassVar[bool] = False

    def create(self, library: Any, rate: Any) -> Any:
        raise lacking(self, "create")

    def native(self, framework: str) -> Callable | None:
        if framework != self.framework:
            return None
        return self.create

    def rate_at(self, step: int) -> float:
        """The learning rate of a step as a number."""
        schedule = self.schedules.get("learning_rate")
        if schedule:
            return schedule.number(step)
        return self.settings["learning_rate"]


class LibraryOptimizer(NativeOptimizer):
    """An optimizer as users of a framework write it: a class or function of its library, and its arguments."""

    maker: Any
    args: Any = ()
    options: Any = ()  # pairs of a name and a value

    @property
    def name(self) -> str:
        return getattr(self.maker, "__name__", str(self.maker))

    def create(self, library: Any, rate: Any) -> Any:
        return self.maker(*self.args, **dict(self.options))

    def rate_at(self, step: int) -> float:
        """Nothing to say: the rate is among the arguments."""
        return 0.0


class NativeSGD(NativeOptimizer):
    """Stochastic gradient descent."""

    learning_rate: Rate = 1e-3


class NativeMomentum(NativeOptimizer):
    """Gradient descent with momentum."""

    learning_rate: Rate
    momentum: float = 0.9


class NativeAdaGrad(NativeOptimizer):
    """AdaGrad."""

    learning_rate: Rate = 1e-2
    epsilon: float = 1e-10


class NativeRMSProp(NativeOptimizer):
    """RMSProp; `alpha` is the decay of the mean square."""

    learning_rate: Rate = 1e-2
    alpha: float = 0.99
    epsilon: float = 1e-8


class NativeAdam(NativeOptimizer):
    """Adam."""

    learning_rate: Rate = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8


class NativeAdamW(NativeOptimizer):
    """Adam with decoupled weight decay."""

    learning_rate: Rate = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 1e-2


class NativeLion(NativeOptimizer):
    """Lion."""

    learning_rate: Rate = 1e-4
    beta1: float = 0.9
    beta2: float = 0.99
    weight_decay: float = 1e-3


class NativeLAMB(NativeOptimizer):
    """LAMB."""

    learning_rate: Rate = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-6
    weight_decay: float = 0.0
