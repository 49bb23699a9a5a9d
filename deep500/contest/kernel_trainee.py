"""The process that runs a submitted kernel, in its sandbox: inputs in, outputs out; the judge has clock and answers."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Deep500Error
from ..rerun.recipe_files import namespace_of
from ..schema import decoded
from ..supervision.sandbox import Limits, Sandbox, enter
from .shared_arrays import ArrayForm, mapped
from .trainee import Channel, served

KERNEL = "kernel"
LONGEST_ORDER = 1 << 20


@dataclass(frozen=True)
class KernelOrder:
    """What a process of a kernel is started with."""

    root: str
    readable: Sequence[str]
    limits: Limits
    file: str  # that defines `kernel`, or `reference` for the organiser's own
    function: str
    inputs: Sequence[ArrayForm]
    outputs: Sequence[ArrayForm]


def main() -> None:
    reply, request, descriptor, given, taken = map(int, sys.argv[1:6])
    data = os.pread(descriptor, LONGEST_ORDER, 0)
    os.close(descriptor)
    order = decoded(KernelOrder, json.loads(data), "the judge's order")
    sandbox = Sandbox(order.root, order.readable, (), order.limits)

    def serve() -> None:
        served(reply, request, lambda channel: _serve(order, given, taken, channel))

    enter(sandbox, serve)


def _serve(order: KernelOrder, given: int, taken: int, channel: Channel) -> None:
    """Load the kernel, then call it for every input of a visit, as often as the judge asks."""
    inputs = mapped(given, order.inputs, writable=False)
    outputs = mapped(taken, order.outputs, writable=True)
    kernel = namespace_of(Path(order.file)).get(order.function)
    if not callable(kernel):
        raise Deep500Error(f"there is no function {order.function!r}")
    channel.answer("loaded", True)
    while True:
        channel.wait()
        _visit(kernel, inputs, outputs)
        channel.answer("done", True)


def _visit(
    kernel: Callable[..., Any],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
) -> None:
    for call in range(len(inputs[0])):
        result = kernel(*(array[call] for array in inputs))
        results = result if isinstance(result, tuple | list) else (result,)
        for output, value in zip(outputs, results, strict=True):
            output[call] = value


if __name__ == "__main__":
    main()
