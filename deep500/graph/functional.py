"""Base of executors whose framework traces pure functions and compiles them, such as JAX and TensorFlow."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..contracts.executor import Executor, TrainingStep, Values, matching
from ..contracts.framework import Framework
from ..contracts.network import Network, Node
from ..contracts.operator import Operator
from ..contracts.optimizer import State
from . import tape

# a compiled function, and the inputs that it takes
Program = tuple[Callable[..., Any], list[str]]
# the input of a program that carries the keys of all random operators
PACKED_KEYS = "deep500:keys"


class FunctionalExecutor(Executor):
    """Builds programs from pure functions; parameters are in the framework's memory, flat buffers are copies."""

    def __init__(
        self, framework: Framework, network: Network, seed: int, execution: str
    ):
        super().__init__(framework, network, seed, execution)

    @abstractmethod
    def native(self, value: Any, dtype: str) -> Any:
        """An input as a value of the framework."""

    @abstractmethod
    def with_derivative(self, operator: Operator, inputs: Sequence[Any]) -> tuple:
        """An operator's formula with its own derivative, as one step of the framework's differentiation."""

    def program(self, key: tuple, build: Callable[[], Program]) -> Program:
        """The program of this key, which is built on first use."""
        return self.programs.find((self.decided, *key), build)

    def forward(
        self, nodes: Iterable[Node], values: Values, outputs: Collection[str]
    ) -> Values:
        """Run nodes on the framework's values, or on its placeholders while tracing."""
        xp = self.framework.xp
        results, _ = tape.forward(
            xp, nodes, values, outputs, self._kernel, record=False
        )
        return results

    def natives(self, inputs: Mapping[str, Any], used: Iterable[str]) -> Values:
        """The inputs that are used, in their declared dtypes; a program checks their shapes when it is traced."""
        specs = self.structure.inputs
        native = self.native
        values = {}
        for name in self.given(inputs, used):
            values[name] = native(inputs[name], specs[name].dtype)
        draws = self.keys_among(used)
        if draws:
            values[PACKED_KEYS] = self.packed_keys(inputs, draws)
        return values

    def given(self, inputs: Collection[str], used: Iterable[str]) -> list[str]:
        """The used inputs that a user gave: all that are present, but for the keys of random operators."""
        return [name for name in used if name in inputs and name not in self.random]

    def keys_among(self, used: Iterable[str]) -> list[str]:
        """The inputs among these that are keys of random operators."""
        return [name for name in used if name in self.random]

    @abstractmethod
    def placed(self, array: np.ndarray) -> Any:
        """An array as a value of the framework on its device."""

    def packed_keys(self, inputs: Mapping[str, Any], keys: Sequence[str]) -> Any:
        """These keys as one array, so that one copy to the device is enough."""
        return self.placed(np.stack([inputs[name] for name in keys]))

    def unpacked(self, values: Values, used: Iterable[str]) -> Values:
        """The inputs of a program with the packed keys by their names; called while tracing."""
        if PACKED_KEYS not in values:
            return values
        values = dict(values)
        packed = values.pop(PACKED_KEYS)
        for i, name in enumerate(self.keys_among(used)):
            values[name] = packed[i]
        return values

    def _kernel(self, node: Node, inputs: Sequence[Any]) -> tuple:
        kernel, kind = self.choose(node, node.inputs)
        if kind == "native" or not node.operator.differentiable:
            return kernel(*inputs)
        return self.with_derivative(node.operator, inputs)


def check_traced(structure: Network, values: Values, used: Iterable[str]) -> None:
    """Raise a Deep500Error for missing inputs or wrong shapes; called while tracing, so once for every shape."""
    shapes = {name: tuple(value.shape) for name, value in values.items()}
    structure.check_shapes(used, shapes)


class FunctionalStep(TrainingStep):
    """The whole step is one program, its halves are two others, which may round differently in the last bit."""

    executor: FunctionalExecutor
    states: dict[str, State]

    def _done(self) -> None:
        """Count a whole step."""
        self.count += 1
        self.executor.generation += 1

    def state(self) -> dict[str, np.ndarray]:
        """The count of steps as "step", and every array of the optimizer's state as "parameter.array"."""
        array = self.executor.framework.array
        arrays = {"step": np.asarray(self.count, np.float32)}
        for name, state in self.states.items():
            for key, value in state.items():
                arrays[f"{name}.{key}"] = np.array(array(value))
        return arrays

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        arrays = matching("optimizer state", self.state(), state)
        self.count = int(arrays["step"])
        self.set_device_count(arrays["step"])
        for name, keys in self.states.items():
            self.set_state(name, {key: arrays[f"{name}.{key}"] for key in keys})

    @abstractmethod
    def set_device_count(self, count: np.ndarray) -> None:
        """Set the count of steps on the device, which programs read and increment."""

    @abstractmethod
    def set_state(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Replace the state of one parameter."""
