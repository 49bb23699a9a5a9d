"""PyTorch, on the CPU and on its accelerators."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...contracts.calls import Call
from ...contracts.codec import Codec
from ...contracts.device import HOST, SIMULATED, Device, DeviceInfo
from ...contracts.device_probe import DeviceProbe
from ...contracts.dtypes import (
    FLOAT8,
    PLAIN,
    SMALL,
    bits,
    name_of,
)
from ...contracts.framework import Abilities, Framework
from ...contracts.network import Network
from ...contracts.operator import Adapted
from ...custom.operators import CustomOp
from ...custom.python import CustomPythonOp
from ...errors import Unsupported
from ...graph.wrapping import Wrapping
from ...measure.allocations import Allocations
from ...namespace import Namespace
from .optimizers import AdaGradOptimizer as AdaGradOptimizer
from .optimizers import AdamOptimizer as AdamOptimizer
from .optimizers import AdamWOptimizer as AdamWOptimizer
from .optimizers import AMSGradOptimizer as AMSGradOptimizer
from .optimizers import MomentumOptimizer as MomentumOptimizer
from .optimizers import NesterovOptimizer as NesterovOptimizer
from .optimizers import RMSPropOptimizer as RMSPropOptimizer
from .optimizers import SGDOptimizer as SGDOptimizer
from .optimizers import TorchOptimizer as TorchOptimizer

if TYPE_CHECKING:
    import torch

    from .devices import TorchEvent
    from .executor import PyTorchExecutor
    from .wrapped import WrappedModule


FOREIGN = {np.dtype(name) for name in SMALL}


class PyTorch(Framework):
    """torch.Tensor is the native value."""

    name = "pytorch"
    module_name = "torch"
    extra = "pytorch"
    lacks_leaves = ""
    abilities = Abilities(
        custom_operators=True,
        eager=True,
        compiled=True,
        transformable=True,
        autodiff=True,
        datasets=True,
        optimizers=True,
        parameter_server=True,  # by torch.distributed.rpc
        decentralised=True,  # DistributedDataParallel
        asynchronous=True,
        custom_distribution=True,  # communication hooks, torch.distributed
    )
    dtypes = PLAIN | {"bfloat16", "float8_e8m0fnu", *FLOAT8}

    def _namespace(self) -> Namespace:
        from .namespace import TorchNamespace

        return TorchNamespace(self)

    def devices(self) -> list[DeviceInfo]:
        self.require()
        from .devices import accelerators

        return [DeviceInfo(HOST), *accelerators()]

    @property
    def without_gpu(self) -> str:
        version, torch = self.module.version, self.module
        if version.cuda or version.hip or version.xpu or torch.backends.mps.is_built():
            return ""
        return f"PyTorch {torch.__version__} is built without support for GPUs"

    def on(self, device: Device | str | None) -> Self:
        """As `Framework.on`; "sim" and "sim:1" are simulated accelerators, which are built when first used."""
        word = device.word if isinstance(device, Device) else device
        if word is not None and word.partition(":")[0] == SIMULATED:
            self.require()
            from . import simulated_device

            simulated_device.load()
        return super().on(word)

    def sync(self, outputs: Any = None) -> None:
        if self.device != HOST:
            self.module.accelerator.synchronize(self.device)

    def event(self) -> "TorchEvent | None":
        if self.device == HOST:
            return None
        from .devices import TorchEvent

        return TorchEvent(self.device)

    def cold_caches(self) -> Callable[[], None] | None:
        if self.on_host:
            return None
        from .device_caches import cold_caches

        return cold_caches(self.device)

    def reduced_products(self) -> AbstractContextManager[None] | None:
        if self.device.partition(":")[0] != "cuda" or self.module.version.hip:
            return None
        from .devices import tf32

        return tf32()

    def overwrite(self, tensor: Any, array: np.ndarray) -> bool:
        tensor.detach().copy_(self.tensor(array))
        return True

    def probe(self) -> DeviceProbe:
        if self.device == HOST:
            return DeviceProbe()
        from .device_probe import TorchProbe

        return TorchProbe(self.device)

    def allocations(self) -> Allocations:
        self.require()
        from .allocations import DeviceAllocations, PyTorchAllocations

        if self.device != HOST:
            return DeviceAllocations(self.device)
        return PyTorchAllocations()

    def tensor(self, array: Any, dtype: str | None = None) -> "torch.Tensor":
        """Return a tensor over the memory of a writeable array, or over a copy of another one."""
        torch_dtype = None
        if dtype is not None:
            torch_dtype = getattr(self.module, self.dtype(dtype))
        if not isinstance(array, self.module.Tensor):
            values = np.asarray(array, order="C")
            if not values.flags.writeable:
                values = values.copy()
            array = self._shared(values)
        if self.device != HOST:
            array = self._sent(array)
        return array if torch_dtype is None else array.to(torch_dtype)

    def _sent(self, tensor: "torch.Tensor") -> "torch.Tensor":
        """The tensor on this device; the copy goes through pinned memory, so that nothing waits for it."""
        if tensor.device == self.module.device(self.device):
            return tensor
        if tensor.device.type == HOST:
            tensor = tensor.pin_memory()
        return tensor.to(self.device, non_blocking=True)

    def _shared(self, values: np.ndarray) -> "torch.Tensor":
        """A tensor over the array's memory; PyTorch has the small types, but does not take them from NumPy."""
        if values.dtype not in FOREIGN:
            return self.module.from_numpy(values)
        torch_dtype = getattr(self.module, self.dtype(values.dtype.name))
        raw = values.view(f"u{values.dtype.itemsize}")
        return self.module.from_numpy(raw).view(torch_dtype)

    def array(self, tensor: Any) -> np.ndarray:
        if not isinstance(tensor, self.module.Tensor):
            return np.asarray(tensor)
        values = tensor.detach().cpu()
        name = name_of(values.dtype)
        if name not in SMALL:
            return values.numpy()
        unsigned = getattr(self.module, f"uint{bits(name)}")
        return values.view(unsigned).numpy().view(name)

    def set_threads(self, count: int) -> None:
        self.module.set_num_threads(count)

    def seed_generator(self, seed: int) -> bool:
        self.module.manual_seed(seed)  # those of accelerators, too
        return True

    def compile(self, function: Callable) -> Callable:
        """Compile the whole function or raise; PyTorch needs a C++ compiler, and caches what that built on disk."""

        def whole(*values: Any) -> Any:
            return function(*values)

        # Compiled versions are counted by code object, and after eight of them PyTorch silently interprets.
        whole.__code__ = whole.__code__.replace()
        return self.module.compile(whole, dynamic=False, fullgraph=True)

    def check_captures(self) -> None:
        if self.on_host:
            super().check_captures()

    def _captured(self, function: Callable, arguments: Sequence[Any]) -> Callable:
        from .captured import captured

        return captured(function, arguments, self.device)

    def _derivative(
        self, function: Callable, arrays: Sequence[Any], grads: Sequence[Any]
    ) -> Call:
        from .derivative import derivative

        return derivative(function, arrays, grads)

    def check_custom_op(self, operator: Adapted) -> None:
        if self.on_host:
            return
        advice = "leave the device out (`--device cpu`), or give a function of tensors"
        if isinstance(operator, CustomPythonOp):
            raise Unsupported(
                f"{operator.name} computes in the host's memory, and this is {self.word}: {advice}"
            )
        from ...custom.cpp import CppOp

        if not isinstance(operator, CppOp):
            return
        if not operator.runs_on_cuda:
            raise Unsupported(
                f"{operator.name} has no forward_cuda, and this is {self.word}: write one in a .cu file, or {advice}"
            )
        if self.device.partition(":")[0] == SIMULATED:
            raise Unsupported(
                f"{operator.name} has kernels in CUDA, which {self.word} cannot run: {advice}"
            )

    def _custom_op(self, operator: CustomOp) -> "torch.library.CustomOpDef":
        """Return a differentiable function of tensors, which is an operator of torch.library, too."""
        from .custom import custom_op

        if isinstance(operator, CustomPythonOp):
            self.check_custom_op(operator)
        return custom_op(operator)

    def _executor(
        self, network: Network, seed: int, execution: str
    ) -> "PyTorchExecutor":
        from .executor import PyTorchExecutor

        return PyTorchExecutor(self, network, seed, execution)

    def _wrap(
        self, model: Any, wrapping: Wrapping, seed: int | None, execution: str
    ) -> "WrappedModule":
        if not isinstance(model, self.module.nn.Module) or wrapping.params is not None:
            raise self.not_taken(model, "a torch.nn.Module")
        from .wrapped import WrappedModule

        return WrappedModule(self, model, wrapping, seed, execution)


def ddp_hook(codec: Codec | str | type, seed: int = 0) -> Callable:
    """A codec as a hook of DistributedDataParallel: `model.register_comm_hook(None, ddp_hook(codec))`.

    Call it on every rank, behind init_process_group. Raises Deep500Error without PyTorch or a process group.
    """
    FRAMEWORK.require()
    from ...definition_text import definition_given
    from .ddp_hooks import create_hook

    return create_hook(definition_given(codec, "codecs"), seed)


FRAMEWORK = PyTorch()
from_model = FRAMEWORK.from_model
custom_op = FRAMEWORK.custom_op
