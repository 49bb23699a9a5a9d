"""The costs of a network, from its shapes alone: operations, bytes, parameters, memory, work and depth."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..contracts.framework import Framework
from ..contracts.network import Network, Node
from ..contracts.operator import TensorSpec
from ..contracts.optimizer import Optimizer
from ..frameworks import framework as framework_named
from .examples import decided_network
from .memory import MemoryPeak, NodeMemory, inference_memory, training_memory
from .shapes import input_tensors, value_specs


@dataclass(frozen=True)
class NodeCosts:
    """The costs of one node; None where a number depends on values that only a run provides."""

    name: str
    operator: str
    outputs: tuple[TensorSpec | None, ...]
    # elements that are trained, each counted where it is first used
    parameters: int
    flops: int | None
    backward_flops: int | None  # None also if the operator does not define them
    bytes_moved: int | None
    memory: NodeMemory


@dataclass(frozen=True)
class NetworkCosts:
    """The costs of a network at one batch size; `training` is None for a network without a loss."""

    name: str
    inputs: Mapping[str, TensorSpec]
    nodes: Sequence[NodeCosts]
    parameters: int
    parameter_bytes: int
    inference: MemoryPeak
    training: MemoryPeak | None

    @property
    def batch(self) -> int:
        """The first size of the first input that has one."""
        return next((x.shape[0] for x in self.inputs.values() if x.shape), 1)

    @property
    def flops(self) -> int:
        """Work W: all operations of one inference."""
        return sum(node.flops or 0 for node in self.nodes)

    @property
    def backward_flops(self) -> int:
        """The operations of the derivatives; an operator that does not define them counts as much as forward."""
        return sum(_backward_flops(node) for node in self.nodes)

    @property
    def bytes_moved(self) -> int:
        """Every input of a node read once, every output written once."""
        return sum(node.bytes_moved or 0 for node in self.nodes)

    @property
    def depth(self) -> int:
        """Depth D: the longest chain of dependent operations, where sums are taken as trees."""
        return self.inference.depth

    @property
    def parallelism(self) -> float:
        """W / D: how many operations could be done at once on average."""
        if not self.depth:
            return math.nan
        return self.flops / self.depth

    @property
    def unknown(self) -> list[str]:
        """The nodes whose operations could not be counted."""
        return [node.name for node in self.nodes if node.flops is None]

    def to_json(self) -> dict[str, Any]:
        keys = (
            "parameters",
            "parameter_bytes",
            "flops",
            "backward_flops",
            "bytes_moved",
            "depth",
        )
        numbers = {key: getattr(self, key) for key in keys}
        numbers["parallelism"] = self.parallelism if self.depth else None
        inputs = {name: asdict(tensor) for name, tensor in self.inputs.items()}
        training = _memory_json(self.training) if self.training else None
        return {
            "network": self.name,
            "inputs": inputs,
            **numbers,
            "unknown": self.unknown,
            "inference": _memory_json(self.inference),
            "training": training,
            "nodes": [asdict(node) for node in self.nodes],
        }


def network_costs(
    network: Network,
    batch: int = 1,
    *,
    sizes: Mapping[str, int] | None = None,
    framework: str | Framework | None = None,
    optimizer: Optimizer | None = None,
    y: str = "loss",
) -> NetworkCosts:
    """The costs of a network for a batch of this size; nothing is run.

    `sizes` are those of other open dimensions, by name. Memory is predicted for a framework, whose composed kernels
    need workspace; without one, for kernels that need none. A training step includes the optimizer's state.
    """
    engine = framework_named(framework) if isinstance(framework, str) else framework
    tensors = input_tensors(network, batch, sizes)
    network = decided_network(network, tensors)
    inference = inference_memory(network, tensors, engine)
    training = None
    if y in network.outputs and network.trainable:
        training = training_memory(network, tensors, engine, optimizer, y)
    parameters = sum(network.params[name].size for name in network.trainable)
    parameter_bytes = sum(param.nbytes for param in network.params.values())
    nodes = _nodes(network, tensors, training or inference, inference)
    return NetworkCosts(
        network.name,
        tensors,
        nodes,
        parameters,
        parameter_bytes,
        inference,
        training,
    )


def _nodes(
    network: Network,
    tensors: Mapping[str, TensorSpec],
    memory: MemoryPeak,
    inference: MemoryPeak,
) -> list[NodeCosts]:
    """The costs of every node; `memory` is that of a training step if there is one."""
    specs = value_specs(network, tensors)
    uncounted = set(network.trainable)
    costs = []
    for node in network.ordered():
        input_names = {name for name in node.inputs if isinstance(name, str)}
        first_used = uncounted & input_names
        uncounted -= first_used
        parameters = sum(network.params[name].size for name in first_used)
        node_memory = memory.nodes.get(node.name)
        if node_memory is None:
            node_memory = inference.nodes.get(node.name, NodeMemory())
        costs.append(_node(node, specs, parameters, node_memory))
    return costs


def _node(
    node: Node,
    specs: Mapping[str, TensorSpec],
    parameters: int,
    memory: NodeMemory,
) -> NodeCosts:
    operator = node.operator
    inputs = [specs.get(i) if isinstance(i, str) else i for i in node.inputs]
    if operator.random:  # the last input is the key
        inputs = inputs[: len(operator.inputs)]
    outputs = tuple(specs.get(name) for name in node.outputs)
    return NodeCosts(
        node.name,
        type(operator).__name__,
        outputs,
        parameters,
        _counted(operator.flops, inputs),
        _counted(operator.backward_flops, inputs),
        _counted(operator.bytes_moved, inputs),
        memory,
    )


def _counted(count: Callable[..., int | None], inputs: Sequence[Any]) -> int | None:
    try:
        return count(*inputs)
    except Exception:  # it needs a value or a shape that only a run provides
        return None


def _backward_flops(node: NodeCosts) -> int:
    if node.backward_flops is not None:
        return node.backward_flops
    return node.flops or 0


def _memory_json(memory: MemoryPeak) -> dict[str, Any]:
    return {
        "peak": memory.peak,
        "at": memory.place,
        "parts": dict(memory.parts),
        "depth": memory.depth,
        "workspace_unknown": list(memory.unknown),
    }
