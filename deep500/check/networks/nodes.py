"""Checks node by node on several frameworks: the truth of a node is freed when all have answered."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...contracts.network import Node
from ...errors import Unsupported
from ..report import CheckReport, CheckResult
from .divergence import node_check
from .judging import judge_backward, judge_forward
from .processes import Process, RunnerLost
from .truth import NodeExample, Truth

Progress = Callable[[float, str], None]
Judge = Callable[[Process, Node, NodeExample], CheckResult]


class Panel:
    """Frameworks that are asked the same questions, and the checks of their answers."""

    def __init__(self, network: str, processes: Sequence[Process], progress: Progress):
        self.network = network
        self.processes = list(processes)
        self.progress = progress
        self.sides: dict[str, CheckReport] = {}
        for process in processes:
            name = process.framework
            self.sides[name] = self.report(name, process.isolated)
        self.lost: dict[str, str] = {}
        self.operations = 1.0  # per output element, of the longest node
        # the first wrong node, by direction
        self.evidence: dict[str, tuple[CheckResult, Node, NodeExample]] = {}

    def report(self, framework: str, isolated: bool, lost: str = "") -> CheckReport:
        """A report on one framework, without checks yet."""
        return CheckReport(
            "network", self.network, framework, isolated=isolated, lost=lost
        )

    def each(self, question: Callable[[Process], Any]) -> Iterator[tuple[str, Any]]:
        """The answers of all frameworks that are not lost."""
        for process in self.processes:
            if process.framework in self.lost:
                continue
            try:
                yield process.framework, question(process)
            except RunnerLost as error:
                self.lost[process.framework] = str(error)

    def give_up_crashed(self) -> None:
        """Ask no more of a framework whose process was ended by one of the nodes."""
        reason = "the whole network was not run: a node crashed"
        for process in self.processes:
            if process.crashes:
                self.lost.setdefault(process.framework, reason)

    def add(self, framework: str, check: CheckResult) -> None:
        self.sides[framework].checks.append(check)


def check_nodes(panel: Panel, truth: Truth) -> None:
    """Check every node forward, then every derivative backward."""
    total = 2 * len(truth.nodes)
    for number, (node, example) in enumerate(truth.forward()):
        share = number / total
        panel.progress(share, f"forward of {node.name}")
        _judge_all(panel, judge_forward, node, example)
        panel.operations = max(panel.operations, example.operations_per_element)
    try:
        for number, (node, example) in enumerate(truth.backward()):
            share = 0.5 + number / total
            panel.progress(share, f"backward of {node.name}")
            _judge_all(panel, judge_backward, node, example)
    except Unsupported as error:
        for framework in panel.sides:
            check = node_check(framework, "backward", "", ok=None, text=str(error))
            panel.add(framework, check)


def _judge_all(panel: Panel, judge: Judge, node: Node, example: NodeExample) -> None:
    def question(process: Process) -> CheckResult:
        return judge(process, node, example)

    for framework, check in panel.each(question):
        panel.add(framework, check)
        if check.ok is False:
            panel.evidence.setdefault(check.name, (check, node, example))
