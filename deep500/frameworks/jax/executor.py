"""Runs a network in JAX: pure functions of parameters and inputs, usually compiled once per shape of inputs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from ...contracts.executor import Values
from ...contracts.network import Network
from ...contracts.operator import Operator
from ...contracts.optimizer import Optimizer
from ...graph import tape
from ...graph.functional import (
    PACKED_KEYS,
    FunctionalExecutor,
    Program,
    check_traced,
)
from . import Jax
from .step import JaxStep

ARRAY = type(jnp.zeros(()))
Call = Callable[[Values, Mapping[str, Any]], Values]


class JaxExecutor(FunctionalExecutor):
    """Runs a network; native kernels are differentiated by JAX, formulas by their own derivatives.

    Usually XLA compiles whole functions; an eager execution calls one operator after the other.

    `params` holds the current arrays: a training step reuses their memory and replaces them by new ones.
    """

    framework: Jax

    def __init__(
        self,
        framework: Jax,
        network: Network,
        seed: int = 0,
        execution: str = "compiled",
    ):
        super().__init__(framework, network, seed, execution)
        for name, value in network.params.items():
            self.params[name] = framework.committed(value)
        # a compiled program runs where its parameters are
        self._follows_params = bool(network.params) and execution != "eager"
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
        for name in self.given(inputs, used):
            dtype = np.dtype(specs[name].dtype)
            dtypes.append((name, dtype))
        draws = self.keys_among(used)
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
            if draws:
                values.append(self.packed_keys(inputs, draws))
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
            inputs = self.unpacked(inputs, used)
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
        """Return an array of this dtype; a function that follows its parameters takes NumPy's arrays as they are."""
        if not isinstance(value, jax.Array):
            array = np.asarray(value, dtype)
            return array if self._follows_params else self.placed(array)
        if value.dtype == dtype:
            return value
        return value.astype(dtype)

    def placed(self, array: np.ndarray) -> jax.Array:
        """Return the array on the executor's device; JAX may share NumPy's memory."""
        return jax.device_put(array, self.framework.place)

    def jitted(
        self, function: Callable[..., Any], donated: Sequence[int] = ()
    ) -> Callable[..., Any]:
        """Return the function compiled by XLA, or for an eager execution on the executor's device."""
        if self.execution == "eager":
            return self._eager(function)
        return jax.jit(function, donate_argnums=donated)

    def _eager(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*values: Any) -> Any:
            # for the arrays that formulas create
            with jax.default_device(self.framework.place):
                return function(*values)

        return run

    def with_derivative(self, operator: Operator, inputs: Sequence[Any]) -> tuple:
        return formula(self.framework.xp, operator, inputs)

    def _write(self, name: str, value: np.ndarray) -> None:
        self.params[name] = self.framework.committed(value)

    def _inference(self, inputs: Collection[str]) -> Program:
        structure = self.structure
        outputs = structure.computable(inputs)
        nodes, used = structure.part(outputs, training=False)
        names = self.given(inputs, used)
        if self.keys_among(used):
            names.append(PACKED_KEYS)

        def run(params: Values, values: Sequence[Any]) -> Values:
            """Takes the inputs in a list, which JAX flattens faster than a mapping."""
            named_values = dict(zip(names, values, strict=True))
            named_values = self.unpacked(named_values, used)
            check_traced(structure, named_values, used)
            return self.forward(nodes, params | named_values, outputs)

        return self.jitted(run), used

    def _backprop(self, y: str, training: bool) -> Program:
        run, used = self.backprop(y, training)
        return self.jitted(run), used


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
