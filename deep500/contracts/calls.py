"""One run of an operator, prepared so that it can be repeated and timed."""

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

KERNELS = ("native", "composed", "compiled", "graph")
# the modules of our operators; a user's code is timed as it is written
BUILT_IN = __name__.removesuffix("contracts.calls") + "operators."


@dataclass(frozen=True)
class Call:
    """`function(*arguments)` is exactly one run; `outputs` converts its result to NumPy arrays.

    `bind` returns arguments for other values: of the array inputs for a forward run, of the gradients for a backward
    run.
    """

    function: Callable
    arguments: tuple
    outputs: Callable[[Any], list]
    bind: Callable[[Sequence[Any]], tuple]

    def run(self) -> list:
        return self.outputs(self.function(*self.arguments))


def forward(
    framework: "Framework",
    operator: Operator,
    inputs: Sequence[Any],
    kernel: str,
) -> Call:
    """Framework.forward_call for a framework that computes values immediately."""
    tensors = natives(framework, arrays(inputs))
    if kernel in ("native", "graph"):
        function = _native_function(framework, operator, inputs, tensors)
    else:
        function = of_arrays(framework.formula(operator), inputs)
    if kernel == "compiled":
        function = framework.compile(function)
    elif kernel == "graph":
        function = framework.captured(function, tensors)

    def outputs(result: Any) -> list:
        published = operator.published(results(result))
        return [framework.array(y) for y in published]

    return Call(function, tensors, outputs, partial(natives, framework))


def _native_function(
    framework: "Framework",
    operator: Operator,
    inputs: Sequence[Any],
    tensors: tuple,
) -> Callable:
    """The framework's kernel as a function of the array inputs; the framework's own function if possible."""
    native = _native_kernel(framework, operator, inputs)
    is_built_in = type(operator).__module__.startswith(BUILT_IN)
    if is_built_in and len(tensors) == len(inputs):
        method = operator.native(framework.name)
        direct = _direct_function(method, framework.module, tensors)
        if direct:
            return direct
    return of_arrays(native, inputs)


def backward(
    framework: "Framework",
    operator: Operator,
    inputs: Sequence[Any],
    grads: Sequence[Any],
    kernel: str,
) -> Call:
    """Framework.backward_call for a framework that computes values immediately."""
    check_differentiable(operator)
    if kernel == "graph":
        raise Unsupported(
            "autograd's graph of a forward pass is not captured: ask for forward, or leave graph out"
        )
    tensors = natives(framework, arrays(inputs))
    if kernel == "native":
        return _native_backward(framework, operator, inputs, tensors, grads)
    saved = operator.run(framework.xp, *fill(inputs, inputs, tensors))

    def formula(dys: tuple, xs: tuple, ys: tuple) -> list:
        return operator.gradients(framework.xp, dys, fill(inputs, inputs, xs), ys)

    def bind(values: Sequence[Any]) -> tuple:
        dys = [*natives(framework, values), *[None] * len(saved)]
        gradients = []
        for dy, y in zip(dys, operator.published(saved), strict=False):
            gradients.append(framework.xp.zeros_like(y) if dy is None else dy)
        return tuple(gradients), tensors, saved

    def outputs(gradients: Sequence[Any]) -> list:
        return [None if g is None else framework.array(g) for g in gradients]

    function: Callable = formula
    if kernel == "compiled":
        function = framework.compile(formula)
    return Call(function, bind(grads), outputs, bind)


def _native_backward(
    framework: "Framework",
    operator: Operator,
    inputs: Sequence[Any],
    tensors: tuple,
    grads: Sequence[Any],
) -> Call:
    """The derivative of the framework's own kernel, with a gradient (or None) for every input."""
    run = of_arrays(_native_kernel(framework, operator, inputs), inputs)
    derivative = framework.derivative(run, tensors, natives(framework, grads))

    def outputs(result: Any) -> list:
        no_gradients = [None] * len(inputs)
        return fill(no_gradients, inputs, derivative.outputs(result))

    def bind(values: Sequence[Any]) -> tuple:
        return derivative.bind(natives(framework, values))

    return replace(derivative, outputs=outputs, bind=bind)


def natives(framework: "Framework", values: Sequence[Any]) -> tuple:
    """The arrays as the framework's own tensors; None stays None."""
    return tuple(None if v is None else framework.tensor(v) for v in values)


def arrays(inputs: Sequence[Any]) -> list[np.ndarray]:
    """The array inputs, without static values and omitted inputs."""
    return [x for x in inputs if isinstance(x, np.ndarray)]


def fill(
    template: Sequence[Any], inputs: Sequence[Any], values: Sequence[Any]
) -> list[Any]:
    """The template, with the values at the positions where the inputs are arrays."""
    remaining = iter(values)
    filled = []
    for default, x in zip(template, inputs, strict=True):
        filled.append(next(remaining) if isinstance(x, np.ndarray) else default)
    return filled


def of_arrays(function: Callable, inputs: Sequence[Any]) -> Callable:
    """A function of all inputs as a function of the array inputs alone."""
    count = len(arrays(inputs))
    if count == len(inputs):
        return function  # so that a timer measures the kernel alone
    if count == len(arrays(inputs[:count])):
        fixed = tuple(inputs[count:])
        return lambda *values: function(*values, *fixed)
    template = [None if isinstance(x, np.ndarray) else x for x in inputs]
    return lambda *values: function(*fill(template, inputs, values))


def _direct_function(
    method: Callable | None, module: Any, tensors: tuple
) -> Callable | None:
    """The framework's own function, if our method does nothing but call it with its inputs; otherwise None."""
    calls: list[tuple] = []
    if method is None:
        return None
    try:
        returned = method(Watched(module, calls), *tensors)
    except Exception:
        # a real error is raised again when the method runs unwatched
        return None
    if len(calls) != 1:
        return None
    function, arguments, keywords, result = calls[0]
    if keywords or returned is not result or len(arguments) != len(tensors):
        return None
    for argument, tensor in zip(arguments, tensors, strict=True):
        if argument is not tensor:
            return None
    return function


class Watched:
    """A proxy of a framework, or of a part of it, that records the calls of its functions."""

    def __init__(self, target: Any, calls: list[tuple]):
        self._target = target
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._target, name)
        is_function = callable(attribute) and not isinstance(attribute, type)
        if is_function or isinstance(attribute, ModuleType):
            return Watched(attribute, self._calls)
        return attribute

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        result = self._target(*arguments, **keywords)
        self._calls.append((self._target, arguments, keywords, result))
        return result


def results(returned: Any) -> tuple:
    """The results of a kernel, which may return one value, a tuple or a list."""
    if isinstance(returned, tuple | list):
        return tuple(returned)
    return (returned,)


def check_differentiable(operator: Operator) -> None:
    if not operator.differentiable:
        raise Unsupported(f"{type(operator).__name__} has no derivative")


def _native_kernel(
    framework: "Framework", operator: Operator, inputs: Sequence[Any]
) -> Callable[..., Any]:
    """The framework's own kernel without a wrapper; Unsupported if it has none for these inputs."""
    native = framework.native(operator)
    if native is not None:
        _, kind = framework.kernel(operator, inputs=inputs)
        if kind == "native":
            return native
    name = type(operator).__name__
    raise Unsupported(
        f"{framework.name} has no kernel of its own for {name} with these inputs "
        "and settings: ask for composed"
    )
