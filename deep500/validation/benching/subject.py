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
from ..checking.formats import is_float, map_floats
from ..checking.subjects import is_ours, named_function
from ..shapes import inputs_of
from .jobs import OperatorJob
from .truth import settle


class OperatorSubject:
    """Ready to be timed: `call.function(*call.arguments)`. Wrong results end it with an error.

    Every call gets the same inputs (caches stay warm). Afterwards the memory of the inputs is overwritten with other
    values, if the framework shares it, so that an operator that remembers its inputs by their identity is found out;
    then it is called with new arrays.
    """

    def __init__(self, job: OperatorJob):
        self.job = job
        self.framework = framework(job.framework)
        self.framework.dtype(job.dtype)
        self.operator = load_operator(job.operator, dict(job.attributes))
        self.reference = (
            named_function(job.reference) if job.reference else None
        )
        self.example = self._example(0)
        self.other: Example | None = None
        if not is_ours(self.operator):
            self.other = self._example(1)  # before it runs in this process
        _use_threads(job.framework, job.threads)
        self.kernel = job.kernel or self._chosen()
        self.call = self._call()
        results = self._run(self.call.arguments)
        self._verdict(self.example, results)

    def check_again(self) -> None:
        """Check the same callable with other values; raises `Wrong` if its results are not right."""
        other = self.other or self._example(1)
        old_arrays = self._varied(self.example)
        new_arrays = self._varied(other)
        if self._shares_memory():
            for old, new in zip(old_arrays, new_arrays, strict=True):
                if old is not None:
                    np.copyto(old, new)
            results = self._run(self.call.arguments)
            when = ", after its timing, other values in the same memory"
            self._verdict(other, results, when)
        results = self._run(self.call.bind(new_arrays))
        self._verdict(other, results, ", after its timing, with other inputs")

    def _example(self, seed: int) -> Example:
        """Inputs by the seed (for a derivative only the gradients vary); their magnitudes, if the truth has a NaN."""
        job, operator = self.job, self.operator
        inputs = inputs_of(operator, job.shape, job.dtype, seed)
        if seed and job.direction == "backward":
            inputs = self.example.inputs
        name = f"{type(operator).__name__}-{seed}"
        example = Example(name, operator, inputs, self.reference)
        with _one_line(operator, job.shape), np.errstate(all="ignore"):
            settle(example, job.direction)
            if any(map(_has_nan, example.outputs)):
                positive = map_floats(np.abs, inputs)
                example = Example(name, operator, positive, self.reference)
                settle(example, job.direction)
        return example

    def _call(self) -> Call:
        fw = self.framework
        inputs = self.example.inputs
        with _one_line(self.operator, self.job.shape, self.job.framework):
            if self.job.direction == "forward":
                return fw.forward_call(self.operator, inputs, self.kernel)
            seeds = self.example.seeds
            return fw.backward_call(self.operator, inputs, seeds, self.kernel)

    def _run(self, arguments: tuple) -> list:
        with _one_line(self.operator, self.job.shape, self.job.framework):
            results = self.call.function(*arguments)
            return self.call.outputs(results)

    def _verdict(self, example: Example, results: list, when: str = "") -> None:
        """Raise `Wrong` for wrong results, and a Deep500Error if any results would pass."""
        job = self.job
        with np.errstate(all="ignore"):
            if job.direction == "forward":
                check = output_check(example, results)
            else:
                check = gradient_check(example, results)
        name = type(self.operator).__name__
        problem = f"{name} {job.shape} in {job.dtype}"
        if check.ok is None and not is_ours(self.operator):
            raise Deep500Error(
                f"{problem} is not timed, as anything would pass for right: {check.text}"
            )
        if check.ok is False:
            raise Wrong(
                f"{job.framework} {self.kernel} gives a wrong {job.direction} result of "
                f"{problem}{when}: {check.text}"
            )

    def _varied(self, example: Example) -> list[Any]:
        """The arrays that differ between examples: inputs, or gradients of the outputs for a derivative."""
        if self.job.direction == "forward":
            return arrays(example.inputs)
        return list(example.seeds)

    def _shares_memory(self) -> bool:
        probe = np.zeros(1, self.job.dtype)
        back = self.framework.array(self.framework.tensor(probe))
        return np.shares_memory(back, probe)

    def _chosen(self) -> str:
        """The framework's own kernel if it has one."""
        if (
            self.job.framework == "onnxruntime"
            and self.job.direction == "backward"
        ):
            return "composed"
        inputs = self.example.inputs
        return self.framework.kernel(self.operator, inputs=inputs)[1]


def _has_nan(y: Any) -> bool:
    return is_float(y) and bool(np.isnan(y).any())


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
    except Exception as error:
        # kernels, compilers and users' code may raise anything
        name = type(operator).__name__
        reason = one_line(error, kind=True)
        raise Deep500Error(
            f"{where} cannot run {name} {shape}: {reason}"
        ) from error
