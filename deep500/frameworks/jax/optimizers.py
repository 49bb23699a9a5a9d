"""The optimizers of optax, whose update is compiled into the training step."""

from types import ModuleType
from typing import Any

from ...contracts.native_optimizer import (
    LibraryOptimizer,
    NativeAdaGrad,
    NativeAdam,
    NativeAdamW,
    NativeLAMB,
    NativeLion,
    NativeMomentum,
    NativeOptimizer,
    NativeRMSProp,
    NativeSGD,
)
from ...contracts.optimizer import State
from ...errors import Deep500Error


class OptaxRule(NativeOptimizer):
    """A gradient transformation of optax on one tensor, with its state as arrays by name."""

    framework = "jax"

    def init(self, xp: Any, param: Any) -> State:
        named, _ = self._flat_state(param)
        return named

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        import jax

        optax = _optax()
        transformation = self.create(optax, self.settings.get("learning_rate"))
        names, structure = self._flat_state(param)
        leaves = [state[name] for name in names]
        optax_state = jax.tree.unflatten(structure, leaves)
        changes, optax_state = transformation.update(grad, optax_state, param)
        new = optax.apply_updates(param, changes)
        new_leaves = jax.tree.leaves(optax_state)
        return new, dict(zip(names, new_leaves, strict=True))

    def _flat_state(self, param: Any) -> tuple[State, Any]:
        """The arrays of the first state by their paths in optax's tree, and the structure of that tree."""
        import jax

        transformation = self.create(_optax(), 0.0)
        first = transformation.init(param)
        leaves, structure = jax.tree_util.tree_flatten_with_path(first)
        named = {}
        for path, leaf in leaves:
            name = jax.tree_util.keystr(path, simple=True, separator="/")
            named[name] = leaf
        return named, structure


class OptaxOptimizer(OptaxRule, LibraryOptimizer):
    """Any gradient transformation of optax, which is applied to every tensor by itself."""


class SGDOptimizer(OptaxRule, NativeSGD):
    """optax.sgd."""

    def create(self, library: Any, rate: Any) -> Any:
        return library.sgd(rate)


class MomentumOptimizer(OptaxRule, NativeMomentum):
    """optax.sgd with momentum."""

    def create(self, library: Any, rate: Any) -> Any:
        return library.sgd(rate, momentum=self.momentum)


class NesterovOptimizer(OptaxRule, NativeMomentum):
    """optax.sgd with Nesterov's momentum."""

    def create(self, library: Any, rate: Any) -> Any:
        return library.sgd(rate, momentum=self.momentum, nesterov=True)


class AdaGradOptimizer(OptaxRule, NativeAdaGrad):
    """optax.adagrad, which adds epsilon before it takes the root."""

    def create(self, library: Any, rate: Any) -> Any:
        return library.adagrad(rate, initial_accumulator_value=0.0, eps=self.epsilon)


class RMSPropOptimizer(OptaxRule, NativeRMSProp):
    """optax.rmsprop."""

    def create(self, library: Any, rate: Any) -> Any:
        return library.rmsprop(
            rate, decay=self.alpha, eps=self.epsilon, eps_in_sqrt=False
        )


class AdamOptimizer(OptaxRule, NativeAdam):
    """optax.adam."""

    def create(self, library: Any, rate: Any) -> Any:
        return library.adam(rate, self.beta1, self.beta2, self.epsilon)


class AdamWOptimizer(OptaxRule, NativeAdamW):
    """optax.adamw."""

    def create(self, library: Any, rate: Any) -> Any:
        return library.adamw(
            rate,
            self.beta1,
            self.beta2,
            self.epsilon,
            weight_decay=self.weight_decay,
        )


class LionOptimizer(OptaxRule, NativeLion):
    """optax.lion."""

    def create(self, library: Any, rate: Any) -> Any:
        return library.lion(
            rate, self.beta1, self.beta2, weight_decay=self.weight_decay
        )


class LAMBOptimizer(OptaxRule, NativeLAMB):
    """optax.lamb."""

    def create(self, library: Any, rate: Any) -> Any:
        return library.lamb(
            rate,
            self.beta1,
            self.beta2,
            self.epsilon,
            weight_decay=self.weight_decay,
        )


def _optax() -> ModuleType:
    try:
        import optax  # type: ignore[import-untyped]
    except ImportError:
        raise Deep500Error(
            "optax is not installed: pip install optax, or use an optimizer of deep500.optimizers"
        ) from None
    return optax
