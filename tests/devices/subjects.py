"""Networks, batches and runs that tests on several frameworks' devices share."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import deep500 as d5
from deep500.contracts.executor import Executor
from deep500.contracts.network import Network, Node
from deep500.networks._architecture import Architecture
from deep500.operators.dropout import Dropout

ROOT = Path(__file__).parents[2]


def facts_of(module: str, *names: str) -> dict[str, Any]:
    """Facts that a module of this folder finds in a process of its own: frameworks create their devices once."""
    command = [sys.executable, "-m", f"tests.devices.{module}", *names]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def tiny(kind: type[Architecture]) -> Network:
    settings, shape, outputs = kind.tiny
    return kind(**settings).build(shape, outputs)


def network(random: bool = False) -> Network:
    """A perceptron; with `random`, two operators between its layers draw random numbers."""
    net = d5.networks.Mlp((5, 4)).build((6,), 3)
    for layer in ("fc1", "fc2") if random else ():
        outputs = (f"{layer}.relu",)
        inputs: Any = (layer, np.float32(0.5), np.bool_(True))
        net.replace_node(*outputs, Node(*outputs, Dropout(), inputs, outputs))
    return net


def batch(net: Network) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    arrays = {}
    for name, tensor in net.inputs.items():
        shape = (4, *tensor.shape[1:])
        arrays[name] = rng.integers(0, 2, shape).astype(tensor.dtype)
    return arrays


def on_device(framework: Any, net: Network) -> dict[str, Any]:
    """The batch in memory of the framework's device."""
    arrays = batch(net)
    return {name: framework.tensor(value) for name, value in arrays.items()}


def without_parameters() -> Network:
    """Nothing but its executor says where it runs."""
    net = Network("plain")
    x = net.add_input("x", (0, 3))
    net.add_output(net.add_node("Relu", (x,), ["y"]))
    return net


def losses(executor: Executor) -> list[float]:
    """The losses of whole steps, of a step in halves, and after the state was loaded."""
    step = executor.training_step(d5.optimizers.Adam())
    inputs = batch(executor.structure)
    values = [step(inputs)["loss"] for _ in range(2)]
    step.backprop(inputs)
    step.update()
    step.load_state(step.state())
    values.append(step(inputs)["loss"])
    return [float(executor.framework.array(value)) for value in values]


def message(call: Callable[..., Any], *values: Any) -> str:
    """The error of a call; empty if it returns."""
    try:
        call(*values)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


class Twice(d5.CustomPythonOp):
    """2 x, computed by NumPy in the host's memory."""

    def forward(self, inputs: Sequence[np.ndarray]) -> np.ndarray:
        return 2 * inputs[0]

    def backward(self, grads: Any, fwd_inputs: Any, fwd_outputs: Any) -> Any:
        return 2 * grads[0]


def with_custom_operator() -> Network:
    net = network()
    net.replace_node("fc1.relu", Twice())
    return net
