"""Gradients by PyTorch's autograd, and how they are gathered in flat buffers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from ...contracts.executor import HostMemoryExecutor, TrainingStep, Values
from ...contracts.layout import Bucket, FlatBuffers
from ...errors import Deep500Error
from ...graph import tape
from .bucketed_backprop import BucketedBackprop


def raise_if_loaded_late(error: RuntimeError) -> None:
    """Say what an internal error of autograd means for a device that came after its first pass."""
    if "device_ready_queues_" in str(error):
        raise Deep500Error(
            "PyTorch counts its devices at the first backward pass of a process, and the simulated one was not there: "
            "call deep500.testing.simulated_device.load() before"
        ) from error


class AutogradExecutor(HostMemoryExecutor):
    """Differentiates by autograd with respect to `trained`, the live parameters, which a subclass sets.

    Gradients are what autograd leaves in `grad`; they are copied into flat buffers only on demand.
    """

    trained: dict[str, torch.Tensor]
    # the buffers that hold the trained parameters, by dtype; empty if they are in separate tensors
    flat: Mapping[str, torch.Tensor] = MappingProxyType({})
    _gradients_are_flat = False
    tells_forward = True

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._gradient_buffers: dict[str, np.ndarray] = {}
        self._gradient_views: list[torch.Tensor] = []
        self.flat_gradient: dict[str, torch.Tensor] = {}
        # where the tensors are, if not in the host's memory
        self.accelerator: torch.device | None = None
        if not self.framework.on_host:
            self.accelerator = torch.device(self.framework.device)
        self._bucketed: BucketedBackprop | None = None

    @property
    def in_host_memory(self) -> bool:
        """Whether flat buffers are the memory of the tensors; otherwise they are copies, which are counted."""
        return self.accelerator is None

    @property
    def gradients(self) -> Values:
        """The gradients by parameter: zeros if the loss does not depend on it; empty before the first backprop."""
        if not self._has_gradients:
            return {}
        return dict(zip(self.trained, self.gradient_list(), strict=True))

    @gradients.setter
    def gradients(self, values: Values) -> None:
        """Forget the gradients if there are no values, which is what the base class sets."""
        self._has_gradients = bool(values)

    def backward(self, loss: torch.Tensor, y: str) -> None:
        """Differentiate the loss; the gradients are in `grad` of the parameters afterwards."""
        if self.after_forward is not None:
            self.after_forward()
        for param in self.trained.values():
            # autograd then stores its result and adds nothing
            param.grad = None
        if loss.requires_grad:
            seed = tape.seed(self.framework.xp, loss, y)
            try:
                torch.autograd.backward(loss, seed)
            except RuntimeError as error:
                raise_if_loaded_late(error)
                raise
        self._has_gradients = True
        bucketed = self._bucketed
        self._gradients_are_flat = bucketed is not None and bucketed.finish()
        self.generation += 1

    @contextmanager
    def reporting_buckets(
        self,
        buckets: Sequence[Bucket],
        ready: Callable[[Any], None],
        on_device: bool = False,
    ) -> Iterator[None]:
        """Inside, backprop calls `ready` with each bucket's gradients, in this order, as soon as they are final."""
        if self._bucketed is None:
            self._bucketed = BucketedBackprop(self)
        self._bucketed.begin(buckets, ready, on_device)
        try:
            yield
        finally:
            self._bucketed.stop()

    def gradient_list(self) -> list[torch.Tensor]:
        """Return the gradients in the order of the parameters."""
        trained = self.trained.values()
        for param in trained:
            if param.grad is None:  # the loss does not depend on it
                param.grad = torch.zeros_like(param)
        return [param.grad for param in trained]  # type: ignore[misc]

    def gradient_buffers(self) -> dict[str, np.ndarray]:
        """The host's memory for the flat gradients, whatever is in it now."""
        if not self._gradient_buffers:
            self._gradient_buffers = self.layout.zeros()
            self.flat_gradient = self.native_buffers(self._gradient_buffers)
            self._gradient_views = [*self.layout.views(self.flat_gradient).values()]
        return self._gradient_buffers

    def gathered_gradients(self) -> dict[str, torch.Tensor]:
        """Return the gradients in flat buffers; they are copied there unless they already are in them."""
        self.gradient_buffers()
        if not self._gradients_are_flat:
            torch._foreach_copy_(self._gradient_views, self.gradient_list())
        return self.flat_gradient

    def store_gradients(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """Copy gradients, in the order of the parameters, into the flat buffers; None stands for zeros."""
        targets, sources = [], []
        for view, gradient in zip(self._gradient_views, gradients, strict=True):
            if gradient is None:
                view.zero_()
            else:
                targets.append(view)
                sources.append(gradient)
        torch._foreach_copy_(targets, sources)

    def _flat_gradients(self) -> dict[str, np.ndarray]:
        """The flat buffers; from now on, `grad` of every parameter is a view of them."""
        self.gathered_gradients()
        self._view_gradients()
        if self.in_host_memory:
            return self._gradient_buffers
        return self.fetched(self.flat_gradient)

    def device_gradients(self) -> Mapping[str, torch.Tensor] | None:
        """The flat buffers on the device, which `grad` of every parameter is a view of from now on."""
        if self.in_host_memory:
            return None
        self.gathered_gradients()
        self._view_gradients()
        return self.flat_gradient

    def device_params(self) -> Mapping[str, torch.Tensor] | None:
        """The flat parameters on the device; None too where they are in separate tensors."""
        if self.in_host_memory or not self.flat:
            return None
        self.generation += 1  # copies of them are out of date
        return {dtype: buffer.detach() for dtype, buffer in self.flat.items()}

    def _view_gradients(self) -> None:
        """Let `grad` of every parameter be a view of the flat gradients."""
        params = self.trained.values()
        for param, view in zip(params, self._gradient_views, strict=True):
            param.grad = view
        self._gradients_are_flat = True

    def _load_flat_params(self, buffers: Mapping[str, np.ndarray]) -> None:
        if self.in_host_memory:
            super()._load_flat_params(buffers)
        else:
            self._send(buffers, self.flat)

    def _load_flat_gradients(self, buffers: Mapping[str, np.ndarray]) -> None:
        self._has_gradients = True
        if self.in_host_memory:
            super()._load_flat_gradients(buffers)
            return
        self.gradient_buffers()
        self._send(buffers, self.flat_gradient)
        self._view_gradients()

    def fetched(self, buffers: Mapping[str, torch.Tensor]) -> dict[str, np.ndarray]:
        """Copies of the device's buffers in the host's memory."""
        self.copies["to host"] += 1
        array = self.framework.array
        return {dtype: array(buffer) for dtype, buffer in buffers.items()}

    def _send(
        self, buffers: Mapping[str, np.ndarray], targets: Mapping[str, torch.Tensor]
    ) -> None:
        self.copies["to device"] += 1
        for dtype, target in targets.items():
            self.framework.overwrite(target, buffers[dtype])

    def native(self, value: Any, dtype: torch.dtype) -> torch.Tensor:
        """A tensor of this dtype on the device; on the host, it shares the memory of a writeable NumPy array."""
        tensor = self.framework.tensor(value)
        if tensor.dtype == dtype:
            return tensor
        return tensor.to(dtype)

    def native_buffers(
        self, buffers: Mapping[str, np.ndarray]
    ) -> dict[str, torch.Tensor]:
        """Tensors over the memory of the buffers, or copies of them on the device."""
        tensor = self.framework.tensor
        return {dtype: tensor(buffer) for dtype, buffer in buffers.items()}

    def _keys(
        self, inputs: Mapping[str, Any], step: int, first_row: int
    ) -> dict[str, Any]:
        """The keys of random operators; they go to a device in one copy."""
        keys = super()._keys(inputs, step, first_row)
        if self.in_host_memory:
            return keys
        sizes = [key.size for key in keys.values()]
        flat = self.framework.tensor(np.concatenate([*keys.values()]))
        return dict(zip(keys, flat.split(sizes), strict=True))

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {}
        for name, value in self.params.items():
            copy = value.detach().clone()
            arrays[name] = self.framework.array(copy)
        return arrays

    def _write(self, name: str, value: np.ndarray) -> None:
        param = self.params[name]
        with torch.no_grad():
            param.copy_(self.native(value, param.dtype))


class AutogradStep(TrainingStep):
    """A step whose backprop reports gradients while it goes on."""

    executor: AutogradExecutor

    def backprop_in_buckets(
        self,
        inputs: Mapping[str, Any],
        buckets: Sequence[Bucket],
        ready: Callable[[np.ndarray], None],
        first_row: int = 0,
    ) -> tuple[Values, FlatBuffers]:
        executor = self.executor
        with executor.reporting_buckets(buckets, ready):
            outputs = self.backprop(inputs, first_row)
        # those that `ready` was called with: what was reduced in place is in them
        reported = executor.gradient_buffers()
        return outputs, FlatBuffers(
            reported, executor.layout, lambda: executor.generation
        )

    def device_backprop_in_buckets(
        self,
        inputs: Mapping[str, Any],
        buckets: Sequence[Bucket],
        ready: Callable[[torch.Tensor], None],
        first_row: int = 0,
    ) -> Values:
        with self.executor.reporting_buckets(buckets, ready, on_device=True):
            return self.backprop(inputs, first_row)
