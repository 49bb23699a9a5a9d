"""What a network costs, from its shapes alone: operations, bytes, parameters, memory, work and depth."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...contracts.framework import Framework
from ...contracts.network import Network, Node
from ...contracts.operator import Tensor
from ...contracts.optimizer import Optimizer
from ...frameworks import framework as framework_named
from .examples import decided_network
from .memory import Memory, NodeMemory, inference_memory, training_memory
from .shapes import input_tensors, value_specs


@dataclass(frozen=True)
class NodeCosts:
    """One node; None where a number follows only from values that a run brings."""

    name: str
    operator: str
    outputs: tuple[Tensor | None, ...]
    parameters: int  # elements that are trained, each counted where it is first used
    flops: int | None
    backward_flops: int | None  # None too where the operator does not say
    bytes_moved: int | None
    memory: NodeMemory


@dataclass(frozen=True)
class NetworkCosts:
    """A network at one size of its batch; `training` is None for a network without a loss."""

    name: str
    inputs: Mapping[str, Tensor]
    nodes: Sequence[NodeCosts]
    parameters: int
    parameter_bytes: int
    inference: Memory
    training: Memory | None

    @property
    def flops(self) -> int:
        """Work W: all operations of one inference."""
        return sum(node.flops or 0 for node in self.nodes)

    @property
    def backward_flops(self) -> int:
        """Those of the derivatives; an operator that does not say counts as much as forward."""
        return sum(_backward(node) for node in self.nodes)

    @property
    def bytes_moved(self) -> int:
        """Every input of a node read once, every output written once."""
        return sum(node.bytes_moved or 0 for node in self.nodes)

    @property
    def depth(self) -> int:
        """Depth D: the longest chain of operations that wait for each other, sums taken as trees."""
        return self.inference.depth

    @property
    def parallelism(self) -> float:
        """W / D: how many operations could be done at once on average."""
        return self.flops / self.depth if self.depth else math.nan

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
        return {
            "network": self.name,
            "inputs": {name: asdict(tensor) for name, tensor in self.inputs.items()},
            **numbers,
            "unknown": self.unknown,
            "inference": _memory(self.inference),
            "training": _memory(self.training) if self.training else None,
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
    trains = y in network.outputs and bool(network.trainable)
    training = (
        training_memory(network, tensors, engine, optimizer, y) if trains else None
    )
    trained = [network.params[name] for name in network.trainable]
    return NetworkCosts(
        network.name,
        tensors,
        _nodes(network, tensors, training or inference, inference),
        sum(p.size for p in trained),
        sum(p.nbytes for p in network.params.values()),
        inference,
        training,
    )


def _nodes(
    network: Network, tensors: Mapping[str, Tensor], memory: Memory, inference: Memory
) -> list[NodeCosts]:
    specs = value_specs(network, tensors)
    trainable, counted = set(network.trainable), set[str]()
    found = []
    for node in network.ordered():
        own = (
            trainable.intersection(i for i in node.inputs if isinstance(i, str))
            - counted
        )
        counted |= own
        known = (
            memory.nodes.get(node.name)
            or inference.nodes.get(node.name)
            or NodeMemory()
        )
        found.append(
            _node(node, specs, sum(network.params[name].size for name in own), known)
        )
    return found


def _node(
    node: Node, specs: Mapping[str, Tensor], parameters: int, memory: NodeMemory
) -> NodeCosts:
    operator = node.operator
    inputs = [specs.get(i) if isinstance(i, str) else i for i in node.inputs]
    given = inputs[: len(operator.inputs)] if operator.random else inputs
    outputs = tuple(specs.get(name) for name in node.outputs)
    return NodeCosts(
        node.name,
        type(operator).__name__,
        outputs,
        parameters,
        _counted(operator.flops, given),
        _counted(operator.backward_flops, given),
        _counted(operator.bytes_moved, given),
        memory,
    )


def _counted(count: Callable[..., int | None], inputs: Sequence[Any]) -> int | None:
    try:
        return count(*inputs)
    except Exception:  # it needs a value, or a shape that only a run brings
        return None


def _backward(node: NodeCosts) -> int:
    known = node.backward_flops
    return known if known is not None else node.flops or 0


def _memory(memory: Memory) -> dict[str, Any]:
    return {
        "peak": memory.peak,
        "at": memory.place,
        "parts": dict(memory.parts),
        "depth": memory.depth,
        "workspace_unknown": list(memory.unknown),
    }
