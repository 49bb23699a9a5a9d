import math
from dataclasses import replace

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._matching import Rewriting, kind, operator

SLOPE, CUBE = math.sqrt(2 / math.pi), 0.044715


class FuseGelu(Transformation):
    """Recognises Gelu, x (1 + erf(x / sqrt(2))) / 2, and its approximation x (1 + tanh(...)) / 2."""

    def apply(self, network: Network) -> None:
        rewriting = Rewriting(network)
        for node in rewriting.nodes:
            if kind(node) not in ("Mul", "Div"):
                continue
            match = _gelu(rewriting, node)
            if match is not None:
                x, approximate = match
                gelu = operator("Gelu", approximate=approximate)
                rewriting.replace(node, replace(node, operator=gelu, inputs=(x,)))
        rewriting.finish()


def _gelu(values: Rewriting, node: Node) -> tuple[str, str] | None:
    """x, and how it is approximated."""
    half, factors = values.product(node.outputs[0])
    if half != 0.5 or len(factors) != 2:
        return None
    for x, rest in (factors, factors[::-1]):
        total = values.maker(rest, "Add")
        if total is None or not _same_shape(values, x, node.outputs[0]):
            continue
        for bend, one in values.in_any_order(total):
            if values.number(one) != 1:
                continue
            if _is_erf(values, bend, x):
                return x, "none"
            if _is_tanh(values, bend, x):
                return x, "tanh"
    return None


def _is_erf(values: Rewriting, bend: str, x: str) -> bool:
    """Whether this is erf(x / sqrt(2))."""
    erf = values.maker(bend, "Erf")
    if erf is None:
        return False
    slope, factors = values.product(str(erf.inputs[0]))
    return factors == [x] and values.is_close(slope, math.sqrt(0.5), x)


def _is_tanh(values: Rewriting, bend: str, x: str) -> bool:
    """Whether this is tanh(sqrt(2 / pi) (x + 0.044715 x³))."""
    tanh = values.maker(bend, "Tanh")
    if tanh is None:
        return False
    slope, factors = values.product(str(tanh.inputs[0]))
    if len(factors) != 1 or not values.is_close(slope, SLOPE, x):
        return False
    total = values.maker(factors[0], "Add")
    return total is not None and any(
        linear == x and _is_cube(values, cubic, x)
        for linear, cubic in values.in_any_order(total)
    )


def _is_cube(values: Rewriting, cubic: str, x: str) -> bool:
    """Whether this is 0.044715 x³."""
    factor, factors = values.product(cubic)
    if not values.is_close(factor, CUBE, x):
        return False
    if factors == [x, x, x]:
        return True
    power = values.maker(factors[0], "Pow") if len(factors) == 1 else None
    return (
        power is not None
        and power.inputs[0] == x
        and values.number(power.inputs[1]) == 3
    )


def _same_shape(values: Rewriting, x: str, y: str) -> bool:
    return values.shape(x) is not None and values.shape(x) == values.shape(y)
