import math
from dataclasses import replace
from typing import Any

import numpy as np

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._matching import Rewriting, operator


class FuseSoftplus(Transformation):
    """Recognises softplus: log(exp(x) + 1), and a choice of x itself above a threshold, where both round to the same.

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
                rewriting.replace(
                    node, replace(node, operator=operator("Softplus"), inputs=(x,))
                )
        rewriting.finish()


def _thresholded(values: Rewriting, node: Node) -> str | None:
    """softplus(b x) / b of Where(b x > threshold, x, softplus(b x) / b), which is the same with a high threshold."""
    choice = values.maker(node.outputs[0], "Where")
    if choice is None:
        return None
    condition, x, smooth = choice.inputs
    greater = values.maker(condition, "Greater")
    if greater is None or not isinstance(smooth, str):
        return None
    scaled, threshold = greater.inputs
    softplus, factor = _divided(values, smooth)
    if softplus is None or softplus.inputs != (scaled,):
        return None
    if not _is_product(values, scaled, x, factor):
        return None
    return (
        smooth if _rounds_to_x(values.number(threshold), values.dtype(smooth)) else None
    )


def _divided(values: Rewriting, smooth: str) -> tuple[Node | None, float]:
    """The Softplus in softplus(b x) / b, and b."""
    softplus = values.maker(smooth, "Softplus")
    if softplus is not None:
        return softplus, 1.0
    quotient = values.maker(smooth, "Div")
    if quotient is None:
        return None, 1.0
    softplus = values.maker(quotient.inputs[0], "Softplus")
    divisor = values.number(quotient.inputs[1])
    return (None, 1.0) if divisor is None or divisor <= 0 else (softplus, divisor)


def _is_product(values: Rewriting, scaled: Any, x: Any, factor: float) -> bool:
    """Whether scaled is x times the factor."""
    if scaled == x:
        return factor == 1
    product = values.maker(scaled, "Mul")
    if product is None or x not in product.inputs:
        return False
    left, right = product.inputs
    return values.number(right if left == x else left) == factor


def _rounds_to_x(threshold: float | None, dtype: str | None) -> bool:
    """Whether softplus(x) rounds to x, and its derivative to 1, above the threshold."""
    if threshold is None or dtype not in ("float16", "float32", "float64"):
        return False
    difference = math.exp(-max(1.0, min(threshold, 700.0)))
    return difference < float(np.finfo(dtype).eps) / 4


def _logarithm(values: Rewriting, node: Node) -> str | None:
    """x of log(exp(x) + 1)."""
    logarithm = values.maker(node.outputs[0], "Log")
    total = values.maker(logarithm.inputs[0], "Add") if logarithm else None
    if total is None:
        return None
    for power, one in (total.inputs, total.inputs[::-1]):
        exponential = values.maker(power, "Exp")
        if exponential is None or values.number(one) != 1:
            continue
        x = exponential.inputs[0]
        same_shape = values.shape(x) is not None and values.shape(x) == values.shape(
            node.outputs[0]
        )
        return x if isinstance(x, str) and same_shape else None
    return None
