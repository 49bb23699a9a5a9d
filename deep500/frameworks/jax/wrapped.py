"""An executor that runs and trains a JAX function with its parameters."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp

from ...contracts.executor import Values
from ...contracts.loss import Loss
from ...graph import tape
from ...graph.functional import Program
from ...graph.wrapping import (
    NativeLoss,
    Wrapped,
    Wrapping,
    arguments_of,
    loss_expected,
)
from . import Jax
from .executor import JaxExecutor


class WrappedFunction(JaxExecutor):
    """Runs function(params, *inputs), compiled by XLA or as it is, on copies of the arrays in the tree `params`.

    They are named by their paths, such as "layer1/w"; floats are trained, integers are not. `tree` returns them in the
    form that the function takes.
    """

    def __init__(
        self,
        framework: Jax,
        function: Callable[..., Any],
        wrapping: Wrapping,
        seed: int | None,
        execution: str,
    ):
        self._tree = ParamTree(wrapping.params)
        loss = self._loss(framework, wrapping.loss)
        arguments = arguments_of(function, wrapping.inputs, first=1)
        name = getattr(function, "__name__", type(function).__name__)
        self._wrapped = Wrapped(name, function, arguments, wrapping, loss)
        arrays = self._tree.arrays
        self._trained = []
        for path, array in arrays.items():
            if jnp.issubdtype(array.dtype, jnp.inexact):
                self._trained.append(path)
        outline = self._wrapped.outline(arrays, self._trained)
        super().__init__(framework, outline, seed or 0, execution)

    @property
    def tree(self) -> Any:
        """The parameters as they are now, in the form that the function takes."""
        return self._tree.filled(self.params)

    def backprop(self, y: str, training: bool) -> Program:
        def loss(trained: Values, params: Values, inputs: Values) -> tuple[Any, Values]:
            outputs = self._run(params | trained, inputs)
            value = self._wrapped.differentiated(outputs, inputs, y)
            seed = tape.seed(self.framework.xp, value, y)
            return jnp.sum(value * seed), outputs

        differentiate = jax.grad(loss, has_aux=True)

        def run(params: Values, inputs: Values) -> tuple[Values, Values, Values]:
            trained = {name: params[name] for name in self._trained}
            gradients, outputs = differentiate(trained, params, inputs)
            return outputs, gradients, {}

        return run, self._wrapped.inputs

    def natives(self, inputs: Mapping[str, Any], used: Iterable[str]) -> Values:
        """Return the inputs that the function or the loss takes, in the dtypes that they have."""
        names = self._wrapped.known(inputs)
        arrays = {name: _array(inputs[name]) for name in names}
        if self.execution == "eager":
            return {name: self._on_device(value) for name, value in arrays.items()}
        return arrays

    def _on_device(self, value: Any) -> jax.Array:
        return value if isinstance(value, jax.Array) else self.placed(value)

    def _inference(self, inputs: Collection[str]) -> Program:
        names = [*inputs]

        def run(params: Values, values: Sequence[Any]) -> Values:
            named_values = dict(zip(names, values, strict=True))
            return self._run(params, named_values)

        return self.jitted(run), names

    def _run(self, params: Values, inputs: Values) -> Values:
        tree = self._tree.filled(params)
        outputs = self._wrapped.run(inputs, tree)
        # the names of the outputs are known when the function is traced
        if self._wrapped.outputs != self.structure.outputs:
            network = self._wrapped.outline(self._tree.arrays, self._trained)
            self.structure = network.outline()
        return outputs

    def _loss(self, framework: Jax, loss: Any) -> Callable[[Any, Any], Any] | None:
        if isinstance(loss, Loss):
            return NativeLoss(loss, framework.xp, self._kernel)
        if loss is not None and (not callable(loss) or isinstance(loss, type)):
            raise loss_expected(loss, "a function of jax.numpy")
        return loss


class ParamTree:
    """A tree with its arrays by path; leaves that are no arrays stay as they are."""

    def __init__(self, tree: Any):
        leaves, self._structure = jax.tree_util.tree_flatten_with_path(tree)
        self._leaves: dict[str, Any] = {}
        for path, leaf in leaves:
            name = jax.tree_util.keystr(path, simple=True, separator="/") or "params"
            self._leaves[name] = leaf

    @property
    def arrays(self) -> dict[str, Any]:
        arrays = {}
        for name, leaf in self._leaves.items():
            if isinstance(leaf, jax.Array | np.ndarray):
                arrays[name] = leaf
        return arrays

    def filled(self, arrays: Mapping[str, Any]) -> Any:
        """Return the tree with other arrays."""
        leaves = [arrays.get(name, leaf) for name, leaf in self._leaves.items()]
        return jax.tree_util.tree_unflatten(self._structure, leaves)


def _array(value: Any) -> Any:
    if isinstance(value, jax.Array):
        return value
    return np.asarray(value)
