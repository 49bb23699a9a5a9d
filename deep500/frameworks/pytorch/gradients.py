"""Gradients by PyTorch's autograd: where they lie, and how they become flat buffers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from ...contracts import tape
from ...contracts.executor import HostMemoryExecutor, Values
from . import FRAMEWORK


class AutogradExecutor(HostMemoryExecutor):
    """Differentiates by autograd with respect to `trained`, the live parameters, which a subclass sets.

    Gradients are what autograd leaves in `grad`; they are brought together in flat buffers only when someone asks for
    those.
    """

    trained: dict[str, torch.Tensor]
    # all of them by dtype, if they lie together
    flat: Mapping[str, torch.Tensor] = MappingProxyType({})
    _gradients_are_flat = False
    tells_forward = True

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._gradient_buffers: dict[str, np.ndarray] = {}
        self._gradient_views: list[torch.Tensor] = []
        self.flat_gradient: dict[str, torch.Tensor] = {}

    @property
    def gradients(self) -> Values:
        """By parameter; zeros for one that the loss does not depend on. Empty before the first backprop."""
        if not self._has_gradients:
            return {}
        return dict(zip(self.trained, self.gradient_list(), strict=True))

    @gradients.setter
    def gradients(self, values: Values) -> None:
        """Set by the base class, to nothing."""
        self._has_gradients = bool(values)

    def backward(self, loss: torch.Tensor, y: str) -> None:
        """Leave the gradients of the loss behind."""
        if self.after_forward is not None:
            self.after_forward()
        for param in self.trained.values():
            param.grad = (
                None  # then autograd hands its own result over, and adds nothing
            )
        if loss.requires_grad:
            torch.autograd.backward(loss, tape.seed(self.framework.xp, loss, y))
        self._has_gradients = True
        self._gradients_are_flat = False
        self.generation += 1

    def gradient_list(self) -> list[torch.Tensor]:
        """The gradients in the order of the parameters."""
        trained = self.trained.values()
        for param in trained:
            if param.grad is None:  # the loss does not depend on it
                param.grad = torch.zeros_like(param)
        return [param.grad for param in trained]  # type: ignore[misc]

    def gathered_gradients(self) -> dict[str, torch.Tensor]:
        """The gradients in flat buffers, copied there unless that is where they are."""
        if not self._gradient_buffers:
            self._gradient_buffers = self.layout.zeros()
            self.flat_gradient = tensors(self._gradient_buffers)
            self._gradient_views = [*self.layout.views(self.flat_gradient).values()]
        if not self._gradients_are_flat:
            torch._foreach_copy_(self._gradient_views, self.gradient_list())
        return self.flat_gradient

    def _flat_gradients(self) -> dict[str, np.ndarray]:
        """From now on, the flat buffers are what `grad` of every parameter is."""
        self.gathered_gradients()
        for param, view in zip(
            self.trained.values(), self._gradient_views, strict=True
        ):
            param.grad = view
        self._gradients_are_flat = True
        return self._gradient_buffers

    def arrays(self) -> dict[str, np.ndarray]:
        array = self.framework.array
        return {
            name: array(value.detach().clone()) for name, value in self.params.items()
        }

    def _write(self, name: str, value: np.ndarray) -> None:
        param = self.params[name]
        with torch.no_grad():
            param.copy_(native(value, param.dtype))


def native(value: Any, dtype: torch.dtype) -> torch.Tensor:
    """A tensor of this dtype; a NumPy array is shared, not copied, if it may be written to."""
    if not isinstance(value, torch.Tensor):
        value = FRAMEWORK.tensor(value)
    return value if value.dtype == dtype else value.to(dtype)


def tensors(buffers: Mapping[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """Tensors over the same memory."""
    return {dtype: FRAMEWORK.tensor(buffer) for dtype, buffer in buffers.items()}
