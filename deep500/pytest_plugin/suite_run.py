"""The measurements of one session of pytest: made one after another, kept, and written into a bundle as they come."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Unpack

import pytest

from ..bundle.records.recording import Recording, recording
from ..contracts.result import Record
from ..errors import Deep500Error
from ..measure.bench_blocks import TimedBlock
from ..measure.bench_plan import BenchPlan, check_plan
from ..measure.clock import Clock, calibrate
from ..measure.plan import Plan, make_plan
from ..measure.plan import Settings as PlanSettings
from ..measure.results import Result
from ..measure.running import measure_plan
from ..results.suites.contents import SuiteBlock, SuitePlan
from .further_processes import Begun, write_block
from .settings import SuiteSettings, read_settings

if TYPE_CHECKING:
    from ..contracts.result import Contrast


class SuiteRun:
    """Everything that the tests of a session measured, and what is to be said of it at the end."""

    def __init__(self, settings: SuiteSettings, base: Record | None):
        self.settings = settings
        self.base = base
        self.tests: list[str] = []
        self.blocks: list[SuiteBlock] = []
        self.results: dict[str, Result] = {}
        # of every measurement: the test that made it, and when it began
        self.test_of: dict[str, str] = {}
        self.began_s: dict[str, float] = {}
        self.remarks: list[str] = []
        self.errors: list[str] = []
        self.record: Record | None = None
        self.contrast: Contrast | None = None
        self._recording: Recording | None = None
        self._open = ExitStack()

    @cached_property
    def clock(self) -> Clock:
        return calibrate()

    @property
    def measuring_tests(self) -> list[str]:
        """The tests that measured something."""
        return list(dict.fromkeys(self.test_of.values()))

    @property
    def plan(self) -> SuitePlan:
        return SuitePlan(
            tests=self.tests,
            processes=self.settings.processes,
            level=0.95,
            margin=self.settings.margin,
        )

    def begun(self) -> dict[str, Begun]:
        """What a further process needs to go on with every measurement."""
        measurements = {}
        for name, result in self.results.items():
            seed, block = result.plan.seed, result.blocks[-1]
            measurements[name] = Begun(seed, block, self.began_s[name])
        return measurements

    def measure(
        self,
        test: str,
        label: str,
        candidates: Mapping[str, object],
        group: str | None = None,
        **settings: Unpack[PlanSettings],
    ) -> Result:
        """Time the candidates side by side, in this process."""
        name = self.begin_name(test, label)
        settings.setdefault("budget_s", self.settings.budget_s)
        settings.setdefault("margin", self.settings.margin)
        begun = self.begun_before(name)
        if begun:
            settings["seed"] = begun.seed
        plan = make_plan(candidates, **settings)
        result = self.begin(name, plan, group)
        earlier = begun.earlier if begun else None

        def record(block: TimedBlock) -> None:
            result.blocks.append(block)
            self._write_times(name, block)

        try:
            measure_plan(plan, self.clock, result.plan, record, earlier=earlier)
        finally:
            if not result.blocks:
                del self.results[name]
        return result

    def begin_name(self, test: str, label: str) -> str:
        """The name of a measurement of this test, with a number if it has one of that label already."""
        plain = f"{test} {label}" if label else test
        name, number = plain, 1
        while name in self.test_of:
            number += 1
            name = f"{plain} ({number})"
        self.test_of[name] = test
        return name

    def begin(self, name: str, plan: Plan, group: str | None = None) -> Result:
        """The result of a measurement, without a time yet."""
        document: BenchPlan = check_plan(plan.to_json() | {"clock": asdict(self.clock)})
        result = Result(document, [])
        self.results[name] = result
        begun = self.begun_before(name)
        self.began_s[name] = begun.began_s if begun else time.monotonic()
        self._append(SuiteBlock(name=name, plan=document, group=group))
        return result

    def begun_before(self, name: str) -> Begun | None:
        """What the first process found, if this is a further one."""
        if self.settings.task is None:
            return None
        begun = self.settings.task.measurements.get(name)
        if begun is None:
            raise Deep500Error(f"the first process did not measure {name}")
        return begun

    def add_times(self, name: str, block: TimedBlock) -> None:
        """Take a block of times into a measurement that has begun."""
        self.results[name].blocks.append(block)
        self._write_times(name, block)

    def add_info(self, name: str, info: Mapping[str, object]) -> None:
        """Take what a test says of a measurement."""
        if name in self.results:
            self._append(SuiteBlock(name=name, info=dict(info)))

    def _write_times(self, name: str, block: TimedBlock) -> None:
        if self.settings.task:
            write_block(self.settings.task, name, block)
        self._append(SuiteBlock(name=name, times=block))

    def _append(self, block: SuiteBlock) -> None:
        self.blocks.append(block)
        if self.settings.series is None:
            return
        if self._recording is None:
            context = recording("suite", self.plan, _new_folder(self.settings.series))
            self._recording = self._open.enter_context(context)
        self._recording.append(block)

    def finish_recording(self) -> Record | None:
        """The bundle, sealed; None if nothing is saved."""
        if self._recording is None:
            return None
        record = self._recording.finish()
        self._open.close()
        return record

    def close(self) -> None:
        """End a recording that was not finished: what it has is kept, and the ledger says that it has no end."""
        if self._recording is None or self._recording.record is not None:
            return
        interrupted = KeyboardInterrupt("the session ended early")
        self._open.__exit__(KeyboardInterrupt, interrupted, None)


def suite_run(config: pytest.Config) -> SuiteRun:
    """The run of this session, or pytest's one-line error for options that cannot work."""
    from ..bundle.records.loading import load

    try:
        settings = read_settings(config)
        base = load(settings.base) if settings.base else None
        if base is not None and base.kind.name != "suite":
            raise Deep500Error(
                f"--d5-against: {settings.base} is no suite but of kind {base.kind.name!r}"
            )
        if base is not None and not base.verified:
            raise Deep500Error(
                f"--d5-against: {settings.base} does not verify: {base.problems[0]}"
            )
    except Deep500Error as error:
        raise pytest.UsageError(str(error)) from None
    return SuiteRun(settings, base)


def _new_folder(series: Path) -> Path:
    """A folder for a bundle, in the order of time."""
    return series / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}-{token_hex(2)}"
