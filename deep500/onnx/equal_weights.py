"""Weights that an exporter wrote as one because they were equal, such as the ones and zeros of layers before training.

PyTorch's exporter does so by default. What was one parameter in the module stays one: every node says which parameters
it was made from.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import onnx
from onnx import helper

from .roles import KIND, RUNNING

SIGNATURE = "pkg.torch.export.ExportedProgram.graph_signature"
SOURCE = "pkg.torch.onnx.fx_node"
DECLARED = re.compile(r"^(\w+): (PARAMETER|BUFFER) target='([^']+)'", re.MULTILINE)
ARGUMENT = re.compile(r"%(\w+)")
STATISTICS = {3: "running_mean", 4: "running_var"}  # of a BatchNormalization


@dataclass(frozen=True)
class Original:
    """A weight as it was in the module."""

    kind: str  # "PARAMETER" or "BUFFER"
    name: str


@dataclass(frozen=True)
class Separation:
    """An input of a node that gets a weight of its own."""

    node: int
    position: int
    original: Original


def with_separate_weights(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[str]]:
    """The model with a copy of every weight that shares its array with others, and the names of the copies."""
    separations = [*_separations(model.graph)]
    if not separations:
        return model, []
    separate = onnx.ModelProto()
    separate.CopyFrom(model)
    graph = separate.graph
    weights = {weight.name: weight for weight in graph.initializer}
    copied_from: dict[str, str] = {}
    for separation in separations:
        inputs = graph.node[separation.node].input
        shared = inputs[separation.position]
        name = separation.original.name
        if name not in copied_from:
            _add_copy(graph, weights[shared], separation.original)
        if copied_from.setdefault(name, shared) == shared:  # a name is not two weights
            inputs[separation.position] = name
    return separate, [*copied_from]


def _add_copy(
    graph: onnx.GraphProto, shared: onnx.TensorProto, original: Original
) -> None:
    copy = graph.initializer.add()
    copy.CopyFrom(shared)
    copy.name = original.name
    info = helper.make_tensor_value_info(original.name, shared.data_type, shared.dims)
    info.metadata_props.add(key=KIND, value=original.kind)
    graph.value_info.append(info)


def _separations(graph: onnx.GraphProto) -> Iterator[Separation]:
    taken = {weight.name for weight in graph.initializer}
    uses = Counter(name for node in graph.node for name in node.input if name in taken)
    shared = {name for name, count in uses.items() if count > 1}
    if not shared:
        return
    taken.update(uses, *(node.output for node in graph.node))
    taken.update(value.name for value in graph.input)
    declared = _declared(graph)
    for index, node in enumerate(graph.node):
        if shared.isdisjoint(node.input):
            continue
        for position, original in _originals(node, uses, declared).items():
            if node.input[position] in shared and original.name not in taken:
                yield Separation(index, position, original)


def _declared(graph: onnx.GraphProto) -> dict[str, Original]:
    """The weights of the module, by the names that nodes call them."""
    for entry in graph.metadata_props:
        if entry.key == SIGNATURE:
            lines = DECLARED.findall(entry.value)
            return {argument: Original(kind, name) for argument, kind, name in lines}
    return {}


def _originals(
    node: onnx.NodeProto, weights: Counter[str], declared: dict[str, Original]
) -> dict[int, Original]:
    """What the weights of a node were, by position: as the node says, or else its running statistics at least."""
    positions = [
        position for position, name in enumerate(node.input) if name in weights
    ]
    source = next(
        (entry.value for entry in node.metadata_props if entry.key == SOURCE), ""
    )
    arguments = source.partition("(args = ")[2]
    mentioned = [declared[a] for a in ARGUMENT.findall(arguments) if a in declared]
    if len(mentioned) == len(positions):
        return dict(zip(positions, mentioned, strict=True))
    if node.op_type not in RUNNING:
        return {}
    statistics = {}
    for position in RUNNING[node.op_type]:
        if position in positions and node.output:
            name = f"{node.output[0]}.{STATISTICS[position]}"
            statistics[position] = Original("BUFFER", name)
    return statistics
