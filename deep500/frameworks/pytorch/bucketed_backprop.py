"""Backprop that reports buckets of gradients while it goes on, so that they can be sent meanwhile."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from ...contracts.layout import Bucket, BucketQueue

if TYPE_CHECKING:
    from .gradients import AutogradExecutor


class BucketedBackprop:
    """Moves each gradient into the flat buffers when autograd has finished it, and reports whole buckets in order.

    Hooks stay on the parameters; between `begin` and `finish` they work, otherwise they do nothing.
    """

    def __init__(self, executor: "AutogradExecutor"):
        self._executor = executor
        self._buffers = executor.gradient_buffers()
        self._views = executor.layout.views(executor.flat_gradient)
        self._params = executor.trained
        self._queue: BucketQueue | None = None
        for name, param in executor.trained.items():
            hook = partial(self._move, name)
            param.register_post_accumulate_grad_hook(hook)

    def begin(
        self,
        buckets: Sequence[Bucket],
        ready: Callable[[Any], None],
        on_device: bool,
    ) -> None:
        """From now on, call `ready` with a bucket's part of the flat buffers once its gradients are there.

        With `on_device` these are the tensors there, and the rest of the stream's work comes behind.
        """

        def report(bucket: Bucket) -> None:
            place = slice(bucket.start, bucket.stop)
            tensor = self._executor.flat_gradient[bucket.dtype][place]
            if on_device:
                ready(tensor)
                return
            part = self._buffers[bucket.dtype][place]
            if not self._executor.in_host_memory:
                part[:] = self._executor.framework.array(tensor)
            ready(part)

        self._queue = BucketQueue(buckets, report)

    def finish(self) -> bool:
        """Report what is left, with zeros for parameters that the loss does not depend on; whether it had begun."""
        if self._queue is None:
            return False
        for name, param in self._params.items():
            if param.grad is None:
                param.grad = torch.zeros_like(param)
                self._move(name, param)
        self._queue = None
        return True

    def stop(self) -> None:
        """Report nothing more."""
        self._queue = None

    def _move(self, name: str, param: torch.Tensor) -> None:
        if self._queue is None:
            return
        view = self._views[name]
        with torch.no_grad():
            view.copy_(param.grad)
        param.grad = view
        self._queue.add(name)
