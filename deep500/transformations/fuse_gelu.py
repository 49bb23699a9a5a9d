import math
from dataclasses import replace

from ..contracts.network import Network, Node
from ..contracts.transformation import Transformation
from ._matching import Rewriting, kind, operator

SLOPE = math.sqrt(2 / math.pi)
CUBE = 0.044715


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
    """x and the approximation ("none" or "tanh") of a Gelu whose result this node computes."""
    result = node.outputs[0]
    half, factors = values.product(result)
    if half != 0.5 or len(factors) != 2:
        return None
    first, second = factors
    for x, sigmoid in ((first, second), (second, first)):
        total = values.producer(sigmoid, "Add")
        if total is None or not _same_shape(values, x, result):
            continue
        for function, one in values.in_any_order(total):
            if values.number(one) != 1:
                continue
            if _is_erf(values, function, x):
                return x, "none"
            if _is_tanh(values, function, x):
                return x, "tanh"
    return None


def _is_erf(values: Rewriting, value: str, x: str) -> bool:
    """Whether this is erf(x / sqrt(2))."""
    erf = values.producer(value, "Erf")
    if erf is None:
        return False
    argument = str(erf.inputs[0])
    slope, factors = values.product(argument)
    if factors != [x]:
        return False
    return values.is_close(slope, math.sqrt(0.5), x)


def _is_tanh(values: Rewriting, value: str, x: str) -> bool:
    """Whether this is tanh(sqrt(2 / pi) (x + 0.044715 x³))."""
    tanh = values.producer(value, "Tanh")
    if tanh is None:
        return False
    argument = str(tanh.inputs[0])
    slope, factors = values.product(argument)
    if len(factors) != 1:
        return False
    if not values.is_close(slope, SLOPE, x):
        return False
    total = values.producer(factors[0], "Add")
    if total is None:
        return False
    terms = values.in_any_order(total)
    return any(linear == x and _is_cube(values, cubic, x) for linear, cubic in terms)


def _is_cube(values: Rewriting, cubic: str, x: str) -> bool:
    """Whether this is 0.044715 x³."""
    factor, factors = values.product(cubic)
    if not values.is_close(factor, CUBE, x):
        return False
    if factors == [x, x, x]:
        return True
    if len(factors) != 1:
        return False
    power = values.producer(factors[0], "Pow")
    if power is None:
        return False
    base, exponent = power.inputs
    return base == x and values.number(exponent) == 3


def _same_shape(values: Rewriting, x: str, y: str) -> bool:
    shape = values.shape(x)
    return shape is not None and shape == values.shape(y)
