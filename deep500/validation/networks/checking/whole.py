"""The whole network on a framework: a compiler's pass may be wrong where every kernel is right.

Outputs and gradients are held against what all roundings together explain. Where they are further off, every value is
asked for, and each node is judged on the framework's own inputs: the first that is wrong is named.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ....contracts.network import Network
from ....errors import Unsupported, one_line
from ...checking.comparing import deviation, output_check
from .accumulated import Expected, expected_gradients, expected_outputs
from .nodes import Panel
from .processes import Lost, Process
from .report import NodeCheck
from .runner import Made
from .truth import Truth

FUSED = "only where no value in between is asked for: a pass over the whole network changes it"
EXPLAINED = (
    "every node agrees on its own inputs: rounding decided on a branch or a kink"
)


def check_whole(
    panel: Panel, subject: Network, truth: Truth, data: Mapping[str, Any]
) -> None:
    """Inference, then training with gradients, on every framework."""
    wholes = [Whole(subject, truth, data, None, panel.operations)]
    if truth.y is not None and truth.complete:
        wholes.append(Whole(subject, truth, data, truth.y, panel.operations))
    explained = [name for name, side in panel.sides.items() if side.wrong]
    for whole in wholes:
        panel.progress(1.0, whole.direction)
        question = partial(whole.checks, explained=explained)
        for framework, checks in panel.each(question):
            panel.sides[framework].checks.extend(checks)


class Whole:
    """One direction of one network: what is expected, and how a framework is held against it."""

    def __init__(
        self,
        network: Network,
        truth: Truth,
        data: Mapping[str, Any],
        y: str | None,
        operations: float,
    ):
        self.network, self.truth, self.data, self.y = network, truth, dict(data), y
        self.direction = "whole forward" if y is None else "whole backward"
        self.expected: Expected = (
            expected_outputs(network, truth, operations)
            if y is None
            else expected_gradients(truth, operations)
        )

    def checks(self, process: Process, explained: Collection[str]) -> list[NodeCheck]:
        """Outputs or gradients; where these are wrong, what is, unless a node of the framework explains it."""

        def found() -> list[NodeCheck]:
            made = process.ask("whole", self.direction, self.network, self.data, self.y)
            checks = self._compared(process.framework, made)
            if process.framework in explained or all(check.ok for check in checks):
                return checks
            return self._located(process, checks)

        return settled(process.framework, self.direction, self.network.name, found)

    def _compared(self, framework: str, made: Made) -> list[NodeCheck]:
        got = made.outputs if self.y is None else made.gradients
        names = {name: name for name in self.expected.arrays}
        return compared(framework, self.direction, got, self.expected, names)

    def _located(self, process: Process, found: list[NodeCheck]) -> list[NodeCheck]:
        """The checks, with the first node that is wrong on the framework's own inputs before them."""
        opened = self.truth.network.copy()
        for node in opened.nodes:
            for name in node.outputs:
                if name not in opened.outputs:
                    opened.add_output(name)
        everything = process.ask(
            "whole", f"{self.direction}, all values", opened, self.data, self.y
        )
        local = self._first_wrong(process.framework, everything.outputs)
        if local:
            return [local, *found]
        again = self._compared(process.framework, everything)
        if not any(check.ok is False for check in again):
            return [_with_text(check, FUSED) for check in found]
        if self.y is None or self._gradients_follow(everything):
            return [_without_verdict(check) for check in found]
        return found

    def _first_wrong(
        self, framework: str, values: Mapping[str, np.ndarray]
    ) -> NodeCheck | None:
        own = Truth(self.network, self.y, self.data, self.truth.seed)
        own.values |= values
        nodes = own.keyed.part(self.network.outputs, training=self.y is not None)[0]
        for node in nodes:
            example = own.example(node)
            made = [values[name] for name in node.outputs]
            check = output_check(example, made)
            if check.ok is False:
                operator = type(node.operator).__name__
                about = (framework, self.direction, node.name, operator, False)
                return NodeCheck(*about, check.value, check.bound, check.text)
        return None

    def _gradients_follow(self, everything: Made) -> bool:
        """Whether the gradients are those of the framework's own values."""
        own = Truth(self.network, self.y, self.data, self.truth.seed)
        own.values |= everything.outputs
        for _ in own.backward():
            pass
        for name, bound in self.expected.bounds.items():
            want = own.gradients.get(name, np.zeros(bound.shape))
            got = everything.gradients[name]
            if deviation(name, got, want, bound, self.expected.dtype).fault:
                return False
        return True


def compared(
    framework: str,
    direction: str,
    got: Mapping[str, np.ndarray],
    expected: Expected,
    names: Mapping[str, str],
) -> list[NodeCheck]:
    """A check for every array; `names` says what each is called where it is expected."""
    found = []
    for own, name in names.items():
        want, bound = expected.arrays[name], expected.bounds[name]
        off = deviation(own, got[own], want, bound, expected.dtype)
        check = NodeCheck(framework, direction, own, ok=not off.fault, text=off.fault)
        found.append(replace(check, error=off.value, bound=off.bound))
    return found


def settled(
    framework: str, direction: str, name: str, checks: Callable[[], list[NodeCheck]]
) -> list[NodeCheck]:
    """The checks; an exception is one, too: no verdict on what is not offered, else wrong."""
    about = (framework, direction, name)
    try:
        return checks()
    except Lost:
        raise
    except Unsupported as error:
        return [NodeCheck(*about, ok=None, text=str(error), decided=False)]
    except Exception as error:
        return [NodeCheck(*about, ok=False, text=one_line(error))]


def _with_text(check: NodeCheck, text: str) -> NodeCheck:
    return replace(check, text=f"{check.text}; {text}") if check.ok is False else check


def _without_verdict(check: NodeCheck) -> NodeCheck:
    if check.ok is not False:
        return check
    return replace(check, ok=None, text=f"{check.text}; {EXPLAINED}")
