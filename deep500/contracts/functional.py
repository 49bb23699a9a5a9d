"""What executors have in common whose framework traces pure functions and compiles them, such as JAX and TensorFlow."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import tape
from .executor import Executor, TrainingStep, Values, matching
from .framework import Framework
from .network import Network, Node
from .operator import Operator
from .optimizer import State

Program = tuple[
    Callable[..., Any], list[str]
]  # a compiled function, and the inputs that it takes


class FunctionalExecutor(Executor):
    """Builds programs from pure functions; parameters live on the framework's side, flat buffers are copies."""

    def __init__(
        self, framework: Framework, network: Network, seed: int, compile: bool
    ):
        super().__init__(framework, network, seed, compile)

    @abstractmethod
    def native(self, value: Any, dtype: str) -> Any:
        """An input as the framework takes it."""

    @abstractmethod
    def with_derivative(self, operator: Operator, inputs: Sequence[Any]) -> tuple:
        """An operator's formula with its own derivative, as one step of the framework's differentiation."""

    def program(self, key: tuple, build: Callable[[], Program]) -> Program:
        """The program of this key, built when first asked for."""
        return self.programs.find((self.decided, *key), build)

    def forward(
        self, nodes: Iterable[Node], values: Values, outputs: Collection[str]
    ) -> Values:
        """Run nodes over the framework's values, or over what stands for them while tracing."""
        xp = self.framework.xp
        return tape.forward(xp, nodes, values, outputs, self._kernel, record=False)[0]

    def natives(self, inputs: Mapping[str, Any], used: Iterable[str]) -> Values:
        """The inputs that are used, in their declared dtypes; a program checks their shapes when it is traced."""
        specs = self.structure.inputs
        native = self.native
        return {
            name: native(inputs[name], specs[name].dtype)
            for name in used
            if name in inputs
        }

    def _kernel(self, node: Node, inputs: Sequence[Any]) -> tuple:
        kernel, word = self.choose(node, node.inputs)
        if word == "native" or not node.operator.differentiable:
            return kernel(*inputs)
        return self.with_derivative(node.operator, inputs)


def check_traced(structure: Network, values: Values, used: Iterable[str]) -> None:
    """Refuse inputs that are missing or of a wrong shape: called while tracing, so once for every shape."""
    structure.check_shapes(
        used, {name: tuple(value.shape) for name, value in values.items()}
    )


class FunctionalStep(TrainingStep):
    """The whole step is one program; its halves are two. Compiled apart, they may round differently in the last bit."""

    executor: FunctionalExecutor
    states: dict[str, State]

    def _done(self) -> None:
        """A whole step has been done."""
        self.count += 1
        self.executor.generation += 1

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and every array of the optimizer's state as "parameter.array"."""
        array = self.executor.framework.array
        arrays = {"step": np.asarray(self.count, np.float32)}
        for name, state in self.states.items():
            arrays |= {
                f"{name}.{key}": np.array(array(value)) for key, value in state.items()
            }
        return arrays

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays["step"])
        self.set_device_count(arrays["step"])
        for name, own in self.states.items():
            self.set_state(name, {key: arrays[f"{name}.{key}"] for key in own})

    @abstractmethod
    def set_device_count(self, count: np.ndarray) -> None:
        """The count of steps is kept on the device too, where programs read and raise it."""

    @abstractmethod
    def set_state(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Replace the state of one parameter."""
