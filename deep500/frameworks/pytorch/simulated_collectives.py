"""What NCCL is on GPUs, for "sim": collectives of tensors on the device, which gloo carries out between hosts.

As with NCCL, waiting lets the current stream wait and not the host, and nothing is received from any rank.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

NAME = "simulated"


class SimulatedWork(dist.Work):
    """Done by a thread, on a stream of the group behind what was queued before."""

    def __init__(self, stream: torch.Stream, collective: Callable[[], None]):
        super().__init__()
        self._done = torch.Event("sim")
        self._error = ""
        begin = torch.Event("sim")
        begin.record()

        def work() -> None:
            try:
                begin.synchronize()
                with stream:
                    collective()
                    self._done.record(stream)
            except RuntimeError as error:
                self._error = str(error)

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def is_completed(self) -> bool:
        return not self._thread.is_alive()

    def wait(self, timeout: Any = None) -> bool:
        """Let the current stream wait; of the host, only until the other ranks have come."""
        self._thread.join(timeout.total_seconds() if timeout else None)
        if self._thread.is_alive():
            raise RuntimeError("timed out")
        if self._error:
            raise RuntimeError(self._error)
        torch.accelerator.current_stream("sim").wait_event(self._done)
        return True


class SimulatedGroup(dist.ProcessGroup):
    """The ranks, with a group of gloo's for their hosts."""

    def __init__(self, store: Any, rank: int, size: int, timeout: Any):
        super().__init__(rank, size)  # type: ignore[call-arg]
        self._hosts: Any = dist.ProcessGroupGloo(store, rank, size, timeout)
        self._stream = torch.Stream("sim")
        self._turn = threading.Lock()

    def getBackendName(self) -> str:
        return NAME

    def allgather(  # type: ignore[override]
        self,
        results: Sequence[Sequence[Tensor]],
        tensors: Sequence[Tensor],
        options: Any = None,
    ) -> SimulatedWork:
        def collective() -> None:
            with self._turn:
                for rows, tensor in zip(results, tensors, strict=True):
                    on_host = tensor.cpu()
                    gathered = [torch.empty_like(on_host) for _ in rows]
                    self._hosts.allgather([gathered], [on_host]).wait()
                    for row, values in zip(rows, gathered, strict=True):
                        row.copy_(values)

        return SimulatedWork(self._stream, collective)

    def allreduce(  # type: ignore[override]
        self, tensors: Sequence[Tensor], options: Any = None
    ) -> SimulatedWork:
        for_hosts: Any = dist.AllreduceOptions()
        for_hosts.reduceOp = getattr(options, "reduceOp", dist.ReduceOp.SUM)

        def collective() -> None:
            with self._turn:
                on_host = [tensor.cpu() for tensor in tensors]
                self._hosts.allreduce(on_host, for_hosts).wait()
                for tensor, values in zip(tensors, on_host, strict=True):
                    tensor.copy_(values)

        return SimulatedWork(self._stream, collective)


def register() -> None:
    """Let `torch.distributed.new_group(backend="simulated")` make such a group."""
    if NAME not in dist.Backend.backend_list:
        dist.Backend.register_backend(NAME, SimulatedGroup, devices=["sim"])
