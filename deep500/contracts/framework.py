"""The framework contract: an adapter of a framework that runs operators and networks."""

import copy
import importlib
import importlib.util
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..errors import (
    Deep500Error,
    Unsupported,
    one_line,
    raise_if_mistake,
    unknown,
)
from ..graph.shape_inference import spec_of
from ..graph.wrapping import Wrapping, refuse_foreign_model
from ..measure.allocations import Allocations
from ..measure.device_event import DeviceEvent
from ..namespace import Namespace
from . import calls, random_key
from .axis_ranges import check_axes
from .calls import Call
from .calls import results as as_tuple
from .device import HOST, Device, DeviceInfo, resolve
from .device_probe import DeviceProbe
from .dtypes import PLAIN, listed
from .inputs import canonical_gradients, canonical_inputs
from .loss import Loss
from .network import Network
from .operator import Adapted, Operator

if TYPE_CHECKING:
    from .executor import Executor

EXECUTIONS = ("deferred", "eager", "compiled")
ITS_OWN = "its own"  # the thread count of a framework without a setting for it
MISSING_KERNEL = ("NotImplementedError", "UnimplementedError", "NotImplemented")


@dataclass(frozen=True)
class Abilities:
    """The features that a framework offers by itself.

    Networks run deferred (a graph is built, and the engine interprets it), eager (one operator after the other) or
    compiled (code is generated for the whole network); `executor` offers exactly those that are declared here. The
    last four are ways to train on many machines: through a parameter server, by allreduce or with neighbours, without
    waiting for each other, and with communication written by the user.
    """

    standard_operators: bool = True
    custom_operators: bool = False
    deferred: bool = False
    eager: bool = False
    compiled: bool = False
    transformable: bool = False
    autodiff: bool = False
    datasets: bool = False
    optimizers: bool = False
    parameter_server: bool = False
    decentralised: bool = False
    asynchronous: bool = False
    custom_distribution: bool = False


