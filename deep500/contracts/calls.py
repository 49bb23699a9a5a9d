"""One run of an operator, prepared so that it can be repeated under a clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Unsupported
from .operator import Operator

if TYPE_CHECKING:
    from .framework import Framework

KERNELS = ("native", "composed", "compiled")


@dataclass(frozen=True)
class Call:
    """`function(*arguments)` is one run and nothing else; `outputs` makes NumPy arrays of what it returns.

    `bind` makes arguments for other values: of the array inputs for a forward run, of the gradients for a backward one.
    """

    function: Callable
    arguments: tuple
    outputs: Callable[[Any], list]
    bind: Callable[[Sequence[Any]], tuple]

    def run(self) -> list:
        return self.outputs(self.function(*self.arguments))


def forward(framework: "Framework", operator: Operator, inputs: Sequence[Any], kernel: str) -> Call:
    """What Framework.forward_call promises, for a framework whose values are computed at once."""
    own = _own(framework, operator, inputs) if kernel == "native" else framework.formula(operator)
    function = of_arrays(own, inputs)
    return Call(framework.compile(function) if kernel == "compiled" else function,
                natives(framework, arrays(inputs)),
                lambda made: [framework.array(y) for y in operator.published(results(made))],
                partial(natives, framework))


def backward(framework: "Framework", operator: Operator, inputs: Sequence[Any], grads: Sequence[Any],
             kernel: str) -> Call:
    """What Framework.backward_call promises, for a framework whose values are computed at once."""
    check_differentiable(operator)
    given = natives(framework, arrays(inputs))
    if kernel == "native":
        run = of_arrays(_own(framework, operator, inputs), inputs)
        own = framework.derivative(run, given, natives(framework, grads))
        return replace(own, outputs=lambda made: fill([None] * len(inputs), inputs, own.outputs(made)),
                       bind=lambda values: own.bind(natives(framework, values)))
    left = operator.run(framework.xp, *fill(inputs, inputs, given))

    def formula(dys: tuple, xs: tuple, ys: tuple) -> list:
        return operator.gradients(framework.xp, dys, fill(inputs, inputs, xs), ys)

    def bind(values: Sequence[Any]) -> tuple:
        dys = [*natives(framework, values), *[None] * len(left)]
        zeros = framework.xp.zeros_like
        return (tuple(zeros(y) if dy is None else dy for dy, y in zip(dys, operator.published(left), strict=False)),
                given, left)

    return Call(framework.compile(formula) if kernel == "compiled" else formula, bind(grads),
                lambda made: [None if g is None else framework.array(g) for g in made], bind)


def natives(framework: "Framework", values: Sequence[Any]) -> tuple:
    """The arrays as the framework's own values, None as it is."""
    return tuple(None if v is None else framework.tensor(v) for v in values)


def arrays(inputs: Sequence[Any]) -> list[np.ndarray]:
    """The inputs without those that are fixed: static values, and what is left out."""
    return [x for x in inputs if isinstance(x, np.ndarray)]


def fill(template: Sequence[Any], inputs: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The template, with the values at the places where the inputs are arrays."""
    rest = iter(values)
    return [next(rest) if isinstance(x, np.ndarray) else t for t, x in zip(template, inputs, strict=True)]


def of_arrays(function: Callable, inputs: Sequence[Any]) -> Callable:
    """A function of all inputs as one of the arrays alone."""
    if len(arrays(inputs)) == len(inputs):
        return function  # nothing between the clock and the kernel
    shown = [None if isinstance(x, np.ndarray) else x for x in inputs]
    return lambda *values: function(*fill(shown, inputs, values))


def results(made: Any) -> tuple:
    """What a kernel returned, as a tuple."""
    return tuple(made) if isinstance(made, tuple | list) else (made,)


def check_differentiable(operator: Operator) -> None:
    if not operator.differentiable:
        raise Unsupported(f"{type(operator).__name__} has no derivative")


def _own(framework: "Framework", operator: Operator, inputs: Sequence[Any]) -> Callable:
    """The framework's own kernel, with nothing around it."""
    native = operator.native(framework.name)
    if native is None or framework.kernel(operator, inputs=inputs)[1] != "native":
        raise Unsupported(f"{framework.name} has no kernel of its own for {type(operator).__name__} with these inputs "
                          "and settings: ask for composed")
    return partial(native, framework.module)
