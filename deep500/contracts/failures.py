"""What goes wrong while a network runs, as one line that names the node.

A first call is refused if it would cost too much; other calls pay nothing for this. A run that fails is done again,
node by node, to find the first that fails.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import Deep500Error, Unsupported, one_line
from .arrays import shape_of
from .limits import check_cost
from .network import Node
from .wrapping import Opaque

if TYPE_CHECKING:
    from .executor import Executor

Method = TypeVar("Method", bound=Callable[..., Any])
OUT_OF_MEMORY = ("memory", "alloc")  # in the texts of frameworks
NUMBERS = "biufcV"  # kinds of NumPy's dtypes; those of ml_dtypes are V


def named_failures(method: Method, backprop: bool) -> Method:
    """The method of an executor, or of a training step, with every error as a Deep500Error."""

    @functools.wraps(method)
    def run(self: Any, inputs: Any, *arguments: Any, **options: Any) -> Any:
        try:
            if self.unchecked:
                _check_first_call(self, inputs)
            return method(self, inputs, *arguments, **options)
        except Deep500Error:
            raise
        except Exception as error:
            executor = getattr(self, "executor", self)
            raise failure(executor, inputs, error, backprop) from error

    @functools.wraps(method)
    def run_on_inputs(self: Any, inputs: Any) -> Any:
        """The same for a method of nothing else: a call with open ends is dearer than the rest of this."""
        try:
            if self.unchecked:
                _check_first_call(self, inputs)
            return method(self, inputs)
        except Deep500Error:
            raise
        except Exception as error:
            executor = getattr(self, "executor", self)
            raise failure(executor, inputs, error, backprop) from error

    takes_inputs_only = len(inspect.signature(method).parameters) == 2
    return run_on_inputs if takes_inputs_only else run  # type: ignore[return-value]


def _check_first_call(runner: Any, inputs: Any) -> None:
    """Refuse what would cost far too much, before it is paid."""
    executor = getattr(runner, "executor", runner)
    if isinstance(inputs, Mapping):
        shapes = {name: shape_of(value) for name, value in inputs.items()}
        check_cost(executor.structure, shapes)
        runner.unchecked = False


def failure(
    executor: "Executor", inputs: Any, error: Exception, backprop: bool
) -> Deep500Error:
    """The error to raise in the place of one that came out of a framework."""
    problem = _input_problem(executor, inputs)
    if problem:
        return Deep500Error(problem)
    if not _is_out_of_memory(error):
        located = _located(executor, inputs, backprop)
        if located is not None:
            return located
    name = executor.structure.name
    doing = "differentiate" if backprop else "run"
    reason = one_line(error, kind=True)
    return Deep500Error(
        f"{executor.framework.name} cannot {doing} the network {name!r}: {reason}"
    )


def _is_out_of_memory(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(word in text for word in OUT_OF_MEMORY)


def _input_problem(executor: "Executor", inputs: Any) -> str:
    """What is wrong with the inputs themselves; empty if nothing is."""
    if not isinstance(inputs, Mapping):
        kind = type(inputs).__name__
        return f"inputs are a mapping of names to arrays, not a {kind}"
    for name, tensor in executor.structure.inputs.items():
        if name not in inputs:
            continue
        try:
            array = _host_array(executor, inputs[name])
        except Exception as error:
            return f"the input {name!r} is no array of numbers: {one_line(error)}"
        if array.dtype.kind not in NUMBERS:
            return (
                f"the input {name!r} is of {array.dtype}, and {tensor.dtype} is wanted"
            )
    return ""


def _located(
    executor: "Executor", inputs: Mapping[str, Any], backprop: bool
) -> Deep500Error | None:
    """The error of the first node that fails by itself; None if none does, or if they cannot be run so."""
    try:
        values = _start_values(executor, inputs)
        nodes = _runnable(executor, values, backprop)
        if any(isinstance(node.operator, Opaque) for node in nodes):
            return None
    except Exception:  # then nothing can be said about nodes
        return None
    ran = []
    for node in nodes:
        arguments = [values[i] if isinstance(i, str) else i for i in node.inputs]
        try:
            results = _evaluate(executor, node, arguments)
        except Exception as error:
            return _of_node(node, error, "")
        values.update(zip(node.outputs, results, strict=False))
        ran.append((node, arguments, results))
    return _located_backwards(executor, ran) if backprop else None


def _located_backwards(
    executor: "Executor", ran: Sequence[tuple[Node, list[Any], list[np.ndarray]]]
) -> Deep500Error | None:
    for node, arguments, results in reversed(ran):
        if node.operator.random or not node.operator.differentiable:
            continue
        ones = [np.ones_like(result) for result in results]
        try:
            executor.framework.gradient(node.operator, arguments, ones)
        except Exception as error:
            return _of_node(node, error, "the derivative of ")
    return None


def _of_node(node: Node, error: Exception, what: str) -> Deep500Error:
    kind = Unsupported if isinstance(error, Unsupported) else Deep500Error
    return kind(f"{what}node {node.name!r}: {one_line(error, 400)}")


def _start_values(
    executor: "Executor", inputs: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """The inputs in their declared dtypes, and the parameters, in the host's memory."""
    values = executor.arrays()
    for name, value in executor.keyed(inputs).items():
        if name in executor.structure.inputs:
            dtype = executor.structure.inputs[name].dtype
            values[name] = np.asarray(_host_array(executor, value), dtype)
    return values


def _runnable(
    executor: "Executor", values: Iterable[str], backprop: bool
) -> list[Node]:
    """The nodes that ran, in order."""
    structure = executor.structure
    if backprop:
        return structure.part([*structure.outputs, *structure.state_updates.values()])[
            0
        ]
    return structure.part(structure.computable([*values]), training=False)[0]


def _evaluate(
    executor: "Executor", node: Node, arguments: list[Any]
) -> list[np.ndarray]:
    operator = node.operator
    if not operator.random:
        return executor.framework.evaluate(operator, arguments)
    *arguments, key = arguments
    return executor.framework.evaluate(operator, arguments, key=key.tolist())


def _host_array(executor: "Executor", value: Any) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "dtype") or hasattr(value, "data_type"):
        return executor.framework.array(value)
    return np.asarray(value)
