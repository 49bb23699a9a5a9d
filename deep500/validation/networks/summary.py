"""The costs of a network as a report: totals first, then a row for every node."""

from collections.abc import Sequence

from ...reports.blocks import Banner, Block, Bullets, Report, Section, Table
from ...reports.tables import NOTHING
from ...reports.text import Text, clean
from .costs import NetworkCosts, NodeCosts
from .memory import Memory
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


def costs_report(
    costs: NetworkCosts, batch: int, most: int, framework: str | None
) -> Report:
    """What `d5 show network` prints; of many nodes only the heaviest."""
    sentence = (
        f"{clean(costs.name)}: {len(costs.nodes)} nodes, {costs.parameters:,} parameters "
        f"({nbytes(costs.parameter_bytes)}), {amount(costs.flops, 'FLOP')} forward for a batch of {batch}"
    )
    blocks: list[Block] = [
        Banner(f"{sentence}.", sentence),
        Section("Totals", [Bullets(_totals(costs, framework))], quiet=True),
        Section("Nodes", [_table(costs, most)], quiet=True),
        Bullets(_remarks(costs, most)),
    ]
    return Report("Deep500 network", clean(costs.name), blocks)


def _totals(costs: NetworkCosts, framework: str | None) -> list[Text]:
    on = (
        f" on {clean(framework)}"
        if framework
        else ", with kernels that need no workspace"
    )
    lines: list[Text] = [
        f"Work W = {amount(costs.flops, 'FLOP')}, depth D = {costs.depth}, average parallelism "
        f"W/D = {amount(costs.parallelism)}".rstrip()
        + f"; backward {amount(costs.backward_flops, 'FLOP')}.",
        f"Bytes moved: {nbytes(costs.bytes_moved)} (every input of a node read once, every output "
        "written once).",
        f"Memory of an inference{on}: {_memory(costs.inference)}.",
    ]
    if costs.training:
        lines.append(f"Memory of a training step{on}: {_memory(costs.training)}.")
    return lines


def _memory(memory: Memory) -> str:
    parts = [f"{name} {nbytes(size)}" for name, size in memory.parts.items() if size]
    return f"{nbytes(memory.peak)} at {clean(memory.place)} ({', '.join(parts)})"


def _table(costs: NetworkCosts, most: int) -> Table:
    shown = _heaviest(costs.nodes, most)
    return Table(HEADERS, [_row(node) for node in shown], "lllrrrrrr")


def _heaviest(nodes: Sequence[NodeCosts], most: int) -> list[NodeCosts]:
    """Those with the most operations, in the network's order."""
    ranked = sorted(nodes, key=lambda node: node.flops or 0, reverse=True)
    chosen = {node.name for node in ranked[:most]}
    return [node for node in nodes if node.name in chosen]


def _row(node: NodeCosts) -> list[Text]:
    return [
        clean(node.name),
        node.operator,
        ", ".join(shape_text(output) for output in node.outputs[:2]),
        f"{node.parameters:,}" if node.parameters else NOTHING,
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
    if len(costs.nodes) > most:
        lines.append(
            f"{len(costs.nodes) - most} lighter nodes are not shown: --most shows more."
        )
    if costs.unknown:
        lines.append(
            f"Not counted, as their shapes are known only when they run: {len(costs.unknown)} nodes "
            f"({', '.join(map(clean, costs.unknown[:5]))})."
        )
    if unknown := (costs.training or costs.inference).unknown:
        names = ", ".join(map(clean, unknown[:5]))
        lines.append(f"Without their workspace: {len(unknown)} nodes ({names}).")
    return lines
