"""The executor contract: a network built once by a framework, with its parameters on that framework's side."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..canonical import has_dtype
from ..errors import Deep500Error, lacking
from .arrays import Shaped, check_matching, shape_of
from .dtypes import name_of
from .failures import named_failures
from .layout import FlatBuffers
from .network import KEY, Network, Node, take_keys
from .operator import Tensor
from .operator_times import OperatorTimes, operator_times
from .optimizer import Optimizer
from .programs import Programs
from .specialising import Mode, Specialised, Specialiser, is_open
from .transformation import LARGEST_CONSTANT, apply_all

if TYPE_CHECKING:
    from .framework import Framework
    from .three_step import ThreeStepOptimizer

Values = dict[str, Any]  # native values by name


class TrainingStep(ABC):
    """One step (forward, backward, update) as the framework does it best; state stays on its side.

    `step(batch)` is the whole step. `step.backprop(batch)` and then `step.update()` are its two halves: in between,
    gradients can be read and changed through the executor's flat buffers. Rows of a batch are numbered over all ranks:
    `first_row` is the number of this batch's first row, by which random operators draw.
    """

    unchecked = True  # before the first call, whose cost is estimated
    state_grows: ClassVar[bool] = False  # whether steps add arrays to `state`

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("__call__", "backprop"):
            if name in vars(cls):
                setattr(cls, name, named_failures(vars(cls)[name], backprop=True))

    def __init__(self, executor: "Executor", optimizer: Any, y: str):
        self.executor = executor
        self.optimizer = optimizer
        self.y = y
        self.count = (
            0  # steps done; counted on the host, so that no device has to be waited for
        )
        self._has_gradients = False

    def __call__(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        """Do one step on a batch (NumPy or native) and return the network's outputs from before the update."""
        outputs = self.backprop(inputs, first_row)
        self.update()
        return outputs

    def backprop(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        """Return the network's outputs, and leave the gradients behind."""
        outputs = self.executor.inference_and_backprop(
            inputs, self.y, self.count, first_row
        )
        self._has_gradients = True
        return outputs

    def update(self) -> None:
        """Apply the optimizer to the gradients that `backprop` left."""
        if not self._has_gradients:
            raise Deep500Error(
                "update() needs gradients: call backprop(batch) before it"
            )
        self._update()
        self._has_gradients = False
        self.count += 1
        self.executor.generation += 1

    def apply(self, gradients: Mapping[str, np.ndarray]) -> None:
        """Apply the optimizer to gradients that come from elsewhere, as flat buffers by the executor's layout."""
        self.executor.load_flat_gradients(gradients)
        self._has_gradients = True
        self.update()

    @abstractmethod
    def _update(self) -> None:
        """Step number `count + 1` of the optimizer, on the executor's gradients."""

    @abstractmethod
    def state(self) -> dict[str, np.ndarray]:
        """The optimizer's state by name, for a checkpoint (parameters are the executor's)."""

    @abstractmethod
    def load_state(self, state: Mapping[str, np.ndarray]) -> None: ...


class Executor(ABC):
    """Runs a network. Accepts NumPy or native inputs, returns native ones; `framework.array` converts.

    `structure` is the network without its arrays: the weights are on the framework's side only. Where values that a
    run brings decide on it (shapes, axes, rounds of a loop), it is the network for those of the last call, which
    `decided` stands for in the keys of programs. `graph` is what runs: the structure after the transformations in
    `passes`, unless `optimize` is off. `layout` says where each trained parameter, and its gradient, lies in the flat
    buffers.
    """

    passes: ClassVar[tuple[str, ...]] = ()  # names of transformations
    optimize = True

    always_compiles: ClassVar[bool] = (
        False  # whether networks run compiled, asked for or not
    )

    model: Any = (
        None  # what from_model got without a loss: a trainer attaches its task's
    )
    options: Mapping[str, Any] = {}  # what from_model got with it
    unchecked = True  # before the first call, whose cost is estimated
    tells_forward: ClassVar[bool] = False  # whether it calls `after_forward`
    after_forward: Callable[[], None] | None = (
        None  # called between forward and backward
    )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in ("inference", "inference_and_backprop"):
            if name in vars(cls):
                method = named_failures(vars(cls)[name], backprop=name != "inference")
                setattr(cls, name, method)

    def __init__(
        self,
        framework: "Framework",
        network: Network,
        seed: int = 0,
        compile: bool = False,
    ):
        for dtype in {t.dtype for t in network.inputs.values()}:
            framework.dtype(dtype)
        for dtype in {str(p.dtype) for p in network.params.values()}:
            framework.dtype(dtype)
        self.framework = framework
        self.seed = seed
        self.compile = compile
        self.structure = network.outline()
        self.random = take_keys(
            self.structure
        )  # operators by the inputs that are their keys
        self.programs: Programs[Any] = Programs()  # what has been built so far
        self.decided: Specialised | None = None
        self._specialiser: Specialiser | None = None
        if is_open(self.structure):
            self._specialiser = Specialiser(self.structure)
        self.takes_inputs_as_they_are = not self.random and self._specialiser is None
        self.layout = self.structure.layout()
        self.params: Values = {}  # native, set by the subclass
        self.gradients: Values = {}  # of the last inference_and_backprop, by parameter
        self.training = True
        self.generation = (
            0  # counts what makes flat buffers that were handed out invalid
        )
        self.copies: Counter[str] = Counter()  # of flat buffers: "to host", "to device"
        self._kernel_words: dict[str, str] = {}
        self._graphs: Programs[Network] = Programs()
        self._constants: dict[
            str, np.ndarray
        ] = {}  # the values that they were made for

    @property
    def graph(self) -> Network:
        """The structure, or what `passes` make of it when they know the values that no step changes."""
        if not self.optimize or not self.passes:
            return self.structure
        return self._graphs.find(self.decided, self._cleaned_up)

    def graph_with(self, values: Iterable[str]) -> Network:
        """`graph`, or the structure if one of these values is only there."""
        graph = self.graph
        sources = {*graph.inputs, *graph.params}
        missing = [
            name for name in values if name not in sources and not graph.producer(name)
        ]
        return self.structure if missing else graph

    def _cleaned_up(self) -> Network:
        graph = self.structure.outline()
        if not self._constants:
            self._constants = self._small_constants()
        graph.params.update(self._constants)
        apply_all(self.passes, graph)
        return graph

    def _small_constants(self) -> dict[str, np.ndarray]:
        """Small parameters that no step changes: what passes may take for fixed."""
        changing = {*self.structure.trainable, *self.structure.state_updates}
        constants = {}
        for name, value in self.params.items():
            if name not in changing and self.spec(name).size <= LARGEST_CONSTANT:
                constants[name] = np.array(self.framework.array(value))
        return constants

    @property
    def network(self) -> "NetworkView":
        """The network as it is on this executor's side."""
        return NetworkView(self)

    def spec(self, name: str) -> Tensor:
        """Shape and dtype of a parameter."""
        return self.structure.params[name]  # type: ignore[return-value]

    @abstractmethod
    def inference(self, inputs: Mapping[str, Any]) -> Values:
        """The outputs of the network (evaluation mode: running statistics are used, nothing is updated)."""

    @abstractmethod
    def inference_and_backprop(
        self,
        inputs: Mapping[str, Any],
        y: str = "loss",
        step: int = 0,
        first_row: int = 0,
    ) -> Values:
        """The outputs, with `gradients` of y by every trainable parameter left behind.

        Random operators draw by the count of steps before this one and by the number of the batch's first row.
        """

    def training_step(
        self, optimizer: "Optimizer | ThreeStepOptimizer", y: str = "loss"
    ) -> TrainingStep:
        """A function that does a whole step on a batch, or its halves."""
        from .three_step import ThreeStepOptimizer, ThreeStepTraining

        self.structure.warn_before_training()
        if isinstance(optimizer, ThreeStepOptimizer):
            return ThreeStepTraining(self, optimizer, y)
        if not isinstance(optimizer, Optimizer):
            raise Deep500Error(
                f"{optimizer!r} is no optimizer: give an instance, as in d5.optimizers.SGD(0.1)"
            )
        optimizer.check_framework(self.framework.name)
        return self._training_step(optimizer, y)

    def _training_step(self, optimizer: Optimizer, y: str) -> TrainingStep:
        """The training step of this framework."""
        raise lacking(self, "_training_step")

    def kernels(self) -> dict[str, str]:
        """How every node runs here, "native" or "composed", as chosen for the dtypes that it gets."""
        specs = None
        for node in self.structure.nodes:
            if node.name not in self._kernel_words:
                specs = specs or self.structure.specs({})
                inputs = [
                    specs.get(i, i) if isinstance(i, str) else i for i in node.inputs
                ]
                self.choose(node, inputs)
        return {
            node.name: self._kernel_words[node.name] for node in self.structure.nodes
        }

    def operator_times(
        self, inputs: Mapping[str, Any], training: bool = False, rounds: int = 10
    ) -> list[OperatorTimes]:
        """What each node takes alone, with the values that it gets here; with `training`, its derivative as well."""
        return operator_times(self, inputs, training, rounds)

    def choose(self, node: Node, inputs: Sequence[Any]) -> tuple[Any, str]:
        """The kernel of a node for these inputs, and its word, which is noted."""
        kernel, word = self.framework.kernel(node.operator, len(node.outputs), inputs)
        self._kernel_words[node.name] = word
        return kernel, word

    def keyed(
        self, inputs: Mapping[str, Any], step: int | None = None, first_row: int = 0
    ) -> Mapping[str, Any]:
        """The inputs, with the keys that random operators draw by in this step; None is inference.

        From here on, `structure` is the network for these inputs.
        """
        if self.takes_inputs_as_they_are:
            return inputs
        if self.random:
            inputs = {**inputs, **self._keys(inputs, step or 0, first_row)}
        if self._specialiser is not None:
            backprop = step is not None
            mode = Mode(derivative=backprop, training=backprop and self.training)
            self._specialise(self._specialiser, inputs, mode)
        return inputs

    def _keys(
        self, inputs: Mapping[str, Any], step: int, first_row: int
    ) -> dict[str, np.ndarray]:
        rows = _rows(inputs) if first_row else 1
        keys = {}
        for name, operator in self.random.items():
            node = name.removeprefix(KEY)
            key = operator.key(
                node, step, seed=self.seed, first_row=first_row, rows=rows
            )
            keys[name] = np.array(key, np.int64)
        return keys

    def _specialise(
        self, specialiser: Specialiser, inputs: Mapping[str, Any], mode: Mode
    ) -> None:
        specs = self.structure.inputs
        tensors = {}
        for name, value in inputs.items():
            if name in specs:
                tensors[name] = Tensor(shape_of(value), specs[name].dtype)

        def fetch(name: str) -> np.ndarray:
            if name not in tensors:
                return self.framework.array(self.params[name])
            return self._on_host(inputs[name], specs[name].dtype)

        self.decided = specialiser.specialised(tensors, fetch, mode)
        self.structure = self.decided.network

    def _on_host(self, value: Any, dtype: str) -> np.ndarray:
        native = has_dtype(value) and not isinstance(value, np.ndarray | np.generic)
        return np.asarray(self.framework.array(value) if native else value, dtype)

    def flat_params(self) -> FlatBuffers:
        """All trained parameters as flat NumPy buffers by `layout`, valid until the next step.

        They are the parameters' own memory where that is the host's (writing to them changes the network), and a
        copy elsewhere, which `load_flat_params` takes back.
        """
        return FlatBuffers(self._flat_params(), self.layout, lambda: self.generation)

    def flat_gradients(self) -> FlatBuffers:
        """The gradients of the last backprop, likewise; what is written to them is what an update uses."""
        if not self.gradients:
            raise Deep500Error(
                "there are no gradients yet: call backprop or inference_and_backprop"
            )
        return FlatBuffers(self._flat_gradients(), self.layout, lambda: self.generation)

    def load_flat_params(self, buffers: Mapping[str, np.ndarray]) -> None:
        """Set all trained parameters from flat buffers."""
        self.layout.check(buffers)
        self._load_flat_params(buffers)

    def load_flat_gradients(self, buffers: Mapping[str, np.ndarray]) -> None:
        """Set all gradients from flat buffers."""
        self.layout.check(buffers)
        self._load_flat_gradients(buffers)

    # Copies, each counted. An executor whose tensors are in the host's memory gives and takes that memory instead.

    def _flat_params(self) -> dict[str, np.ndarray]:
        return self._gathered(
            {name: self.params[name] for name in self.structure.trainable}
        )

    def _flat_gradients(self) -> dict[str, np.ndarray]:
        return self._gathered(self.gradients)

    def _load_flat_params(self, buffers: Mapping[str, np.ndarray]) -> None:
        self.copies["to device"] += 1
        for name, value in self.layout.views(buffers).items():
            self._write(name, value)

    def _load_flat_gradients(self, buffers: Mapping[str, np.ndarray]) -> None:
        self.copies["to device"] += 1
        tensor = self.framework.tensor
        views = self.layout.views(buffers)
        self.gradients = {name: tensor(value) for name, value in views.items()}

    def _gathered(self, values: Values) -> dict[str, np.ndarray]:
        self.copies["to host"] += 1
        array = self.framework.array
        return self.layout.gather(
            {name: array(value) for name, value in values.items()}
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """Copies of all parameters as NumPy arrays."""
        return {
            name: np.array(self.framework.array(v)) for name, v in self.params.items()
        }

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set all parameters, in place where the framework holds on to them."""
        for name, value in matching(
            "parameters", self.structure.params, arrays
        ).items():
            self._replace(name, value)
        self._forget()

    def write(self, name: str, value: Any) -> None:
        """Set one parameter, and touch no other."""
        if name not in self.structure.params:
            raise Deep500Error(
                f"no parameter is named {name!r}; there are: {', '.join(self.structure.params)}"
            )
        array = self.framework.array(value)
        self._replace(
            name, matching("parameters", {name: self.spec(name)}, {name: array})[name]
        )
        self._forget()

    def _replace(self, name: str, value: np.ndarray) -> None:
        """Write a parameter; what was built for another value of it is built again when it is next needed."""
        constant = self._constants.get(name)
        self._write(name, value)
        if constant is not None and not np.array_equal(constant, value, equal_nan=True):
            self._constants.clear()
            self._graphs.clear()
            self.programs.clear()

    def _forget(self) -> None:
        """A parameter has been set, which may decide on shapes."""
        if self._specialiser is not None:
            self._specialiser.forget()

    def computable_value(self, value: Any) -> Any:
        """A native value in a form that has arithmetic: itself, but for engines whose values have none."""
        return value

    def _write(self, name: str, value: np.ndarray) -> None:
        """Set one parameter from an array of its shape and dtype."""
        self.params[name] = self.framework.tensor(value)


class NetworkView:
    """An executor's network: the structure of the Network, the tensors of the executor."""

    def __init__(self, executor: Executor):
        self._executor = executor

    def get_params(self) -> list[str]:
        return self._executor.structure.get_params()

    def gradient(self, y: str = "loss") -> list[tuple[str, str]]:
        return self._executor.structure.gradient(y)

    def fetch_tensors(self, names: list[str]) -> list[Any]:
        """Parameters by name, gradients by the names that `gradient` gives; something to compute with."""
        return [self._executor.computable_value(self._value(name)) for name in names]

    def feed_tensor(self, name: str, value: Any) -> None:
        """Set one parameter."""
        self._executor.write(name, value)

    def _value(self, name: str) -> Any:
        executor = self._executor
        if name in executor.params:
            return executor.params[name]
        parameter = name.removesuffix(".grad")
        if name != parameter and parameter in executor.gradients:
            return executor.gradients[parameter]
        raise Deep500Error(
            f"no tensor is named {name!r}: there are {', '.join(executor.params)}, and their .grad "
            "after inference_and_backprop"
        )


def matching(
    what: str, expected: Mapping[str, Shaped], given: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Copies of the given arrays in the dtypes that are expected; names and shapes must be the same."""
    arrays = {name: np.asarray(value) for name, value in given.items()}
    check_matching(what, expected, arrays, dtypes=False)
    return {
        name: np.array(arrays[name], name_of(own.dtype))
        for name, own in expected.items()
    }


def _rows(inputs: Mapping[str, Any]) -> int:
    """How many examples a batch has."""
    for value in inputs.values():
        shape = shape_of(value)
        if shape:
            return shape[0]
    return 1


class HostMemoryExecutor(Executor):
    """An executor whose flat buffers are the memory of its parameters and gradients."""

    @abstractmethod
    def _flat_params(self) -> dict[str, np.ndarray]: ...

    @abstractmethod
    def _flat_gradients(self) -> dict[str, np.ndarray]: ...

    def _load_flat_params(self, buffers: Mapping[str, np.ndarray]) -> None:
        _copy_into(self._flat_params(), buffers)

    def _load_flat_gradients(self, buffers: Mapping[str, np.ndarray]) -> None:
        _copy_into(self._flat_gradients(), buffers)


def _copy_into(
    own: Mapping[str, np.ndarray], buffers: Mapping[str, np.ndarray]
) -> None:
    for dtype, buffer in own.items():
        if buffer is not buffers[dtype]:
            np.copyto(buffer, buffers[dtype])
