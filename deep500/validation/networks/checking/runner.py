"""The framework's side of a check: runs one node, or the whole network, and returns arrays; it concludes nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....contracts.executor import Executor
from ....contracts.framework import Framework, told_apart
from ....contracts.network import Network, Node
from ....contracts.optimizer import Optimizer
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
MOST_EXECUTORS = 64  # of single nodes that are kept


@dataclass(frozen=True)
class Made:
    """What came of one run: outputs and gradients by name (or by place), and whose code ran."""

    outputs: Arrays
    gradients: dict[Any, np.ndarray]
    kernels: dict[str, str]


class Runner:
    """One framework. Nodes of the same operator with inputs of the same kind share an executor."""

    def __init__(self, framework: Framework, seed: int = 0):
        self.framework, self.seed = framework, seed
        self._executors: dict[tuple, Executor] = {}

    def forward(self, node: Node, inputs: Sequence[Any]) -> Made:
        """One node in evaluation."""
        inputs = without_key(node.operator, inputs)
        executor = self._executor("forward", node, inputs, (), {})
        data = {
            input_name(i): x for i, x in enumerate(inputs) if isinstance(x, np.ndarray)
        }
        outputs = self._arrays(executor.inference(data))
        return Made(_by_node(node, executor, outputs), {}, executor.kernels())

    def backward(
        self,
        node: Node,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
        trained: Sequence[int],
    ) -> Made:
        """One node in training, and its derivative by the inputs in these places."""
        inputs = without_key(node.operator, inputs)
        pairs = zip(node.outputs, grads, strict=False)
        seeds = {name: g for name, g in pairs if g is not None}
        executor = self._executor("backward", node, inputs, trained, seeds)
        data = {}
        for i, x in enumerate(inputs):
            if i in trained:
                executor.write(input_name(i), x)
            elif isinstance(x, np.ndarray):
                data[input_name(i)] = x
        own = executor.structure.outputs
        dtype = probe_dtype([g.dtype.name for g in seeds.values()])
        for output, g in zip(_seeded(node, seeds, own), seeds.values(), strict=True):
            data[weight_name(output)] = g.astype(dtype)
        outputs = self._arrays(executor.inference_and_backprop(data, PROBE))
        gradients = self._arrays(executor.gradients)
        by_place = {i: gradients[input_name(i)] for i in trained}
        return Made(_by_node(node, executor, outputs), by_place, executor.kernels())

    def _executor(
        self,
        direction: str,
        node: Node,
        inputs: Sequence[Any],
        trained: Sequence[int],
        seeds: Mapping[str, np.ndarray],
    ) -> Executor:
        kinds = tuple(
            (x.shape, x.dtype.name) if isinstance(x, np.ndarray) else x for x in inputs
        )
        places = tuple(i for i, name in enumerate(node.outputs) if name in seeds)
        name = node.name if node.operator.random else ""
        told = told_apart(node.operator, kinds)
        asked = (tuple(trained), places)
        key = (direction, node.operator, len(node.outputs), name, kinds, asked, told)
        if key not in self._executors:
            if len(self._executors) >= MOST_EXECUTORS:
                self._executors.pop(next(iter(self._executors)))
            network = one_node(node, inputs, trained)
            if seeds:
                _probe(network, seeds)
            self._executors[key] = self.framework.executor(network, seed=self.seed)
        return self._executors[key]

    def whole(
        self, network: Network, data: Mapping[str, np.ndarray], y: str | None
    ) -> Made:
        """All outputs: in evaluation, or in training with the gradients of y."""
        executor = self.framework.executor(network, seed=self.seed)
        if y is None:
            outputs = self._arrays(executor.inference(data))
            return Made(outputs, {}, executor.kernels())
        outputs = self._arrays(executor.inference_and_backprop(data, y))
        return Made(outputs, self._arrays(executor.gradients), executor.kernels())

    def step(
        self,
        network: Network,
        data: Mapping[str, np.ndarray],
        y: str,
        optimizer: Optimizer,
        gradients: Mapping[str, np.ndarray],
    ) -> Arrays:
        """The trained parameters after a step along these gradients."""
        executor = self.framework.executor(network, seed=self.seed)
        step = executor.training_step(optimizer, y)
        step.backprop(data)
        executor.load_flat_gradients(executor.layout.gather(gradients))
        step.update()
        arrays = executor.arrays()
        return {name: arrays[name] for name in network.trainable}

    def _arrays(self, values: Mapping[str, Any]) -> Arrays:
        return arrays_of(self.framework.array, values)


def arrays_of(array: Callable[[Any], np.ndarray], values: Mapping[str, Any]) -> Arrays:
    """Copies of native values; `array` converts one."""
    return {name: np.array(array(_detached(value))) for name, value in values.items()}


def _probe(network: Network, seeds: Mapping[str, np.ndarray]) -> None:
    """Make the weighed sum of the outputs that have a gradient an output of the network."""
    dtypes = {name: g.dtype.name for name, g in seeds.items()}
    summed = probe_dtype(dtypes.values())
    for name, g in seeds.items():
        network.add_input(weight_name(name), g.shape, summed)
    network.add_output(add_probe(network, dtypes))


def _seeded(node: Node, seeds: Mapping[str, Any], own: Sequence[str]) -> list[str]:
    """The outputs with a gradient, as the executor's first node of this kind calls them."""
    return [own[node.outputs.index(name)] for name in seeds]


def _by_node(node: Node, executor: Executor, outputs: Arrays) -> Arrays:
    """The outputs under this node's names: the executor may have been made for another."""
    own = executor.structure.outputs[: len(node.outputs)]
    return {name: outputs[old] for name, old in zip(node.outputs, own, strict=True)}


def _detached(value: Any) -> Any:
    return value.detach() if hasattr(value, "detach") else value
