"""The scheme contract: how ranks train together, as a program that is independent of the transport."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from ..definition import Definition
from ..errors import Deep500Error, Incomplete, lacking, place_of
from .executor import Values
from .layout import Bucket, Layout
from .transport import Compute, Program, broadcast

# flat buffers by dtype, see contracts/layout.py
Buffers = dict[str, np.ndarray]


class Worker(Protocol):
    """The interface of one rank's replica for a scheme.

    rank, size          The number of this rank, and the number of all ranks.
    seed                The seed of the run, which is the same on all ranks.
    layout              The position of each parameter in the flat buffers.
    state               Arrays and numbers by name, which the scheme may set: residuals, velocities, clocks. They are
                        the section "communication" of a checkpoint.
    step_count          The number of updates of this replica.
    batch_size          The number of examples in this rank's part of the batch; 0 if it has none.
    global_batch_size   The number of examples in the parts of all ranks.
    first_row           The number of rows of the ranks before this one.
    in_leaves           Whether the bits of a step must not depend on the number of ranks: use `backprop_in_leaves`.
    """

    rank: int
    size: int
    layout: Layout
    state: dict[str, Any]

    @property
    def seed(self) -> int: ...

    @property
    def step_count(self) -> int: ...

    @property
    def batch_size(self) -> int: ...

    @property
    def global_batch_size(self) -> int: ...

    @property
    def first_row(self) -> int: ...

    @property
    def in_leaves(self) -> bool: ...

    def batches(self) -> Iterator[int]:
        """Take the batches of an epoch, one after another; yields their numbers."""

    def backprop(self) -> Values:
        """Compute outputs and gradients for the current batch. Without examples, gradients are zero."""

    def backprop_in_buckets(
        self, buckets: Sequence[Bucket], ready: Callable[[np.ndarray], None]
    ) -> Buffers:
        """Backprop that calls `ready` with each bucket of the flat gradients, in order, as soon as it is final.

        Returns the flat gradients; change them in place, then call `set_gradients`.
        """

    def backprop_in_leaves(
        self, reduce: Callable[[Sequence[np.ndarray]], Program], bucket_bytes: int
    ) -> Program:
        """Backprop whose gradients are those of the whole batch on every rank.

        `reduce` adds arrays of int64 over all ranks, in place.
        """

    def whole_step(self) -> None:
        """Backprop and update in one call, in the fastest way of the framework."""

    def update(self) -> None:
        """Apply the optimizer to the gradients, and record the step."""

    def skip_update(self) -> None:
        """Record a step whose gradients were sent elsewhere, without a local update."""

    def apply(self, gradients: Buffers) -> None:
        """Apply the optimizer to gradients of other ranks; this is not recorded as a step of this rank."""

    @property
    def sends_from_device(self) -> bool:
        """Whether `device_gradients` can be summed where they are, without a copy in the host's memory."""

    def device_gradients(self) -> Mapping[str, Any]:
        """The flat gradients as tensors on the device; `update` uses them as they are then."""

    def gradients(self) -> Buffers:
        """The flat gradients; change them in place, then call `set_gradients`."""

    def set_gradients(self, buffers: Buffers) -> None:
        """Set the gradients that `update` uses."""

    def device_backprop_in_buckets(
        self, buckets: Sequence[Bucket], ready: Callable[[Any], None]
    ) -> None:
        """Backprop that calls `ready` with each bucket of `device_gradients`, in order, as soon as it is launched."""

    def device_params(self) -> Mapping[str, Any] | None:
        """The replica's own parameters as flat tensors on the device, to be changed in place.

        None where they cannot be sent from there, or where each is a tensor of its own: use `params`.
        """

    def params(self) -> Buffers:
        """The flat parameters; change them in place, then call `set_params`."""

    def set_params(self, buffers: Buffers) -> None:
        """Set the parameters of the replica."""

    def record(self, series: str, value: float) -> None:
        """Append a number to a series of this rank, such as "staleness"."""


class Scheme(Definition):
    """How ranks train together. Fields are its settings; a subclass writes `step`, or overrides `epoch`.

    start(worker)   Runs before the first step: by default, all ranks get the parameters of rank 0.
    step(worker)    One step on the worker's current batch: backprop, communication, update.
    epoch(worker)   All steps of an epoch. When it ends, no message is in flight.
    model(worker)   Returns the flat parameters to evaluate, the same on every rank that has any; by default the
                    replica's own.
    trainers(size)  The ranks that train on data; by default all. The others are servers.
    synchronous     Whether P ranks do what one rank does with the whole batch: all replicas are equal after every step.
    averages        Whether gradients that never change move the model as far as their mean would on one rank; not so
                    with a centre that lags behind, or with an update by every rank's gradient.
    averages_predictions   Whether an evaluation averages the outputs of all replicas, instead of evaluating `model`.
    """

    synchronous: ClassVar[bool] = False
    averages_predictions: ClassVar[bool] = False

    @property
    def averages(self) -> bool:
        return True

    def start(self, worker: Worker) -> Program:
        params = worker.params()
        for buffer in params.values():
            yield from broadcast(buffer)
        worker.set_params(params)

    def step(self, worker: Worker) -> Program:
        raise lacking(self, "step")

    def epoch(self, worker: Worker) -> Program:
        for _ in worker.batches():
            yield from program_of(self.step, worker)

    def model(self, worker: Worker) -> Program:
        yield from ()
        return worker.params()

    def trainers(self, size: int) -> tuple[int, ...]:
        return tuple(range(size))

    def check(self, size: int) -> None:
        """Raise a Deep500Error if this scheme cannot run on so many ranks."""


def program_of(method: Callable[[Any], Any], worker: Any) -> Program:
    """The program that a method of a scheme makes; refuses one that yields nothing."""
    try:
        program = method(worker)
    except TypeError as error:
        traceback = error.__traceback__
        if traceback is None or traceback.tb_next is not None:
            raise  # it was called, and raised this inside
        raise Deep500Error(
            f"{place_of(method)} is called with the worker alone: {error}"
        ) from error
    if isinstance(program, Generator):
        return program
    raise Incomplete(
        f"{place_of(method)} returns {program!r:.80} and yields nothing, so that it is no program: write "
        "`yield from backprop(worker)` and `yield from update(worker)` in it, as docs/add-a-scheme.md does"
    )


def backprop(worker: Worker) -> Program:
    """Forward and backward pass as a step that takes time; returns the outputs."""
    return (yield Compute(worker.backprop))


def update(worker: Worker) -> Program:
    """The optimizer's update as a step that takes time."""
    yield Compute(worker.update)


def weighted_gradients(worker: Worker) -> Buffers:
    """The gradients times this rank's share of the batch: their sum over all ranks is the whole batch's gradient."""
    gradients = worker.gradients()
    for buffer in gradients.values():
        weight(worker, buffer)
    return gradients


def weight(worker: Worker, gradient: np.ndarray) -> None:
    """Multiply a gradient by this rank's share of the batch, in place."""
    share = worker.batch_size / worker.global_batch_size
    np.multiply(gradient, share, out=gradient, casting="same_kind")