class Framework(ABC):
    """An adapter of a framework: it imports the framework lazily, converts arrays, runs operators and networks.

    Timers call `sync`; an adapter never measures time. A value in the framework's own type is called native.
    """

    name: ClassVar[str]
    module_name: ClassVar[str]  # the module that is imported
    extra: ClassVar[str] = ""  # pip install 'deep500-bench[extra]'
    abilities: ClassVar[Abilities] = Abilities()
    # how networks run if nothing else is asked for
    usual_execution: ClassVar[str] = "eager"
    # why a leaf's gradient is not always the same bits; empty if it is
    lacks_leaves: ClassVar[str] = "its executor differentiates whole steps only"
    # whether it trains through Deep500; False for an engine that runs operators only
    trains: ClassVar[bool] = True
    # those that it can store and convert; kernels may support fewer
    dtypes: ClassVar[frozenset[str]] = PLAIN
    # where `tensor` puts values, and kernels and formulas run; `on` returns an adapter of another device
    device: str = HOST

    @classmethod
    def available(cls) -> bool:
        """Whether it is installed; imports nothing."""
        return importlib.util.find_spec(cls.module_name) is not None

    @cached_property
    def module(self) -> ModuleType:
        """The framework itself, imported when first used."""
        if not self.available():
            package = self.module_name
            if self.extra:
                package = f"'deep500-bench[{self.extra}]'"
            raise Unsupported(f"{self.name} is not installed: pip install {package}")
        return importlib.import_module(self.module_name)

    def require(self) -> None:
        """Import the framework; raises `Unsupported`, with the command that installs it, if it is missing.

        Public methods call it before an adapter's own method (whose name has an underscore) imports its files.
        """
        _ = self.module

    @cached_property
    def xp(self) -> Namespace:
        """The array namespace that formulas run in."""
        self.require()
        return self._namespace()

    @abstractmethod
    def _namespace(self) -> Namespace:
        """A new namespace."""

    def devices(self) -> list[DeviceInfo]:
        """The devices that it can use on this machine, the host first. Imports the framework."""
        self.require()
        return [DeviceInfo(HOST)]

    def on(self, device: Device | str | None) -> Self:
        """This framework on a device: "cpu", "gpu", "gpu:1", or the framework's own word for one, such as "cuda:0".

        None is the device that it is on. Raises `Unsupported`, which names the devices that exist, if there is none
        of this word.
        """
        word = device.word if isinstance(device, Device) else device
        if word in (None, self.device):
            return self
        found = resolve(word, self.devices(), self.name, self.without_gpu)
        if found.word == self.device:
            return self
        bound = copy.copy(self)
        vars(bound).pop("xp", None)  # its arrays are created on the device
        bound.device = found.word
        return bound

    @property
    def without_gpu(self) -> str:
        """Why this build can use no GPU, whatever the machine has; empty if it can, or if that is not known."""
        return ""

    @property
    def on_host(self) -> bool:
        """Whether it computes in the host's memory, where calls return when they have finished."""
        return self.device.partition(":")[0] == HOST

    @property
    def word(self) -> str:
        """Its name, with its device where that is not the host: "pytorch", "pytorch@cuda:0"."""
        return self.name if self.on_host else f"{self.name}@{self.device}"

    @property
    def device_info(self) -> DeviceInfo:
        """The device that this adapter is bound to."""
        return resolve(self.device, self.devices(), self.name)

    def dtype(self, name: str) -> str:
        """The name itself; raises Unsupported if the framework has no such dtype."""
        if name not in self.dtypes:
            raise Unsupported(
                f"{self.name} has no {name}; it has {listed(self.dtypes)}"
            )
        return name

    @abstractmethod
    def tensor(self, array: Any, dtype: str | None = None) -> Any:
        """A native value from a NumPy array (or anything NumPy takes)."""

    @abstractmethod
    def array(self, tensor: Any) -> np.ndarray:
        """A NumPy array from a native value."""

    def sync(self, outputs: Any = None) -> None:  # noqa: B027 - on the host, calls return when they have finished
        """Wait until all streams of the device have finished; some frameworks can only wait for `outputs`."""

    def event(self) -> DeviceEvent | None:
        """A new mark for the device's own clock; None on the host, and where there is none."""
        return None

    def cold_caches(self) -> Callable[[], None] | None:
        """A function that drives what calls have used out of the device's caches; None on the host, and if unknown."""
        return None

    def reduced_products(self) -> AbstractContextManager[None] | None:
        """A context in which the device rounds products of float32 to TF32; None if it does not, or always does."""
        return None

    def overwrite(self, tensor: Any, array: np.ndarray) -> bool:
        """Write other values into a native tensor, where it lies; False if the framework's tensors are immutable."""
        return False

    def probe(self) -> DeviceProbe:
        """What checks can see of its device."""
        return DeviceProbe()

    def allocations(self) -> Allocations:
        """A context that records the bytes that are allocated in a block of code."""
        raise Unsupported(f"{self.name} does not tell what its allocator hands out")

    def set_threads(self, count: int) -> None:
        """Compute with this many threads from now on; a framework without this method chooses by itself."""
        raise Unsupported(f"{self.name} has no setting for the number of threads")

    def seed_generator(self, seed: int) -> bool:
        """Seed the generator that the framework shares in a process; False if it has none."""
        return False

    @property
    def sets_threads(self) -> bool:
        """Whether the number of threads can be set."""
        return type(self).set_threads is not Framework.set_threads

    def kernel(
        self, operator: Operator, outputs: int = 1, inputs: Sequence[Any] = ()
    ) -> tuple[Callable[..., tuple], str]:
        """The function that runs an operator: the framework's own kernel ("native") or our formula ("composed").

        The choice depends on how many outputs are used, and on the inputs: arrays or names, None for omitted ones.
        """
        native = self.native(operator)
        if native is not None and _has_native_kernel(operator, outputs, inputs):
            return lambda *inputs: as_tuple(native(*inputs)), "native"
        return self.formula(operator), "composed"

    def native(self, operator: Operator) -> Callable[..., Any] | None:
        """This framework's own function for an operator (the method of its name, or the custom operator), or None."""
        if operator.adapted is not None and self.abilities.custom_operators:
            return self.custom_op(operator.adapted)
        method = operator.native(self.name)
        if method is None:
            return None
        return partial(method, self.module)

    def custom_op(self, operator: Adapted) -> Callable[..., Any]:
        """A custom operator as a function of native values, differentiable if the framework differentiates."""
        if not isinstance(operator, Adapted):
            raise Deep500Error(
                f"{operator!r} is no custom operator: give a CustomPythonOp, or what "
                "compile_custom_cppop returned"
            )
        self.require()
        return self._custom_op(operator)

    def check_custom_op(self, operator: Adapted) -> None:  # noqa: B027 - most run wherever the framework does
        """Raise `Unsupported` if a custom operator cannot run on this device."""

    def _custom_op(self, operator: Any) -> Callable[..., Any]:
        raise Unsupported(f"{self.name} takes no custom operators")

    def formula(self, operator: Operator) -> Callable[..., tuple]:
        """Our formula as a function of this framework's values."""
        # looked up here: a compiler cannot trace a cached property
        xp = self.xp
        return lambda *inputs: operator.run(xp, *inputs)

    def evaluate(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        composed: bool = False,
        key: Sequence[int] | None = None,
    ) -> list[np.ndarray]:
        """The outputs of one operator. Inputs are arrays, lists, numbers or tensors; None for omitted ones.

        `composed` selects our formula even if there is a native kernel; the draws of a random operator depend on
        `key`, two 32-bit words, or on its attribute `seed`.
        """
        self.require()
        inputs = self._canonical(operator, inputs)
        arguments = keyed(operator, inputs, key)
        with self._in_one_line(operator, inputs):
            check_axes(operator, inputs)
            operator.check(*inputs)
            return self._evaluate(operator, arguments, composed)

    def gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
        key: Sequence[int] | None = None,
    ) -> list[np.ndarray | None]:
        """One gradient per input by our formulas, from the gradients of the outputs (None: that output is not used).

        None for an input without a gradient; all are None if the operator declares no derivative.
        """
        self.require()
        _check_grads(operator, grads)
        if not operator.differentiable:
            return [None] * len(inputs)
        inputs = self._canonical(operator, inputs)
        arguments = keyed(operator, inputs, key)
        arrays = canonical_gradients(operator, grads, inputs, self._host_array)
        with self._in_one_line(operator, inputs, arrays):
            check_axes(operator, inputs)
            operator.check(*inputs)
            gradients = self._gradient(operator, arguments, arrays)
            return gradients[: len(inputs)]

    def _evaluate(
        self, operator: Operator, inputs: Sequence[Any], composed: bool
    ) -> list[np.ndarray]:
        if composed:
            run = self.formula(operator)
        else:
            run, _ = self.kernel(operator, inputs=inputs)
        results = run(*self._natives(inputs))
        return [self.array(y) for y in operator.published(results)]

    def _gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
    ) -> list[np.ndarray | None]:
        native_grads = calls.natives(self, grads)
        native_inputs = self._natives(inputs)
        gradients = gradient_formula(self.xp, operator, native_inputs, native_grads)
        return [None if g is None else self.array(g) for g in gradients]

    def _canonical(self, operator: Operator, inputs: Sequence[Any]) -> list[Any]:
        return canonical_inputs(operator, inputs, self._host_array)

    def _host_array(self, value: Any) -> np.ndarray:
        """A NumPy array of a tensor of this framework or of another."""
        if hasattr(value, "detach"):
            value = value.detach()
        return self.array(value)

    def _natives(self, inputs: Sequence[Any]) -> list[Any]:
        return [self.tensor(x) if isinstance(x, np.ndarray) else x for x in inputs]

    @contextmanager
    def _in_one_line(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[Any] = (),
    ) -> Iterator[None]:
        """Turn errors in running an operator (a wrong shape, a missing kernel) into Deep500Errors of one line."""
        try:
            yield
        except (Deep500Error, MemoryError):
            raise
        except Exception as error:
            raise_if_mistake(error)
            name = type(operator).__name__
            arguments = ", ".join(map(_described, [*inputs, *grads]))
            reason = _reason(operator, inputs, error)
            text = f"{self.name} cannot compute {name}({arguments}): {reason}"
            if type(error).__name__ in MISSING_KERNEL:
                raise Unsupported(text) from error
            raise Deep500Error(text) from error

    def compile(self, function: Callable) -> Callable:
        """The function, compiled by the framework's own compiler."""
        raise Unsupported(f"{self.name} has no compiler of its own")

    def captured(self, function: Callable, arguments: Sequence[Any]) -> Callable:
        """The function, captured in a graph of the device for arguments of these shapes, which one launch runs again.

        Other arguments are copied into these. Whatever it computes in Python, or draws, stays as it was.
        """
        self.check_captures()
        return self._captured(function, arguments)

    def check_captures(self) -> None:
        """Raise `Unsupported` if there are no graphs of this device."""
        raise Unsupported(
            f"{self.word} captures no graphs, only pytorch on an accelerator does: leave graph out"
        )

    def _captured(self, function: Callable, arguments: Sequence[Any]) -> Callable:
        raise NotImplementedError

    def derivative(
        self, function: Callable, arrays: Sequence[Any], grads: Sequence[Any]
    ) -> Call:
        """The framework's own derivative of a function of native arrays, which can be repeated for other gradients."""
        self.require()
        return self._derivative(function, arrays, grads)

    def _derivative(
        self, function: Callable, arrays: Sequence[Any], grads: Sequence[Any]
    ) -> Call:
        raise Unsupported(f"{self.name} does not differentiate by itself")

    def forward_call(
        self, operator: Operator, inputs: Sequence[Any], kernel: str
    ) -> Call:
        """One run of the operator: the framework's kernel ("native"), our formula ("composed"), or that "compiled".

        "graph" is the native kernel in a graph of the device.
        """
        self.require()
        if kernel == "graph":
            self.check_captures()
        return self._forward_call(operator, self._canonical(operator, inputs), kernel)

    def _forward_call(
        self, operator: Operator, inputs: Sequence[Any], kernel: str
    ) -> Call:
        return calls.forward(self, operator, inputs, kernel)

    def backward_call(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[Any],
        kernel: str,
    ) -> Call:
        """One run of the derivative by every input, given the gradients of the outputs; the forward pass is not part.

        "native" is the framework's own derivative of its own kernel, the others are our formula.
        """
        self.require()
        inputs = self._canonical(operator, inputs)
        grads = canonical_gradients(operator, grads, inputs, self._host_array)
        return self._backward_call(operator, inputs, grads, kernel)

    def _backward_call(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[Any],
        kernel: str,
    ) -> Call:
        return calls.backward(self, operator, inputs, grads, kernel)

    def executor(
        self,
        network: "Network | str | os.PathLike[str]",
        *,
        seed: int = 0,
        execution: str = "",
        compile: bool = False,
        optimize: bool = True,
        threads: int | None = None,
        device: Device | str | None = None,
    ) -> "Executor":
        """Build the network, which may be the path of an ONNX file, once, to be run many times.

        `seed` determines the draws of random operators. `execution` is one of `executions` (deferred, eager, compiled),
        the framework's usual one by default; `compile=True` is short for "compiled". `optimize` lets the executor run
        the network after its `passes`; the network itself, and what the executor reports about it, do not change.
        `threads` is passed to `set_threads`. `device` is as in `on`.
        """
        self.require()
        execution = self._execution(execution, compile)
        self._settle(seed, threads)
        framework = self.on(device)
        network = _network(network)
        network.check_complete()
        try:
            executor = framework._executor(network, seed, execution)
        except Deep500Error:
            raise
        except Exception as error:
            raise_if_mistake(error)
            reason = one_line(error, kind=True)
            raise Deep500Error(
                f"{self.name} cannot build the network {network.name!r}: {reason}"
            ) from error
        executor.optimize = optimize
        return executor

    @property
    def executions(self) -> tuple[str, ...]:
        """How it runs networks, the usual way first: deferred, eager, compiled, as its abilities declare."""
        declared = []
        for word in EXECUTIONS:
            if getattr(self.abilities, word):
                declared.append(word)
        declared.sort(key=lambda word: word != self.usual_execution)
        return tuple(declared) or (self.usual_execution,)

    def _execution(self, execution: str, compile: bool) -> str:
        """The way that is asked for. Raises `Unsupported` if the framework does not have it."""
        asked = execution or ("compiled" if compile else self.executions[0])
        if compile and asked != "compiled":
            raise Deep500Error(
                f"compile=True is execution='compiled', not {execution!r}: give one of them"
            )
        if asked in self.executions:
            return asked
        if asked not in EXECUTIONS:
            raise unknown("execution of a network", asked, EXECUTIONS)
        option = "compile" if compile else "execution"
        raise self.no_execution(asked, f"leave {option} out")

    def no_execution(self, asked: str, advice: str) -> Unsupported:
        """The error for a way to run networks that this framework does not have."""
        offered = ", ".join(self.executions)
        return Unsupported(
            f"{self.name} has no {asked} execution of networks, only {offered}: {advice}"
        )

    def _settle(self, seed: int, threads: int | None) -> None:
        """Check the options of an executor, and set the threads."""
        if not 0 <= seed < 2**63:
            raise Deep500Error(
                f"seed is {seed}: give a whole number from 0 to 2**63 - 1"
            )
        if threads is None:
            return
        if threads < 1:
            raise Deep500Error(
                f"threads is {threads}: give a number from 1 on, or leave it out"
            )
        self.set_threads(threads)

    @abstractmethod
    def _executor(self, network: Network, seed: int, execution: str) -> "Executor":
        """The adapter's executor of the network; `execution` is one of `executions`."""

    def from_model(
        self,
        model: Any,
        *,
        loss: Loss | Callable[[Any, Any], Any] | None = None,
        params: Any = None,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        label: str = "label",
        seed: int | None = None,
        execution: str = "",
        compile: bool = False,
        threads: int | None = None,
        device: Device | str | None = None,
    ) -> "Executor":
        """An executor for a d5.Network, for an ONNX model (a path, bytes or a ModelProto), or for the framework's own.

        The loss is the model's output "loss" if it has one, else `loss` of its first output; without either, a trainer
        uses the loss of its task. A network takes a d5.Loss, a framework's own model also a function of its first
        output and the label. `params` are the parameters of a JAX function. `inputs`, `outputs` and `label` replace
        the default names: the model's own, "output", "output_1" … and "label". The other arguments are those of
        `executor`; without a seed, a framework's own model draws from the framework's own generator.
        """
        if isinstance(loss, Loss):
            loss.check_trains()
        wrapping = Wrapping(loss, params, inputs, outputs, label)
        options = {
            "seed": seed,
            "execution": self._execution(execution, compile),
            "threads": threads,
            "device": device,
        }
        if _is_onnx(model):
            model = Network.from_onnx(model)
        if isinstance(model, Network):
            wrapping.refuse_beside_a_network()
            options["seed"] = seed or 0
            return self._from_network(model, loss, options)
        refuse_foreign_model(model, self.name)
        self.require()
        self._settle(seed or 0, threads)
        executor = self.on(device)._wrap(
            model, wrapping, seed, str(options["execution"])
        )
        if "loss" not in executor.structure.outputs:
            names = {"params": params, "inputs": inputs, "outputs": outputs}
            executor.model = model
            executor.options = {**options, **names}
        return executor

    def _from_network(
        self, network: Network, loss: Any, options: dict[str, Any]
    ) -> "Executor":
        if "loss" in network.outputs:
            return self.executor(network, **options)
        if loss is None:
            executor = self.executor(network, **options)
            executor.model = network
            executor.options = options
            return executor
        if not isinstance(loss, Loss):
            actual = type(loss).__name__
            raise Deep500Error(
                f"the loss of a d5.Network is a d5.Loss, such as d5.losses.CrossEntropy(), not a {actual}"
            )
        return self.executor(loss.attach(network), **options)

    def _wrap(
        self, model: Any, wrapping: Wrapping, seed: int | None, execution: str
    ) -> "Executor":
        """The adapter's executor of the framework's own model; raises `not_taken` for anything else."""
        raise self.not_taken(model)

    def not_taken(self, model: Any, native_kind: str = "") -> Unsupported:
        """The error for a model that this framework cannot take; `native_kind` is what its own models are called."""
        kinds = f"{native_kind}, a d5.Network" if native_kind else "a d5.Network"
        actual = type(model).__name__
        return Unsupported(
            f"{self.name} takes {kinds} or an ONNX model (a path, bytes or a ModelProto), not a {actual}"
        )


