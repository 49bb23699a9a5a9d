"""The end of a session: further processes, the sealed bundle, and the comparison that decides the exit code."""

import time
from pathlib import Path

import pytest

from ..contracts.result import Record, derived_numbers, result_kind
from ..errors import Deep500Error
from ..measure.machine import environment
from ..schema import encoded
from .further_processes import measure_again
from .suite_run import SuiteRun

LEVEL = 0.95
LEAST_TIMEOUT_S = 120.0


def finish(config: pytest.Config, run: SuiteRun, exitstatus: int) -> int:
    """Everything after the last test; returns the exit status of the session."""
    if not run.results:
        if run.settings.series or run.settings.base:
            run.errors.append(
                "nothing was measured: no test used d5.bench or benchmark"
            )
            return int(pytest.ExitCode.USAGE_ERROR)
        return exitstatus
    if run.settings.task:
        return exitstatus
    try:
        _measure_in_further_processes(config, run)
        run.record = run.finish_recording() or _unsaved(run)
        if run.base is None:
            return exitstatus
        run.contrast = run.base.kind.compare(
            run.base, run.record, run.settings.margin, LEVEL
        )
    except Deep500Error as error:
        run.errors.append(str(error))
        return int(pytest.ExitCode.USAGE_ERROR)
    fails = bool(run.contrast.worse)
    if run.settings.inconclusive == "fail" and undecided(run):
        fails = True
    return int(pytest.ExitCode.TESTS_FAILED) if fails else exitstatus


def undecided(run: SuiteRun) -> list[str]:
    """The measurements of the comparison that got no verdict."""
    if run.contrast is None:
        return []
    comparisons = encoded(run.contrast.data)["comparisons"]
    return [c["name"] for c in comparisons if c["verdict"] == "inconclusive"]


def _measure_in_further_processes(config: pytest.Config, run: SuiteRun) -> None:
    began = min(run.began_s.values())
    first_took_s = time.monotonic() - began
    timeout_s = max(LEAST_TIMEOUT_S, 10 * first_took_s)
    invocation = config.invocation_params
    arguments = list(map(str, invocation.args))
    for number in range(1, run.settings.processes):
        _say(config, number, run)
        fault = measure_again(run, arguments, Path(invocation.dir), timeout_s)
        if fault:
            run.remarks.append(f"process {number + 1} {fault}; there are {number}")
            return


def _say(config: pytest.Config, number: int, run: SuiteRun) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or reporter.verbosity < 0:
        return
    if number == 1:
        reporter.ensure_newline()
    of = run.settings.processes
    reporter.write_line(f"d5: process {number + 1} of {of} measures the same")


def _unsaved(run: SuiteRun) -> Record:
    """The record of a run that is not written to disk."""
    kind = result_kind("suite")
    plan = kind.check_plan(encoded(run.plan))
    blocks = run.blocks
    surroundings = environment().to_json() if run.base else {}
    return Record(kind, plan, blocks, derived_numbers(kind, plan, blocks), surroundings)
