"""The graph of a network as a picture: every node, or groups of them where there are too many to read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..contracts.network import Network
from ..reports.graph import Box, graph_svg
from .network_costs import NetworkCosts, NodeCosts
from .units import amount, shape_text

MOST_BOXES = 250  # with more nodes than that, groups of nodes are drawn
# colours of the palette by operator; normalisations have another one, all other operators none
KINDS = {
    "Conv": 0,
    "ConvTranspose": 0,
    "Gemm": 0,
    "MatMul": 0,
    "Attention": 0,
    "LSTM": 0,
    "GRU": 0,
    "RNN": 0,
    "Relu": 4,
    "Gelu": 4,
    "Sigmoid": 4,
    "Tanh": 4,
    "Softmax": 4,
    "HardSwish": 4,
    "Clip": 4,
    "MaxPool": 5,
    "AveragePool": 5,
    "GlobalAveragePool": 5,
    "SoftmaxCrossEntropyLoss": 1,
}
NORMALISATION = 2


@dataclass(frozen=True)
class NodeGroup:
    """Nodes that are drawn as one box."""

    name: str
    nodes: Sequence[NodeCosts]
    repeats: int = 1  # how many equal groups in a row it stands for

    @property
    def flops(self) -> int:
        return sum(map(_flops, self.nodes))

    @property
    def operators(self) -> list[str]:
        return [node.operator for node in self.nodes]


def _flops(node: NodeCosts) -> int:
    """The operations of a node; 0 if they could not be counted."""
    return node.flops or 0


def network_svg(network: Network, costs: NetworkCosts) -> str:
    """The picture of a network, with the output shape of each node and its share of the operations."""
    groups = grouped(costs.nodes)
    heaviest = max((group.flops for group in groups), default=0) or 1
    inputs = []
    for name, tensor in costs.inputs.items():
        inputs.append(Box(name, shape_text(tensor), is_value=True))
    boxes = [_box(group, heaviest) for group in groups]
    outputs = [Box(name, "output", is_value=True) for name in network.outputs]
    all_boxes = [*inputs, *boxes, *outputs]
    parameters = amount(costs.parameters)
    count = len(costs.nodes)
    title = f"{network.name}: {count} nodes, {parameters} parameters"
    if len(groups) < count:
        title += f", in {len(groups)} groups"
    edges = _edges(network, groups, list(costs.inputs))
    return graph_svg(title, all_boxes, edges)


def grouped(nodes: Sequence[NodeCosts], most: int = MOST_BOXES) -> list[NodeGroup]:
    """Nodes grouped by the longest name prefix that gives at most `most` groups.

    If no prefix does, equal groups in a row are folded into one.
    """
    if len(nodes) <= most:
        return [NodeGroup(node.name, [node]) for node in nodes]
    deepest = max(len(_name_parts(node.name)) for node in nodes)
    for depth in range(deepest, 0, -1):
        groups = _by_prefix(nodes, depth)
        if len(groups) <= most:
            return groups
        folded_groups = _folded(groups)
        if len(folded_groups) <= most:
            return folded_groups
    return _in_parts(nodes, most)


def _by_prefix(nodes: Sequence[NodeCosts], depth: int) -> list[NodeGroup]:
    """One group per prefix, in the order in which the prefixes first occur."""
    members: dict[str, list[NodeCosts]] = {}
    for node in nodes:
        prefix = ".".join(_name_parts(node.name)[:depth])
        members.setdefault(prefix, []).append(node)
    return [NodeGroup(prefix, group) for prefix, group in members.items()]


def _folded(groups: Sequence[NodeGroup]) -> list[NodeGroup]:
    """Fold groups in a row that have the same operators into one."""
    folded: list[NodeGroup] = []
    last_operators: list[str] = []
    for group in groups:
        operators = group.operators
        if folded and operators == last_operators:
            before = folded.pop()
            first_name = before.name.partition(" … ")[0]
            name = f"{first_name} … {group.name}"
            nodes = [*before.nodes, *group.nodes]
            group = NodeGroup(name, nodes, before.repeats + 1)
        folded.append(group)
        last_operators = operators
    return folded


def _in_parts(nodes: Sequence[NodeCosts], most: int) -> list[NodeGroup]:
    """Groups of equally many nodes in a row, for nodes whose names do not group them."""
    size = -(-len(nodes) // (most // 2))
    groups = []
    for start in range(0, len(nodes), size):
        part = nodes[start : start + size]
        first = part[0]
        last = part[-1]
        name = f"{first.name} … {last.name}"
        groups.append(NodeGroup(name, part))
    return groups


def _name_parts(name: str) -> list[str]:
    parts = name.replace("/", ".").split(".")
    return [part for part in parts if part] or [name]


def _box(group: NodeGroup, heaviest: int) -> Box:
    heaviest_node = max(group.nodes, key=_flops)
    kind = _kind(heaviest_node.operator)
    share = group.flops / heaviest
    text = _box_text(group)
    return Box(group.name, text, kind, share, hint=_hint(group))


def _box_text(group: NodeGroup) -> str:
    last = group.nodes[-1]
    shape = shape_text(last.outputs[0])
    if len(group.nodes) == 1:
        return f"{last.operator} {shape}"
    repeats = f"{group.repeats} × " if group.repeats > 1 else ""
    nodes_each = len(group.nodes) // group.repeats
    return f"{repeats}{nodes_each} nodes, {shape}"


def _hint(group: NodeGroup) -> str:
    counts = []
    for operator, count in Counter(group.operators).most_common():
        counts.append(f"{count} {operator}")
    operators = ", ".join(counts)
    parameters = amount(sum(node.parameters for node in group.nodes))
    work = amount(group.flops, "FLOP")
    return f"{group.name}: {operators}; {work}, {parameters} parameters"


def _kind(operator: str) -> int | None:
    if operator.endswith("Normalization"):
        return NORMALISATION
    return KINDS.get(operator)


def _edges(
    network: Network, groups: Sequence[NodeGroup], inputs: Sequence[str]
) -> list[tuple[int, int]]:
    """Pairs of positions among inputs, groups and outputs, each once."""
    positions: dict[str, int] = {}  # by the name of a node
    for position, group in enumerate(groups, len(inputs)):
        for member in group.nodes:
            positions[member.name] = position
    producers = {name: position for position, name in enumerate(inputs)}
    for node in network.nodes:
        producers |= dict.fromkeys(node.outputs, positions[node.name])
    edges: dict[tuple[int, int], None] = {}
    for node in network.ordered():
        position = positions[node.name]
        for value in node.inputs:
            producer = producers.get(value) if isinstance(value, str) else None
            if producer is not None and producer != position:
                edges[producer, position] = None
    for position, name in enumerate(network.outputs, len(inputs) + len(groups)):
        if name in producers:
            edges[producers[name], position] = None
    return list(edges)
