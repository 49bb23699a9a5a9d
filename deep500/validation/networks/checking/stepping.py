"""One step of an optimizer on every framework, along the same gradients."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ....contracts.network import Network
from ....contracts.optimizer import Optimizer
from ...checking.bounds import MOVES, allowed, moved
from ...checking.comparing import deviation
from ...checking.examples import XP
from ...checking.formats import wide
from ...checking.rounding import Noise, RoundedNamespace
from .nodes import Panel
from .processes import Process
from .report import NodeCheck
from .truth import Truth
from .whole import settled

OPERATIONS = 16.0  # of the longest rule, for every element


def check_step(
    panel: Panel,
    subject: Network,
    truth: Truth,
    data: Mapping[str, Any],
    optimizer: Optimizer,
) -> None:
    """Every parameter after the step, against the rule in float64."""
    gradients = {name: truth.gradient(name) for name in truth.trainable}
    values = (subject, dict(data), truth.y, optimizer, gradients)

    rule = type(optimizer).__name__

    def question(process: Process) -> list[NodeCheck]:
        def checks() -> list[NodeCheck]:
            made = process.ask("step", f"a step of {rule}", *values)
            found = []
            for name in truth.trainable:
                check = NodeCheck(process.framework, "step", name, rule)
                arrays = (subject.params[name], gradients[name], made[name])
                found.append(_judged(check, optimizer, *arrays))
            return found

        return settled(process.framework, "step", rule, checks)

    panel.progress(1.0, f"a step of {rule}")
    for framework, checks in panel.each(question):
        panel.sides[framework].checks.extend(checks)


def _judged(
    check: NodeCheck,
    optimizer: Optimizer,
    param: np.ndarray,
    gradient: np.ndarray,
    got: np.ndarray,
) -> NodeCheck:
    dtype = param.dtype.name
    want = _stepped(XP, optimizer, wide((param, gradient)))
    move = np.zeros(want.shape)
    for number in range(MOVES):
        noise = Noise(number, dtype)
        spoilt = _stepped(
            RoundedNamespace(noise), optimizer, moved((param, gradient), noise)
        )
        move = np.maximum(move, np.abs(spoilt - want))
    off = deviation(
        check.node, got, want, allowed(want, move, dtype, OPERATIONS), dtype
    )
    return replace(
        check, ok=not off.fault, error=off.value, bound=off.bound, text=off.fault
    )


def _stepped(xp: Any, optimizer: Optimizer, values: tuple) -> np.ndarray:
    param, gradient = values
    first = np.asarray(1.0)
    new, _ = optimizer.update(xp, param, gradient, optimizer.init(xp, param), first)
    return np.asarray(new)
