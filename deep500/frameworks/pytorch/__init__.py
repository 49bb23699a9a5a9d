"""PyTorch on the CPU."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...contracts.framework import Abilities, Framework
from ...contracts.network import Network
from ...namespace import Namespace

if TYPE_CHECKING:
    import torch

    from .executor import PyTorchExecutor


class PyTorch(Framework):
    """torch.Tensor is the native value."""

    name = "pytorch"
    module_name = "torch"
    extra = "pytorch"
    abilities = Abilities(custom_operators=True, deferred=True, eager=True, compiled=True, transformable=True,
                          autodiff=True, datasets=True, optimizers=True, distributed=True)

    @cached_property
    def xp(self) -> Namespace:
        self.module  # noqa: B018 - says how to install it where it is missing
        from .namespace import TorchNamespace

        return TorchNamespace()

    def tensor(self, array: Any, dtype: str | None = None) -> "torch.Tensor":
        """Without a copy where the array can be written to."""
        kind = None if dtype is None else getattr(self.module, dtype)
        if isinstance(array, self.module.Tensor):
            return array if kind is None else array.to(kind)
        values = np.asarray(array, order="C")
        return self.module.as_tensor(values if values.flags.writeable else values.copy(), dtype=kind)

    def array(self, tensor: Any) -> np.ndarray:
        return tensor.detach().cpu().numpy() if isinstance(tensor, self.module.Tensor) else np.asarray(tensor)

    def set_threads(self, count: int) -> None:
        self.module.set_num_threads(count)

    def executor(self, network: Network) -> "PyTorchExecutor":
        from .executor import PyTorchExecutor

        return PyTorchExecutor(self, network)


FRAMEWORK = PyTorch()
from_model = FRAMEWORK.from_model
