"""Writes the first divergence as files for a framework's developers: a model of one node, its inputs, and a script."""

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...contracts.network import Network, Node
from ...errors import Deep500Error
from ..report import CheckResult
from .one_node import (
    PROBE,
    add_probe,
    input_name,
    one_node,
    probe_dtype,
    weight_name,
)
from .truth import NodeExample

MODEL, INPUTS, SCRIPT = "node.onnx", "inputs.npz", "reproduce.py"

SESSION = '''\
"""{summary}"""
import numpy as np
import onnxruntime

data = np.load("inputs.npz")
session = onnxruntime.InferenceSession("node.onnx", providers=["CPUExecutionProvider"])
outputs = session.run(None, {{x.name: data[x.name] for x in session.get_inputs()}})
for output, made in zip(session.get_outputs(), outputs):
    print(output.name, "is off by", np.abs(made - data["right:" + output.name]).max())
'''
FORWARD = '''\
"""{summary}"""
import deep500 as d5
import numpy as np

data, framework = np.load("inputs.npz"), d5.framework("{framework}")
network = d5.Network.from_onnx("node.onnx")
outputs = framework.executor(network).inference({{name: data[name] for name in network.inputs}})
for name, made in outputs.items():
    print(name, "is off by", np.abs(framework.array(made) - data["right:" + name]).max())
'''
BACKWARD = '''\
"""{summary}"""
import deep500 as d5
import numpy as np

data, framework = np.load("inputs.npz"), d5.framework("{framework}")
network = d5.Network.from_onnx("node.onnx")
executor = framework.executor(network)
executor.inference_and_backprop({{name: data[name] for name in network.inputs}}, "{probe}")
for name, made in executor.gradients.items():
    if "right:" + name in data:
        off = np.abs(framework.array(made) - data["right:" + name]).max()
        print("the gradient by", name, "is off by", off)
'''


def reproduction(
    check: CheckResult, node: Node, example: NodeExample
) -> dict[str, bytes]:
    """The contents of the files by name; empty if the node cannot be written as ONNX."""
    count = len(node.outputs)
    names = tuple(f"output_{i}" for i in range(count))
    renamed = replace(node, outputs=names)
    try:
        if check.name == "forward":
            network, arrays = _forward(renamed, example)
        else:
            network, arrays = _backward(renamed, example)
        model = network.to_onnx().SerializeToString()
    except Deep500Error:
        return {}
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    script = _script(check)
    return {MODEL: model, INPUTS: file.getvalue(), SCRIPT: script.encode()}


def _forward(node: Node, example: NodeExample) -> tuple[Network, dict[str, np.ndarray]]:
    network = one_node(node, example.inputs)
    arrays = _inputs(example.inputs)
    for name, expected in zip(node.outputs, example.outputs, strict=False):
        arrays[f"right:{name}"] = expected
    return network, arrays


def _backward(
    node: Node, example: NodeExample
) -> tuple[Network, dict[str, np.ndarray]]:
    network = one_node(node, example.inputs, example.differentiated)
    arrays = _inputs(example.inputs)
    pairs = zip(node.outputs, example.seeds, strict=False)
    seeds = {name: seed for name, seed in pairs if seed is not None}
    dtypes = {name: seed.dtype.name for name, seed in seeds.items()}
    dtype = probe_dtype(dtypes.values())
    for name, seed in seeds.items():
        weight = network.add_input(weight_name(name), seed.shape, dtype)
        arrays[weight] = seed.astype(dtype)
    probe = add_probe(network, dtypes)
    network.add_output(probe)
    for place, expected in enumerate(example.gradients):
        if expected is not None:
            name = input_name(place)
            arrays[f"right:{name}"] = expected
    return network, arrays


def _inputs(inputs: Sequence[Any]) -> dict[str, np.ndarray]:
    arrays = {}
    for place, x in enumerate(inputs):
        if isinstance(x, np.ndarray):
            arrays[input_name(place)] = x
    return arrays


def _script(check: CheckResult) -> str:
    error = f"{check.value or 0:.3g}"
    bound = f"{check.bound or 0:.3g}"
    summary = (
        f"{check.operator}, {check.name}: {check.where} is off by {error}, "
        f"and rounding explains {bound}."
    )
    if check.name != "forward":
        return BACKWARD.format(summary=summary, framework=check.where, probe=PROBE)
    if check.where == "onnxruntime":
        return SESSION.format(summary=summary)
    return FORWARD.format(summary=summary, framework=check.where)
