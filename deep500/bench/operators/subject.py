"""One job in the process that times it: the very callable that is timed is checked, before and after."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any

import numpy as np

from ...check.operators.array_checks import gradient_check, output_check
from ...check.operators.device_faults import DeviceTrial
from ...check.operators.examples import Example
from ...check.operators.formats import is_float, map_floats
from ...check.operators.shape_text import inputs_of
from ...check.operators.subjects import is_custom, is_ours
from ...contracts.calls import Call, arrays
from ...contracts.operator import TensorSpec
from ...custom.cpp import CppOp
from ...errors import (
    Deep500Error,
    InternalError,
    Unsupported,
    Wrong,
    internal_message,
    raise_if_mistake,
    with_place,
)
from ...frameworks import framework
from ...measure.device_clock import DeviceClock
from ..benchmark import Subject
from ..device_clocks import device_clock
from ..memory_rise import memory_rise
from ..threads import use_threads
from .jobs import OperatorJob
from .loading import is_function, load_reference, load_subject
from .truth import settle, truth_key

STREAM = "bench"  # of random numbers: rivals get the same inputs


class OperatorSubject(Subject):
    """An operator with its inputs, bound to the framework's own function.

    Every call gets the same inputs, and caches stay warm unless the job is cold. Afterwards the memory of the inputs is
    overwritten with other values, if the framework can do that, so that an operator that remembers its inputs by their
    identity is found out; then it is called with new arrays. On a device, visits get two sets of values in turn, and
    how the operator treats the device is checked before the timing.
    """

    def __init__(self, job: OperatorJob):
        with internal_errors():
            self._prepare(job)

    def _prepare(self, job: OperatorJob) -> None:
        self.job = job
        self.shared_s = 0.0  # how long the truth took
        self.framework = framework(job.framework)
        self.framework.dtype(job.dtype)
        self.reference = load_reference(job.reference)
        self.operator = load_subject(job, self.framework, self.reference)
        if job.threads and isinstance(self.operator.adapted, CppOp):
            self.operator.adapted.set_threads(job.threads)
        if not self._is_judged_elsewhere:
            # before the framework computes anything
            use_threads(job.framework, job.threads)
        self.example = self._example(0)
        self.other: Example | None = None
        if not is_ours(self.operator):
            self.other = self._example(1)  # before it runs in this process
        use_threads(job.framework, job.threads)
        self.kernel = self._kernel()
        self.call = self._call(self.kernel)
        self.run = self.call.function
        self.arguments = self.call.arguments
        if not self.framework.on_host:
            self.device_clock = self._device_clock()

    @property
    def label(self) -> str:
        """Whose code runs, as reports say it: `custom` where it is a user's own."""
        if self.job.kernel in ("compiled", "graph"):
            return self.job.kernel
        if is_custom(self.operator) or is_function(self.operator):
            return "custom"
        if self.kernel == "native" and not is_ours(self.operator):
            return "custom"
        return self.kernel

    @property
    def truth_key(self) -> str:
        """The name of the truth about its results for the inputs that it is timed with."""
        return self._truth_key(self.example)

    def check(self) -> None:
        """Raise `Wrong` if its results are not right."""
        with internal_errors():
            self._verdict(self.example, self._results(self.arguments))
            if not self.framework.on_host and not is_ours(self.operator):
                self._check_device()

    def _check_device(self) -> None:
        """Raise `Wrong` if it does not treat the device as it must."""
        other = self.other or self._example(1)
        contents = [self._varied(self.example), self._varied(other)]
        in_place = self.job.direction == "forward"
        call = self.call
        if (
            self.kernel == "graph"
        ):  # whose calls share their results, and wait for nothing
            call = self._call("native")
        trial = DeviceTrial(self.framework, call, contents, in_place)
        with self.one_line(self.job.framework):
            for fault in trial.faults(self.operator.random):
                name = type(self.operator).__name__
                raise Wrong(f"{name} {self.job.shape} on {self.job.framework}: {fault}")

    def _device_clock(self) -> DeviceClock:
        """The clock of the device; before each visit, the inputs get the other one of two sets of values."""
        if self.other is None or self.job.direction != "forward":
            return device_clock(self.framework, self.job.cold)
        sets = [self.call.bind(self._varied(x)) for x in (self.other, self.example)]
        turns = cycle(sets)

        def overwrite() -> None:
            for tensor, value in zip(self.arguments, next(turns), strict=True):
                self.framework.overwrite(tensor, value)

        return device_clock(self.framework, self.job.cold, overwrite)

    def check_again(self) -> None:
        """Check the same callable with other values; raises `Wrong` if its results are not right."""
        with internal_errors():
            self._check_again()

    def _check_again(self) -> None:
        other = self.other or self._example(1)
        old_arrays = self._varied(self.example)
        new_arrays = self._varied(other)
        if self._overwrites(old_arrays, new_arrays):
            results = self._results(self.arguments)
            when = ", after its timing, other values in the same memory"
            self._verdict(other, results, when)
        results = self._results(self.call.bind(new_arrays))
        self._verdict(other, results, ", after its timing, with other inputs")

    def facts(self) -> dict[str, Any]:
        """Its kernel, flops and bytes as the operator counts them, and by how much memory rises in one call."""
        with internal_errors(), self.one_line(self.job.framework):
            work = self._work()
        return {
            "kernel": self.kernel,
            "label": self.label,
            "truth": self.truth_key,
            "shared_s": self.shared_s,
            **work,
        }

    def _work(self) -> dict[str, Any]:
        operator = self.operator
        example = self.example
        flops: int | None = operator.flops(*example.tensors)
        moved = operator.bytes_moved(*example.tensors)
        if self.job.direction == "backward":
            # It reads the inputs and the gradients of the outputs, and writes those of the inputs.
            flops = operator.backward_flops(*example.tensors)
            moved += _gradient_bytes(example)
        rise, peak = self._memory()
        return {
            "flops": flops,
            "bytes": moved,
            "memory": rise,
            "process_memory": peak,
        }

    def _memory(self) -> tuple[int | None, int | None]:
        """By how much a call raises memory, and the peak of the process; of a device, by its own allocator."""
        if self.framework.on_host:
            return memory_rise(lambda: self.run(*self.arguments))
        try:
            with self.framework.allocations() as seen:
                outputs = self.run(*self.arguments)
                self.framework.sync(outputs)
        except Unsupported:
            return None, None
        return seen.peak, None

    def _example(self, seed: int) -> Example:
        """Inputs by the seed (for a derivative only the gradients vary); their magnitudes, if the truth has a NaN."""
        job, operator = self.job, self.operator
        inputs = inputs_of(operator, job.shape, job.dtype, seed, STREAM)
        if seed and job.direction == "backward":
            inputs = self.example.inputs
        example = self._settled(seed, inputs)
        if any(map(_has_nan, example.outputs)):
            positive = map_floats(np.abs, inputs)
            example = self._settled(seed, positive, "magnitudes")
        return example

    def _settled(self, seed: int, inputs: tuple, regime: str = "") -> Example:
        """An example whose truth is known."""
        began = time.monotonic()
        example = Example(
            f"{STREAM}-{seed}",
            self.operator,
            inputs,
            self.reference,
            regime=regime,
        )
        with self.one_line("the formula"), np.errstate(all="ignore"):
            key = self._truth_key(example)
            settle(example, self.job.direction, key, self._is_judged_elsewhere)
            _ = example.outputs
        self.shared_s += time.monotonic() - began
        return example

    @property
    def _is_judged_elsewhere(self) -> bool:
        """Whether a copy of this process computes the truth: not where a framework would run in the copy."""
        by_itself = is_function(self.operator) and self.reference is None
        return not is_ours(self.operator) and not by_itself

    def _truth_key(self, example: Example) -> str:
        """Frameworks and kernels share a truth; a function is judged by itself, on its framework."""
        job = self.job
        owner = job.framework if is_function(self.operator) else ""
        return truth_key(
            job.operator,
            dict(job.attributes),
            job.reference,
            owner,
            job.shape,
            job.dtype,
            job.direction,
            example.name,
            example.regime,
        )

    def _call(self, kernel: str) -> Call:
        fw = self.framework
        inputs = self.example.inputs
        with self.one_line(self.job.framework):
            if self.job.direction == "forward":
                return fw.forward_call(self.operator, inputs, kernel)
            seeds = self.example.seeds
            return fw.backward_call(self.operator, inputs, seeds, kernel)

    def _results(self, arguments: tuple) -> list:
        with self.one_line(self.job.framework):
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
                f"{job.framework} {self.label} gives a wrong {job.direction} result of "
                f"{problem}{when}: {check.text}"
            )

    def _varied(self, example: Example) -> list[Any]:
        """The arrays that differ between examples: inputs, or gradients of the outputs for a derivative."""
        if self.job.direction == "forward":
            return arrays(example.inputs)
        return list(example.seeds)

    def _overwrites(self, old_arrays: list[Any], new_arrays: list[Any]) -> bool:
        """Write other values into the memory of the inputs; False if the framework cannot do that."""
        if self._shares_memory():
            for old, new in zip(old_arrays, new_arrays, strict=True):
                if old is not None:
                    np.copyto(old, new)
            return True
        if self.framework.on_host or self.job.direction != "forward":
            return False
        pairs = zip(self.arguments, new_arrays, strict=True)
        return all(self.framework.overwrite(tensor, new) for tensor, new in pairs)

    def _shares_memory(self) -> bool:
        probe = np.zeros(1, self.job.dtype)
        back = self.framework.array(self.framework.tensor(probe))
        return np.shares_memory(back, probe)

    def _kernel(self) -> str:
        """The kernel to run: the one that the job names, or the framework's choice."""
        requested = self.job.kernel
        if requested == "graph":
            return requested
        name = type(self.operator).__name__
        if is_function(self.operator):
            if requested == "composed":
                raise Unsupported(
                    f"{name} is a function and has no formula: ask for native or compiled, or leave --kernel out"
                )
            return "native"  # loaded in the form that was asked for
        if is_custom(self.operator):
            if requested == "compiled":
                raise Unsupported(
                    f"{name} is your own code, which no framework compiles: leave --kernel out"
                )
            return self._chosen()
        return requested or self._chosen()

    def _chosen(self) -> str:
        """The framework's own kernel if it has one."""
        if self.job.direction == "backward" and not self._differentiates():
            return "composed"
        inputs = self.example.inputs
        return self.framework.kernel(self.operator, inputs=inputs)[1]

    def _differentiates(self) -> bool:
        return self.framework.abilities.autodiff

    @contextmanager
    def one_line(self, where: str) -> Iterator[None]:
        """Turn what kernels, compilers and users' code raise into one line; a defect of ours is an InternalError."""
        try:
            yield
        except (Deep500Error, MemoryError):
            raise
        except Exception as error:
            raise_if_mistake(error)
            name = type(self.operator).__name__
            raise Deep500Error(
                f"{where} cannot run {name} {self.job.shape}: {with_place(error)}"
            ) from error


@contextmanager
def internal_errors() -> Iterator[None]:
    """Call an exception a defect of Deep500 where no code of a user's runs."""
    try:
        yield
    except (Deep500Error, InternalError, MemoryError):
        raise
    except Exception as error:
        raise InternalError(internal_message(error)) from error


def _has_nan(y: Any) -> bool:
    return is_float(y) and bool(np.isnan(y).any())


def _gradient_bytes(example: Example) -> int:
    """The size of the gradients of all float inputs."""
    size = 0
    for tensor, x in zip(example.tensors, example.inputs, strict=True):
        if isinstance(tensor, TensorSpec) and is_float(x):
            size += tensor.nbytes
    return size
