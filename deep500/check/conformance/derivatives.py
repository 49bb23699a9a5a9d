"""Compares our derivatives with central differences, at the points of ONNX's suite, in float64."""

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
from .suite import SuiteCase
from .verdicts import (
    ERROR,
    PASS,
    SKIPPED,
    UNDECLARED,
    UNSTABLE,
    UNSUPPORTED,
    WRONG,
    CaseVerdict,
)

STEP = 1e-5
DIRECTIONS = 3
Loss = Callable[[list], tuple[float, float]]


def judge_derivative(case: SuiteCase) -> CaseVerdict:
    """Check the gradient of the case's node on the reference framework, along random directions."""
    if case.kind != "node" or case.random:
        return CaseVerdict(SKIPPED, "not a single node, or random")
    try:
        inputs, _ = case.data[0]
        network, feed = network_and_feed(case, inputs)
        if len(network.nodes) != 1:
            return CaseVerdict(SKIPPED, "not a single node, or random")
        values = {**feed, **network.params}
        with np.errstate(all="ignore"):
            return _judge_node(case, network.nodes[0], values)
    except Unsupported as error:
        return CaseVerdict(UNSUPPORTED, str(error))
    except Exception as error:
        return CaseVerdict(ERROR, one_line(error, 300, kind=True))


def _judge_node(
    case: SuiteCase, node: Node, values: dict[str, np.ndarray]
) -> CaseVerdict:
    operator = node.operator
    reference = framework("reference")
    if not operator.differentiable:
        return UNDECLARED
    inputs: list[Any] = []
    for name in node.inputs:
        inputs.append(_wide(values[name]) if isinstance(name, str) else name)
    outputs = reference.evaluate(operator, inputs, composed=True)
    name_hash = zlib.crc32(case.name.encode())
    rng = np.random.default_rng(name_hash)
    seeds: list[np.ndarray | None] = []
    for i, y in enumerate(outputs[: len(node.outputs)]):
        is_float = y.dtype.kind == "f"
        if is_float and i not in _non_differentiable_outputs(case):
            seeds.append(rng.standard_normal(y.shape))
        else:
            seeds.append(None)
    gradients: dict[int, np.ndarray] = {}
    for i, gradient in enumerate(reference.gradient(operator, inputs, seeds)):
        if gradient is not None and _is_float(inputs[i]):
            gradients[i] = np.asarray(gradient)
    if not gradients or all(seed is None or not seed.size for seed in seeds):
        return CaseVerdict(SKIPPED, "no gradient between floats")
    loss = _loss(operator, seeds)
    verdicts = []
    for _ in range(DIRECTIONS):
        along: dict[int, np.ndarray] = {}
        claimed = size = 0.0
        for i, gradient in gradients.items():
            along[i] = rng.standard_normal(inputs[i].shape)
            claimed += float(np.sum(gradient * along[i]))
            size += float(np.sum(np.abs(gradient)))
        verdicts.append(_compare(loss, inputs, along, claimed, size))
    return _worst(verdicts)


def _worst(verdicts: list[CaseVerdict]) -> CaseVerdict:
    """The first that is wrong, else the first that is unstable, else the first."""
    for word in (WRONG, UNSTABLE):
        for verdict in verdicts:
            if verdict.word == word:
                return verdict
    return verdicts[0]


def _compare(
    loss: Loss,
    inputs: list,
    along: dict[int, np.ndarray],
    claimed: float,
    size: float,
) -> CaseVerdict:
    """Compare the claimed derivative along a direction with differences; `size` is that of the gradients."""

    def loss_at(t: float) -> tuple[float, float]:
        moved = list(inputs)
        for i, direction in along.items():
            moved[i] = inputs[i] + t * direction
        return loss(moved)

    here, scale = loss_at(0.0)
    after, _ = loss_at(STEP)
    before, _ = loss_at(-STEP)
    ahead = (after - here) / STEP
    behind = (here - before) / STEP
    near_after, _ = loss_at(STEP / 4)
    near_before, _ = loss_at(-STEP / 4)
    near = (near_after - near_before) / (STEP / 2)
    right = (ahead + behind) / 2
    allowed = 1e-6 * (size + scale + 1)
    sides_agree = abs(ahead - behind) <= 1e2 * allowed
    steady = sides_agree and abs(near - right) <= allowed
    if not np.isfinite(claimed):
        word = WRONG if np.isfinite(right) and steady else UNSTABLE
        return CaseVerdict(word, f"the derivative is {claimed}")
    if not steady:
        return CaseVerdict(UNSTABLE)
    if abs(right - claimed) <= 2 * allowed:
        return CaseVerdict(PASS)
    text = f"the derivative along a direction is {right:.9g}, not {claimed:.9g}"
    return CaseVerdict(WRONG, text)


def _loss(operator: Operator, seeds: list[np.ndarray | None]) -> Loss:
    """A function of the inputs: the sum of the outputs weighted by the seeds, and the size of its terms."""

    def loss(inputs: list) -> tuple[float, float]:
        outputs = framework("reference").evaluate(operator, inputs, composed=True)
        total = size = 0.0
        for seed, y in zip(seeds, outputs, strict=False):
            if seed is not None:
                term = seed * y
                total += float(np.sum(term))
                size += float(np.sum(np.abs(term)))
        return total, size

    return loss


def _non_differentiable_outputs(case: SuiteCase) -> set[int]:
    """The outputs that ONNX declares as not differentiable, such as running statistics."""
    node = case.model.graph.node[0]
    versions = {opset.domain: opset.version for opset in case.model.opset_import}
    version = versions[node.domain]
    schema = onnx.defs.get_schema(node.op_type, version, node.domain)
    category = onnx.defs.OpSchema.DifferentiationCategory.NonDifferentiable
    outputs = set()
    for i, output in enumerate(schema.outputs):
        if output.differentiation_category == category:
            outputs.add(i)
    return outputs


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f"


def _wide(value: np.ndarray) -> np.ndarray:
    return value.astype("float64") if _is_float(value) else value
