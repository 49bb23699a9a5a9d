"""Runs one case on one framework and judges the result: right, wrong, unsupported, or an error."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from ...contracts.dtypes import SMALL
from ...contracts.framework import Framework
from ...contracts.network import Network
from ...errors import Deep500Error, Unsupported, one_line
from ...formats.onnx import Onnx
from ...frameworks import framework
from .suite import SuiteCase
from .verdicts import (
    BOUND,
    DIRECT,
    ERROR,
    PASS,
    UNSUPPORTED,
    WRONG,
    CaseVerdict,
)


def judge(case: SuiteCase, name: str) -> CaseVerdict:
    """Run a case on the framework of that name (with the suffix BOUND, or DIRECT) and compare its outputs."""
    faults: list[str] = []
    try:
        for inputs, expected in case.data:
            outputs = _outputs(case, inputs, name)
            faults += _faults(case, outputs, expected)
    # PyTorch raises NotImplementedError where it has no kernel
    except (Unsupported, NotImplementedError) as error:
        return CaseVerdict(UNSUPPORTED, one_line(error, 300))
    except Deep500Error as error:
        return CaseVerdict(ERROR, one_line(error, 300))
    except Exception as error:
        return CaseVerdict(ERROR, one_line(error, 300, kind=True))
    if faults:
        return CaseVerdict(WRONG, faults[0])
    return CaseVerdict(PASS)


def network_and_feed(
    case: SuiteCase, inputs: Sequence[Any], bound: bool = True
) -> tuple[Network, dict[str, np.ndarray]]:
    """The case's model as a network, and its inputs by name.

    With `bound`, inputs have the shapes of their values, and those that determine shapes are constants.
    """
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    feed: dict[str, np.ndarray] = {}
    for name, value in zip(_input_names(model), inputs, strict=False):
        if isinstance(value, np.ndarray):
            feed[name] = value
    if not bound:
        return Onnx().read(model), feed
    for info in model.graph.input:
        if info.name in feed and info.type.HasField("tensor_type"):
            shape = _shape(feed[info.name])
            info.type.tensor_type.shape.CopyFrom(shape)
    return Onnx().read(model, feed), feed


def run_network(
    target: Framework, network: Network, feed: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """The network's outputs. A model in training mode runs node by node, because inference would turn that off."""
    if any(node.operator.settings.get("training_mode") for node in network.nodes):
        return _node_by_node(target, network, feed)
    executor = target.executor(network)
    inputs = {name: feed[name] for name in feed if name in network.inputs}
    outputs = executor.inference(inputs)
    arrays = []
    for name in network.outputs:
        array = target.array(outputs[name])
        arrays.append(np.asarray(array))
    return arrays


def _outputs(case: SuiteCase, inputs: Sequence[Any], name: str) -> Sequence[Any]:
    if name == DIRECT:
        return _direct(case, inputs)
    network, feed = network_and_feed(case, inputs, bound=name.endswith(BOUND))
    target = framework(name.removesuffix(BOUND))
    return run_network(target, network, feed)


def _direct(case: SuiteCase, inputs: Sequence[Any]) -> Sequence[Any]:
    # or it refuses opsets that it has kernels for
    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
    session: Any = framework("onnxruntime").session(case.model)  # type: ignore[attr-defined]
    names = [info.name for info in session.get_inputs()]
    feed = dict(zip(names, inputs, strict=False))
    return session.run(None, feed)


def _node_by_node(
    target: Framework, network: Network, feed: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    values = {**feed, **network.params}
    nodes, _ = network.part(network.outputs)
    for node in nodes:
        inputs = [values[i] if isinstance(i, str) else i for i in node.inputs]
        outputs = target.evaluate(node.operator, inputs)
        values |= zip(node.outputs, outputs, strict=False)
    return [np.asarray(values[name]) for name in network.outputs]


def _input_names(model: onnx.ModelProto) -> list[str]:
    """The inputs in order, without the weights, which a model may list among them."""
    weights = {weight.name for weight in model.graph.initializer}
    return [info.name for info in model.graph.input if info.name not in weights]


def _shape(value: np.ndarray) -> onnx.TensorShapeProto:
    shape = onnx.TensorShapeProto()
    for size in value.shape:
        shape.dim.add().dim_value = size
    return shape


def _faults(
    case: SuiteCase, outputs: Sequence[Any], expected: Sequence[Any]
) -> list[str]:
    """What is wrong with the outputs, by the suite's own rules."""
    if len(outputs) != len(expected):
        return [f"{len(outputs)} outputs where {len(expected)} are right"]
    faults = []
    for i, (actual, right) in enumerate(zip(outputs, expected, strict=True)):
        faults += _output_faults(case, i, actual, right)
    return faults


def _output_faults(case: SuiteCase, i: int, actual: Any, right: Any) -> list[str]:
    """What is wrong with output i, which is an array, a list of such values, or None."""
    if actual is None and right is None:
        return []
    if isinstance(right, list) and isinstance(actual, list):
        if len(right) != len(actual):
            return [f"output {i} is of another kind or length"]
        faults = []
        for actual_item, right_item in zip(actual, right, strict=True):
            faults += _output_faults(case, i, actual_item, right_item)
        return faults
    if any(value is None or isinstance(value, list) for value in (actual, right)):
        return [f"output {i} is of another kind or length"]
    label = f"output {i}"
    fault = _array_fault(case, label, np.asarray(actual), np.asarray(right))
    return [fault] if fault else []


def _array_fault(
    case: SuiteCase, label: str, actual: np.ndarray, right: np.ndarray
) -> str | None:
    """What is wrong with an array; None if it agrees."""
    same_dtype = actual.dtype == right.dtype or right.dtype == object
    if actual.shape != right.shape or not same_dtype:
        form = f"{actual.dtype}{list(actual.shape)}"
        right_form = f"{right.dtype}{list(right.shape)}"
        return f"{label} is {form} where {right_form} is right"
    if case.random:
        return None
    # types of few bits must be equal
    if right.dtype.name in SMALL - {"bfloat16"}:
        narrow = actual.astype("float32")
        same = np.array_equal(narrow, right.astype("float32"), equal_nan=True)
        return None if same else f"{label} differs"
    if right.dtype.kind not in "fciubV":  # strings
        same = np.array_equal(actual, right)
        return None if same else f"{label} differs"
    return _distance_fault(case, label, actual, right)


def _distance_fault(
    case: SuiteCase, label: str, actual: np.ndarray, right: np.ndarray
) -> str | None:
    rtol = case.rtol
    if right.dtype.name == "bfloat16":
        rtol = max(case.rtol, 2**-6)
    wide = actual.astype("float64")
    right_wide = right.astype("float64")
    close = np.isclose(wide, right_wide, rtol, case.atol, equal_nan=True)
    if close.all():
        return None
    far = ~close
    first_index = np.argwhere(far)[0].tolist()
    place = tuple(first_index)
    counts = f"{far.sum()} of {far.size}"
    first = f"{actual[place]} for {right[place]} at {first_index}"
    return f"{label}: {counts} elements are off, first {first}"
