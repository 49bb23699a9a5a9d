"""PyTorch's own communication hooks as codecs, to be compared with ours on the same buffers."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import (
    default_hooks,
    powerSGD_hook,
)

from ...contracts.codec import Codec, Exchange, Key, Request, State
from ...contracts.layout import Slot
from ...errors import Deep500Error

HOOKS = ("allreduce", "fp16", "powersgd")
# the earliest at which PyTorch lets PowerSGD begin; before that it sends all
FIRST_ITERATION = 2
# PowerSGDState by the number that a codec's state holds
_states: dict[int, Any] = {}


@dataclass
class HookBucket:
    """What PyTorch's hooks ask of a GradBucket, over a flat buffer of ours."""

    tensor: torch.Tensor
    slots: Sequence[Slot]

    def index(self) -> int:
        return 0

    def is_last(self) -> bool:
        return True

    def buffer(self) -> torch.Tensor:
        return self.tensor

    def gradients(self) -> list[torch.Tensor]:
        return [self.tensor[s.offset : s.stop].view(s.shape) for s in self.slots]


class TorchHook(Codec):
    """PyTorch's `allreduce`, `fp16` or `powersgd` hook, on the process group of torch.distributed.

    It communicates by itself, so that it yields nothing and runs in real processes only; its
    bytes are those of PyTorch and are not counted here.
    """

    hook: str = "allreduce"
    rank: int = 2

    linear = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hook not in HOOKS:
            raise Deep500Error(
                f"hook of TorchHook is {self.hook!r}: give {', '.join(HOOKS)}"
            )

    def init(self, size: int, dtype: Any, slots: Sequence[Slot] = ()) -> State:
        if self.hook != "powersgd":
            return {}
        number = len(_states)
        _states[number] = powerSGD_hook.PowerSGDState(
            process_group=None,
            matrix_approximation_rank=self.rank,
            start_powerSGD_iter=FIRST_ITERATION,
            min_compression_rate=1,
        )
        return {"powersgd": np.array(number)}

    def exchange(
        self, x: np.ndarray, state: State, key: Key, slots: Sequence[Slot]
    ) -> Generator[Request, Any, Exchange]:
        if not dist.is_initialized():
            raise Deep500Error(
                "TorchHook needs torch.distributed: call init_process_group first"
            )
        bucket: Any = HookBucket(torch.from_numpy(x.copy()), slots or _one_slot(x))
        if self.hook == "powersgd":
            future = powerSGD_hook.powerSGD_hook(
                _states[int(state["powersgd"])], bucket
            )
        elif self.hook == "fp16":
            future = default_hooks.fp16_compress_hook(None, bucket)  # type: ignore[arg-type]
        else:
            future = default_hooks.allreduce_hook(None, bucket)  # type: ignore[arg-type]
        yield from ()
        return Exchange(future.wait().numpy(), x)


def _one_slot(x: np.ndarray) -> tuple[Slot, ...]:
    return (Slot("buffer", x.shape, x.dtype.name, 0),)
