import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._matching import Rewriting, operator


class FuseSoftplus(Transformation):
    """Recognises softplus: log(exp(x) + 1), also with x itself above a threshold, where both round to the same.

    log(exp(x) + 1) is infinite where exp(x) is; Softplus is not.
    """

    def apply(self, network: Network) -> None:
        rewriting = Rewriting(network)
        for node in rewriting.nodes:
            smooth = _thresholded(rewriting, node)
            if smooth is not None:
                rewriting.bypass(node.outputs[0], smooth)
                continue
            x = _logarithm(rewriting, node)
            if x is not None:
                fused = replace(node, operator=operator("Softplus"), inputs=(x,))
                rewriting.replace(node, fused)
        rewriting.finish()


def _thresholded(values: Rewriting, node: Node) -> str | None:
    """softplus(b x) / b of Where(b x > threshold, x, softplus(b x) / b), if the threshold is high enough."""
    choice = values.producer(node.outputs[0], "Where")
    if choice is None:
        return None
    condition, x, smooth = choice.inputs
    greater = values.producer(condition, "Greater")
    if greater is None or not isinstance(smooth, str):
        return None
    scaled, threshold = greater.inputs
    softplus, factor = _divided(values, smooth)
    if softplus is None or softplus.inputs != (scaled,):
        return None
    if not _is_product(values, scaled, x, factor):
        return None
    number = values.number(threshold)
    dtype = values.dtype(smooth)
    if not _rounds_to_x(number, dtype):
        return None
    return smooth


def _divided(values: Rewriting, smooth: str) -> tuple[Node | None, float]:
    """The Softplus in softplus(b x) / b, and b."""
    softplus = values.producer(smooth, "Softplus")
    if softplus is not None:
        return softplus, 1.0
    quotient = values.producer(smooth, "Div")
    if quotient is None:
        return None, 1.0
    softplus = values.producer(quotient.inputs[0], "Softplus")
    divisor = values.number(quotient.inputs[1])
    if divisor is None or divisor <= 0:
        return None, 1.0
    return softplus, divisor


def _is_product(values: Rewriting, scaled: Any, x: Any, factor: float) -> bool:
    """Whether scaled is x times the factor."""
    if scaled == x:
        return factor == 1
    product = values.producer(scaled, "Mul")
    if product is None or x not in product.inputs:
        return False
    first, second = product.inputs
    other = second if first == x else first
    return values.number(other) == factor


def _rounds_to_x(threshold: float | None, dtype: str | None) -> bool:
    """Whether softplus(x) rounds to x, and its derivative to 1, above the threshold."""
    if threshold is None or dtype not in ("float16", "float32", "float64"):
        return False
    clipped = max(1.0, min(threshold, 700.0))
    rounding = float(np.finfo(dtype).eps) / 4
    return math.exp(-clipped) < rounding


def _logarithm(values: Rewriting, node: Node) -> str | None:
    """x of log(exp(x) + 1)."""
    result = node.outputs[0]
    logarithm = values.producer(result, "Log")
    if logarithm is None:
        return None
    total = values.producer(logarithm.inputs[0], "Add")
    if total is None:
        return None
    for power, one in values.in_any_order(total):
        exponential = values.producer(power, "Exp")
        if exponential is None or values.number(one) != 1:
            continue
        x = exponential.inputs[0]
        shape = values.shape(x)
        if shape is None or shape != values.shape(result):
            return None
        return str(x)
    return None
