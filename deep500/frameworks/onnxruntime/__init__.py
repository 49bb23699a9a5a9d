"""ONNX Runtime on any provider: formulas and nodes are recorded as ONNX graphs, which run in sessions."""

import importlib.util
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from ...contracts.calls import Call
from ...contracts.device import DeviceInfo
from ...contracts.dtypes import ALL
from ...contracts.framework import (
    Abilities,
    Framework,
    cache_key,
    gradient_formula,
)
from ...contracts.network import Network
from ...contracts.operator import Operator, TensorSpec
from ...custom.operators import CustomOp
from ...errors import Unsupported
from ...measure.machine.host import nvidia
from ...namespace import Namespace
from .providers import Provider, provided_devices, provider_of

if TYPE_CHECKING:
    import onnx

    from ...contracts.executor import Executor
    from ...onnx.recording.namespace import OnnxRecorder

Variant = Literal["native", "composed", "gradient"]
PACKAGES = ("onnxruntime", "onnx", "spox")


class OnnxRuntime(Framework):
    """OrtValue is the native value; `xp` and `kernel` record graphs, and `session` loads a recorded graph."""

    name = "onnxruntime"
    module_name = "onnxruntime"
    extra = "onnx"
    lacks_leaves = "a session runs forward and backward pass as one graph, whose sums it fuses as it sees fit"
    abilities = Abilities(custom_operators=True, deferred=True, transformable=True)
    usual_execution = "deferred"
    dtypes = ALL - {"float4_e2m1fn", "float8_e8m0fnu", "int2", "uint2"}

    def __init__(self) -> None:
        self.threads = 0  # ONNX Runtime's choice

    @classmethod
    def available(cls) -> bool:
        specs = [importlib.util.find_spec(name) for name in PACKAGES]
        return None not in specs

    @cached_property
    def xp(self) -> "OnnxRecorder":
        return cast("OnnxRecorder", super().xp)

    def _namespace(self) -> Namespace:
        from ...onnx.recording.namespace import OnnxRecorder
        from .kernels import OnnxRuntimeKernels

        return OnnxRecorder(OnnxRuntimeKernels(self.provider))

    def devices(self) -> list[DeviceInfo]:
        available = self.module.get_available_providers()
        return provided_devices(available, nvidia.device_names())

    @property
    def without_gpu(self) -> str:
        providers = ", ".join(self.module.get_available_providers())
        return f"this build has the providers {providers}"

    @property
    def provider(self) -> Provider:
        """The execution provider of the device."""
        return provider_of(self.device)

    def tensor(self, array: Any, dtype: str | None = None) -> Any:
        native = self.module.OrtValue
        from .values import from_numpy

        if isinstance(array, native):
            array = self.array(array)
        values = np.asarray(array, dtype, order="C")
        self.dtype(values.dtype.name)
        return from_numpy(values, self.provider)

    def owned(self, array: np.ndarray) -> Any:
        """Return a value with a copy of the array."""
        return self.tensor(np.array(array, order="C"))

    def array(self, tensor: Any) -> np.ndarray:
        """Return a copy, since OrtValue.numpy returns a view that does not keep its memory alive."""
        native = self.module.OrtValue
        from .values import to_numpy

        if isinstance(tensor, native):
            return to_numpy(tensor)
        return np.asarray(tensor)

    def set_threads(self, count: int) -> None:
        """Set the number of threads of sessions that are created from now on."""
        self.threads = count

    def session(self, model: "onnx.ModelProto") -> Any:
        """Load and optimise a model, and return a session that runs it on the device."""
        self.require()
        from .sessions import open_session

        return open_session(model.SerializeToString(), self.threads, self.provider)

    def kernel(
        self, operator: Operator, outputs: int = 1, inputs: Sequence[Any] = ()
    ) -> tuple[Callable[..., tuple], str]:
        """Return a function of recorded values: the ONNX node itself ("native"), or our formula ("composed").

        A node without a kernel for the dtypes of its inputs is recorded by the formula, too; the second value says so
        only if arrays are given as inputs. A custom operator is its own kernel, a function of arrays.
        """
        if operator.on_host:
            return self._host.kernel(operator, outputs, inputs)
        xp, kernels = self.xp, self.xp.kernels
        from ...onnx.recording.nodes import node_or_formula

        dtypes = [_dtype(value) for value in inputs]
        if any(dtypes):
            is_native = kernels.has_kernel(operator, dtypes)
        else:
            is_native = kernels.has_node(operator)
        if not is_native:
            return self.formula(operator), "composed"
        return lambda *values: node_or_formula(xp, operator, values), "native"

    def formula(self, operator: Operator) -> Callable[..., tuple]:
        """Return the operator's formula as a function of recorded values."""
        xp = self.xp
        from ...onnx.recording.nodes import formula

        return formula(xp, operator)

    def _evaluate(
        self, operator: Operator, inputs: Sequence[Any], composed: bool
    ) -> list[np.ndarray]:
        if operator.on_host:
            return self._host._evaluate(operator, inputs, composed)
        session = self._session(operator, inputs, "composed" if composed else "native")
        outputs = self._run(session, inputs)
        return list(outputs.values())

    def _gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
    ) -> list[np.ndarray | None]:
        if operator.on_host:
            return self._host._gradient(operator, inputs, grads)
        values = (*inputs, *grads)
        session = self._session(operator, values, "gradient", len(inputs))
        gradients = self._run(session, values)
        return [gradients.get(f"o{k}") for k in range(len(inputs))]

    def _session(
        self,
        operator: Operator,
        values: Sequence[Any],
        variant: Variant,
        inputs: int = 0,
    ) -> Any:
        kinds = _kinds(values)
        static = [kind for kind in kinds if not isinstance(kind, TensorSpec)]
        key = cache_key(operator, static)
        return _operator_session(
            self, operator, kinds, variant, self.threads, inputs, key
        )

    def _run(self, session: Any, values: Sequence[Any]) -> dict[str, np.ndarray]:
        feed = {}
        for k, value in enumerate(values):
            if isinstance(value, np.ndarray):
                feed[f"i{k}"] = self.tensor(value)
        names = [output.name for output in session.get_outputs()]
        results = session.run_with_ort_values(names, feed)
        return dict(zip(names, map(self.array, results), strict=True))

    @property
    def _host(self) -> Framework:
        """The framework that runs custom operators: NumPy, between sessions."""
        from .custom import HOST

        HOST.set_threads(self.threads)
        return HOST

    def _forward_call(
        self, operator: Operator, inputs: Sequence[Any], kernel: str
    ) -> Call:
        if operator.on_host:
            return self._host.forward_call(operator, inputs, kernel)
        from .calls import forward

        return forward(self, operator, inputs, kernel)

    def _backward_call(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[Any],
        kernel: str,
    ) -> Call:
        if operator.on_host:
            return self._host.backward_call(operator, inputs, grads, kernel)
        from .calls import backward

        return backward(self, operator, inputs, grads, kernel)

    def _custom_op(self, operator: CustomOp) -> Callable[..., Any]:
        """Return a function of OrtValues or of NumPy arrays; networks are split around it."""
        self._check_custom(operator.name)
        from .custom import custom_op

        return custom_op(operator)

    def _check_custom(self, name: str) -> None:
        """Raise an error if a custom operator, which NumPy runs, cannot read the device's memory."""
        if not self.provider.in_host_memory:
            raise Unsupported(
                f"{name} runs in the host's memory, and ONNX Runtime would copy its values from {self.device} "
                "and back: leave the device out (`--device cpu`)"
            )

    def _executor(self, network: Network, seed: int, execution: str) -> "Executor":
        for node in network.nodes:
            if node.operator.on_host:
                self._check_custom(type(node.operator).__name__)
                from .custom import SplitExecutor

                return SplitExecutor(self, network, seed, execution)
        from .executor import DeviceExecutor, OnnxRuntimeExecutor

        if not self.provider.in_host_memory:
            return DeviceExecutor(self, network, seed, execution)
        return OnnxRuntimeExecutor(self, network, seed, execution)


