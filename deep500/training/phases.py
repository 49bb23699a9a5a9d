"""A training step split into timed parts: forward, backward, update."""

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Any, TypeVar

from ..contracts.executor import Values
from ..contracts.procedure import Procedure
from ..measure.clock import now
from ..measure.regions.region import region
from .one_network import OneNetwork

PROBES = 5
T = TypeVar("T")
Record = Callable[[str, float], None]  # appends a number to a series


def in_region(name: str, items: Iterator[T]) -> Iterator[T]:
    """The items of an iterator; each is computed inside a region of that name."""
    while True:
        with region(name):
            item = next(items, None)
        if item is None:
            return
        yield item


def phased(
    procedure: Procedure, record: Record, example: Mapping[str, Any]
) -> Callable:
    """The step of a procedure, which records the seconds of its parts; only a `OneNetwork` has more than one part."""
    if not isinstance(procedure, OneNetwork):
        return region("step", procedure.framework.sync)(procedure.step)
    if procedure.executor.tells_forward:
        return TurningStep(procedure, record)
    return CompiledStep(procedure, record, example)


class PhasedStep:
    """The step of one network, split into backpropagation and update."""

    def __init__(self, procedure: OneNetwork, record: Record):
        self.step = procedure.training_step
        self.executor = procedure.executor
        self.record = record
        self.sync = procedure.framework.sync

    def __call__(self, batch: Mapping[str, Any]) -> Values:
        outputs = self.backprop(batch)
        begin = now()
        with region("update", self.sync):
            self.step.update()
        self.record("update", _seconds_since(begin))
        return outputs

    def backprop(self, batch: Mapping[str, Any]) -> Values:
        raise NotImplementedError


class TurningStep(PhasedStep):
    """For an executor that reports when the forward pass ends and the backward pass begins."""

    def backprop(self, batch: Mapping[str, Any]) -> Values:
        begin = now()
        turned = 0
        forward, backward = region("forward"), region("backward")

        def turn() -> None:
            nonlocal turned
            self.sync()
            forward.__exit__(None, None, None)
            turned = now()
            backward.__enter__()

        self.executor.after_forward = turn
        forward.__enter__()
        try:
            outputs = self.step.backprop(batch)
            self.sync()
        finally:
            self.executor.after_forward = None
            if turned:
                backward.__exit__(None, None, None)
            else:
                forward.__exit__(None, None, None)
        self.record("forward", (turned - begin) / 1e9)
        self.record("backward", _seconds_since(turned))
        return outputs


class CompiledStep(PhasedStep):
    """For an executor that compiles forward and backward into one program: an inference stands for the forward part.

    Its time is measured before the steps, on an example batch; the rest of a step's time counts as the backward part.
    """

    def __init__(
        self, procedure: OneNetwork, record: Record, example: Mapping[str, Any]
    ):
        super().__init__(procedure, record)
        self._inference_seconds(example)  # compiles it
        times = [self._inference_seconds(example) for _ in range(PROBES)]
        self.forward = median(times)

    def backprop(self, batch: Mapping[str, Any]) -> Values:
        begin = now()
        with region("forward and backward", self.sync):
            outputs = self.step.backprop(batch)
        whole = _seconds_since(begin)
        forward = min(self.forward, whole)
        self.record("forward", forward)
        self.record("backward", whole - forward)
        return outputs

    def _inference_seconds(self, example: Mapping[str, Any]) -> float:
        begin = now()
        self.executor.inference(example)
        self.sync()
        return _seconds_since(begin)


def _seconds_since(begin: int) -> float:
    return (now() - begin) / 1e9
