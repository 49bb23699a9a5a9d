"""`d5.instrument`: records an existing training script in a bundle."""

import atexit
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ..bundle.records.recording import Recording, recording
from ..errors import Deep500Error, one_line
from ..frameworks import framework
from ..measure.regions.step_regions import StepRegion, StepRegions
from ..results.instrumenting.blocks import (
    Direction,
    End,
    Evaluation,
    ScriptBlock,
    ScriptPlan,
)
from ..results.instrumenting.numbers import ScriptRecord
from .pending import Step, as_number, held, stretch, written_number
from .seeding import seed_generators

if TYPE_CHECKING:
    from ..frameworks.tensorflow.fit_callback import FitCallback

KIND = "instrumented"
SECONDS_BETWEEN_BLOCKS = 30.0  # the most that a killed script loses
MOST_PENDING = 10_000  # steps held in memory
T = TypeVar("T")


class InstrumentedRun:
    """A script that is being measured. Close it with a with-block or by calling `finish`.

    A step is timed from the end of the previous step (or from `begin`, which `batches` calls) to the call of `step`, so
    that loading data is part of it. Values stay native to the framework until a block is written: at an evaluation,
    every 30 seconds, and at the end. The time to write a block belongs to no step.
    """

    def __init__(self, opened: Any, recorded: Recording, wait: bool):
        self._opened = opened
        self._recording = recorded
        self._wait = wait
        self._regions = StepRegions()
        self._steps: list[Step] = []
        # names of values that were checked to be numbers
        self._names: set[str] = set()
        self._done = 0  # steps on disk
        self._outside = 0.0
        self._writing = 0.0
        self._process = os.getpid()
        self._lost: Deep500Error | None = None
        self._closed = False
        self.record: ScriptRecord | None = None
        atexit.register(self._at_exit)
        self._began = self._mark = self._written = perf_counter()

    @property
    def folder(self) -> Path:
        """The folder of the bundle."""
        return self._recording.folder

    @property
    def steps(self) -> int:
        """The number of completed steps."""
        return self._done + len(self._steps)

    def region(self, name: str) -> StepRegion:
        """A context manager that times a part of a step; regions may be nested."""
        return self._regions.region(name)

    def begin(self) -> None:
        """Start the clock of the next step: the time since the last step or evaluation belongs to no step."""
        self._regions.take()
        moment = perf_counter()
        self._outside += moment - self._mark
        self._mark = moment

    def batches(self, batches: Iterable[T]) -> Iterator[T]:
        """The batches; the time to get each one is recorded in the region "data"."""
        self.begin()
        iterator = iter(batches)
        while True:
            with self.region("data"):
                try:
                    batch = next(iterator)
                except StopIteration:
                    return
            yield batch

    def step(self, examples: int | None = None, **values: Any) -> None:
        """Record a step: how many examples it had, and its loss and other values by name."""
        for name in values:
            values[name] = held(values[name])
            if name not in self._names:
                self._check_value(name, values[name])
        if self._wait:
            with self.region("wait"):
                values = {
                    name: as_number(name, value) for name, value in values.items()
                }
        regions = self._regions.take()
        moment = perf_counter()
        self._steps.append((moment - self._mark, examples, values, regions))
        self._mark = moment
        is_due = moment - self._written > SECONDS_BETWEEN_BLOCKS
        if is_due or len(self._steps) >= MOST_PENDING:
            self._write_steps()

    def evaluation(self, split: str = "validation", **qualities: Any) -> None:
        """Record the results of an evaluation by name; its time is what has passed since the last step."""
        numbers = {}
        for name, value in qualities.items():
            number = as_number(name, value)
            numbers[name] = written_number(number)
        regions = {}
        paths, times = self._regions.paths, self._regions.take()
        for path, region_seconds in zip(paths, times, strict=False):
            if region_seconds:
                regions[path] = region_seconds
        seconds = perf_counter() - self._mark
        self._write_steps()
        evaluation = Evaluation(self.steps, split, numbers, seconds, regions)
        self._append(ScriptBlock(evaluation=evaluation))
        self._mark = perf_counter()

    def keras_callback(self, batch_size: int, examples: int) -> "FitCallback":
        """A callback for `model.fit` that records its steps and evaluations; `examples` is the size of an epoch."""
        framework("tensorflow").require()
        from ..frameworks.tensorflow.fit_callback import FitCallback

        return FitCallback(self, batch_size, examples)

    def finish(self) -> ScriptRecord:
        """Write the remaining steps, compute the results, and close the bundle."""
        self._check_open()
        if not self.steps:
            error = "nothing was recorded: call run.step(loss=loss) in the loop"
            self._abandon(Deep500Error(error))
        self._end("")
        if self._lost:
            self._abandon(self._lost)
        self._close()
        self.record = self._recording.finish()
        self._opened.__exit__(None, None, None)
        return self.record

    def __enter__(self) -> "InstrumentedRun":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._closed:
            return
        if error is None or _is_success(error):
            self.finish()
        else:
            self._fail(error)

    def _check_value(self, name: str, value: Any) -> None:
        self._check_open()
        as_number(name, value)
        self._names.add(name)

    def _check_open(self) -> None:
        if self._closed:
            raise Deep500Error(
                f"the run in {self.folder} is closed: nothing can be added to it"
            )

    def _write_steps(self) -> None:
        """Write the pending steps to disk."""
        begin = perf_counter()
        if self._steps:
            first, paths = self._done + 1, self._regions.paths
            steps = stretch(first, self._steps, paths, self._outside, self._writing)
            self._append(ScriptBlock(steps=steps))
            self._done += len(self._steps)
            self._steps = []
            self._outside = 0.0
            self._writing = perf_counter() - begin
        self._mark = self._written = perf_counter()

    def _append(self, block: ScriptBlock) -> None:
        """Append a block. If the bundle cannot be written, the script continues, and `finish` raises the error."""
        self._check_open()
        if self._lost:
            return
        try:
            self._recording.append(block)
        except Deep500Error as error:
            self._lost = error
            warnings.warn(
                f"recording stopped, the script goes on: {error}", stacklevel=4
            )

    def _end(self, reason: str) -> None:
        self._write_steps()
        seconds = perf_counter() - self._began
        self._append(ScriptBlock(end=End(seconds, reason)))

    def _fail(self, error: BaseException) -> None:
        """Close the bundle as unfinished, with the reason."""
        cause_text = one_line(error, kind=True)[:200]
        reason = f"ended by {cause_text}"
        if self.steps:
            self._end(reason)
        self._close()
        cause = error if isinstance(error, Exception) else Deep500Error(reason)
        try:
            self._opened.__exit__(type(cause), cause, cause.__traceback__)
        except Exception as same:
            if same is not cause:
                raise

    def _abandon(self, error: Deep500Error) -> None:
        self._fail(error)
        raise error

    def _close(self) -> None:
        self._closed = True
        atexit.unregister(self._at_exit)

    def _at_exit(self) -> None:
        """Close the bundle of a script that ended without `finish`, probably by an error."""
        if self._closed or os.getpid() != self._process:
            return
        error = getattr(sys, "last_value", None)
        if not error:
            error = Deep500Error("the script ended without run.finish()")
        self._fail(error)


