"""Errors while a network runs, reported in one line that names the node.

The first call is refused if it would cost too much; later calls have no overhead. A run that fails is repeated node by
node to find the first node that fails.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..contracts.dtypes import name_of
from ..contracts.network import Node
from ..errors import (
    Deep500Error,
    Unsupported,
    one_line,
    raise_if_mistake,
    raising_function,
    with_place,
)
from .arrays import FRACTIONS, WholeInputs, dtype_name, shape_of
from .limits import check_cost
from .wrapping import Opaque

if TYPE_CHECKING:
    from ..contracts.executor import Executor

Method = TypeVar("Method", bound=Callable[..., Any])
OUT_OF_MEMORY = ("memory", "alloc")  # in error messages of frameworks
NUMBERS = "biufcV"  # kinds of NumPy's dtypes; those of ml_dtypes are V


def named_failures(method: Method, backprop: bool) -> Method:
    """The method of an executor or of a training step, which now raises only Deep500Errors."""

    @functools.wraps(method)
    def run(self: Any, inputs: Any, *arguments: Any, **options: Any) -> Any:
        try:
            if self.unchecked:
                _check_first_call(self, inputs)
            self.whole_inputs.check(inputs)
            return method(self, inputs, *arguments, **options)
        except Deep500Error:
            raise
        except Exception as error:
            executor = getattr(self, "executor", self)
            raise failure(executor, inputs, error, backprop) from error

    @functools.wraps(method)
    def run_on_inputs(self: Any, inputs: Any) -> Any:
        """The same for a method without further arguments: *arguments and **options would cost more than the rest."""
        try:
            if self.unchecked:
                _check_first_call(self, inputs)
            self.whole_inputs.check(inputs)
            return method(self, inputs)
        except Deep500Error:
            raise
        except Exception as error:
            executor = getattr(self, "executor", self)
            raise failure(executor, inputs, error, backprop) from error

    takes_inputs_only = len(inspect.signature(method).parameters) == 2
    if takes_inputs_only:
        return run_on_inputs  # type: ignore[return-value]
    return run  # type: ignore[return-value]


def _check_first_call(runner: Any, inputs: Any) -> None:
    """Raise an error if the call would cost far too much."""
    executor = getattr(runner, "executor", runner)
    if isinstance(inputs, Mapping):
        shapes = {name: shape_of(value) for name, value in inputs.items()}
        network = executor.structure
        # what a model of the user's own takes is not declared
        whole_inputs = WholeInputs({} if _is_wrapped(network.nodes) else network.inputs)
        whole_inputs.check(inputs)
        check_cost(network, shapes)
        runner.whole_inputs = whole_inputs
        runner.unchecked = False


def _is_wrapped(nodes: Iterable[Node]) -> bool:
    return any(isinstance(node.operator, Opaque) for node in nodes)


def failure(
    executor: "Executor", inputs: Any, error: Exception, backprop: bool
) -> Deep500Error:
    """The error to raise instead of an error of a framework."""
    problem = _input_problem(executor, inputs)
    if problem:
        return Deep500Error(problem)
    raise_if_mistake(error)
    if not is_out_of_memory(error):
        located = _located(executor, inputs, backprop)
        if located is not None:
            return located
    framework = executor.framework.name
    network = executor.structure.name
    is_users = raising_function(error) is not None
    action = "differentiate" if backprop and not is_users else "run"
    reason = with_place(error) + _other_floats(executor, inputs)
    return Deep500Error(
        f"{framework} cannot {action} the network {network!r}: {reason}"
    )


def _other_floats(executor: "Executor", inputs: Mapping[str, Any]) -> str:
    """Advice if a wrapped model, whose inputs nobody converts, gets other floats than its parameters."""
    structure = executor.structure
    if not any(isinstance(node.operator, Opaque) for node in structure.nodes):
        return ""
    params = {name_of(spec.dtype) for spec in structure.params.values()}
    for name, value in inputs.items():
        dtype = dtype_name(value)
        if dtype.startswith(FRACTIONS) and params and dtype not in params:
            expected = ", ".join(sorted(params))
            return f"; the input {name!r} is of {dtype}, and the parameters of {expected}: convert one of them"
    return ""


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error of a framework says that there is no memory left."""
    if isinstance(error, MemoryError):
        return True
    text = str(error).lower()
    return any(word in text for word in OUT_OF_MEMORY)


def _input_problem(executor: "Executor", inputs: Any) -> str:
    """Why the inputs themselves are wrong; empty if they are not."""
    if not isinstance(inputs, Mapping):
        kind = type(inputs).__name__
        return f"inputs are a mapping of names to arrays, not a {kind}"
    for name, tensor in executor.structure.inputs.items():
        if name not in inputs:
            continue
        try:
            array = _host_array(executor, inputs[name])
        except Exception as error:
            message = one_line(error)
            return f"the input {name!r} is no array of numbers: {message}"
        dtype = array.dtype
        if dtype.kind not in NUMBERS:
            return f"the input {name!r} is of {dtype}, and {tensor.dtype} is wanted"
    return ""


def _located(
    executor: "Executor", inputs: Mapping[str, Any], backprop: bool
) -> Deep500Error | None:
    """The error of the first node that fails when it runs alone; None if none does, or if nodes cannot run alone."""
    try:
        values = _start_values(executor, inputs)
        nodes = _runnable(executor, values, backprop)
        if _is_wrapped(nodes):
            return None
    except Exception:  # the failing node cannot be found
        return None
    finished_runs = []
    for node in nodes:
        arguments = [values[i] if isinstance(i, str) else i for i in node.inputs]
        try:
            results = _evaluate(executor, node, arguments)
        except Exception as error:
            return _node_failure(node, error)
        values.update(zip(node.outputs, results, strict=False))
        finished_runs.append((node, arguments, results))
    if not backprop:
        return None
    return _located_backwards(executor, finished_runs)


def _located_backwards(
    executor: "Executor",
    finished_runs: Sequence[tuple[Node, list[Any], list[np.ndarray]]],
) -> Deep500Error | None:
    """The error of the first node, from the last to the first, whose derivative fails."""
    for node, arguments, results in reversed(finished_runs):
        if node.operator.random or not node.operator.differentiable:
            continue
        ones = [np.ones_like(result) for result in results]
        try:
            executor.framework.gradient(node.operator, arguments, ones)
        except Exception as error:
            return _node_failure(node, error, "the derivative of ")
    return None


def _node_failure(node: Node, error: Exception, prefix: str = "") -> Deep500Error:
    raise_if_mistake(error)
    message = one_line(error, 400)
    text = f"{prefix}node {node.name!r}: {message}"
    if isinstance(error, Unsupported):
        return Unsupported(text)
    return Deep500Error(text)


def _start_values(
    executor: "Executor", inputs: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """The inputs in their declared dtypes, and the parameters, as NumPy arrays."""
    values = executor.arrays()
    for name, value in executor.keyed(inputs).items():
        if name in executor.structure.inputs:
            dtype = executor.structure.inputs[name].dtype
            values[name] = np.asarray(_host_array(executor, value), dtype)
    return values


def _runnable(
    executor: "Executor", values: Iterable[str], backprop: bool
) -> list[Node]:
    """The nodes that the failed call runs, in order."""
    structure = executor.structure
    if backprop:
        outputs = [*structure.outputs, *structure.state_updates.values()]
    else:
        outputs = structure.computable([*values])
    nodes, _ = structure.part(outputs, training=backprop)
    return nodes


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
