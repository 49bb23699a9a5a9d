"""ONNX Runtime on the CPU: formulas and nodes are recorded as ONNX graphs, which sessions run."""

import importlib.util
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from ...contracts.calls import Call
from ...contracts.dtypes import ALL
from ...contracts.framework import (
    Abilities,
    Framework,
    gradient_formula,
    told_apart,
)
from ...contracts.network import Network
from ...contracts.operator import Operator, Tensor
from ...custom.operators import Custom, CustomOp
from ...errors import Unsupported
from ...namespace import Namespace

if TYPE_CHECKING:
    import onnx

    from ...contracts.executor import Executor
    from ...onnx.recording.namespace import Recorder

What = Literal["native", "composed", "gradient"]


class OnnxRuntime(Framework):
    """OrtValue is the native value. `xp` and `kernel` record; `session` runs what was recorded."""

    name = "onnxruntime"
    module_name = "onnxruntime"
    extra = "onnx"
    abilities = Abilities(custom_operators=True, deferred=True, transformable=True)
    dtypes = ALL - {"float4_e2m1fn", "float8_e8m0fnu", "int2", "uint2"}

    def __init__(self) -> None:
        self.threads = 0  # ONNX Runtime's choice

    @classmethod
    def available(cls) -> bool:
        return all(
            importlib.util.find_spec(name) is not None
            for name in ("onnxruntime", "onnx", "spox")
        )

    @cached_property
    def xp(self) -> "Recorder":
        return cast("Recorder", super().xp)

    def _namespace(self) -> Namespace:
        from ...onnx.recording.namespace import Recorder
        from .kernels import OnnxRuntimeKernels

        return Recorder(OnnxRuntimeKernels())

    def tensor(self, array: Any, dtype: str | None = None) -> Any:
        native = self.module.OrtValue
        from .values import from_numpy

        if isinstance(array, native):
            array = self.array(array)
        values = np.asarray(array, dtype, order="C")
        self.dtype(values.dtype.name)
        return from_numpy(values)

    def array(self, tensor: Any) -> np.ndarray:
        """A copy: what OrtValue.numpy gives is a view that does not keep its memory alive."""
        native = self.module.OrtValue
        from .values import to_numpy

        return to_numpy(tensor) if isinstance(tensor, native) else np.asarray(tensor)

    def set_threads(self, count: int) -> None:
        """For sessions made from now on."""
        self.threads = count

    def session(self, model: "onnx.ModelProto") -> Any:
        """A model loaded and optimised, ready to run."""
        return _session(model.SerializeToString(), self.threads)

    def kernel(
        self, operator: Operator, outputs: int = 1, inputs: Sequence[Any] = ()
    ) -> tuple[Callable[..., tuple], str]:
        """Over recorded values: the ONNX node itself ("native"), or our formula written as ONNX ("composed").

        A node without a kernel for the dtypes that come is the formula, too; the word knows where arrays are given.
        """
        xp, kernels = self.xp, self.xp.kernels
        from ...onnx.recording.nodes import node_or_formula

        dtypes = [x.dtype.name if isinstance(x, np.ndarray) else None for x in inputs]
        native = (
            kernels.has_kernel(operator, dtypes)
            if any(dtypes)
            else kernels.has_node(operator)
        )
        if not native:
            return self.formula(operator), "composed"
        return lambda *values: node_or_formula(xp, operator, values), "native"

    def formula(self, operator: Operator) -> Callable[..., tuple]:
        """Over recorded values."""
        xp = self.xp
        from ...onnx.recording.nodes import formula

        return formula(xp, operator)

    def _evaluate(
        self, operator: Operator, inputs: Sequence[Any], composed: bool
    ) -> list[np.ndarray]:
        if isinstance(operator, Custom):
            return self._host._evaluate(operator, inputs, composed)
        session = self._session(operator, inputs, "composed" if composed else "native")
        return list(self._run(session, inputs).values())

    def _gradient(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[np.ndarray | None],
    ) -> list[np.ndarray | None]:
        if isinstance(operator, Custom):
            return self._host._gradient(operator, inputs, grads)
        values = (*inputs, *grads)
        session = self._session(operator, values, "gradient", len(inputs))
        found = self._run(session, values)
        return [found.get(f"o{k}") for k in range(len(inputs))]

    def _session(
        self, operator: Operator, values: Sequence[Any], what: What, inputs: int = 0
    ) -> Any:
        kinds = _kinds(values)
        told = told_apart(
            operator, [kind for kind in kinds if not isinstance(kind, Tensor)]
        )
        return _operator_session(operator, kinds, what, self.threads, inputs, told)

    def _run(self, session: Any, values: Sequence[Any]) -> dict[str, np.ndarray]:
        feed = {
            f"i{k}": self.tensor(v)
            for k, v in enumerate(values)
            if isinstance(v, np.ndarray)
        }
        names = [y.name for y in session.get_outputs()]
        return {
            name: self.array(y)
            for name, y in zip(
                names, session.run_with_ort_values(names, feed), strict=True
            )
        }

    @property
    def _host(self) -> Framework:
        """Where custom operators run: on NumPy's side, between sessions."""
        from .custom import HOST

        return HOST

    def _forward_call(
        self, operator: Operator, inputs: Sequence[Any], kernel: str
    ) -> Call:
        if isinstance(operator, Custom):
            return self._host.forward_call(operator, inputs, kernel)
        from .calls import forward

        return forward(operator, inputs, kernel)

    def _backward_call(
        self,
        operator: Operator,
        inputs: Sequence[Any],
        grads: Sequence[Any],
        kernel: str,
    ) -> Call:
        if isinstance(operator, Custom):
            return self._host.backward_call(operator, inputs, grads, kernel)
        from .calls import backward

        return backward(operator, inputs, grads, kernel)

    def _custom_op(self, operator: CustomOp) -> Callable[..., Any]:
        """A function of OrtValues, or of NumPy arrays; networks are split around it."""
        from .custom import custom_op

        return custom_op(operator)

    def _executor(self, network: Network, seed: int, compile: bool) -> "Executor":
        if any(isinstance(node.operator, Custom) for node in network.nodes):
            from .custom import SplitExecutor

            return SplitExecutor(self, network, seed, compile)
        from .executor import OnnxRuntimeExecutor

        return OnnxRuntimeExecutor(self, network, seed, compile)


