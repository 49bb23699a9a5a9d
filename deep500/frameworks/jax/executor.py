"""Runs a network in JAX: pure functions of parameters and inputs, usually compiled once per shape of inputs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from ...contracts.executor import Values
from ...contracts.framework import Framework
from ...contracts.network import Network
from ...contracts.operator import Operator
from ...contracts.optimizer import Optimizer
from ...graph import tape
from ...graph.functional import FunctionalExecutor, Program, check_traced
from .step import JaxStep

ARRAY = type(jnp.zeros(()))
Call = Callable[[Values, Mapping[str, Any]], Values]


class JaxExecutor(FunctionalExecutor):
    """Runs a network; native kernels are differentiated by JAX, formulas by their own derivatives.

    Usually XLA compiles whole functions; an eager execution calls one operator after the other.

    `params` holds the current arrays: a training step reuses their memory and replaces them by new ones.
    """

    def __init__(
        self,
        framework: Framework,
        network: Network,
        seed: int = 0,
        execution: str = "compiled",
    ):
        super().__init__(framework, network, seed, execution)
        self.params = copies(network.params)
        # by the names of the inputs
        self._calls: dict[tuple[str, ...], Call] = {}

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        if self.takes_inputs_as_they_are:
            names = tuple(inputs)
            call = self._calls.get(names)
            if call is None:
                call = self._calls[names] = self._inference_call(inputs)
        else:
            inputs = self.keyed(inputs)
            call = self._inference_call(inputs)
        return call(self.params, inputs)

    def _inference_call(self, inputs: Collection[str]) -> Call:
        """A function of parameters and inputs with these names, with everything done that needs no values."""
        key = ("inference", *inputs)
        program, used = self.program(key, lambda: self._inference(inputs))
        specs = self.structure.inputs
        dtypes = []
        for name in used:
            if name in inputs:
                dtype = np.dtype(specs[name].dtype)
                dtypes.append((name, dtype))
        outputs = self.structure.computable(inputs)
        in_order = outputs == sorted(outputs)
        native, ordered = self.native, self.ordered

        def call(params: Values, inputs: Mapping[str, Any]) -> Values:
            values = []
            for name, dtype in dtypes:
                value = inputs[name]
                if type(value) is not ARRAY or value.dtype is not dtype:
                    value = native(value, dtype.name)
                values.append(value)
            results = program(params, values)
            return results if in_order else ordered(results)

        return call

    def inference_and_backprop(
        self,
        inputs: Mapping[str, Any],
        y: str = "loss",
        step: int = 0,
        first_row: int = 0,
    ) -> Values:
        training = self.training
        inputs = self.keyed(inputs, step, first_row)
        program, used = self.program((y, training), lambda: self._backprop(y, training))
        values = self.natives(inputs, used)
        outputs, gradients, updates = program(self.params, values)
        self.gradients = {name: gradients[name] for name in self.structure.trainable}
        self.params = self.params | updates
        self.generation += 1
        return self.ordered(outputs)

    def _training_step(self, optimizer: Optimizer, y: str) -> JaxStep:
        return JaxStep(self, optimizer, y)

    def backprop(self, y: str, training: bool) -> Program:
        """Return a pure function (params, inputs) -> (outputs, gradients, new running statistics), and its inputs."""
        xp = self.framework.xp
        structure = self.structure
        updates = structure.state_updates if training else {}
        structure.gradient(y)  # raises an error if there is no y
        targets = {*structure.outputs, *updates.values(), y}
        nodes, used = structure.part(targets, training)

        def loss(trained: Values, params: Values, inputs: Values) -> tuple[Any, Values]:
            results = self.forward(nodes, params | trained | inputs, targets)
            seed = tape.seed(xp, results[y], y)
            return jnp.sum(results[y] * seed), results

        differentiate = jax.grad(loss, has_aux=True)

        def run(params: Values, inputs: Values) -> tuple[Values, Values, Values]:
            check_traced(structure, inputs, used)
            trained = {name: params[name] for name in structure.trainable}
            gradients, results = differentiate(trained, params, inputs)
            outputs = {name: results[name] for name in structure.outputs}
            statistics = {name: results[value] for name, value in updates.items()}
            return outputs, gradients, statistics

        return run, used

    def ordered(self, outputs: Values) -> Values:
        """Return the outputs in the network's order: compiled functions return dictionaries sorted by name."""
        names = self.structure.outputs
        return {name: outputs[name] for name in names if name in outputs}

    def native(self, value: Any, dtype: str) -> Any:
        """Return an array of this dtype; compiled functions take NumPy's arrays as they are."""
        if not isinstance(value, jax.Array):
            array = np.asarray(value, dtype)
            # NumPy would compute with a plain array if nothing is traced
            return jnp.asarray(array) if self.execution == "eager" else array
        if value.dtype == dtype:
            return value
        return value.astype(dtype)

    def jitted(
        self, function: Callable[..., Any], donated: Sequence[int] = ()
    ) -> Callable[..., Any]:
        """Return the function compiled by XLA, or as it is for an eager execution."""
        if self.execution == "eager":
            return function
        return jax.jit(function, donate_argnums=donated)

    def with_derivative(self, operator: Operator, inputs: Sequence[Any]) -> tuple:
        return formula(self.framework.xp, operator, inputs)

    def _inference(self, inputs: Collection[str]) -> Program:
        structure = self.structure
        outputs = structure.computable(inputs)
        nodes, used = structure.part(outputs, training=False)
        names = [name for name in used if name in inputs]

        def run(params: Values, values: Sequence[Any]) -> Values:
            """Takes the inputs in a list, which JAX flattens faster than a mapping."""
            named_values = dict(zip(names, values, strict=True))
            check_traced(structure, named_values, used)
            return self.forward(nodes, params | named_values, outputs)

        return self.jitted(run), used

    def _backprop(self, y: str, training: bool) -> Program:
        run, used = self.backprop(y, training)
        return self.jitted(run), used


def copies(arrays: Mapping[str, np.ndarray]) -> Values:
    """Return copies as JAX arrays: JAX may share NumPy's memory, and a training step overwrites its arguments."""
    return {name: jnp.array(value) for name, value in arrays.items()}


def formula(xp: Any, operator: Operator, inputs: Sequence[Any]) -> tuple:
    """Run an operator's formula as one step of JAX's differentiation, with the operator's own derivative."""
    places = []  # of the arrays; all other inputs are static
    for i, value in enumerate(inputs):
        if isinstance(value, jax.Array):
            places.append(i)

    def with_static(arrays: Sequence[jax.Array]) -> list[Any]:
        values = list(inputs)
        for place, array in zip(places, arrays, strict=True):
            values[place] = array
        return values

    def forward(*arrays: jax.Array) -> tuple[tuple, tuple]:
        results = operator.run(xp, *with_static(arrays))
        return operator.published(results), (arrays, results)

    def backward(saved: tuple, grads: tuple) -> tuple:
        arrays, results = saved
        gradients = operator.gradients(xp, grads, with_static(arrays), results)
        return tuple([gradients[i] for i in places])

    @jax.custom_vjp
    def run(*arrays: jax.Array) -> tuple:
        outputs, _ = forward(*arrays)
        return outputs

    run.defvjp(forward, backward)
    arrays = [inputs[i] for i in places]
    return run(*arrays)