def keyed(
    operator: Operator, inputs: Sequence[Any], key: Sequence[int] | None
) -> Sequence[Any]:
    """The inputs, followed by the key if there is one."""
    if key is None:
        return inputs
    if not operator.random:
        name = type(operator).__name__
        raise Deep500Error(f"{name} draws no random numbers, and so takes no key")
    words = [*key]
    if len(words) == 2:
        words = random_key.complete(words)
    return operator.keyed(inputs, np.asarray(words, np.int64))


def cache_key(operator: Operator, statics: Sequence[Any]) -> str:
    """A key of the settings and static inputs that includes their types: to Python, 1, 1.0 and True are equal."""
    values = (*operator.settings.values(), *statics)
    return repr([(type(value).__name__, value) for value in values])


def gradient_formula(
    xp: Namespace,
    operator: Operator,
    inputs: Sequence[Any],
    grads: Sequence[Any],
) -> list[Any]:
    """Run the formula and its derivative in any namespace; the gradient of an unused output is zeros."""
    results = operator.run(xp, *inputs)
    outputs = operator.published(results)
    padded_grads = [*grads, *[None] * len(outputs)]
    output_grads = []
    for grad, y in zip(padded_grads, outputs, strict=False):
        output_grads.append(xp.zeros_like(y) if grad is None else grad)
    return operator.gradients(xp, output_grads, inputs, results)


