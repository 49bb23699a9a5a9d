"""The smallest executor that really trains: softmax regression with its gradient written out in NumPy."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from deep500 import registry
from deep500.contracts.executor import Executor, TrainingStep, Values
from deep500.contracts.network import Network
from deep500.contracts.optimizer import Optimizer, State
from deep500.frameworks import framework

REFERENCE = framework("reference")


class Inertia(Optimizer):
    """Momentum whose rate shrinks with the step count: state and count both matter."""

    rate: float = 0.5

    def init(self, xp: Any, param: Any) -> State:
        return {"velocity": np.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        velocity = np.float32(0.9) * state["velocity"] + grad
        return param - np.float32(self.rate) / (10 + step) * velocity, {
            "velocity": velocity
        }


class SoftmaxRegression(Executor):
    def __init__(self) -> None:
        network = Network("softmax regression")
        network.add_input("x", (0, 1, 8, 8))
        network.add_input("label", (0,), "int64")
        network.add_param(
            "w", np.random.default_rng(5).standard_normal((64, 10)).astype(np.float32)
        )
        network.add_param("b", np.zeros(10, np.float32))
        network.outputs = ["loss", "logits"]
        super().__init__(REFERENCE, network)
        self.params = {name: value.copy() for name, value in network.params.items()}

    def inference(self, inputs: Mapping[str, Any]) -> Values:
        return self._forward(inputs)[0]

    def inference_and_backprop(
        self,
        inputs: Mapping[str, Any],
        y: str = "loss",
        step: int = 0,
        first_row: int = 0,
    ) -> Values:
        outputs, x, error = self._forward(inputs)
        self.gradients = {"w": x.T @ error, "b": error.sum(axis=0)}
        return outputs

    def training_step(self, optimizer: Any, y: str = "loss") -> "Step":
        return Step(self, optimizer)

    def kernels(self) -> dict[str, str]:
        return {}

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.params = {name: value.copy() for name, value in arrays.items()}

    def _forward(
        self, inputs: Mapping[str, Any]
    ) -> tuple[Values, np.ndarray, np.ndarray]:
        x, rows = (
            inputs["x"].reshape(len(inputs["x"]), -1),
            np.arange(len(inputs["label"])),
        )
        logits = x @ self.params["w"] + self.params["b"]
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        softmax = powers / powers.sum(axis=1, keepdims=True)
        loss = -np.log(softmax[rows, inputs["label"]]).mean()
        softmax[rows, inputs["label"]] -= 1
        return {"loss": loss, "logits": logits}, x, softmax / np.float32(len(x))


class Step(TrainingStep):
    def __init__(self, executor: Executor, optimizer: Optimizer) -> None:
        super().__init__(executor, optimizer, "loss")
        self.states = {
            name: optimizer.init(np, value) for name, value in executor.params.items()
        }

    def _update(self) -> None:
        params, step = self.executor.params, np.float32(self.count + 1)
        for name, grad in self.executor.gradients.items():
            params[name], self.states[name] = self.optimizer.update(
                np, params[name], grad, self.states[name], step
            )

    def state(self) -> dict[str, np.ndarray]:
        return {"step": np.asarray(self.count, np.float32)} | {
            f"{n}.{k}": v for n, state in self.states.items() for k, v in state.items()
        }

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.count = int(state["step"])
        self.states = {
            name: {"velocity": state[f"{name}.velocity"]} for name in self.states
        }


def mlp(on: str) -> Executor:
    """Two layers of our own operators on a framework."""
    numbers, network = np.random.default_rng(5), Network("mlp")
    network.add_input("x", (0, 1, 8, 8))
    network.add_input("label", (0,), "int64")
    for name, shape in {
        "w1": (64, 16),
        "b1": (16,),
        "w2": (16, 10),
        "b2": (10,),
    }.items():
        network.add_param(name, (numbers.standard_normal(shape) / 4).astype(np.float32))
    network.add_node("Flatten", ["x"], ["flat"])
    network.add_node("Gemm", ["flat", "w1", "b1"], ["hidden"])
    network.add_node("Relu", ["hidden"], ["active"])
    network.add_node("Gemm", ["active", "w2", "b2"], ["logits"])
    network.add_node("SoftmaxCrossEntropyLoss", ["logits", "label"], ["loss"])
    network.add_output("loss")
    network.add_output("logits")
    return framework(on).executor(network)


PAIRS = {
    "softmax regression": lambda: (SoftmaxRegression(), Inertia()),
    "reference": lambda: (mlp("reference"), registry.find("optimizers", "Adam")()),
}
