"""One run of an operator as one run of a session, so that a timer does not measure the recording of the graph."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from ...contracts.calls import (
    Call,
    arrays,
    check_differentiable,
    fill,
)
from ...contracts.operator import Operator
from ...errors import Unsupported
from ...onnx.recording.arrays import argument, build
from . import OnnxRuntime
from .bound import outputs_of
from .providers import Provider


def forward(
    framework: OnnxRuntime, operator: Operator, inputs: Sequence[Any], kernel: str
) -> Call:
    """Return a run of the ONNX node itself ("native"), or of our recorded formula.

    Raises Unsupported if ONNX Runtime has no such kernel.
    """
    if kernel == "native":
        run, kind = framework.kernel(operator, inputs=inputs)
        if kind != "native":
            name = type(operator).__name__
            raise Unsupported(f"ONNX Runtime has no node for {name}: ask for composed")
    else:
        _check_kernel(kernel)
        run = framework.formula(operator)
    values = arrays(inputs)
    arguments = _arguments("i", values)
    recorded_inputs = fill(inputs, inputs, [*arguments.values()])
    results = operator.published(run(*recorded_inputs))
    return _call(framework, arguments, [*results], values)


def backward(
    framework: OnnxRuntime,
    operator: Operator,
    inputs: Sequence[Any],
    grads: Sequence[Any],
    kernel: str,
) -> Call:
    """Return a run of our recorded derivative, whose arguments include the results of the forward pass.

    Raises Unsupported for other kernels, and if the operator has no derivative.
    """
    if kernel == "native":
        raise Unsupported(
            "ONNX Runtime does not differentiate by itself: ask for composed"
        )
    _check_kernel(kernel)
    check_differentiable(operator)
    values = arrays(inputs)
    results = _forward_results(framework, operator, inputs)
    published = operator.published(results)

    def output_grads(grads: Sequence[Any]) -> list[np.ndarray]:
        """One gradient per output: zeros where none is given."""
        filled = []
        for y, grad in zip_longest(published, grads[: len(published)]):
            if grad is None:
                grad = np.zeros_like(y)
            filled.append(grad)
        return filled

    def every(grads: Sequence[Any]) -> list[np.ndarray]:
        return [*values, *results, *output_grads(grads)]

    x = _arguments("i", values)
    y = _arguments("r", results)
    dy = _arguments("d", output_grads(grads))
    dys, ys = [*dy.values()], [*y.values()]
    recorded_inputs = fill(inputs, inputs, [*x.values()])
    gradients = operator.gradients(framework.xp, dys, recorded_inputs, ys)
    return _call(framework, x | y | dy, gradients, grads, every)


def _forward_results(
    framework: OnnxRuntime, operator: Operator, inputs: Sequence[Any]
) -> list[np.ndarray]:
    """All results of the operator's formula, which its derivative may use."""
    values = arrays(inputs)
    arguments = _arguments("i", values)
    recorded_inputs = fill(inputs, inputs, [*arguments.values()])
    results = operator.run(framework.xp, *recorded_inputs)
    return _call(framework, arguments, [*results], values).run()


def _check_kernel(kernel: str) -> None:
    if kernel == "compiled":
        raise Unsupported(
            "onnxruntime has no compiler of its own: every graph is optimised when it is loaded"
        )


def _arguments(prefix: str, values: Sequence[np.ndarray]) -> dict[str, Any]:
    arguments = {}
    for k, value in enumerate(values):
        arguments[f"{prefix}{k}"] = argument(value.shape, value.dtype.name)
    return arguments


def _call(
    framework: OnnxRuntime,
    arguments: dict[str, Any],
    results: list,
    values: Sequence[Any],
    every: Callable[[Sequence[Any]], list[np.ndarray]] = list,
) -> Call:
    """A call of the session of a recorded graph.

    `every` returns the values of all arguments, from those that a caller may bind anew; a result that is None stays
    None.
    """
    recorded = {}
    for k, result in enumerate(results):
        if result is not None:
            recorded[f"o{k}"] = result
    names = [*recorded]
    session = framework.session(build(arguments, recorded))

    def outputs(tensors: Sequence[Any]) -> list:
        remaining = iter(tensors)
        by_result: list[np.ndarray | None] = []
        for result in results:
            if result is None:
                by_result.append(None)
            else:
                by_result.append(framework.array(next(remaining)))
        return by_result

    def bind(new: Sequence[Any]) -> tuple:
        feed = {}
        for name, value in zip(arguments, every(new), strict=True):
            feed[name] = framework.tensor(value)
        return names, feed

    run = session.run_with_ort_values
    if not framework.provider.in_host_memory:
        run = partial(_on_device, session, framework.provider)
    return Call(run, bind(values), outputs, bind)


def _on_device(
    session: Any, provider: Provider, names: Sequence[str], feed: Mapping[str, Any]
) -> list[Any]:
    """A run whose results stay where the provider keeps them."""
    binding = session.io_binding()
    for name, value in feed.items():
        binding.bind_ortvalue_input(name, value)
    for name in names:
        binding.bind_output(name, *provider.place)
    session.run_with_iobinding(binding)
    return list(outputs_of(binding, names).values())
