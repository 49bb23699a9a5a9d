"""Codecs as communication hooks of DistributedDataParallel: a DDP script keeps all but one line.

DDP calls a hook once per bucket and step, in the same order on every rank. The hook hands the bucket to one thread,
which exchanges bucket after bucket over a process group of its own: collectives of two buckets cannot get mixed up, and
backprop goes on meanwhile.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from ...contracts.codec import (
    AverageRequest,
    Codec,
    GatherRequest,
    Key,
    Request,
    State,
    drive,
)
from ...contracts.layout import Slot
from ...errors import Deep500Error

TIMEOUT_S = 300.0  # the longest wait for the other ranks in one exchange
Hook = Callable[[Any, Any], "torch.futures.Future[torch.Tensor]"]


def create_hook(codec: Codec, seed: int = 0, timeout_s: float = TIMEOUT_S) -> Hook:
    """The hook of a codec, for `model.register_comm_hook(None, hook)`; call it on every rank."""
    if not dist.is_available() or not dist.is_initialized():
        raise Deep500Error(
            "ddp_hook needs torch.distributed: call torch.distributed.init_process_group first"
        )
    group = dist.new_group(timeout=timedelta(seconds=timeout_s))
    buckets = CodedBuckets(codec, seed, group)
    worker = ThreadPoolExecutor(1, thread_name_prefix="deep500-codec")
    failures: list[Exception] = []

    def raise_failure() -> None:
        worker.submit(int).result()  # all buckets that came before are done
        if failures:
            raise failures[0]

    # DDP reads the annotations, and refuses others.
    def coded_allreduce(
        state: object, bucket: dist.GradBucket
    ) -> torch.futures.Future[torch.Tensor]:
        future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        worker.submit(_complete, buckets, bucket, future, failures)
        if bucket.is_last():
            # what is raised here leaves backward() as it is; of a future, DDP would say that it is no tensor
            torch.autograd.Variable._execution_engine.queue_callback(raise_failure)
        return future

    coded_allreduce.buckets = buckets  # type: ignore[attr-defined]
    return coded_allreduce


def _complete(
    buckets: "CodedBuckets",
    bucket: Any,
    future: "torch.futures.Future",
    failures: list[Exception],
) -> None:
    """Set the mean of a bucket, or note what went wrong; after a failure nothing is exchanged any more."""
    try:
        if failures:
            raise failures[0]
        future.set_result(buckets.mean(bucket))
    except Exception as error:
        failures.append(error)
        future.set_exception(error)


@dataclass
class CodedBuckets:
    """What a codec remembers between steps, by parameter: DDP forms its buckets anew after the first step."""

    codec: Codec
    seed: int
    group: Any
    step: int = 0
    # by the address of a parameter
    names: dict[int, str] = field(default_factory=dict)
    states: dict[tuple[str, ...], State] = field(default_factory=dict)
    slots: dict[tuple[str, ...], tuple[Slot, ...]] = field(default_factory=dict)
    # a checkpoint's state, until its parameters come
    loaded: State = field(default_factory=dict)

    def mean(self, bucket: Any) -> torch.Tensor:
        """The mean of a bucket's gradients over all ranks."""
        buffer = bucket.buffer()
        slots = self._slots(bucket, buffer)
        group = tuple(slot.name for slot in slots)
        if group not in self.states:
            self._regroup(group, slots, buffer)
        ranks = dist.get_world_size(self.group)
        key = Key(
            self.seed,
            self.step,
            dist.get_rank(self.group),
            ranks,
            "+".join(group),
        )
        values, even = buffer.detach().numpy(), self.codec.fixed_size
        aggregation = self.codec.aggregate(values, self.states[group], key, slots)
        mean = drive(aggregation, lambda request: answered(request, self.group, even))
        self.step += bucket.is_last()
        return torch.from_numpy(mean)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Everything that a checkpoint of this rank needs, as arrays by parameter."""
        arrays = {"step": np.array(self.step)}
        for group, state in self.states.items():
            for slot in self.slots[group]:
                for name, array in _of_parameter(state, slot).items():
                    arrays[f"{slot.name}/{name}"] = array
        return arrays

    def load_state_dict(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Go on from a checkpoint of the same rank, before the first step."""
        self.step = int(arrays["step"])
        self.loaded = {name: np.array(array) for name, array in arrays.items()}

    def _slots(self, bucket: Any, buffer: torch.Tensor) -> tuple[Slot, ...]:
        dtype = str(buffer.dtype).removeprefix("torch.")
        slots = []
        for parameter, gradient in zip(
            bucket.parameters(), bucket.gradients(), strict=True
        ):
            name = self.names.setdefault(
                parameter.data_ptr(), f"parameter{len(self.names)}"
            )
            offset = (gradient.data_ptr() - buffer.data_ptr()) // buffer.element_size()
            slots.append(Slot(name, tuple(gradient.shape), dtype, offset))
        return tuple(slots)

    def _regroup(
        self,
        group: tuple[str, ...],
        slots: Sequence[Slot],
        buffer: torch.Tensor,
    ) -> None:
        """The state of a new bucket, with what older buckets or a checkpoint say of its parameters."""
        state = self.codec.init(buffer.numel(), slots[0].dtype, slots)
        remembered = self.state_dict() | self.loaded
        for slot in slots:
            for name, part in _of_parameter(state, slot).items():
                np.copyto(part, remembered.get(f"{slot.name}/{name}", part))
        remaining = {}
        for old, old_state in self.states.items():
            if not set(old) & set(group):
                remaining[old] = old_state
        self.states = remaining | {group: state}
        self.slots[group] = tuple(slots)
        for slot in slots:
            for name in _of_parameter(state, slot):
                self.loaded.pop(f"{slot.name}/{name}", None)


def _of_parameter(state: State, slot: Slot) -> State:
    """What a bucket's state says about one parameter, without a copy."""
    parts = {}
    for name, array in state.items():
        if name == "residual":
            parts[name] = array[slot.offset : slot.stop]
        elif name.endswith(f".{slot.name}"):
            parts[name.removesuffix(f".{slot.name}")] = array
    return parts


def answered(request: Request, group: Any, even: bool) -> Any:
    """What torch.distributed answers to a codec's request."""
    ranks = dist.get_world_size(group)
    if isinstance(request, GatherRequest):
        return _gathered(torch.from_numpy(request.payload), group, ranks, even)
    array = request.array
    total = _shared(array)
    dist.all_reduce(total, group=group)
    if isinstance(request, AverageRequest):
        array /= array.dtype.type(ranks)
    return array


def _shared(array: np.ndarray) -> torch.Tensor:
    """A tensor over the same memory; NumPy's bfloat16 is not PyTorch's."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _gathered(
    payload: torch.Tensor, group: Any, ranks: int, even: bool
) -> list[np.ndarray]:
    """The payloads of all ranks; gloo gathers equal lengths only, so others are filled up."""
    lengths = [payload.numel()] * ranks
    if not even:
        lengths = _lengths(payload.numel(), group, ranks)
    padded = torch.zeros(max(lengths), dtype=torch.uint8)
    padded[: payload.numel()] = payload
    parts = [torch.empty_like(padded) for _ in range(ranks)]
    dist.all_gather(parts, padded, group=group)
    return [part[:length].numpy() for part, length in zip(parts, lengths, strict=True)]


def _lengths(length: int, group: Any, ranks: int) -> list[int]:
    parts = [torch.zeros(1, dtype=torch.int64) for _ in range(ranks)]
    dist.all_gather(parts, torch.tensor([length]), group=group)
    return [int(part) for part in parts]
