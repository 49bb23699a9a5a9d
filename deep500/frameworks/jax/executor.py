"""A network in JAX: pure functions of the parameters and the inputs, compiled once for every shape of the inputs."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from ...contracts import tape
from ...contracts.executor import Executor, Values, matching
from ...contracts.framework import Framework
from ...contracts.network import Network, Node
from ...contracts.operator import Operator
from ...contracts.optimizer import Optimizer
from .step import JaxStep

Program = Callable[..., Any]


class JaxExecutor(Executor):
    """Runs a network compiled by XLA; derivatives are JAX's own through native kernels, ours through formulas.

    `params` holds the current arrays: a training step reuses their memory, and puts new ones in their place.
    """

    _params: Values

    def __init__(self, framework: Framework, network: Network):
        super().__init__(framework, network)
        self._programs: dict[tuple, tuple[Program, list[str]]] = {}

    @property
    def params(self) -> Values:
        """Made when first asked for: until then `set_threads` may be called."""
        if not self._params:
            self._params = _copies(self.structure.params)
        return self._params

    @params.setter
    def params(self, values: Values) -> None:
        self._params = values

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        inputs = self.keyed(inputs)
        key = ("inference", *inputs)
        if key not in self._programs:
            outputs = self.structure.computable(inputs)
            forward, used = self.forward(outputs, training=False)
            self._programs[key] = jax.jit(forward), used
        program, used = self._programs[key]
        return self.ordered(program(self.params, self.natives(inputs, used)))

    def inference_and_backprop(
        self, inputs: Mapping[str, Any], y: str = "loss", step: Any = 0
    ) -> Values:
        key = (y, self.training)
        if key not in self._programs:
            backprop, used = self.backprop(y, self.training)
            self._programs[key] = jax.jit(backprop), used
        program, used = self._programs[key]
        outputs, gradients, updates = program(
            self.params, self.natives(self.keyed(inputs, step), used)
        )
        self.gradients = {name: gradients[name] for name in self.structure.trainable}
        self.params = self.params | updates
        return self.ordered(outputs)

    def training_step(self, optimizer: Optimizer, y: str = "loss") -> JaxStep:
        self.structure.warn_before_training()
        return JaxStep(self, optimizer, y)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.array(value) for name, value in self.params.items()}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.params = _copies(matching(self.arrays(), arrays))

    def forward(self, outputs: Collection[str], training: bool) -> tuple[Program, list[str]]:
        """A pure function (params, inputs) -> outputs, and the inputs that it takes."""
        nodes, used = self.structure.part(outputs, training)

        def run(params: Values, inputs: Values) -> Values:
            return tape.forward(
                self.framework.xp, nodes, params | inputs, outputs, self._kernel, record=False
            )[0]

        return run, used

    def backprop(self, y: str, training: bool) -> tuple[Program, list[str]]:
        """A pure function (params, inputs) -> outputs, gradients, new running statistics; and the inputs it takes."""
        structure, updates = self.structure, self.structure.state_updates if training else {}
        structure.gradient(y)  # which says so if there is no y
        forward, used = self.forward({*structure.outputs, *updates.values(), y}, training)

        def loss(trained: Values, params: Values, inputs: Values) -> tuple[Any, Values]:
            found = forward(params | trained, inputs)
            return jnp.sum(found[y] * tape.seed(self.framework.xp, found[y], y)), found

        def run(params: Values, inputs: Values) -> tuple[Values, Values, Values]:
            trained = {name: params[name] for name in structure.trainable}
            gradients, found = jax.grad(loss, has_aux=True)(trained, params, inputs)
            return (
                {name: found[name] for name in structure.outputs},
                gradients,
                {name: found[value] for name, value in updates.items()},
            )

        return run, used

    def ordered(self, outputs: Values) -> Values:
        """In the network's order: what JAX has compiled returns them sorted by name."""
        return {name: outputs[name] for name in self.structure.outputs if name in outputs}

    def natives(self, inputs: Mapping[str, Any], used: Iterable[str]) -> Values:
        """The inputs that are used, checked, in their declared dtypes; JAX takes NumPy's arrays as they are."""
        kinds = self.structure.inputs
        values = {name: _typed(inputs[name], kinds[name].dtype) for name in used if name in inputs}
        self.structure.check_shapes(used, {name: value.shape for name, value in values.items()})
        return values

    def _kernel(self, node: Node, inputs: Sequence[Any]) -> tuple:
        kernel, word = self.framework.kernel(node.operator, len(node.outputs), node.inputs)
        if word == "native" or not node.operator.differentiable:
            return kernel(*inputs)
        return _formula(self.framework.xp, node.operator, inputs)


def _copies(arrays: Mapping[str, np.ndarray]) -> Values:
    """Copies on JAX's side: it may share NumPy's memory, and a training step writes into what it is given."""
    return {name: jnp.array(value) for name, value in arrays.items()}


def _typed(value: Any, dtype: str) -> Any:
    return value.astype(dtype) if isinstance(value, jax.Array) else np.asarray(value, dtype)


def _formula(xp: Any, operator: Operator, inputs: Sequence[Any]) -> tuple:
    """An operator's formula and its own derivative, as one step of JAX's differentiation."""
    places = [
        i for i, value in enumerate(inputs) if isinstance(value, jax.Array)
    ]  # the others are static

    def whole(arrays: Sequence[jax.Array]) -> list[Any]:
        given = dict(enumerate(inputs)) | dict(zip(places, arrays, strict=True))
        return [*given.values()]

    def forward(*arrays: jax.Array) -> tuple[tuple, tuple]:
        results = operator.run(xp, *whole(arrays))
        return operator.published(results), (arrays, results)

    def backward(kept: tuple, grads: tuple) -> tuple:
        arrays, results = kept
        found = operator.gradients(xp, grads, whole(arrays), results)
        return tuple(found[i] for i in places)

    run = jax.custom_vjp(lambda *arrays: forward(*arrays)[0])
    run.defvjp(forward, backward)
    return run(*(inputs[i] for i in places))
