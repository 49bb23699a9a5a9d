"""One case on one framework: right, wrong, not supported, or an error."""

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
from .suite import Case
from .verdicts import BOUND, DIRECT, ERROR, PASS, UNSUPPORTED, WRONG, Verdict


def judge(case: Case, name: str) -> Verdict:
    """Run a case on the framework of that name (with BOUND behind it, or DIRECT) and compare."""
    try:
        faults = [
            fault
            for inputs, right in case.data
            for fault in _faults(case, _outputs(case, inputs, name), right)
        ]
    except (
        Unsupported,
        NotImplementedError,
    ) as error:  # the second is how PyTorch says that it has no kernel
        return Verdict(UNSUPPORTED, one_line(error, 300))
    except Deep500Error as error:
        return Verdict(ERROR, one_line(error, 300))
    except Exception as error:
        return Verdict(ERROR, one_line(error, 300, kind=True))
    return Verdict(WRONG, faults[0]) if faults else Verdict(PASS)


def network_and_feed(
    case: Case, inputs: Sequence[Any], bound: bool = True
) -> tuple[Network, dict[str, np.ndarray]]:
    """The case's model as we read it, and its inputs by name.

    With `bound`, inputs have the shapes of their values, and those that decide on shapes are constants.
    """
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    named = dict(zip(_fed(model), inputs, strict=False))
    feed = {
        name: value for name, value in named.items() if isinstance(value, np.ndarray)
    }
    if not bound:
        return Onnx().read(model), feed
    for info in model.graph.input:
        if isinstance(value := named.get(info.name), np.ndarray) and info.type.HasField(
            "tensor_type"
        ):
            info.type.tensor_type.shape.CopyFrom(_shape(value))
    return Onnx().read(model, feed), feed


def run_network(
    target: Framework, network: Network, feed: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    """The network's outputs; inference would turn off a training mode that the model asks for."""
    if any(node.operator.settings.get("training_mode") for node in network.nodes):
        return _node_by_node(target, network, feed)
    executor = target.executor(network)
    found = executor.inference(
        {name: value for name, value in feed.items() if name in network.inputs}
    )
    return [np.asarray(target.array(found[name])) for name in network.outputs]


def _outputs(case: Case, inputs: Sequence[Any], name: str) -> Sequence[Any]:
    if name == DIRECT:
        return _direct(case, inputs)
    network, feed = network_and_feed(case, inputs, bound=name.endswith(BOUND))
    return run_network(framework(name.removesuffix(BOUND)), network, feed)


def _direct(case: Case, inputs: Sequence[Any]) -> Sequence[Any]:
    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = (
        "0"  # or it refuses opsets that it has kernels for
    )
    session: Any = framework("onnxruntime").session(case.model)  # type: ignore[attr-defined]
    return session.run(
        None,
        {i.name: value for i, value in zip(session.get_inputs(), inputs, strict=False)},
    )


def _node_by_node(
    target: Framework, network: Network, feed: Mapping[str, np.ndarray]
) -> list[np.ndarray]:
    values = {**feed, **network.params}
    for node in network.part(network.outputs)[0]:
        inputs = [values[i] if isinstance(i, str) else i for i in node.inputs]
        values |= zip(
            node.outputs, target.evaluate(node.operator, inputs), strict=False
        )
    return [np.asarray(values[name]) for name in network.outputs]


def _fed(model: onnx.ModelProto) -> list[str]:
    """The inputs that data come for, in order: weights may stand among them."""
    weights = {weight.name for weight in model.graph.initializer}
    return [info.name for info in model.graph.input if info.name not in weights]


def _shape(value: np.ndarray) -> onnx.TensorShapeProto:
    return onnx.TensorShapeProto(
        dim=[onnx.TensorShapeProto.Dimension(dim_value=n) for n in value.shape]
    )


def _faults(case: Case, got: Sequence[Any], right: Sequence[Any]) -> list[str]:
    """What is wrong with the outputs, by the suite's own rule."""
    if len(got) != len(right):
        return [f"{len(got)} outputs where {len(right)} are right"]
    return [
        fault
        for i, (g, r) in enumerate(zip(got, right, strict=True))
        for fault in _fault(case, i, g, r)
    ]


def _fault(case: Case, i: int, got: Any, right: Any) -> list[str]:
    if isinstance(right, list) or right is None or isinstance(got, list) or got is None:
        if isinstance(right, list) and isinstance(got, list) and len(right) == len(got):
            return [
                fault
                for g, r in zip(got, right, strict=True)
                for fault in _fault(case, i, g, r)
            ]
        return (
            []
            if right is None and got is None
            else [f"output {i} is of another kind or length"]
        )
    got, right = np.asarray(got), np.asarray(right)
    if got.shape != right.shape or (got.dtype != right.dtype and right.dtype != object):
        return [
            f"output {i} is {got.dtype}{list(got.shape)} where {right.dtype}{list(right.shape)} is right"
        ]
    if case.random:
        return []
    if right.dtype.name in SMALL - {"bfloat16"}:  # types of few bits are right or wrong
        same = np.array_equal(
            got.astype("float32"), right.astype("float32"), equal_nan=True
        )
        return [] if same else [f"output {i} differs"]
    if right.dtype.kind not in "fciubV":  # strings
        return [] if np.array_equal(got, right) else [f"output {i} differs"]
    rtol = max(case.rtol, 2**-6) if right.dtype.name == "bfloat16" else case.rtol
    far = ~np.isclose(
        got.astype("float64"), right.astype("float64"), rtol, case.atol, equal_nan=True
    )
    if not far.any():
        return []
    at = tuple(map(int, np.argwhere(far)[0]))
    return [
        f"output {i}: {far.sum()} of {far.size} elements are off, first {got[at]} for {right[at]} at {list(at)}"
    ]
