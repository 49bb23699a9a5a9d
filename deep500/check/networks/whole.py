"""Checks the whole network on a framework: a compiler's pass may be wrong even if every kernel is right.

Outputs and gradients may be off by what all roundings together explain. If they are further off, the framework runs
again with every value as an output: each node is judged on the framework's own inputs, and the first wrong one named.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...contracts.network import Network
from ...errors import Unsupported, one_line, raise_if_internal
from ..operators.array_checks import deviation, output_check
from ..report import CheckResult
from .accumulated import Expected, expected_gradients, expected_outputs
from .divergence import node_check
from .nodes import Panel
from .processes import Process, RunnerLost
from .runner import RunArrays
from .truth import Truth

FUSED = "only where no value in between is asked for: a pass over the whole network changes it"
EXPLAINED = (
    "every node agrees on its own inputs: rounding decided on a branch or a kink"
)


def check_whole(
    panel: Panel, subject: Network, truth: Truth, data: Mapping[str, Any]
) -> None:
    """Check inference, then training with gradients, on every framework of the panel."""
    operations = panel.operations
    wholes = [Whole(subject, truth, data, None, operations)]
    if truth.y is not None and truth.complete:
        backward = Whole(subject, truth, data, truth.y, operations)
        wholes.append(backward)
    explained = [name for name, side in panel.sides.items() if side.wrong]
    for whole in wholes:
        panel.progress(1.0, whole.direction)
        question = partial(whole.checks, explained=explained)
        for framework, checks in panel.each(question):
            panel.sides[framework].checks.extend(checks)


class Whole:
    """The check of one network in one direction: forward if y is None, else the gradients of y."""

    def __init__(
        self,
        network: Network,
        truth: Truth,
        data: Mapping[str, Any],
        y: str | None,
        operations: float,
    ):
        self.network = network
        self.truth = truth
        self.data = dict(data)
        self.y = y
        self.expected: Expected
        if y is None:
            self.direction = "whole forward"
            self.expected = expected_outputs(network, truth, operations)
        else:
            self.direction = "whole backward"
            self.expected = expected_gradients(truth, operations)

    def checks(self, process: Process, explained: Collection[str]) -> list[CheckResult]:
        """Check outputs or gradients; if one is wrong, locate it, unless the framework is in `explained`.

        A framework is explained if the check of its single nodes has already found a wrong one.
        """
        framework = process.framework

        def run_and_compare() -> list[CheckResult]:
            run = process.ask("whole", self.direction, self.network, self.data, self.y)
            checks = self._compared(framework, run)
            if framework in explained or all(check.ok for check in checks):
                return checks
            return self._located(process, checks)

        return settled(framework, self.direction, self.network.name, run_and_compare)

    def _compared(self, framework: str, run: RunArrays) -> list[CheckResult]:
        arrays = run.outputs if self.y is None else run.gradients
        names = {name: name for name in self.expected.arrays}
        return compared(framework, self.direction, arrays, self.expected, names)

    def _located(
        self, process: Process, checks: list[CheckResult]
    ) -> list[CheckResult]:
        """The checks, preceded by the first node that is wrong on the framework's own inputs, or explained by text."""
        opened = self.truth.network.copy()
        for node in opened.nodes:
            for name in node.outputs:
                if name not in opened.outputs:
                    opened.add_output(name)
        doing = f"{self.direction}, all values"
        opened_run = process.ask("whole", doing, opened, self.data, self.y)
        first_wrong = self._first_wrong(process.framework, opened_run.outputs)
        if first_wrong:
            return [first_wrong, *checks]
        opened_checks = self._compared(process.framework, opened_run)
        if not any(check.ok is False for check in opened_checks):
            return [_with_text(check, FUSED) for check in checks]
        if self.y is None or self._gradients_follow(opened_run):
            return [_without_verdict(check) for check in checks]
        return checks

    def _first_wrong(
        self, framework: str, values: Mapping[str, np.ndarray]
    ) -> CheckResult | None:
        """The first node whose outputs are wrong, given the framework's values of its inputs."""
        truth = self._truth_from(values)
        training = self.y is not None
        nodes, _ = truth.keyed.part(self.network.outputs, training=training)
        for node in nodes:
            example = truth.example(node)
            outputs = [values[name] for name in node.outputs]
            check = output_check(example, outputs)
            if check.ok is False:
                operator = type(node.operator).__name__
                about = (framework, self.direction, node.name, operator, False)
                return node_check(*about, check.value, check.bound, check.text)
        return None

    def _gradients_follow(self, opened_run: RunArrays) -> bool:
        """Whether the gradients are those of the framework's own values."""
        truth = self._truth_from(opened_run.outputs)
        for _ in truth.backward():
            pass
        dtype = self.expected.dtype
        for name, bound in self.expected.bounds.items():
            expected = truth.gradients.get(name, np.zeros(bound.shape))
            actual = opened_run.gradients[name]
            if deviation(name, actual, expected, bound, dtype).fault:
                return False
        return True

    def _truth_from(self, values: Mapping[str, np.ndarray]) -> Truth:
        """The truth of a network that has these values."""
        truth = Truth(self.network, self.y, self.data, self.truth.seed)
        truth.values |= values
        return truth


def compared(
    framework: str,
    direction: str,
    arrays: Mapping[str, np.ndarray],
    expected: Expected,
    names: Mapping[str, str],
) -> list[CheckResult]:
    """A check for every array; `names` maps the name of each to its name among the expected arrays."""
    checks = []
    for name, expected_name in names.items():
        truth = expected.arrays[expected_name]
        bound = expected.bounds[expected_name]
        difference = deviation(name, arrays[name], truth, bound, expected.dtype)
        check = node_check(
            framework,
            direction,
            name,
            ok=not difference.fault,
            value=difference.value,
            bound=difference.bound,
            text=difference.fault,
        )
        checks.append(check)
    return checks


def settled(
    framework: str,
    direction: str,
    name: str,
    checks: Callable[[], list[CheckResult]],
) -> list[CheckResult]:
    """The result of `checks`; if it raises, one check: without a verdict for `Unsupported`, wrong for other errors."""
    about = (framework, direction, name)
    try:
        return checks()
    except RunnerLost:
        raise
    except Unsupported as error:
        return [node_check(*about, ok=None, text=str(error), decided=False)]
    except Exception as error:
        raise_if_internal(error)
        return [node_check(*about, ok=False, text=one_line(error))]


def _with_text(check: CheckResult, text: str) -> CheckResult:
    if check.ok is not False:
        return check
    return replace(check, text=f"{check.text}; {text}")


def _without_verdict(check: CheckResult) -> CheckResult:
    if check.ok is not False:
        return check
    return replace(check, ok=None, text=f"{check.text}; {EXPLAINED}")