def _has_native_kernel(operator: Operator, outputs: int, inputs: Sequence[Any]) -> bool:
    """Whether the native kernel of an operator computes so many outputs and takes these inputs."""
    if operator.native_outputs and outputs > operator.native_outputs:
        return False
    for name, x in zip(operator.inputs, inputs, strict=False):
        if x is not None and name in operator.native_without:
            return False
    return True


def _check_grads(operator: Operator, grads: Sequence[Any]) -> None:
    """Raise a Deep500Error if these cannot be the gradients of an operator's outputs."""
    is_list = isinstance(grads, list | tuple)
    fits = is_list and (operator.variadic or len(grads) <= len(operator.outputs))
    if fits and grads:
        return
    actual = type(grads).__name__
    if is_list:
        actual = f"{actual} of {len(grads)}"
    name = type(operator).__name__
    outputs = ", ".join(operator.outputs)
    raise Deep500Error(
        f"the gradients of {name}'s outputs ({outputs}) are "
        f"a list of arrays, one for each, not a {actual}"
    )


def _described(value: Any) -> str:
    if not isinstance(value, np.ndarray | np.generic):
        return repr(value)
    shape = list(value.shape)
    return f"{value.dtype}{shape}"


def _reason(operator: Operator, inputs: Sequence[Any], error: Exception) -> str:
    """The error of our own shape inference for these inputs; if it has none, that of the framework."""
    specs = [spec_of(x) if isinstance(x, np.ndarray) else x for x in inputs]
    try:
        operator.infer(*specs)
    except ValueError as mismatch:
        error = mismatch
    except Exception:  # the framework's own message says more
        pass
    return one_line(error)


def _is_onnx(model: Any) -> bool:
    """Whether it is a path, the bytes of a file, or a parsed model."""
    if isinstance(model, str | bytes | os.PathLike):
        return True
    return type(model).__name__ == "ModelProto"


def _network(value: Any) -> Network:
    """A network, or the one in the ONNX file of this path."""
    if isinstance(value, str | os.PathLike):
        return Network.from_onnx(value)
    if isinstance(value, Network):
        return value
    kind = type(value).__name__
    raise Deep500Error(
        f"an executor runs a d5.Network or an ONNX file, not a {kind}: from_model takes a framework's own model"
    )
