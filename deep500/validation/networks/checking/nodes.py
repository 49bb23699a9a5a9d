"""Node by node on several frameworks at once: the truth is computed once, and forgotten when all have answered."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ....contracts.network import Node
from ....errors import Unsupported
from ...checking.bounds import depth
from .judging import judge_backward, judge_forward
from .processes import Lost, Process
from .report import NodeCheck, Side
from .truth import NodeExample, Truth

Progress = Callable[[float, str], None]
Judge = Callable[[Process, Node, NodeExample], NodeCheck]


class Panel:
    """Frameworks that are asked the same questions, and what they were found to answer."""

    def __init__(self, processes: Sequence[Process], progress: Progress):
        self.processes = list(processes)
        self.progress = progress
        self.sides = {
            p.framework: Side(p.framework, isolated=p.isolated) for p in processes
        }
        self.lost: dict[str, str] = {}
        self.operations = 1.0  # behind one element, of the longest node
        self.evidence: dict[
            str, tuple[NodeCheck, Node, NodeExample]
        ] = {}  # by direction

    def each(self, question: Callable[[Process], Any]) -> Iterator[tuple[str, Any]]:
        """The answers of all frameworks that still give any."""
        for process in self.processes:
            if process.framework in self.lost:
                continue
            try:
                yield process.framework, question(process)
            except Lost as error:
                self.lost[process.framework] = str(error)

    def give_up_crashed(self) -> None:
        """The whole network is not run where one of its nodes has ended the process."""
        for process in self.processes:
            if process.crashes:
                self.lost.setdefault(
                    process.framework, "the whole network was not run: a node crashed"
                )

    def add(self, framework: str, check: NodeCheck) -> None:
        self.sides[framework].checks.append(check)


def check_nodes(panel: Panel, truth: Truth) -> None:
    """Every node forward, then every derivative backward."""
    total = 2 * len(truth.nodes)
    for done, (node, example) in enumerate(truth.forward()):
        panel.progress(done / total, f"forward of {node.name}")
        _judged(panel, judge_forward, node, example)
        operations = depth(example) / max(example.outputs[0].size, 1)
        panel.operations = max(panel.operations, operations)
    try:
        for done, (node, example) in enumerate(truth.backward()):
            panel.progress(0.5 + done / total, f"backward of {node.name}")
            _judged(panel, judge_backward, node, example)
    except Unsupported as error:
        for framework in panel.sides:
            panel.add(
                framework,
                NodeCheck(framework, "backward", "", ok=None, text=str(error)),
            )


def _judged(panel: Panel, judge: Judge, node: Node, example: NodeExample) -> None:
    for framework, check in panel.each(lambda process: judge(process, node, example)):
        panel.add(framework, check)
        if check.ok is False:
            panel.evidence.setdefault(check.direction, (check, node, example))
