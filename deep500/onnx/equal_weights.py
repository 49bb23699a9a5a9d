"""Separates weights that an exporter merged because they were equal, as are the ones and zeros of untrained layers.

PyTorch's exporter merges them by default. What was one parameter in the module stays one: the metadata of every node
say which parameters it was made from.
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
class OriginalWeight:
    """A weight as it was in the module."""

    kind: str  # "PARAMETER" or "BUFFER"
    name: str


@dataclass(frozen=True)
class Separation:
    """An input of a node that is to get a copy of a shared weight."""

    node: int
    position: int
    original: OriginalWeight


def with_separate_weights(
    model: onnx.ModelProto,
) -> tuple[onnx.ModelProto, list[str]]:
    """The model with a copy of every weight that shares its array with others, and the names of the copies."""
    separations = [*_separations(model.graph)]
    if not separations:
        return model, []
    separate = onnx.ModelProto()
    separate.CopyFrom(model)
    graph = separate.graph
    weights = {weight.name: weight for weight in graph.initializer}
    sources: dict[str, str] = {}  # the shared weight by the name of its copy
    for separation in separations:
        inputs = graph.node[separation.node].input
        shared = inputs[separation.position]
        name = separation.original.name
        if name not in sources:
            _add_copy(graph, weights[shared], separation.original)
            sources[name] = shared
        if sources[name] == shared:  # one name cannot stand for two weights
            inputs[separation.position] = name
    return separate, [*sources]


def _add_copy(
    graph: onnx.GraphProto, shared: onnx.TensorProto, original: OriginalWeight
) -> None:
    copy = graph.initializer.add()
    copy.CopyFrom(shared)
    copy.name = original.name
    info = helper.make_tensor_value_info(original.name, shared.data_type, shared.dims)
    info.metadata_props.add(key=KIND, value=original.kind)
    graph.value_info.append(info)


def _separations(graph: onnx.GraphProto) -> Iterator[Separation]:
    weights = {weight.name for weight in graph.initializer}
    uses = _weight_uses(graph, weights)
    shared = {name for name, count in uses.items() if count > 1}
    if not shared:
        return
    taken = set(weights)
    for value in graph.input:
        taken.add(value.name)
    for node in graph.node:
        taken.update(node.output)
    declared = _declared(graph)
    for index, node in enumerate(graph.node):
        if shared.isdisjoint(node.input):
            continue
        for position, original in _originals(node, uses, declared).items():
            if node.input[position] in shared and original.name not in taken:
                yield Separation(index, position, original)


def _weight_uses(graph: onnx.GraphProto, weights: set[str]) -> Counter[str]:
    """How many inputs of nodes each weight is."""
    uses: Counter[str] = Counter()
    for node in graph.node:
        uses.update(name for name in node.input if name in weights)
    return uses


def _declared(graph: onnx.GraphProto) -> dict[str, OriginalWeight]:
    """The weights of the module, by the names that they have in the metadata of nodes."""
    declared = {}
    for argument, kind, name in DECLARED.findall(_metadata(graph, SIGNATURE)):
        declared[argument] = OriginalWeight(kind, name)
    return declared


def _metadata(message: onnx.GraphProto | onnx.NodeProto, key: str) -> str:
    """The first entry with this key in the metadata; "" without one."""
    for entry in message.metadata_props:
        if entry.key == key:
            return entry.value
    return ""


def _originals(
    node: onnx.NodeProto,
    weights: Counter[str],
    declared: dict[str, OriginalWeight],
) -> dict[int, OriginalWeight]:
    """What the weights of a node were, by position: as its metadata say, or else its running statistics at least."""
    positions = []
    for position, name in enumerate(node.input):
        if name in weights:
            positions.append(position)
    _, _, arguments = _metadata(node, SOURCE).partition("(args = ")
    mentioned = []
    for argument in ARGUMENT.findall(arguments):
        if argument in declared:
            mentioned.append(declared[argument])
    if len(mentioned) == len(positions):
        return dict(zip(positions, mentioned, strict=True))
    statistics = {}
    for position in RUNNING.get(node.op_type, {}):
        if position in positions and node.output:
            name = f"{node.output[0]}.{STATISTICS[position]}"
            statistics[position] = OriginalWeight("BUFFER", name)
    return statistics
