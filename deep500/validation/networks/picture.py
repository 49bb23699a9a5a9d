"""The graph of a network as a picture: every node, or groups of them where there are too many to read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...contracts.network import Network
from ...reports.graph import Box, graph_svg
from .costs import NetworkCosts, NodeCosts
from .units import amount, shape_text

MOST_BOXES = 250  # beyond, nodes are drawn in groups
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
}  # a colour of the palette; normalisations have another, all else none


@dataclass(frozen=True)
class Group:
    """Nodes that are drawn as one box."""

    name: str
    nodes: Sequence[NodeCosts]
    repeats: int = 1  # groups alike that follow each other


def network_svg(network: Network, costs: NetworkCosts) -> str:
    """The picture of a network, with the shape that each node makes and its share of the operations."""
    groups = grouped(costs.nodes)
    heaviest = (
        max((sum(n.flops or 0 for n in group.nodes) for group in groups), default=0)
        or 1
    )
    inputs = [
        Box(name, shape_text(t), is_value=True) for name, t in costs.inputs.items()
    ]
    boxes = [_box(group, heaviest) for group in groups]
    outputs = [Box(name, "output", is_value=True) for name in network.outputs]
    title = f"{network.name}: {len(costs.nodes)} nodes, {amount(costs.parameters)} parameters"
    if len(groups) < len(costs.nodes):
        title += f", in {len(groups)} groups"
    edges = _edges(network, groups, list(costs.inputs))
    return graph_svg(title, [*inputs, *boxes, *outputs], edges)


def grouped(nodes: Sequence[NodeCosts], most: int = MOST_BOXES) -> list[Group]:
    """Nodes by the longest prefix of their names that leaves few enough; then repeated groups as one."""
    if len(nodes) <= most:
        return [Group(node.name, [node]) for node in nodes]
    deepest = max(len(_words(node.name)) for node in nodes)
    for depth in range(deepest, 0, -1):
        groups = _by_prefix(nodes, depth)
        for found in (groups, _folded(groups)):
            if len(found) <= most:
                return found
    return _in_parts(nodes, most)


def _by_prefix(nodes: Sequence[NodeCosts], depth: int) -> list[Group]:
    """In the order in which each prefix comes first."""
    members: dict[str, list[NodeCosts]] = {}
    for node in nodes:
        words = _words(node.name)
        members.setdefault(".".join(words[:depth]), []).append(node)
    return [Group(name, own) for name, own in members.items()]


def _folded(groups: Sequence[Group]) -> list[Group]:
    """Groups of the same operators that follow each other, as one."""
    found: list[Group] = []
    last: tuple[str, ...] = ()
    for group in groups:
        operators = tuple(node.operator for node in group.nodes)
        if found and operators == last:
            known = found.pop()
            name = known.name.partition(" … ")[0]
            whole = [*known.nodes, *group.nodes]
            group = Group(f"{name} … {group.name}", whole, known.repeats + 1)
        found.append(group)
        last = operators
    return found


def _in_parts(nodes: Sequence[NodeCosts], most: int) -> list[Group]:
    """As many nodes in each as are needed: their names say nothing."""
    size = -(-len(nodes) // (most // 2))
    parts = [nodes[i : i + size] for i in range(0, len(nodes), size)]
    return [Group(f"{part[0].name} … {part[-1].name}", part) for part in parts]


def _words(name: str) -> list[str]:
    return [word for word in name.replace("/", ".").split(".") if word] or [name]


def _box(group: Group, heaviest: int) -> Box:
    flops = sum(node.flops or 0 for node in group.nodes)
    last = group.nodes[-1]
    operators = Counter(node.operator for node in group.nodes)
    main = max(group.nodes, key=lambda node: node.flops or 0).operator
    if len(group.nodes) == 1:
        text = f"{last.operator} {shape_text(last.outputs[0])}"
    else:
        repeats = f"{group.repeats} × " if group.repeats > 1 else ""
        text = f"{repeats}{len(group.nodes) // group.repeats} nodes, {shape_text(last.outputs[0])}"
    parameters = sum(node.parameters for node in group.nodes)
    listed = ", ".join(f"{count} {name}" for name, count in operators.most_common())
    hint = f"{group.name}: {listed}; {amount(flops, 'FLOP')}, {amount(parameters)} parameters"
    return Box(group.name, text, _kind(main), flops / heaviest, hint=hint)


def _kind(operator: str) -> int | None:
    return 2 if operator.endswith("Normalization") else KINDS.get(operator)


def _edges(
    network: Network, groups: Sequence[Group], inputs: Sequence[str]
) -> list[tuple[int, int]]:
    """Pairs of positions among inputs, groups and outputs, each once."""
    place = {
        node.name: i
        for i, group in enumerate(groups, len(inputs))
        for node in group.nodes
    }
    makers = {name: i for i, name in enumerate(inputs)}
    for node in network.nodes:
        makers |= dict.fromkeys(node.outputs, place[node.name])
    found: dict[tuple[int, int], None] = {}
    for node in network.ordered():
        for value in node.inputs:
            maker = makers.get(value) if isinstance(value, str) else None
            if maker is not None and maker != place[node.name]:
                found[maker, place[node.name]] = None
    for i, name in enumerate(network.outputs, len(inputs) + len(groups)):
        if name in makers:
            found[makers[name], i] = None
    return list(found)
