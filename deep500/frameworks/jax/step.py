"""A training step in JAX: forward, backward and the optimizer's pure formula, compiled as one function or as two."""

from collections.abc import Mapping, Sequence
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
Leaves = tuple[Any, ...]  # all arrays of the state, in JAX's order


class JaxStep(FunctionalStep):
    """What a step changes is handed over to it: the new values take the memory of the old ones."""

    executor: "JaxExecutor"

    def __init__(self, executor: "JaxExecutor", optimizer: Optimizer, y: str):
        super().__init__(executor, optimizer, y)
        init = partial(optimizer.init_named, executor.framework.xp)
        params = self._trained()
        states = jax.jit(
            lambda: {name: init(name, param) for name, param in params.items()}
        )()
        leaves, self._structure = jax.tree.flatten(states)
        # one tuple for all arrays of the state: trees of dictionaries take JAX longer at every call
        self._leaves = tuple(jnp.array(np.asarray(leaf)) for leaf in leaves)
        self._device_count = jnp.zeros((), "float32")
        self._names = tuple(params)
        self.programs: Programs[Program] = Programs()
        self._half = jax.jit(self._updated_values, donate_argnums=(0, 2, 3))

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
        outputs, new, self._leaves, self._device_count = program(
            changing, self._leaves, self._device_count, fixed, values
        )
        executor.params = executor.params | new
        self._done()
        return executor.ordered(outputs)

    def _update(self) -> None:
        executor, names = self.executor, self._names
        params, gradients = executor.params, executor.gradients
        new, self._leaves, self._device_count = self._half(
            [params[name] for name in names],
            [gradients[name] for name in names],
            self._leaves,
            self._device_count,
        )
        executor.params = params | dict(zip(names, new, strict=True))

    def set_device_count(self, count: np.ndarray) -> None:
        self._device_count = jnp.array(count)

    @property
    def states(self) -> States:  # type: ignore[override]
        """The state by parameter and key."""
        return jax.tree.unflatten(self._structure, self._leaves)

    def set_state(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        states = self.states
        states[name] = {key: jnp.array(value) for key, value in arrays.items()}
        self._leaves = tuple(jax.tree.leaves(states))

    def _trained(self) -> Values:
        params = self.executor.params
        return {name: params[name] for name in self.executor.structure.trainable}

    def _updated_values(
        self,
        params: Sequence[Any],
        gradients: Sequence[Any],
        leaves: Leaves,
        count: Any,
    ) -> tuple[list[Any], Leaves, Any]:
        """The second half of a step, over values in the order of the names."""
        named_params = dict(zip(self._names, params, strict=True))
        named_gradients = dict(zip(self._names, gradients, strict=True))
        new, leaves, count = self._updated(named_params, named_gradients, leaves, count)
        return [new[name] for name in self._names], leaves, count

    def _updated(
        self, params: Values, gradients: Values, leaves: Leaves, count: Any
    ) -> tuple[Values, Leaves, Any]:
        """The optimizer's formula, parameter by parameter; JAX compiles the loop away."""
        xp = self.executor.framework.xp
        step = count + 1
        states = jax.tree.unflatten(self._structure, leaves)
        trained = {name: params[name] for name in gradients}
        new_params, new_states = {}, {}
        for name, param, state in self.optimizer.updates(
            xp, trained, gradients, states, step
        ):
            new_params[name] = param
            new_states[name] = state
        return new_params, tuple(jax.tree.leaves(new_states)), step

    def _program(self, training: bool) -> Program:
        backprop, used = self.executor.backprop(self.y, training)

        def run(
            changing: Values, leaves: Leaves, count: Any, fixed: Values, inputs: Values
        ) -> tuple:
            outputs, gradients, statistics = backprop(fixed | changing, inputs)
            params, leaves, count = self._updated(changing, gradients, leaves, count)
            return outputs, statistics | params, leaves, count

        return jax.jit(run, donate_argnums=(0, 1, 2)), used
