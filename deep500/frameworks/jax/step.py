"""A training step in JAX: forward, backward and the optimizer's pure formula, compiled as one function or as two."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import numpy as jnp

from ...contracts.executor import Values
from ...contracts.functional import FunctionalStep, Program
from ...contracts.optimizer import Optimizer, State
from ...contracts.programs import Programs

if TYPE_CHECKING:
    from .executor import JaxExecutor

States = dict[str, State]


class JaxStep(FunctionalStep):
    """What a step changes is handed over to it: the new values take the memory of the old ones."""

    executor: "JaxExecutor"

    def __init__(self, executor: "JaxExecutor", optimizer: Optimizer, y: str):
        super().__init__(executor, optimizer, y)
        init = partial(optimizer.init_named, executor.framework.xp)
        params = self._trained()
        states = jax.jit(lambda: {name: init(name, param) for name, param in params.items()})()
        self.states: States = jax.tree.map(lambda value: jnp.array(np.asarray(value)), states)
        self.programs: Programs[Program] = Programs()
        self._half = jax.jit(self._updated, donate_argnums=(0, 2, 3))
        self._device_count = jnp.zeros((), "float32")

    def __call__(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        executor, structure = self.executor, self.executor.structure
        training = executor.training
        inputs = executor.keyed(inputs, self.count, first_row)
        key = executor.decided, training
        program, used = self.programs.find(key, lambda: self._program(training))
        values = executor.natives(inputs, used)
        fixed = dict(executor.params)
        updated = (*structure.trainable, *(structure.state_updates if training else ()))
        changing = {name: fixed.pop(name) for name in updated}
        outputs, new, self.states, self._device_count = program(
            changing, self.states, self._device_count, fixed, values
        )
        executor.params = executor.params | new
        self._done()
        return executor.ordered(outputs)

    def _update(self) -> None:
        new, self.states, self._device_count = self._half(
            self._trained(), self.executor.gradients, self.states, self._device_count
        )
        self.executor.params = self.executor.params | new

    def set_device_count(self, count: np.ndarray) -> None:
        self._device_count = jnp.array(count)

    def set_state(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        self.states[name] = {key: jnp.array(value) for key, value in arrays.items()}

    def _trained(self) -> Values:
        params = self.executor.params
        return {name: params[name] for name in self.executor.structure.trainable}

    def _updated(
        self, params: Values, gradients: Values, states: States, count: Any
    ) -> tuple[Values, States, Any]:
        """The optimizer's formula, parameter by parameter; JAX compiles the loop away."""
        new_params, new_states = {}, {}
        step = count + 1
        xp = self.executor.framework.xp
        trained = {name: params[name] for name in gradients}
        for name, param, state in self.optimizer.updates(xp, trained, gradients, states, step):
            new_params[name] = param
            new_states[name] = state
        return new_params, new_states, step

    def _program(self, training: bool) -> Program:
        backprop, used = self.executor.backprop(self.y, training)

        def run(
            changing: Values, states: States, count: Any, fixed: Values, inputs: Values
        ) -> tuple:
            outputs, gradients, statistics = backprop(fixed | changing, inputs)
            params, states, count = self._updated(changing, gradients, states, count)
            return outputs, statistics | params, states, count

        return jax.jit(run, donate_argnums=(0, 1, 2)), used
