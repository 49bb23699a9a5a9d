"""One run of an operator, prepared so that it can be repeated under a clock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Unsupported
from .operator import Operator

if TYPE_CHECKING:
    from .framework import Framework

KERNELS = ("native", "composed", "compiled")
BUILT_IN = (
    __name__.removesuffix("contracts.calls") + "operators."
)  # a user's code is timed as it is written


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


def forward(
    framework: "Framework", operator: Operator, inputs: Sequence[Any], kernel: str
) -> Call:
    """What Framework.forward_call promises, for a framework whose values are computed at once."""
    given = natives(framework, arrays(inputs))
    if kernel == "native":
        own = _own(framework, operator, inputs)
        ours = type(operator).__module__.startswith(BUILT_IN) and len(given) == len(
            inputs
        )
        direct = (
            _shortest(operator.native(framework.name), framework.module, given)
            if ours
            else None
        )
        function = direct or of_arrays(own, inputs)
    else:
        function = of_arrays(framework.formula(operator), inputs)
    return Call(
        framework.compile(function) if kernel == "compiled" else function,
        given,
        lambda made: [framework.array(y) for y in operator.published(results(made))],
        partial(natives, framework),
    )


def backward(
    framework: "Framework",
    operator: Operator,
    inputs: Sequence[Any],
    grads: Sequence[Any],
    kernel: str,
) -> Call:
    """What Framework.backward_call promises, for a framework whose values are computed at once."""
    check_differentiable(operator)
    given = natives(framework, arrays(inputs))
    if kernel == "native":
        run = of_arrays(_own(framework, operator, inputs), inputs)
        own = framework.derivative(run, given, natives(framework, grads))
        return replace(
            own,
            outputs=lambda made: fill([None] * len(inputs), inputs, own.outputs(made)),
            bind=lambda values: own.bind(natives(framework, values)),
        )
    left = operator.run(framework.xp, *fill(inputs, inputs, given))

    def formula(dys: tuple, xs: tuple, ys: tuple) -> list:
        return operator.gradients(framework.xp, dys, fill(inputs, inputs, xs), ys)

    def bind(values: Sequence[Any]) -> tuple:
        dys = [*natives(framework, values), *[None] * len(left)]
        zeros = framework.xp.zeros_like
        return (
            tuple(
                zeros(y) if dy is None else dy
                for dy, y in zip(dys, operator.published(left), strict=False)
            ),
            given,
            left,
        )

    return Call(
        framework.compile(formula) if kernel == "compiled" else formula,
        bind(grads),
        lambda made: [None if g is None else framework.array(g) for g in made],
        bind,
    )


def natives(framework: "Framework", values: Sequence[Any]) -> tuple:
    """The arrays as the framework's own values, None as it is."""
    return tuple(None if v is None else framework.tensor(v) for v in values)


def arrays(inputs: Sequence[Any]) -> list[np.ndarray]:
    """The inputs without those that are fixed: static values, and what is left out."""
    return [x for x in inputs if isinstance(x, np.ndarray)]


def fill(
    template: Sequence[Any], inputs: Sequence[Any], values: Sequence[Any]
) -> list[Any]:
    """The template, with the values at the places where the inputs are arrays."""
    rest = iter(values)
    return [
        next(rest) if isinstance(x, np.ndarray) else t
        for t, x in zip(template, inputs, strict=True)
    ]


def of_arrays(function: Callable, inputs: Sequence[Any]) -> Callable:
    """A function of all inputs as one of the arrays alone."""
    if len(arrays(inputs)) == len(inputs):
        return function  # nothing between the clock and the kernel
    if len(arrays(inputs[: (n := len(arrays(inputs)))])) == n:
        rest = tuple(inputs[n:])
        return lambda *values: function(*values, *rest)
    shown = [None if isinstance(x, np.ndarray) else x for x in inputs]
    return lambda *values: function(*fill(shown, inputs, values))


def _shortest(native: Callable | None, module: Any, given: tuple) -> Callable | None:
    """The framework's function itself, where one of our methods only hands its inputs to it."""
    calls: list[tuple] = []
    if native is None:
        return None
    try:
        made = native(Watched(module, calls), *given)
    except (
        Exception
    ):  # it would not be watched; what is really wrong comes again when it runs
        return None
    if len(calls) != 1:
        return None
    function, arguments, named, result = calls[0]
    same = len(arguments) == len(given) and all(
        a is x for a, x in zip(arguments, given, strict=True)
    )
    return function if same and not named and made is result else None


class Watched:
    """A framework, or a part of it, that notes which of its functions are called."""

    def __init__(self, target: Any, calls: list[tuple]):
        self._target, self._calls = target, calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        part = isinstance(found, ModuleType) or (
            callable(found) and not isinstance(found, type)
        )
        return Watched(found, self._calls) if part else found

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        made = self._target(*arguments, **named)
        self._calls.append((self._target, arguments, named, made))
        return made


def results(made: Any) -> tuple:
    """What a kernel returned, as a tuple."""
    return tuple(made) if isinstance(made, tuple | list) else (made,)


def check_differentiable(operator: Operator) -> None:
    if not operator.differentiable:
        raise Unsupported(f"{type(operator).__name__} has no derivative")


def _own(
    framework: "Framework", operator: Operator, inputs: Sequence[Any]
) -> Callable[..., Any]:
    """The framework's own kernel, with nothing around it."""
    native = framework.native(operator)
    if native is None or framework.kernel(operator, inputs=inputs)[1] != "native":
        raise Unsupported(
            f"{framework.name} has no kernel of its own for {type(operator).__name__} with these inputs "
            "and settings: ask for composed"
        )
    return native
