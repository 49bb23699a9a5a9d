"""The executor contract: a network built once by a framework, with its parameters on that framework's side."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Deep500Error
from .network import KEY, Network, take_keys
from .optimizer import Optimizer

if TYPE_CHECKING:
    from .framework import Framework

Values = dict[str, Any]  # native values by name


class TrainingStep(ABC):
    """One whole step (forward, backward, update) as the framework does it best; state stays on its side."""

    @abstractmethod
    def __call__(self, inputs: Mapping[str, Any]) -> Values:
        """Do one step on a batch (NumPy or native) and return the network's outputs from before the update."""

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """The optimizer's state by name, for a checkpoint (parameters are the executor's)."""

    @abstractmethod
    def load_state(self, state: Mapping[str, np.ndarray]) -> None: ...


class Executor(ABC):
    """Runs a network. Accepts NumPy or native inputs, returns native ones; `framework.array` converts."""

    model: Network | None = (
        None  # what from_model got without a loss: a trainer attaches its task's
    )
    options: Mapping[str, Any] = {}  # what from_model got with it

    def __init__(self, framework: "Framework", network: Network):
        for dtype in {t.dtype for t in network.inputs.values()} | {
            str(p.dtype) for p in network.params.values()
        }:
            framework.dtype(dtype)
        self.framework = framework
        self.structure = network.copy()
        self.random = take_keys(self.structure)  # operators by the inputs that are their keys
        self.params: Values = {}  # native, set by the subclass
        self.gradients: Values = {}  # of the last inference_and_backprop, by parameter
        self.training = True

    @property
    def network(self) -> "NetworkView":
        """The network as it is on this executor's side."""
        return NetworkView(self)

    @abstractmethod
    def inference(self, inputs: Mapping[str, Any]) -> Values:
        """The outputs of the network (evaluation mode: running statistics are used, nothing is updated)."""

    @abstractmethod
    def inference_and_backprop(
        self, inputs: Mapping[str, Any], y: str = "loss", step: Any = 0
    ) -> Values:
        """The outputs, with `gradients` of y by every trainable parameter left behind.

        Random operators draw by the count of steps before this one.
        """

    @abstractmethod
    def training_step(self, optimizer: Optimizer, y: str = "loss") -> TrainingStep:
        """A function that does a whole step on a batch."""

    def kernels(self) -> dict[str, str]:
        """How every node runs here: "native" or "composed"."""
        return {
            node.name: self.framework.kernel(node.operator, len(node.outputs), node.inputs)[1]
            for node in self.structure.nodes
        }

    def keyed(self, inputs: Mapping[str, Any], step: Any = 0) -> Mapping[str, Any]:
        """The inputs, with the keys that random operators draw by in this step."""
        if not self.random:
            return inputs
        count = int(self.framework.array(step))
        return {
            **inputs,
            **{
                name: np.array(operator.key(name.removeprefix(KEY), count), np.int64)
                for name, operator in self.random.items()
            },
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """All parameters as NumPy arrays."""
        return {name: self.framework.array(value) for name, value in self.params.items()}

    @abstractmethod
    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set all parameters, in place where the framework holds on to them."""


class NetworkView:
    """An executor's network: the structure of the Network, the tensors of the executor."""

    def __init__(self, executor: Executor):
        self._executor = executor

    def get_params(self) -> list[str]:
        return self._executor.structure.get_params()

    def gradient(self, y: str = "loss") -> list[tuple[str, str]]:
        return self._executor.structure.gradient(y)

    def fetch_tensors(self, names: list[str]) -> list[Any]:
        """Parameters by name, gradients by the names that `gradient` gives."""
        return [self._value(name) for name in names]

    def feed_tensor(self, name: str, value: Any) -> None:
        executor = self._executor
        executor.load(
            executor.arrays() | {name: executor.framework.array(executor.framework.tensor(value))}
        )

    def _value(self, name: str) -> Any:
        executor = self._executor
        if name in executor.params:
            return executor.params[name]
        if (of := name.removesuffix(".grad")) in executor.gradients and name != of:
            return executor.gradients[of]
        raise Deep500Error(
            f"no tensor is named {name!r}: there are {', '.join(executor.params)}, and their .grad "
            "after inference_and_backprop"
        )


def matching(
    own: Mapping[str, np.ndarray], given: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Copies of the given arrays, of the same names, shapes and dtypes as our own."""
    if own.keys() != given.keys():
        raise Deep500Error(
            f"these arrays are wanted: {', '.join(own)}; these came: {', '.join(given) or 'none'}"
        )
    for name, value in own.items():
        if np.shape(given[name]) != np.shape(value):
            raise Deep500Error(
                f"{name!r} has the shape {np.shape(value)}, not {np.shape(given[name])}"
            )
    return {name: np.array(given[name], np.asarray(value).dtype) for name, value in own.items()}
