"""The framework contract: an engine that can compute, and what it can do."""

import importlib
import importlib.util
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import Deep500Error, Unsupported, one_line
from ..namespace import Namespace
from . import calls, random_key
from .allocations import Allocations
from .calls import Call
from .device import Device
from .dtypes import PLAIN, listed
from .inputs import canonical_gradients, canonical_inputs
from .loss import Loss
from .network import Network
from .operator import Adapted, Operator, Tensor
from .wrapping import Wrapping

if TYPE_CHECKING:
    from .executor import Executor
ITS_OWN = "its own"  # the number of threads of a framework that cannot be told one


@dataclass(frozen=True)
class Abilities:
    """The talks' columns: what a framework offers by itself.

    The last four are ways to train on many machines: through a parameter server, by allreduce or with neighbours,
    without waiting for each other, and by a communication of the user's own.
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
    """An adapter: finds the framework lazily, translates arrays, runs operators and networks.

    The clock calls `sync`; nothing else reads time. A value on the framework's side is called native.
    """

    name: ClassVar[str]
    module_name: ClassVar[str]  # what is imported, and looked for without importing
    extra: ClassVar[str] = ""  # pip install 'deep500-bench[extra]'
    abilities: ClassVar[Abilities] = Abilities()
    trains: ClassVar[bool] = (
        True  # through Deep500; False for an engine that runs operators only
    )
    dtypes: ClassVar[frozenset[str]] = (
        PLAIN  # those that it can hold and convert; kernels may take fewer
    )

    @classmethod
    def available(cls) -> bool:
        """Whether it is installed; imports nothing."""
        return importlib.util.find_spec(cls.module_name) is not None

    @cached_property
    def module(self) -> ModuleType:
        """The framework itself, imported when first used."""
        if not self.available():
            package = (
                f"'deep500-bench[{self.extra}]'" if self.extra else self.module_name
            )
            raise Unsupported(f"{self.name} is not installed: pip install {package}")
        return importlib.import_module(self.module_name)

    def require(self) -> None:
        """Import the framework; raises `Unsupported`, with the command that installs it, if it is missing.

        Public methods call it before an adapter's own method (whose name has an underscore) imports its files.
        """
        _ = self.module

    @cached_property
    def xp(self) -> Namespace:
        """The array namespace that formulas run on."""
        self.require()
        return self._namespace()

    @abstractmethod
    def _namespace(self) -> Namespace:
        """A new one."""

    def dtype(self, name: str) -> str:
        """The name itself, if there is such a dtype here."""
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

    def sync(self) -> None:  # noqa: B027 - most frameworks have nothing to do
        """Wait until the device has finished; nothing to do where calls return when they are done."""

    def allocations(self) -> Allocations:
        """Watches the bytes that are handed out in a block of code."""
        raise Unsupported(f"{self.name} does not tell what its allocator hands out")

    def set_threads(self, count: int) -> None:
        """Compute with this many threads from now on; without this method, a framework chooses by itself."""
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
        """How an operator runs: its own kernel ("native") or our formula ("composed").

        It depends on how many outputs are in use, and on the inputs: arrays or names, None where one is left out.
        """
        native = self.native(operator)
        given = {
            name
            for name, x in zip(operator.inputs, inputs, strict=False)
            if x is not None
        }
        if (
            native is not None
            and outputs <= (operator.native_outputs or outputs)
            and given.isdisjoint(operator.native_without)
        ):
            return lambda *inputs: _tuple(native(*inputs)), "native"
        return self.formula(operator), "composed"

    def native(self, operator: Operator) -> Callable[..., Any] | None:
        """This framework's own function for an operator, or None: the method of its name, or the custom operator."""
        if operator.adapted is not None and self.abilities.custom_operators:
            return self.custom_op(operator.adapted)
        method = operator.native(self.name)
        return None if method is None else partial(method, self.module)

    def custom_op(self, operator: Adapted) -> Callable[..., Any]:
        """A custom operator as a function of native values, differentiable where the framework differentiates."""
        if not isinstance(operator, Adapted):
            raise Deep500Error(
                f"{operator!r} is no custom operator: give a CustomPythonOp, or what "
                "compile_custom_cppop returned"
            )
        self.require()
        return self._custom_op(operator)

    def _custom_op(self, operator: Any) -> Callable[..., Any]:
        raise Unsupported(f"{self.name} takes no custom operators")

    def formula(self, operator: Operator) -> Callable[..., tuple]:
        """Our formula over this framework's values."""
        xp = self.xp  # found now: a compiler cannot look into a cached property
        return lambda *inputs: operator.run(xp, *inputs)

    def evaluate(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        composed: bool = False,
        key: Sequence[int] | None = None,
    ) -> list[np.ndarray]:
        """The outputs of one operator. Inputs are arrays, or lists, numbers and tensors; None where left out.

        `composed` asks for our formula even where there is a native kernel; a random operator draws by `key`, two
        32-bit words, or by its attribute `seed`.
        """
        self.require()
        inputs = self._canonical(operator, inputs)
        given = keyed(operator, inputs, key)
        with self._in_one_line(operator, inputs):
            operator.check(*inputs)
            return self._evaluate(operator, given, composed)

    def gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
        key: Sequence[int] | None = None,
    ) -> list[np.ndarray | None]:
        """One gradient per input by our formulas, from the gradients of the outputs (None: nobody used that one).

        None for an input without a gradient; an operator that declares no derivative has none at all.
        """
        self.require()
        _check_grads(operator, grads)
        if not operator.differentiable:
            return [None] * len(inputs)
        inputs = self._canonical(operator, inputs)
        given = keyed(operator, inputs, key)
        arrays = canonical_gradients(operator, grads, inputs, self._host_array)
        with self._in_one_line(operator, inputs, arrays):
            operator.check(*inputs)
            return self._gradient(operator, given, arrays)[: len(inputs)]

    def _evaluate(
        self, operator: Operator, inputs: Sequence[Any], composed: bool
    ) -> list[np.ndarray]:
        run = (
            self.formula(operator)
            if composed
            else self.kernel(operator, inputs=inputs)[0]
        )
        return [self.array(y) for y in operator.published(run(*self._natives(inputs)))]

    def _gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
    ) -> list[np.ndarray | None]:
        given = [None if g is None else self.tensor(g) for g in grads]
        answer = gradient_formula(self.xp, operator, self._natives(inputs), given)
        return [None if g is None else self.array(g) for g in answer]

    def _canonical(self, operator: Operator, inputs: Sequence[Any]) -> list[Any]:
        return canonical_inputs(operator, inputs, self._host_array)

    def _host_array(self, value: Any) -> np.ndarray:
        """A NumPy array of a tensor, be it this framework's or another's."""
        return self.array(value.detach() if hasattr(value, "detach") else value)

    def _natives(self, inputs: Sequence[Any]) -> list[Any]:
        return [self.tensor(x) if isinstance(x, np.ndarray) else x for x in inputs]

    @contextmanager
    def _in_one_line(
        self, operator: Operator, inputs: Sequence[Any], grads: Sequence[Any] = ()
    ) -> Iterator[None]:
        """What goes wrong with one operator, as one line: inputs of a wrong shape or dtype, a missing kernel."""
        try:
            yield
        except (Deep500Error, MemoryError):
            raise
        except Exception as error:
            missing = type(error).__name__ in (
                "NotImplementedError",
                "UnimplementedError",
                "NotImplemented",
            )
            asked = ", ".join(map(_described, [*inputs, *grads]))
            text = f"{self.name} cannot compute {type(operator).__name__}({asked}): {_reason(operator, inputs, error)}"
            raise (Unsupported if missing else Deep500Error)(text) from error

    def compile(self, function: Callable) -> Callable:
        """The function through the framework's own compiler."""
        raise Unsupported(f"{self.name} has no compiler of its own")

    def derivative(
        self, function: Callable, arrays: Sequence[Any], grads: Sequence[Any]
    ) -> Call:
        """The framework's own derivative of a function of native arrays, ready to be repeated for other gradients."""
        self.require()
        return self._derivative(function, arrays, grads)

    def _derivative(
        self, function: Callable, arrays: Sequence[Any], grads: Sequence[Any]
    ) -> Call:
        raise Unsupported(f"{self.name} does not differentiate by itself")

    def forward_call(
        self, operator: Operator, inputs: Sequence[Any], kernel: str
    ) -> Call:
        """One run of the operator by its own kernel ("native"), by our formula ("composed"), or by that "compiled"."""
        self.require()
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
        """The gradients by every input, given those of the outputs; what forward leaves behind is made before.

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
        network: Network,
        *,
        seed: int = 0,
        compile: bool = False,
        optimize: bool = True,
        threads: int | None = None,
        device: Device | str | None = None,
    ) -> "Executor":
        """Build the network once, to be run many times.

        `seed` decides what random operators draw. `compile` asks for the framework's own compiler where that is not
        its only way. `optimize` lets the executor run what its `passes` make of the network; the network itself, and
        what the executor says about it, stay as they are. `threads` is passed to `set_threads`. `device` can only be
        "cpu" so far.
        """
        self.require()
        self._settle(seed, threads, device)
        network.check_complete()
        try:
            executor = self._executor(network, seed, compile)
        except Deep500Error:
            raise
        except Exception as error:
            reason = one_line(error, kind=True)
            raise Deep500Error(
                f"{self.name} cannot build the network {network.name!r}: {reason}"
            ) from error
        executor.optimize = optimize
        return executor

    def _settle(
        self, seed: int, threads: int | None, device: Device | str | None
    ) -> None:
        """Check the options of an executor, and set the threads."""
        word = device.word if isinstance(device, Device) else device
        if word not in (None, "cpu"):
            raise Unsupported(
                f"{self.name} cannot run on device {word!r}: only 'cpu' is supported here; leave device out, "
                "or give device='cpu' (`d5 run` takes --device cpu)"
            )
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
    def _executor(self, network: Network, seed: int, compile: bool) -> "Executor":
        """The adapter's executor of the network."""

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
        compile: bool = False,
        threads: int | None = None,
        device: Device | str | None = None,
    ) -> "Executor":
        """An executor for a d5.Network, for an ONNX model (a path, bytes or a ModelProto), or for the framework's own.

        The model's own output "loss" is the loss if it has one, else `loss` is put behind the model; without either, a
        trainer takes that of its task. A network takes a d5.Loss, a framework's own model also a function of its first
        output and the label. `params` are the parameters of a JAX function. `inputs`, `outputs` and `label` are
        other names than the model's own, "output", "output_1" … and "label". The rest is as for `executor`; without a
        seed, a framework's own model draws by the framework's own generator.
        """
        if isinstance(loss, Loss):
            loss.check_trains()
        wrapping = Wrapping(loss, params, inputs, outputs, label)
        options = {
            "seed": seed,
            "compile": compile,
            "threads": threads,
            "device": device,
        }
        if _is_onnx(model):
            model = Network.from_onnx(model)
        if isinstance(model, Network):
            wrapping.refuse_beside_a_network()
            options["seed"] = seed or 0
            return self._from_network(model, loss, options)
        self.require()
        self._settle(seed or 0, threads, device)
        executor = self._wrap(model, wrapping, seed, compile)
        if "loss" not in executor.structure.outputs:
            own = {"params": params, "inputs": inputs, "outputs": outputs}
            executor.model, executor.options = model, {**options, **own}
        return executor

    def _from_network(
        self, network: Network, loss: Any, options: dict[str, Any]
    ) -> "Executor":
        if "loss" in network.outputs:
            return self.executor(network, **options)
        if loss is None:
            executor = self.executor(network, **options)
            executor.model, executor.options = network, options
            return executor
        if not isinstance(loss, Loss):
            raise Deep500Error(
                f"the loss of a d5.Network is a d5.Loss, such as d5.losses.CrossEntropy(), not a "
                f"{type(loss).__name__}"
            )
        return self.executor(loss.attach(network), **options)

    def _wrap(
        self, model: Any, wrapping: Wrapping, seed: int | None, compile: bool
    ) -> "Executor":
        """The adapter's executor of the framework's own model; `not_taken` is for what is none."""
        raise self.not_taken(model)

    def not_taken(self, model: Any, own: str = "") -> Unsupported:
        """The error for a model that this framework cannot take."""
        kinds = f"{own}, a d5.Network" if own else "a d5.Network"
        return Unsupported(
            f"{self.name} takes {kinds} or an ONNX model (a path, bytes or a ModelProto), not a "
            f"{type(model).__name__}"
        )


