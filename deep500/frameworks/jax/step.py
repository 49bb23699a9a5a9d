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
        self._half = jax.jit(self._updated, donate_argnums=(0, 2))

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
        outputs, new, self.states = program(
            changing, self.states, self._next_count(), fixed, values
        )
        executor.params = executor.params | new
        self._done()
        return executor.ordered(outputs)

    def _update(self) -> None:
        executor = self.executor
        new, self.states = self._half(
            self._trained(), executor.gradients, self.states, self._next_count()
        )
        executor.params = executor.params | new

    def set_device_count(self, count: np.ndarray) -> None:
        """The host counts: JAX drops the argument where a rule does not look at it."""

    def _next_count(self) -> np.ndarray:
        return np.asarray(self.count + 1, np.float32)

    def set_state(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        self.states[name] = {key: jnp.array(value) for key, value in arrays.items()}

    def _trained(self) -> Values:
        params = self.executor.params
        names = self.executor.structure.trainable
        if len(names) == len(params):
            return params
        return {name: params[name] for name in names}

    def _updated(
        self, params: Values, gradients: Values, states: States, step: Any
    ) -> tuple[Values, States]:
        """The optimizer's formula, parameter by parameter; JAX compiles the loop away."""
        new_params, new_states = {}, {}
        xp = self.executor.framework.xp
        trained = {name: params[name] for name in gradients}
        for name, param, state in self.optimizer.updates(xp, trained, gradients, states, step):
            new_params[name] = param
            new_states[name] = state
        return new_params, new_states

    def _program(self, training: bool) -> Program:
        backprop, used = self.executor.backprop(self.y, training)

        def run(
            changing: Values, states: States, step: Any, fixed: Values, inputs: Values
        ) -> tuple:
            outputs, gradients, statistics = backprop(fixed | changing, inputs)
            params, states = self._updated(changing, gradients, states, step)
            return outputs, statistics | params, states

        return jax.jit(run, donate_argnums=(0, 1)), used
