"""A training step in JAX: forward, backward and the optimizer's formula, compiled as one function or as two."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.export
import numpy as np

from ...contracts.executor import Values
from ...contracts.optimizer import Optimizer, State
from ...graph.functional import FunctionalStep, Program
from ...graph.programs import Programs

if TYPE_CHECKING:
    from .executor import JaxExecutor

States = dict[str, State]
Leaves = tuple[Any, ...]  # all arrays of the state, in JAX's order


class JaxStep(FunctionalStep):
    """Donates the values that a step changes to XLA, which puts the new values into their memory."""

    executor: "JaxExecutor"

    def __init__(self, executor: "JaxExecutor", optimizer: Optimizer, y: str):
        super().__init__(executor, optimizer, y)
        init = partial(optimizer.init_named, executor.framework.xp)
        params = self._trained()

        def first_states() -> States:
            states = {}
            for name, param in params.items():
                states[name] = init(name, param)
            return states

        states = jax.jit(first_states)()
        leaves, self._structure = jax.tree.flatten(states)
        # one tuple for all arrays of the state: JAX takes longer for trees of dictionaries at every call
        # copies: equal constants may share memory, which a step could not donate twice
        committed = executor.framework.committed
        copies = [committed(np.asarray(leaf)) for leaf in leaves]
        self._leaves = tuple(copies)
        self._device_count = committed(np.zeros((), np.float32))
        self._names = tuple(params)
        self.programs: Programs[Program] = Programs()
        self._half = executor.jitted(self._updated_values, (0, 2, 3))

    def __call__(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        program, arguments = self._bound(inputs, first_row)
        outputs, new, self._leaves, self._device_count = program(*arguments)
        executor = self.executor
        executor.params = executor.params | new
        self._done()
        return executor.ordered(outputs)

    def exported(self, inputs: Mapping[str, Any], platform: str) -> jax.export.Exported:
        """The whole step on such a batch as XLA gets it for a platform ("cuda", "rocm", "tpu"), which need not be here.

        Raises `Unsupported` if the network calls a function of the host.
        """
        program, arguments = self._bound(inputs)
        return jax.export.export(jax.jit(program), platforms=(platform,))(*arguments)

    def _bound(
        self, inputs: Mapping[str, Any], first_row: int = 0
    ) -> tuple[Callable[..., tuple], tuple]:
        """The program of a step on this batch, and its arguments."""
        executor = self.executor
        training = executor.training
        structure = executor.structure
        inputs = executor.keyed(inputs, self.count, first_row)
        key = executor.decided, training
        program, used = self.programs.find(key, lambda: self._program(training))
        values = executor.natives(inputs, used)
        fixed = dict(executor.params)
        changing = {name: fixed.pop(name) for name in structure.trainable}
        if training:
            for name in structure.state_updates:
                changing[name] = fixed.pop(name)
        return program, (changing, self._leaves, self._device_count, fixed, values)

    def _update(self) -> None:
        executor = self.executor
        names = self._names
        params = executor.params
        current = [params[name] for name in names]
        gradients = [executor.gradients[name] for name in names]
        new, self._leaves, self._device_count = self._half(
            current, gradients, self._leaves, self._device_count
        )
        executor.params = params | dict(zip(names, new, strict=True))

    def set_device_count(self, count: np.ndarray) -> None:
        self._device_count = self.executor.framework.committed(count)

    @property
    def states(self) -> States:  # type: ignore[override]
        """The optimizer's state by parameter and name."""
        return jax.tree.unflatten(self._structure, self._leaves)

    def set_state(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        states = self.states
        for key, value in arrays.items():
            states[name][key] = self.executor.framework.committed(value)
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
        """The second half of a step, on values in the order of `_names`."""
        named_params = dict(zip(self._names, params, strict=True))
        named_gradients = dict(zip(self._names, gradients, strict=True))
        new, leaves, count = self._updated(named_params, named_gradients, leaves, count)
        return [new[name] for name in self._names], leaves, count

    def _updated(
        self, params: Values, gradients: Values, leaves: Leaves, count: Any
    ) -> tuple[Values, Leaves, Any]:
        """The optimizer's formula for one parameter after the other; JAX unrolls the loop."""
        xp = self.executor.framework.xp
        step = count + 1
        states = jax.tree.unflatten(self._structure, leaves)
        trained = {name: params[name] for name in gradients}
        new_params, new_states = {}, {}
        updates = self.optimizer.updates(xp, trained, gradients, states, step)
        for name, param, state in updates:
            new_params[name] = param
            new_states[name] = state
        return new_params, tuple(jax.tree.leaves(new_states)), step

    def _program(self, training: bool) -> Program:
        backprop, used = self.executor.backprop(self.y, training)

        def run(
            changing: Values,
            leaves: Leaves,
            count: Any,
            fixed: Values,
            inputs: Values,
        ) -> tuple:
            outputs, gradients, statistics = backprop(fixed | changing, inputs)
            params, leaves, count = self._updated(changing, gradients, leaves, count)
            return outputs, statistics | params, leaves, count

        return self.executor.jitted(run, (0, 1, 2)), used
