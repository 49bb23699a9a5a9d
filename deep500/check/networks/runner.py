"""The framework's side of a check: it runs one node or the whole network, and returns arrays without judging them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...contracts.executor import Executor
from ...contracts.framework import Framework, cache_key
from ...contracts.network import Network, Node
from ..optimizers.origins import from_origin
from .one_node import (
    PROBE,
    add_probe,
    input_name,
    one_node,
    probe_dtype,
    weight_name,
    without_key,
)

Arrays = dict[str, np.ndarray]
MOST_EXECUTORS = 64  # of single nodes in the cache


@dataclass(frozen=True)
class RunArrays:
    """The result of one run: outputs by name, gradients by name (or by input position), and the kernel of each node."""

    outputs: Arrays
    gradients: dict[Any, np.ndarray]
    kernels: dict[str, str]


class NetworkRunner:
    """Runs networks on one framework. Nodes of the same operator with inputs of the same kind share an executor."""

    def __init__(self, framework: Framework, seed: int = 0):
        self.framework = framework
        self.seed = seed
        self._executors: dict[tuple, Executor] = {}

    def forward(self, node: Node, inputs: Sequence[Any]) -> RunArrays:
        """Run one node in evaluation mode."""
        inputs = without_key(node.operator, inputs)
        executor = self._executor("forward", node, inputs, (), {})
        data = {}
        for i, x in enumerate(inputs):
            if isinstance(x, np.ndarray):
                data[input_name(i)] = x
        results = self._arrays(executor.inference(data))
        outputs = _by_node(node, executor, results)
        return RunArrays(outputs, {}, executor.kernels())

    def backward(
        self,
        node: Node,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
        trained: Sequence[int],
    ) -> RunArrays:
        """Run one node in training mode, and its derivative by the inputs at the positions in `trained`."""
        inputs = without_key(node.operator, inputs)
        pairs = zip(node.outputs, grads, strict=False)
        seeds = {name: gradient for name, gradient in pairs if gradient is not None}
        executor = self._executor("backward", node, inputs, trained, seeds)
        data = {}
        for i, x in enumerate(inputs):
            if i in trained:
                executor.write(input_name(i), x)
            elif isinstance(x, np.ndarray):
                data[input_name(i)] = x
        dtype = probe_dtype([seed.dtype.name for seed in seeds.values()])
        for name, seed in seeds.items():
            # the executor may have been created for another node with other names
            output = executor.structure.outputs[node.outputs.index(name)]
            data[weight_name(output)] = seed.astype(dtype)
        results = self._arrays(executor.inference_and_backprop(data, PROBE))
        outputs = _by_node(node, executor, results)
        gradients = self._arrays(executor.gradients)
        by_position = {i: gradients[input_name(i)] for i in trained}
        return RunArrays(outputs, by_position, executor.kernels())

    def _executor(
        self,
        direction: str,
        node: Node,
        inputs: Sequence[Any],
        trained: Sequence[int],
        seeds: Mapping[str, np.ndarray],
    ) -> Executor:
        """An executor for this node, or one that was made for a node of the same kind."""
        kinds = tuple(map(_kind, inputs))
        has_seed = tuple(name in seeds for name in node.outputs)
        key = (
            direction,
            node.operator,
            len(node.outputs),
            node.name if node.operator.random else "",
            kinds,
            tuple(trained),
            has_seed,
            cache_key(node.operator, kinds),
        )
        if key not in self._executors:
            if len(self._executors) >= MOST_EXECUTORS:
                oldest = next(iter(self._executors))
                del self._executors[oldest]
            network = one_node(node, inputs, trained)
            if seeds:
                _probe(network, seeds)
            self._executors[key] = self.framework.executor(network, seed=self.seed)
        return self._executors[key]

    def whole(
        self, network: Network, data: Mapping[str, np.ndarray], y: str | None
    ) -> RunArrays:
        """Run the whole network: in evaluation mode, or in training mode with the gradients of y."""
        executor = self.framework.executor(network, seed=self.seed)
        if y is None:
            outputs = self._arrays(executor.inference(data))
            return RunArrays(outputs, {}, executor.kernels())
        outputs = self._arrays(executor.inference_and_backprop(data, y))
        gradients = self._arrays(executor.gradients)
        return RunArrays(outputs, gradients, executor.kernels())

    def step(
        self,
        network: Network,
        data: Mapping[str, np.ndarray],
        y: str,
        optimizer: Any,
        gradients: Mapping[str, np.ndarray],
    ) -> Arrays:
        """The trained parameters after a step along these gradients of an optimizer, or of what `origin_of` gave."""
        if isinstance(optimizer, Mapping):
            optimizer = from_origin(optimizer)
        executor = self.framework.executor(network, seed=self.seed)
        step = executor.training_step(optimizer, y)
        step.backprop(data)
        flat_gradients = executor.layout.gather(gradients)
        executor.load_flat_gradients(flat_gradients)
        step.update()
        arrays = executor.arrays()
        return {name: arrays[name] for name in network.trainable}

    def _arrays(self, values: Mapping[str, Any]) -> Arrays:
        return arrays_of(self.framework.array, values)


def arrays_of(array: Callable[[Any], np.ndarray], values: Mapping[str, Any]) -> Arrays:
    """Copies of native values as NumPy arrays; `array` converts a single one."""
    arrays = {}
    for name, value in values.items():
        arrays[name] = np.array(array(_detached(value)))
    return arrays


def _kind(x: Any) -> Any:
    """Shape and dtype of an array; any other input as it is."""
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype.name
    return x


def _probe(network: Network, seeds: Mapping[str, np.ndarray]) -> None:
    """Add an output to the network: the weighted sum of the outputs that have a gradient."""
    dtypes = {name: seed.dtype.name for name, seed in seeds.items()}
    sum_dtype = probe_dtype(dtypes.values())
    for name, seed in seeds.items():
        network.add_input(weight_name(name), seed.shape, sum_dtype)
    probe = add_probe(network, dtypes)
    network.add_output(probe)


def _by_node(node: Node, executor: Executor, outputs: Arrays) -> Arrays:
    """The outputs under the names of this node: the executor may have been created for another one."""
    names = executor.structure.outputs[: len(node.outputs)]
    arrays = [outputs[name] for name in names]
    return dict(zip(node.outputs, arrays, strict=True))


def _detached(value: Any) -> Any:
    if hasattr(value, "detach"):
        return value.detach()
    return value
