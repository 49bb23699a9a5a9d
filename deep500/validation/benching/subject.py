"""One job in the process that times it: the very callable that is timed is checked, before and after."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from ...contracts.calls import Call, arrays
from ...contracts.operator import Operator
from ...custom.loading import load_operator
from ...errors import Deep500Error, Wrong, one_line
from ...frameworks import framework
from ..checking.comparing import gradient_check, output_check
from ..checking.examples import Example
from ..checking.formats import is_float
from ..checking.subjects import is_ours, named_function
from ..shapes import inputs_of
from .jobs import Job
from .truth import settle


class Subject:
    """Ready to be timed: `call.function(*call.arguments)`. Wrong results end it with an error.

    Every call gets the same inputs (caches stay warm). Afterwards the memory of the inputs is overwritten with other
    values, where the framework shares it, so that an operator that remembers its inputs by their identity is found
    out; elsewhere it gets new ones.
    """

    def __init__(self, job: Job):
        self.job, self.framework = job, framework(job.framework)
        self.framework.dtype(job.dtype)
        self.operator = load_operator(job.operator, dict(job.attributes))
        self.reference = named_function(job.reference) if job.reference else None
        self.example = self._example(0)
        self.other = (
            None if is_ours(self.operator) else self._example(1)
        )  # before it runs here
        _use_threads(job.framework, job.threads)
        self.kernel = job.kernel or self._chosen()
        self.call = self._call()
        self._verdict(self.example, self._run(self.call.arguments))

    def check_again(self) -> None:
        """The same callable with other values."""
        other = self.other or self._example(1)
        mine, theirs = self._varied(self.example), self._varied(other)
        if self._shares_memory():
            for old, new in zip(mine, theirs, strict=True):
                if old is not None:
                    np.copyto(old, new)
            self._verdict(
                other,
                self._run(self.call.arguments),
                ", after its timing, other values in the same memory",
            )
        self._verdict(
            other,
            self._run(self.call.bind(theirs)),
            ", after its timing, with other inputs",
        )

    def _example(self, seed: int) -> Example:
        """Inputs by the seed; their magnitudes, where the truth would be NaN. For a derivative the gradients vary."""
        inputs = inputs_of(self.operator, self.job.shape, self.job.dtype, seed)
        if seed and self.job.direction == "backward":
            inputs = self.example.inputs
        name = f"{type(self.operator).__name__}-{seed}"
        example = Example(name, self.operator, inputs, self.reference)
        with _one_line(self.operator, self.job.shape), np.errstate(all="ignore"):
            settle(example, self.job.direction)
            if any(is_float(y) and np.isnan(y).any() for y in example.outputs):
                positive = tuple(np.abs(x) if is_float(x) else x for x in inputs)
                example = Example(name, self.operator, positive, self.reference)
                settle(example, self.job.direction)
        return example

    def _call(self) -> Call:
        with _one_line(self.operator, self.job.shape, self.job.framework):
            if self.job.direction == "forward":
                return self.framework.forward_call(
                    self.operator, self.example.inputs, self.kernel
                )
            return self.framework.backward_call(
                self.operator, self.example.inputs, self.example.seeds, self.kernel
            )

    def _run(self, arguments: tuple) -> list:
        with _one_line(self.operator, self.job.shape, self.job.framework):
            return self.call.outputs(self.call.function(*arguments))

    def _verdict(self, example: Example, got: list, when: str = "") -> None:
        with np.errstate(all="ignore"):
            check = (
                output_check if self.job.direction == "forward" else gradient_check
            )(example, got)
        if check.ok is None and not is_ours(self.operator):
            raise Deep500Error(
                f"{type(self.operator).__name__} {self.job.shape} in {self.job.dtype} is not timed, as "
                f"anything would pass for right: {check.text}"
            )
        if check.ok is False:
            raise Wrong(
                f"{self.job.framework} {self.kernel} gives a wrong {self.job.direction} result of "
                f"{type(self.operator).__name__} {self.job.shape} in {self.job.dtype}{when}: {check.text}"
            )

    def _varied(self, example: Example) -> list[Any]:
        return (
            arrays(example.inputs)
            if self.job.direction == "forward"
            else list(example.seeds)
        )

    def _shares_memory(self) -> bool:
        probe = np.zeros(1, self.job.dtype)
        return np.shares_memory(
            self.framework.array(self.framework.tensor(probe)), probe
        )

    def _chosen(self) -> str:
        """Its own kernel where there is one."""
        if self.job.framework == "onnxruntime" and self.job.direction == "backward":
            return "composed"
        return self.framework.kernel(self.operator, inputs=self.example.inputs)[1]


@cache
def _use_threads(name: str, count: int) -> None:
    """Once per process: some frameworks start their threads once and for all."""
    if count and framework(name).sets_threads:
        framework(name).set_threads(count)


@contextmanager
def _one_line(
    operator: Operator, shape: str, where: str = "the formula"
) -> Iterator[None]:
    try:
        yield
    except (Deep500Error, MemoryError):
        raise
    except Exception as error:  # whatever a kernel, a compiler or a user's code says
        raise Deep500Error(
            f"{where} cannot run {type(operator).__name__} {shape}: {one_line(error, kind=True)}"
        ) from error
