"""The costs of a network as a report: totals first, then a row for every node."""

from collections.abc import Sequence

from ..reports.blocks import Banner, Block, Bullets, Report, Section, Table
from ..reports.tables import NOTHING
from ..reports.text import Text, clean
from .memory import MemoryPeak
from .network_costs import NetworkCosts, NodeCosts
from .units import amount, nbytes, shape_text

HEADERS = [
    "node",
    "operator",
    "output",
    "parameters",
    "FLOP",
    "moved",
    "made",
    "kept",
    "depth",
]


def costs_report(costs: NetworkCosts, most: int, framework: str | None) -> Report:
    """The report that `d5 show network` prints, with the `most` heaviest nodes."""
    name = clean(costs.name)
    size = nbytes(costs.parameter_bytes)
    work = amount(costs.flops, "FLOP")
    sentence = (
        f"{name}: {len(costs.nodes)} nodes, {costs.parameters:,} parameters ({size}), "
        f"{work} forward for a batch of {costs.batch}"
    )
    blocks: list[Block] = [
        Banner(f"{sentence}.", sentence),
        Section("Totals", [Bullets(_totals(costs, framework))], quiet=True),
        Section("Nodes", [_table(costs, most)], quiet=True),
        Bullets(_remarks(costs, most)),
    ]
    return Report("Deep500 network", name, blocks)


def _totals(costs: NetworkCosts, framework: str | None) -> list[Text]:
    kernels = ", with kernels that need no workspace"
    if framework:
        kernels = f" on {clean(framework)}"
    work = amount(costs.flops, "FLOP")
    backward = amount(costs.backward_flops, "FLOP")
    parallelism = amount(costs.parallelism).rstrip()
    moved = nbytes(costs.bytes_moved)
    inference = _memory_text(costs.inference)
    lines: list[Text] = [
        f"Work W = {work}, depth D = {costs.depth}, average parallelism "
        f"W/D = {parallelism}; backward {backward}.",
        f"Bytes moved: {moved} (every input of a node read once, every output "
        "written once).",
        f"Memory of an inference{kernels}: {inference}.",
    ]
    if costs.training:
        training = _memory_text(costs.training)
        lines.append(f"Memory of a training step{kernels}: {training}.")
    return lines


def _memory_text(memory: MemoryPeak) -> str:
    parts = []
    for category, size in memory.parts.items():
        if size:
            parts.append(f"{category} {nbytes(size)}")
    peak = nbytes(memory.peak)
    place = clean(memory.place)
    breakdown = ", ".join(parts)
    return f"{peak} at {place} ({breakdown})"


def _table(costs: NetworkCosts, most: int) -> Table:
    rows = [_row(node) for node in _heaviest(costs.nodes, most)]
    return Table(HEADERS, rows, "lllrrrrrr")


def _heaviest(nodes: Sequence[NodeCosts], most: int) -> list[NodeCosts]:
    """The nodes with the most operations, in the network's order."""
    ranked = sorted(nodes, key=lambda node: node.flops or 0, reverse=True)
    chosen = {node.name for node in ranked[:most]}
    return [node for node in nodes if node.name in chosen]


def _row(node: NodeCosts) -> list[Text]:
    shapes = [shape_text(output) for output in node.outputs[:2]]
    parameters = f"{node.parameters:,}" if node.parameters else NOTHING
    return [
        clean(node.name),
        node.operator,
        ", ".join(shapes),
        parameters,
        amount(node.flops),
        nbytes(node.bytes_moved),
        nbytes(node.memory.outputs),
        nbytes(node.memory.kept),
        str(node.memory.depth),
    ]


def _remarks(costs: NetworkCosts, most: int) -> list[Text]:
    lines: list[Text] = [
        "made: bytes that a node allocates for its results (a view takes none); kept: of inputs and "
        "results, for its derivative."
    ]
    hidden = len(costs.nodes) - most
    if hidden > 0:
        lines.append(f"{hidden} lighter nodes are not shown: --most shows more.")
    if costs.unknown:
        nodes = _some_of(costs.unknown)
        lines.append(
            f"Not counted, as their shapes are known only when they run: {nodes}."
        )
    memory = costs.training or costs.inference
    if memory.unknown:
        lines.append(f"Without their workspace: {_some_of(memory.unknown)}.")
    return lines


def _some_of(nodes: Sequence[str]) -> str:
    """The number of the nodes and the names of the first five."""
    names = ", ".join(map(clean, nodes[:5]))
    return f"{len(nodes)} nodes ({names})"
