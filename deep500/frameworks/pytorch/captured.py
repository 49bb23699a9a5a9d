"""Functions that are captured once in a graph of a device, and run again by a single launch."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch

from ...errors import Unsupported, one_line

WARM_UPS = 3  # as PyTorch advises: what is set up once must not be captured


def captured(function: Callable, arguments: Sequence[Any], device: str) -> Callable:
    """The function for arguments of these shapes: others are copied into the memory of these before it is replayed.

    Every call returns the same tensors, which the next call overwrites.
    """
    graph = _new_graph(torch.device(device).type)
    results = _capture(graph, function, arguments, device)

    def replayed(*given: Any) -> Any:
        for kept, value in zip(arguments, given, strict=True):
            if value is not kept:
                kept.copy_(value)
        graph.replay()
        return results

    return replayed


def _new_graph(kind: str) -> Any:
    """A graph of a device; PyTorch 2.13's device-neutral one does not know those of CUDA."""
    if kind == "cuda":
        return torch.cuda.CUDAGraph()
    try:
        return torch.accelerator.Graph()
    except RuntimeError as error:
        raise Unsupported(
            f"PyTorch has no graphs on {kind} ({one_line(error)}): leave graph out"
        ) from error


def _capture(
    graph: Any, function: Callable, arguments: Sequence[Any], device: str
) -> Any:
    """Run the function until everything is set up, then record what it launches; returns its results."""
    stream = torch.Stream(device)
    stream.wait_stream(torch.accelerator.current_stream(device))
    try:
        with stream:
            for _ in range(WARM_UPS):
                function(*arguments)
            torch.accelerator.synchronize(device)
            with _recording(graph):
                results = function(*arguments)
    except RuntimeError as error:
        torch.accelerator.synchronize(device)
        raise Unsupported(
            f"this cannot be captured in a graph of {device}, for which it may neither wait nor copy from memory of "
            f"the host ({one_line(error)}): leave graph out"
        ) from error
    return results


@contextmanager
def _recording(graph: Any) -> Iterator[None]:
    """What is launched inside is captured; memory that is freed meanwhile by the collector would be captured, too."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    graph.capture_begin()
    try:
        yield
    except BaseException:
        with suppress(RuntimeError):  # the reason is the error in the block
            graph.capture_end()
        raise
    finally:
        if was_on:
            gc.enable()
    graph.capture_end()
