"""ONNX Runtime on the CPU: formulas and nodes are recorded as ONNX graphs, which sessions run."""

import importlib.util
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...contracts.framework import Abilities, Framework, gradient_formula
from ...contracts.network import Network
from ...contracts.operator import Operator, Tensor
from ...errors import Unsupported
from ...namespace import Namespace

if TYPE_CHECKING:
    import onnx

    from .executor import OnnxRuntimeExecutor


class OnnxRuntime(Framework):
    """OrtValue is the native value. `xp` and `kernel` record; `session` runs what was recorded."""

    name = "onnxruntime"
    module_name = "onnxruntime"
    extra = "onnx"
    abilities = Abilities(custom_operators=True, deferred=True, transformable=True)

    def __init__(self) -> None:
        self.threads = 0  # ONNX Runtime's choice

    @classmethod
    def available(cls) -> bool:
        return all(importlib.util.find_spec(name) is not None for name in ("onnxruntime", "onnx", "spox"))

    @cached_property
    def xp(self) -> Namespace:
        self.module  # noqa: B018 - says how to install it where it is missing
        from .namespace import Recorder

        return Recorder()

    def tensor(self, array: Any, dtype: str | None = None) -> Any:
        if isinstance(array, self.module.OrtValue):
            array = self.array(array)
        return self.module.OrtValue.ortvalue_from_numpy(np.asarray(array, dtype, order="C"))

    def array(self, tensor: Any) -> np.ndarray:
        """A copy: what OrtValue.numpy gives is a view that does not keep its memory alive."""
        return tensor.numpy().copy() if isinstance(tensor, self.module.OrtValue) else np.asarray(tensor)

    def set_threads(self, count: int) -> None:
        """For sessions made from now on."""
        self.threads = count

    def session(self, model: "onnx.ModelProto") -> Any:
        """A model loaded and optimised, ready to run."""
        return _session(model.SerializeToString(), self.threads)

    def kernel(self, operator: Operator) -> tuple[Callable[..., tuple], str]:
        """Over recorded values: the ONNX node itself ("native"), or our formula written as ONNX ("composed")."""
        self.module  # noqa: B018 - says how to install it where it is missing
        from .nodes import has_node, node

        if has_node(operator):
            return lambda *inputs: node(operator, inputs), "native"
        return lambda *inputs: operator.run(self.xp, *inputs), "composed"

    def evaluate(self, operator: Operator, inputs: Sequence[Any], composed: bool = False) -> list[np.ndarray]:
        session = _operator_session(operator, _kinds(inputs), "composed" if composed else "native", self.threads)
        return session.run(None, _feed(inputs))

    def gradient(self, operator: Operator, inputs: Sequence[Any],
                 grads: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
        values = (*inputs, *grads)
        session = _operator_session(operator, _kinds(values), "gradient", self.threads, len(inputs))
        found = dict(zip([y.name for y in session.get_outputs()], session.run(None, _feed(values)), strict=True))
        return [found.get(f"o{k}") for k in range(len(inputs))]

    def executor(self, network: Network) -> "OnnxRuntimeExecutor":
        from .executor import OnnxRuntimeExecutor

        return OnnxRuntimeExecutor(self, network)


FRAMEWORK = OnnxRuntime()
from_model = FRAMEWORK.from_model


def _session(model: bytes, threads: int) -> Any:
    ort = FRAMEWORK.module
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3  # errors only
    try:
        return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except ort.capi.onnxruntime_pybind11_state.NotImplemented as error:
        raise Unsupported(f"ONNX Runtime has no kernel for this: {str(error).splitlines()[0]}") from error


@lru_cache(maxsize=256)
def _operator_session(operator: Operator, kinds: tuple, what: Literal["native", "composed", "gradient"],
                      threads: int, inputs: int = 0) -> Any:
    """One operator, recorded for inputs of these kinds; the first `inputs` of them when gradients of outputs follow."""
    from .namespace import argument, build

    values = [argument(kind.shape, kind.dtype) if isinstance(kind, Tensor) else kind for kind in kinds]
    if what == "gradient":
        made = gradient_formula(FRAMEWORK.xp, operator, values[:inputs], values[inputs:])
    else:
        run = FRAMEWORK.kernel(operator)[0] if what == "native" else lambda *xs: operator.run(FRAMEWORK.xp, *xs)
        made = list(operator.published(run(*values)))
    arguments = {f"i{k}": x for k, (x, kind) in enumerate(zip(values, kinds, strict=True)) if isinstance(kind, Tensor)}
    model = build(arguments, {f"o{k}": y for k, y in enumerate(made) if y is not None})
    return _session(model.SerializeToString(), threads)


def _kinds(values: Sequence[Any]) -> tuple:
    """What a recorded graph depends on: shapes and dtypes of arrays, static inputs themselves."""
    return tuple(Tensor(v.shape, v.dtype.name) if isinstance(v, np.ndarray | np.generic) else _hashable(v)
                 for v in values)


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _feed(values: Sequence[Any]) -> dict[str, np.ndarray]:
    return {f"i{k}": np.asarray(v) for k, v in enumerate(values) if isinstance(v, np.ndarray | np.generic)}
