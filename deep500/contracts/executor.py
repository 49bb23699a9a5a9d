"""The executor contract: a network built once by a framework, with its parameters in that framework's memory."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..canonical import has_dtype
from ..errors import Deep500Error, lacking, one_line
from ..graph.arrays import Shaped, WholeInputs, check_matching, shape_of
from ..graph.failures import is_out_of_memory, named_failures
from ..graph.operator_times import OperatorTimes, operator_times
from ..graph.programs import Programs
from ..graph.specializing import RunMode, Specialized, Specializer, is_open
from .dtypes import name_of
from .layout import Bucket, FlatBuffers
from .leaves import Leaves
from .network import KEY, Network, Node, take_keys
from .operator import TensorSpec
from .optimizer import Optimizer
from .transformation import LARGEST_CONSTANT, apply_all

if TYPE_CHECKING:
    from .framework import Framework
    from .three_step import ThreeStepOptimizer

Values = dict[str, Any]  # native values by name


class TrainingStep(ABC):
    """One step (forward, backward, update) in the fastest way of a framework; its state stays in the framework.

    `step(batch)` is the whole step. `step.backprop(batch)` and then `step.update()` are its two halves: in between,
    gradients can be read and changed through the executor's flat buffers. Rows of a batch are numbered over all ranks:
    `first_row` is the number of this batch's first row, which the draws of random operators depend on.
    """

    unchecked = True  # before the first call, whose cost is estimated
    whole_inputs = WholeInputs({})
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
        # finished steps; counted on the host, so that no device has to be waited for
        self.count = 0
        self._has_gradients = False

    def __call__(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        """Do one step on a batch (NumPy or native); returns the network's outputs before the update."""
        outputs = self.backprop(inputs, first_row)
        self.update()
        return outputs

    def backprop(self, inputs: Mapping[str, Any], first_row: int = 0) -> Values:
        """Compute the gradients, which the executor stores; returns the network's outputs."""
        outputs = self.executor.inference_and_backprop(
            inputs, self.y, self.count, first_row
        )
        self._has_gradients = True
        return outputs

    def backprop_in_buckets(
        self,
        inputs: Mapping[str, Any],
        buckets: Sequence[Bucket],
        ready: Callable[[np.ndarray], None],
        first_row: int = 0,
    ) -> tuple[Values, FlatBuffers]:
        """Backprop that calls `ready` with each bucket's part of the flat gradients, in the order of the buckets.

        It is called as soon as the bucket's gradients are final if the framework supports that, otherwise at the end.
        Returns the outputs and the flat gradients.
        """
        outputs = self.backprop(inputs, first_row)
        gradients = self.executor.flat_gradients()
        for bucket in buckets:
            buffer = gradients[bucket.dtype]
            ready(buffer[bucket.start : bucket.stop])
        return outputs, gradients

    def device_backprop_in_buckets(
        self,
        inputs: Mapping[str, Any],
        buckets: Sequence[Bucket],
        ready: Callable[[Any], None],
        first_row: int = 0,
    ) -> Values:
        """The same where the executor has `device_gradients`: `ready` gets parts of them, on the device.

        Their values need not be there yet: what is launched behind them on the current stream comes after them.
        """
        outputs = self.backprop(inputs, first_row)
        gradients = self.executor.device_gradients() or {}
        for bucket in buckets:
            ready(gradients[bucket.dtype][bucket.start : bucket.stop])
        return outputs

    def update(self) -> None:
        """Apply the optimizer to the gradients that `backprop` computed."""
        if not self._has_gradients:
            raise Deep500Error(
                "update() needs gradients: call backprop(batch) before it"
            )
        self._update()
        self._has_gradients = False
        self.count += 1
        self.executor.generation += 1

    def apply(self, gradients: Mapping[str, np.ndarray]) -> None:
        """Apply the optimizer to other gradients, given as flat buffers in the executor's layout."""
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
    """Runs a network. Accepts NumPy or native inputs, returns native outputs; `framework.array` converts them.

    `structure` is the network without its arrays: the weights are in the framework only. If it depends on values that
    are known only at run time (shapes, axes, rounds of a loop), it is the network for the values of the last call,
    which `decided` identifies in the keys of programs. `graph` is what runs: the structure after the transformations
    in `passes`, unless `optimize` is off. `layout` is the position of each trained parameter, and of its gradient, in
    the flat buffers.
    """

    passes: ClassVar[tuple[str, ...]] = ()  # names of transformations
    optimize = True
    # the argument of a from_model without a loss: a trainer attaches its task's loss
    model: Any = None
    options: Mapping[str, Any] = {}  # the other arguments of from_model
    unchecked = True  # before the first call, whose cost is estimated
    whole_inputs = WholeInputs({})
    tells_forward: ClassVar[bool] = False  # whether it calls `after_forward`
    # how a step is divided so that its bits do not depend on ranks; None: it is not
    leaves: Leaves | None = None
    # of kernels with fixed bits, which do not depend on them
    threads = 1
    # called between forward and backward
    after_forward: Callable[[], None] | None = None

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
        execution: str = "eager",
    ):
        for dtype in {tensor.dtype for tensor in network.inputs.values()}:
            framework.dtype(dtype)
        for dtype in {str(param.dtype) for param in network.params.values()}:
            framework.dtype(dtype)
        self.framework = framework
        self.seed = seed
        self.execution = execution  # deferred, eager or compiled
        self.structure = network.outline()
        # random operators, by the names of the inputs that are their keys
        self.random = take_keys(self.structure)
        self.programs: Programs[Any] = Programs()  # built so far
        self.decided: Specialized | None = None
        self._specializer: Specializer | None = None
        if is_open(self.structure):
            self._specializer = Specializer(self.structure)
        self.takes_inputs_as_they_are = not self.random and self._specializer is None
        self.layout = self.structure.layout()
        self.params: Values = {}  # native, set by the subclass
        self.gradients: Values = {}  # of the last inference_and_backprop, by parameter
        self.training = True
        self.generation = 0  # counts the changes that make flat buffers invalid
        # copies of flat buffers: "to host", "to device"
        self.copies: Counter[str] = Counter()
        # "native" or "composed", by node
        self._kernel_kinds: dict[str, str] = {}
        self._graphs: Programs[Network] = Programs()
        self._constants: dict[str, np.ndarray] = {}  # assumed by these graphs

    @property
    def graph(self) -> Network:
        """The structure after the `passes`, which may treat values that no step changes as constants."""
        if not self.optimize or not self.passes:
            return self.structure
        return self._graphs.find(self.decided, self._transformed)

    def graph_with(self, values: Iterable[str]) -> Network:
        """`graph`, or the structure if the passes have removed one of these values."""
        graph = self.graph
        sources = {*graph.inputs, *graph.params}
        for name in values:
            if name not in sources and not graph.producer(name):
                return self.structure
        return graph

    def _transformed(self) -> Network:
        graph = self.structure.outline()
        if not self._constants:
            self._constants = self._small_constants()
        graph.params.update(self._constants)
        apply_all(self.passes, graph)
        return graph

    def _small_constants(self) -> dict[str, np.ndarray]:
        """Small parameters that no step changes: passes may treat them as constants."""
        changing = {*self.structure.trainable, *self.structure.state_updates}
        constants = {}
        for name, value in self.params.items():
            if name not in changing and self.spec(name).size <= LARGEST_CONSTANT:
                constants[name] = np.array(self.framework.array(value))
        return constants

    @property
    def network(self) -> "NetworkView":
        """The network with the current tensors of this executor."""
        return NetworkView(self)

    def spec(self, name: str) -> TensorSpec:
        """Shape and dtype of a parameter."""
        return self.structure.params[name]  # type: ignore[return-value]

    @abstractmethod
    def inference(self, inputs: Mapping[str, Any]) -> Values:
        """The outputs of the network in evaluation mode: running statistics are used, nothing is updated."""

    @abstractmethod
    def inference_and_backprop(
        self,
        inputs: Mapping[str, Any],
        y: str = "loss",
        step: int = 0,
        first_row: int = 0,
    ) -> Values:
        """Compute `gradients` of y by every trainable parameter; returns the outputs.

        The draws of random operators depend on `step`, the count of steps before this one, and on `first_row`, the
        number of the batch's first row.
        """

    def device_gradients(self) -> Mapping[str, Any] | None:
        """The flat gradients as tensors on a device; None where they are in the host's memory."""
        return None

    def device_params(self) -> Mapping[str, Any] | None:
        """The flat parameters as tensors on a device, as they are trained; None where they are in the host's memory."""
        return None

    def forward_kept(
        self,
        inputs: Mapping[str, Any],
        outputs: Sequence[str],
        sources: Sequence[str] = (),
        step: int = 0,
        first_row: int = 0,
    ) -> tuple[Values, Any]:
        """These outputs in training mode, and what `pull` needs to differentiate them, by `sources` among the inputs.

        Nothing is updated. Sources that are no floats have no gradient.
        """
        raise lacking(self, "forward_kept")

    def pull(
        self, kept: Any, gradients: Mapping[str, Any]
    ) -> tuple[Values, Mapping[str, np.ndarray]]:
        """From the gradients of outputs: those of the sources, and of the trained parameters as flat buffers.

        The buffers are valid until the next call.
        """
        raise lacking(self, "pull")

    def share_params(self, other: "Executor") -> None:
        """Use the parameters of another executor, in its memory, from now on."""
        for name in self.params:
            self.params[name] = other.params[name]

    def training_step(
        self, optimizer: "Optimizer | ThreeStepOptimizer", y: str = "loss"
    ) -> TrainingStep:
        """A training step with this optimizer: a function that does a whole step on a batch, or its halves."""
        from .three_step import ThreeStepOptimizer, ThreeStepTraining

        self.structure.warn_before_training()
        if isinstance(optimizer, ThreeStepOptimizer):
            return ThreeStepTraining(self, optimizer, y)
        if not isinstance(optimizer, Optimizer):
            raise Deep500Error(
                f"{optimizer!r} is no optimizer: give an instance, as in d5.optimizers.SGD(0.1)"
            )
        optimizer.check_framework(self.framework.name)
        try:
            return self._training_step(optimizer, y)
        except Exception as error:
            if isinstance(error, Deep500Error) or not is_out_of_memory(error):
                raise
            raise Deep500Error(
                f"the state of {optimizer} for {self.structure.name!r} has no place on {self.framework.word}: "
                f"{one_line(error)}"
            ) from error

    def _training_step(self, optimizer: Optimizer, y: str) -> TrainingStep:
        """The training step of this framework."""
        raise lacking(self, "_training_step")

    def kernels(self) -> dict[str, str]:
        """The kernel of every node for the dtypes of its inputs: "native" or "composed"."""
        specs = None
        kinds = {}
        for node in self.structure.nodes:
            if node.name not in self._kernel_kinds:
                specs = specs or self.structure.specs({})
                self.choose(node, _specs_or_values(node.inputs, specs))
            kinds[node.name] = self._kernel_kinds[node.name]
        return kinds

    def operator_times(
        self,
        inputs: Mapping[str, Any],
        training: bool = False,
        rounds: int = 10,
    ) -> list[OperatorTimes]:
        """The time of each node alone, with the values that it gets here; with `training`, its derivative too."""
        return operator_times(self, inputs, training, rounds)

    def choose(self, node: Node, inputs: Sequence[Any]) -> tuple[Any, str]:
        """The kernel of a node for these inputs, and its kind ("native" or "composed"), which is recorded."""
        kernel, kind = self.framework.kernel(node.operator, len(node.outputs), inputs)
        self._kernel_kinds[node.name] = kind
        return kernel, kind

    def keyed(
        self,
        inputs: Mapping[str, Any],
        step: int | None = None,
        first_row: int = 0,
    ) -> Mapping[str, Any]:
        """The inputs with the keys of random operators for this step; None stands for inference.

        Sets `structure` to the network for these inputs.
        """
        if self.takes_inputs_as_they_are:
            return inputs
        if self.random:
            inputs = {**inputs, **self._keys(inputs, step or 0, first_row)}
        if self._specializer is not None:
            backprop = step is not None
            mode = RunMode(derivative=backprop, training=backprop and self.training)
            self._specialize(self._specializer, inputs, mode)
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

    def _specialize(
        self, specializer: Specializer, inputs: Mapping[str, Any], mode: RunMode
    ) -> None:
        specs = self.structure.inputs
        tensors = {}
        for name, value in inputs.items():
            if name in specs:
                tensors[name] = TensorSpec(shape_of(value), specs[name].dtype)

        def fetch(name: str) -> np.ndarray:
            if name not in tensors:
                return self.framework.array(self.params[name])
            return self._on_host(inputs[name], specs[name].dtype)

        self.decided = specializer.specialized(tensors, fetch, mode)
        self.structure = self.decided.network

    def _on_host(self, value: Any, dtype: str) -> np.ndarray:
        if has_dtype(value) and not isinstance(value, np.ndarray | np.generic):
            value = self.framework.array(value)
        return np.asarray(value, dtype)

    def flat_params(self) -> FlatBuffers:
        """All trained parameters as flat NumPy buffers in this `layout`, valid until the next step.

        If the parameters are in host memory, the buffers are that memory, and writing to them changes the network;
        otherwise they are copies, which `load_flat_params` writes back.
        """
        return FlatBuffers(self._flat_params(), self.layout, lambda: self.generation)

    def flat_gradients(self) -> FlatBuffers:
        """The gradients of the last backprop as such buffers; an update uses what is written to them."""
        if not self.gradients:
            raise Deep500Error(
                "there are no gradients yet: call backprop or inference_and_backprop"
            )
        return FlatBuffers(self._flat_gradients(), self.layout, lambda: self.generation)

    def load_flat_params(self, buffers: Mapping[str, np.ndarray]) -> None:
        """Set all trained parameters from flat buffers."""
        self.layout.check(buffers)
        self.layout.clear_padding(buffers)
        self._load_flat_params(buffers)

    def load_flat_gradients(self, buffers: Mapping[str, np.ndarray]) -> None:
        """Set all gradients from flat buffers."""
        self.layout.check(buffers)
        self.layout.clear_padding(buffers)
        self._load_flat_gradients(buffers)

    # These make copies and count them. An executor with tensors in host memory overrides them to use that memory.

    def _flat_params(self) -> dict[str, np.ndarray]:
        trained = {name: self.params[name] for name in self.structure.trainable}
        return self._gathered(trained)

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
        arrays = {name: array(value) for name, value in values.items()}
        return self.layout.gather(arrays)

    def arrays(self) -> dict[str, np.ndarray]:
        """Copies of all parameters as NumPy arrays."""
        arrays = {}
        for name, value in self.params.items():
            arrays[name] = np.array(self.framework.array(value))
        return arrays

    def load(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Set all parameters, in place if the framework keeps references to them."""
        values = matching("parameters", self.structure.params, arrays)
        for name, value in values.items():
            self._replace(name, value)
        self._forget()

    def write(self, name: str, value: Any) -> None:
        """Set one parameter and leave the others unchanged."""
        if name not in self.structure.params:
            names = ", ".join(self.structure.params)
            raise Deep500Error(f"no parameter is named {name!r}; there are: {names}")
        array = self.framework.array(value)
        expected = {name: self.spec(name)}
        values = matching("parameters", expected, {name: array})
        self._replace(name, values[name])
        self._forget()

    def _replace(self, name: str, value: np.ndarray) -> None:
        """Write a parameter; programs that assume another value of it will be built again."""
        constant = self._constants.get(name)
        self._write(name, value)
        if constant is None or np.array_equal(constant, value, equal_nan=True):
            return
        self._constants.clear()
        self._graphs.clear()
        self.programs.clear()

    def _forget(self) -> None:
        """Called when a parameter has been set: shapes may depend on it."""
        if self._specializer is not None:
            self._specializer.forget()

    def computable_value(self, value: Any) -> Any:
        """A native value in a form that supports arithmetic: itself, except for engines whose values do not."""
        return value

    def _write(self, name: str, value: np.ndarray) -> None:
        """Set one parameter from an array of its shape and dtype."""
        self.params[name] = self.framework.tensor(value)


class NetworkView:
    """An executor's network: it has the structure of the Network and the tensors of the executor."""

    def __init__(self, executor: Executor):
        self._executor = executor

    def get_params(self) -> list[str]:
        return self._executor.structure.get_params()

    def gradient(self, y: str = "loss") -> list[tuple[str, str]]:
        return self._executor.structure.gradient(y)

    def fetch_tensors(self, names: list[str]) -> list[Any]:
        """Parameters by name, gradients by the names that `gradient` gives; the results support arithmetic."""
        computable_value = self._executor.computable_value
        return [computable_value(self._value(name)) for name in names]

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
        names = ", ".join(executor.params)
        raise Deep500Error(
            f"no tensor is named {name!r}: there are {names}, and their .grad "
            "after inference_and_backprop"
        )


def matching(
    subject: str, expected: Mapping[str, Shaped], values: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Copies of the values in the expected dtypes; a Deep500Error if names or shapes differ."""
    arrays = {name: np.asarray(value) for name, value in values.items()}
    check_matching(subject, expected, arrays, dtypes=False)
    copies = {}
    for name, spec in expected.items():
        copies[name] = np.array(arrays[name], name_of(spec.dtype))
    return copies


def _specs_or_values(
    inputs: Sequence[Any], specs: Mapping[str, TensorSpec]
) -> list[Any]:
    """The specs of inputs that are names, where they are inferred; other inputs unchanged."""
    return [specs.get(i, i) if isinstance(i, str) else i for i in inputs]


def _rows(inputs: Mapping[str, Any]) -> int:
    """The number of examples of a batch."""
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
    targets: Mapping[str, np.ndarray], sources: Mapping[str, np.ndarray]
) -> None:
    for dtype, target in targets.items():
        if target is not sources[dtype]:
            np.copyto(target, sources[dtype])