FRAMEWORK = OnnxRuntime()
from_model = FRAMEWORK.from_model
custom_op = FRAMEWORK.custom_op


def _session(model: bytes, threads: int) -> Any:
    ort = FRAMEWORK.module
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3  # errors only
    try:
        return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except ort.capi.onnxruntime_pybind11_state.NotImplemented as error:
        raise Unsupported(
            f"ONNX Runtime has no kernel for this: {str(error).splitlines()[0]}"
        ) from error


@lru_cache(maxsize=256)
def _operator_session(
    operator: Operator, kinds: tuple, what: What, threads: int, inputs: int, told: str
) -> Any:
    """One operator, recorded for inputs of these kinds; the first `inputs` of them when gradients of outputs follow."""
    from ...onnx.recording.arrays import argument, build

    values = [
        argument(kind.shape, kind.dtype) if isinstance(kind, Tensor) else kind
        for kind in kinds
    ]
    if what == "gradient":
        made = gradient_formula(
            FRAMEWORK.xp, operator, values[:inputs], values[inputs:]
        )
    else:
        run = (
            FRAMEWORK.kernel(operator)[0]
            if what == "native"
            else FRAMEWORK.formula(operator)
        )
        made = list(operator.published(run(*values)))
    arguments = {
        f"i{k}": x
        for k, (x, kind) in enumerate(zip(values, kinds, strict=True))
        if isinstance(kind, Tensor)
    }
    model = build(arguments, {f"o{k}": y for k, y in enumerate(made) if y is not None})
    return _session(model.SerializeToString(), threads)


def _kinds(values: Sequence[Any]) -> tuple:
    """What a recorded graph depends on: shapes and dtypes of arrays, static inputs themselves."""
    return tuple(
        Tensor(v.shape, v.dtype.name) if isinstance(v, np.ndarray) else v
        for v in values
    )