def keyed(
    operator: Operator, inputs: Sequence[Any], key: Sequence[int] | None
) -> Sequence[Any]:
    """The inputs, with the key behind them if there is one."""
    if key is None:
        return inputs
    if not operator.random:
        raise Deep500Error(
            f"{type(operator).__name__} draws no random numbers, and so takes no key"
        )
    words = random_key.complete([*key]) if len(key) == 2 else [*key]
    return operator.keyed(inputs, np.asarray(words, np.int64))


def told_apart(operator: Operator, statics: Sequence[Any]) -> str:
    """What a cache needs besides the values, since Python takes 1, 1.0, True and np.int32(1) for the same."""
    return repr(
        [
            (type(value).__name__, value)
            for value in (*operator.settings.values(), *statics)
        ]
    )


def gradient_formula(
    xp: Namespace, operator: Operator, inputs: Sequence[Any], grads: Sequence[Any]
) -> list[Any]:
    """The formula and its derivative over any namespace; an output that nobody used gets a gradient of zeros."""
    results = operator.run(xp, *inputs)
    made = operator.published(results)
    given = [*grads, *[None] * len(made)]
    full = [
        xp.zeros_like(y) if g is None else g for g, y in zip(given, made, strict=False)
    ]
    return operator.gradients(xp, full, inputs, results)


