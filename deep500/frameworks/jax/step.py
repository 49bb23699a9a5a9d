"""A whole training step in JAX: forward, backward and the optimizer's pure formula, compiled as one function."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import numpy as jnp

from ...contracts.executor import TrainingStep, Values, matching
from ...contracts.optimizer import Optimizer, State

if TYPE_CHECKING:
    from .executor import JaxExecutor


class JaxStep(TrainingStep):
    """What a step changes is handed over to it: the new values take the memory of the old ones."""

    def __init__(self, executor: "JaxExecutor", optimizer: Optimizer, y: str):
        self.executor, self.optimizer, self.y = executor, optimizer, y
        self.count = jnp.zeros((), "float32")
        trained = {name: executor.params[name] for name in executor.structure.trainable}
        init = partial(optimizer.init, executor.framework.xp)
        states = jax.jit(lambda: {name: init(param) for name, param in trained.items()})()
        self.states: dict[str, State] = jax.tree.map(
            lambda value: jnp.array(np.asarray(value)), states
        )
        self._programs: dict[bool, tuple[Callable[..., Any], list[str]]] = {}

    def __call__(self, inputs: Mapping[str, Any]) -> Values:
        executor = self.executor
        if executor.training not in self._programs:
            self._programs[executor.training] = self._program(executor.training)
        program, used = self._programs[executor.training]
        given, structure = (
            executor.natives(executor.keyed(inputs, self.count), used),
            executor.structure,
        )
        changing = {*structure.trainable, *(structure.state_updates if executor.training else ())}
        params = executor.params
        outputs, new, self.states, self.count = program(
            {name: params[name] for name in params if name in changing},
            self.states,
            self.count,
            {name: params[name] for name in params if name not in changing},
            given,
        )
        executor.params = params | new
        return executor.ordered(outputs)

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and every array of the optimizer's state as "parameter.array"."""
        arrays = {
            f"{name}.{key}": np.array(v)
            for name, state in self.states.items()
            for key, v in state.items()
        }
        return {"step": np.array(self.count), **arrays}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        given = {name: jnp.array(value) for name, value in matching(self.state(), state).items()}
        self.count = given["step"]
        self.states = {
            name: {key: given[f"{name}.{key}"] for key in own} for name, own in self.states.items()
        }

    def _program(self, training: bool) -> tuple[Callable[..., Any], list[str]]:
        backprop, used = self.executor.backprop(self.y, training)
        xp, native = self.executor.framework.xp, self.optimizer.native(self.executor.framework.name)
        update = partial(native, jax) if native else partial(self.optimizer.update, xp)

        def run(
            changing: Values, states: dict[str, State], count: Any, fixed: Values, inputs: Values
        ) -> tuple:
            outputs, gradients, new = backprop(fixed | changing, inputs)
            states, count = dict(states), count + 1
            for name, gradient in gradients.items():
                new[name], states[name] = update(changing[name], gradient, states[name], count)
            return outputs, new, states, count

        return jax.jit(run, donate_argnums=(0, 1, 2)), used
