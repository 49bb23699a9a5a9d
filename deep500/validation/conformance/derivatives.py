"""Our derivatives against central differences, at the points of ONNX's suite, in float64."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from ...contracts.network import Node
from ...contracts.operator import Operator
from ...errors import Unsupported, one_line
from ...frameworks import framework
from .judging import network_and_feed
from .suite import Case
from .verdicts import (
    ERROR,
    PASS,
    SKIPPED,
    UNDECLARED,
    UNSTABLE,
    UNSUPPORTED,
    WRONG,
    Verdict,
)

STEP, DIRECTIONS = 1e-5, 3


def judge_derivative(case: Case) -> Verdict:
    """The gradient of the case's node on the reference framework, along random directions."""
    if case.kind != "node" or case.random:
        return Verdict(SKIPPED, "not a single node, or random")
    try:
        network, feed = network_and_feed(case, case.data[0][0])
        if len(network.nodes) != 1:
            return Verdict(SKIPPED, "not a single node, or random")
        with np.errstate(all="ignore"):
            return _judge_node(case, network.nodes[0], {**feed, **network.params})
    except Unsupported as error:
        return Verdict(UNSUPPORTED, str(error))
    except Exception as error:
        return Verdict(ERROR, one_line(error, 300, kind=True))


def _judge_node(case: Case, node: Node, values: dict[str, np.ndarray]) -> Verdict:
    operator, reference = node.operator, framework("reference")
    if not operator.differentiable:
        return UNDECLARED
    inputs: list[Any] = [
        _wide(values[i]) if isinstance(i, str) else i for i in node.inputs
    ]
    outputs = reference.evaluate(operator, inputs, composed=True)[: len(node.outputs)]
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    seeds = [
        rng.standard_normal(y.shape)
        if y.dtype.kind == "f" and i not in _state(case)
        else None
        for i, y in enumerate(outputs)
    ]
    gradients = reference.gradient(operator, inputs, seeds)
    where = [
        i for i, g in enumerate(gradients) if g is not None and _is_float(inputs[i])
    ]
    if not where or all(seed is None or not seed.size for seed in seeds):
        return Verdict(SKIPPED, "no gradient between floats")
    loss = _loss(operator, seeds)
    words = []
    for _ in range(DIRECTIONS):
        along = {i: rng.standard_normal(inputs[i].shape) for i in where}
        claimed = sum(float(np.sum(np.asarray(gradients[i]) * along[i])) for i in where)
        size = sum(float(np.sum(np.abs(np.asarray(gradients[i])))) for i in where)
        words.append(_compare(loss, inputs, along, claimed, size))
    return next(
        (w for w in words if w.word == WRONG),
        next((w for w in words if w.word == UNSTABLE), words[0]),
    )


def _compare(
    loss: Callable[[list], tuple[float, float]],
    inputs: list,
    along: dict[int, np.ndarray],
    claimed: float,
    size: float,
) -> Verdict:
    def at(t: float) -> tuple[float, float]:
        return loss(
            [x + t * along[i] if i in along else x for i, x in enumerate(inputs)]
        )

    here, scale = at(0.0)
    ahead, behind = ((at(STEP)[0] - here) / STEP, (here - at(-STEP)[0]) / STEP)
    near = (at(STEP / 4)[0] - at(-STEP / 4)[0]) / (STEP / 2)
    right, allowed = (ahead + behind) / 2, 1e-6 * (size + scale + 1)
    steady = abs(ahead - behind) <= 1e2 * allowed and abs(near - right) <= allowed
    if not np.isfinite(claimed):
        return Verdict(
            WRONG if np.isfinite(right) and steady else UNSTABLE,
            f"the derivative is {claimed}",
        )
    if not steady:
        return Verdict(UNSTABLE)
    text = f"the derivative along a direction is {right:.9g}, not {claimed:.9g}"
    return (
        Verdict(PASS) if abs(right - claimed) <= 2 * allowed else Verdict(WRONG, text)
    )


def _loss(
    operator: Operator, seeds: list[np.ndarray | None]
) -> Callable[[list], tuple[float, float]]:
    """The outputs weighed by the seeds, and the size of the terms."""

    def loss(inputs: list) -> tuple[float, float]:
        made = framework("reference").evaluate(operator, inputs, composed=True)
        terms = [s * y for s, y in zip(seeds, made, strict=False) if s is not None]
        return sum(float(np.sum(t)) for t in terms), sum(
            float(np.sum(np.abs(t))) for t in terms
        )

    return loss


def _state(case: Case) -> set[int]:
    """The outputs that ONNX calls not differentiable, such as running statistics."""
    node, opsets = (
        case.model.graph.node[0],
        {o.domain: o.version for o in case.model.opset_import},
    )
    outputs = onnx.defs.get_schema(
        node.op_type, opsets[node.domain], node.domain
    ).outputs
    none = onnx.defs.OpSchema.DifferentiationCategory.NonDifferentiable
    return {
        i for i, output in enumerate(outputs) if output.differentiation_category == none
    }


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f"


def _wide(value: np.ndarray) -> np.ndarray:
    return value.astype("float64") if _is_float(value) else value