def _check_grads(operator: Operator, grads: Sequence[Any]) -> None:
    most = None if operator.variadic else len(operator.outputs)
    if not isinstance(grads, list | tuple) or not grads or (most and len(grads) > most):
        what = (
            f"{type(grads).__name__} of {len(grads)}"
            if isinstance(grads, list | tuple)
            else type(grads).__name__
        )
        raise Deep500Error(
            f"the gradients of {type(operator).__name__}'s outputs ({', '.join(operator.outputs)}) are "
            f"a list of arrays, one for each, not a {what}"
        )


def _tuple(result: Any) -> tuple:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def _described(value: Any) -> str:
    return (
        f"{value.dtype}{list(value.shape)}"
        if isinstance(value, np.ndarray | np.generic)
        else repr(value)
    )


def _reason(operator: Operator, inputs: Sequence[Any], error: Exception) -> str:
    """What our own rule for shapes says against the inputs; what the framework says if that is nothing."""
    kinds = [
        Tensor(x.shape, str(x.dtype)) if isinstance(x, np.ndarray) else x
        for x in inputs
    ]
    try:
        operator.infer(*kinds)
    except ValueError as found:
        error = found
    except Exception:  # the framework's own text says more
        pass
    return one_line(error)


def _is_onnx(model: Any) -> bool:
    """Whether it is a path, the bytes of a file, or a parsed model."""
    return (
        isinstance(model, str | bytes | os.PathLike)
        or type(model).__name__ == "ModelProto"
    )
