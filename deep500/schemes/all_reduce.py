"""Synchronous data parallelism: the gradients of all ranks are added up before every update."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ..contracts.codec import Codec
from ..contracts.collective import Collective
from ..contracts.compressing import compressed_mean
from ..contracts.device_codec import DeviceCodec, device_mean
from ..contracts.layout import BUCKET_BYTES, Bucket
from ..contracts.scheme import (
    Buffers,
    Scheme,
    Worker,
    backprop,
    update,
    weight,
    weighted_gradients,
)
from ..contracts.transport import AllReduce as NativeAllReduce
from ..contracts.transport import Compute, Handle, Overlap, Program, Wait
from ..errors import Deep500Error
from ._sparse_mean import sparse_mean
from ._two_stage_mean import two_stage_mean


class AllReduce(Scheme):
    """P ranks with b examples each do the step that one rank does with P b examples.

    Without a `collective`, the engine's own allreduce reduces each bucket as soon as backprop has finished it, where
    the framework can tell, and backprop goes on meanwhile. A `codec` sends gradients in a shorter form, by the
    engine's own allreduce or allgather, as the codec needs; or by a `collective` for sparse streams: TopK with SparCML.
    With a `second_stage`, ranks average a range each and code the mean again, as 1-bit SGD does.
    """

    codec: Codec | None = None
    collective: Collective | None = None
    bucket_bytes: int = BUCKET_BYTES
    second_stage: bool = False
    synchronous: ClassVar[bool] = True

    def step(self, worker: Worker) -> Program:
        if worker.size == 1 and self.codec is None:
            yield Compute(worker.whole_step)
            return
        if worker.in_leaves:
            reduce = partial(self._summed, worker)
            yield from worker.backprop_in_leaves(reduce, self.bucket_bytes)
            yield from update(worker)
            return
        buckets = worker.layout.buckets(self.bucket_bytes)
        is_plain = self.codec is None and self.collective is None
        coder = self.codec.on_device() if self.codec is not None else None
        stays = is_plain or (coder is not None and not self.second_stage)
        if worker.sends_from_device and stays and self.collective is None:
            yield from self._on_device(worker, buckets, coder)
            return
        if len(buckets) > 1 and is_plain:
            gradients = yield from self._overlapped(worker, buckets)
        else:
            yield from backprop(worker)
            gradients = weighted_gradients(worker)
            yield from self.reduce(worker, gradients)
        worker.set_gradients(gradients)
        yield from update(worker)

    def _on_device(
        self, worker: Worker, buckets: Sequence[Bucket], coder: DeviceCodec | None
    ) -> Program:
        """A step whose gradients are coded and summed in the memory of the device."""
        share = worker.batch_size / worker.global_batch_size
        if coder is None:
            yield from self._overlapped_on_device(worker, buckets, share)
            yield from update(worker)
            return
        yield from backprop(worker)
        gradients = worker.device_gradients()
        for bucket in buckets:
            part = gradients[bucket.dtype][bucket.start : bucket.stop]
            part *= share
            # a codec gives the mean of all ranks, and this is to be the sum
            part *= worker.size
            yield from device_mean(worker, coder, bucket, part)
        yield from update(worker)

    def _overlapped_on_device(
        self, worker: Worker, buckets: Sequence[Bucket], share: float
    ) -> Program:
        """Backprop, behind whose parts the sums are launched while it goes on."""
        handles = []

        def compute(begin: Callable[[NativeAllReduce], Handle]) -> None:
            def reduce_bucket(part: Any) -> None:
                part *= share
                handles.append(begin(NativeAllReduce(part)))

            worker.device_backprop_in_buckets(buckets, reduce_bucket)

        yield Overlap(compute, len(buckets))
        yield Wait(handles)

    def _overlapped(self, worker: Worker, buckets: Sequence[Bucket]) -> Program:
        """Backprop, during which the sums of all ranks are begun bucket by bucket; the value is the summed buffers."""
        handles = []

        def compute(begin: Callable[[NativeAllReduce], Handle]) -> Buffers:
            def reduce_bucket(part: np.ndarray) -> None:
                weight(worker, part)
                handles.append(begin(NativeAllReduce(part)))

            return worker.backprop_in_buckets(buckets, reduce_bucket)

        gradients = yield Overlap(compute, len(buckets))
        yield Wait(handles)
        return gradients

    def reduce(self, worker: Worker, gradients: Buffers) -> Program:
        """Replace the buffers by their sums over all ranks, bucket by bucket."""
        if self.codec is not None:
            yield from self._reduce_compressed(worker, self.codec, gradients)
            return
        parts = [part for _, part in self.buckets(worker, gradients)]
        yield from self._summed(worker, parts)

    def _summed(self, worker: Worker, parts: Sequence[np.ndarray]) -> Program:
        """Replace arrays by their sums over all ranks."""
        if self.collective is not None:
            for part in parts:
                yield from self.collective.all_reduce(worker.rank, worker.size, part)
            return
        handles = []
        for part in parts:
            handle = yield NativeAllReduce(part)
            handles.append(handle)
        yield Wait(handles)

    def _reduce_compressed(
        self, worker: Worker, codec: Codec, gradients: Buffers
    ) -> Program:
        for bucket, part in self.buckets(worker, gradients):
            # a codec gives the mean of all ranks, and this is to be the sum
            part *= worker.size
            if self.second_stage:
                yield from two_stage_mean(worker, codec, bucket, part)
            elif self.collective is None:
                yield from compressed_mean(worker, codec, bucket, part)
            else:
                yield from sparse_mean(worker, codec, self.collective, bucket, part)

    def buckets(
        self, worker: Worker, gradients: Buffers
    ) -> list[tuple[Bucket, np.ndarray]]:
        """The parts of the buffers that are reduced together, in the order in which backprop finishes them."""
        parts = []
        for bucket in worker.layout.buckets(self.bucket_bytes):
            parts.append((bucket, gradients[bucket.dtype][bucket.start : bucket.stop]))
        return parts

    def check(self, size: int) -> None:
        if self.bucket_bytes < 1:
            raise Deep500Error(
                f"bucket_bytes of AllReduce is {self.bucket_bytes}: give 1 or more"
            )
        if self.collective is not None:
            self._check_collective(self.collective, size)
        if self.second_stage:
            self._check_second_stage()

    def _check_second_stage(self) -> None:
        if self.codec is None or self.collective is not None:
            raise Deep500Error(
                "AllReduce(second_stage=True) codes the means of a codec again: give a codec, such as OneBit, and no "
                "collective"
            )
        if not self.codec.fixed_size:
            raise Deep500Error(
                f"AllReduce(second_stage=True) needs to know the lengths of payloads, and those of {self.codec} "
                "differ: give a codec of fixed size, such as OneBit"
            )

    def _check_collective(self, collective: Collective, size: int) -> None:
        collective.check(size)
        needed = "all_reduce" if self.codec is None else "sparse_all_reduce"
        if needed in collective.operations:
            return
        if self.codec is None:
            raise Deep500Error(
                f"{type(collective).__name__} has no all_reduce, which AllReduce needs: give another collective"
            )
        raise Deep500Error(
            f"AllReduce sends what {self.codec} makes by the engine's own collectives, or by one for sparse streams "
            f"such as SparCML: leave collective={type(collective).__name__} out"
        )