def instrument(
    name: str,
    *,
    seed: int | None = None,
    out: str | Path | None = None,
    better: Mapping[str, Direction] | None = None,
    settings: Mapping[str, Any] | None = None,
    wait: bool = False,
) -> InstrumentedRun:
    """Begin a bundle for a script: `with d5.instrument("mine", seed=0) as run: …`, or call `run.finish()` at the end.

    name       What the run is called.
    seed       Recorded, and used to seed the generators of Python, NumPy and every framework that is already imported.
    out        The folder of the bundle, new or empty; by default, one under $DEEP500_HOME.
    better     Which direction is better for a quality: {"accuracy": "higher"}.
    settings   Anything else to record in the bundle: JSON values by name.
    wait       Whether every step waits for its values, so that its time is complete on an asynchronous device.
    """
    seeded: list[str] = []
    if seed is not None:
        seeded = seed_generators(seed)
    plan = ScriptPlan(str(name), seed, seeded, better or {}, bool(wait), settings or {})
    opened = recording(KIND, plan, out, name=_file_name(str(name)))
    return InstrumentedRun(opened, opened.__enter__(), wait)


def _file_name(name: str) -> str:
    """The name with "-" in place of characters that a folder's name should not have."""
    safe_name = ""
    for character in name:
        is_allowed = character.isalnum() or character in "._-"
        safe_name += character if is_allowed else "-"
    return safe_name[:60] or KIND


def _is_success(error: BaseException) -> bool:
    """Whether this is a SystemExit with which a script ends successfully."""
    return isinstance(error, SystemExit) and error.code in (None, 0)