FRAMEWORK = OnnxRuntime()
from_model = FRAMEWORK.from_model
custom_op = FRAMEWORK.custom_op


@lru_cache(maxsize=256)
def _operator_session(
    framework: OnnxRuntime,
    operator: Operator,
    kinds: tuple,
    variant: Variant,
    threads: int,
    inputs: int,
    key: str,
) -> Any:
    """A session of one operator, recorded for values of these kinds.

    For gradients, the first `inputs` values are inputs, and the others are the gradients of the outputs. `key` tells
    equal static values of different types apart, such as 1 and True; the framework has so many `threads` now.
    """
    from ...onnx.recording.arrays import argument, build

    values = []
    arguments = {}
    for k, kind in enumerate(kinds):
        value = kind
        if isinstance(kind, TensorSpec):
            value = argument(kind.shape, kind.dtype)
            arguments[f"i{k}"] = value
        values.append(value)
    outputs = {}
    results = _recorded(framework, operator, variant, values, inputs)
    for k, result in enumerate(results):
        if result is not None:
            outputs[f"o{k}"] = result
    return framework.session(build(arguments, outputs))


def _recorded(
    framework: OnnxRuntime,
    operator: Operator,
    variant: Variant,
    values: list[Any],
    inputs: int,
) -> list[Any]:
    if variant == "gradient":
        return gradient_formula(
            framework.xp, operator, values[:inputs], values[inputs:]
        )
    if variant == "native":
        run, _ = framework.kernel(operator)
    else:
        run = framework.formula(operator)
    return list(operator.published(run(*values)))


def _dtype(value: Any) -> str | None:
    """The name of an array's dtype; None for a static value."""
    if isinstance(value, np.ndarray):
        return value.dtype.name
    return None


def _kinds(values: Sequence[Any]) -> tuple:
    """The facts that a recorded graph depends on: shapes and dtypes of arrays, and static values themselves."""
    kinds = []
    for value in values:
        if isinstance(value, np.ndarray):
            kinds.append(TensorSpec(value.shape, value.dtype.name))
        else:
            kinds.append(value)
    return tuple(kinds)
