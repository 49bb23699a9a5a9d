"""What pytest prints below the tests: every time with its interval, and how it compares with the base."""

from collections.abc import Sequence

import pytest

from ..errors import visible
from ..reports.blocks import Block, Table
from ..reports.terminal import blocks_text
from ..results.suites.suite_page import times_table
from .finishing import undecided
from .suite_run import SuiteRun


def write_summary(reporter: pytest.TerminalReporter, run: SuiteRun) -> None:
    """The section of this plugin; nothing if nothing was measured."""
    lines = [*_times(run), *_comparison(run)]
    lines += [f"d5: {visible(remark)}" for remark in run.remarks]
    if lines:
        reporter.section("benchmarks (deep500)", sep="-")
        for line in lines:
            reporter.write_line(line)
    for error in run.errors:
        reporter.write_line(f"ERROR: d5: {visible(error)}", red=True)


def _times(run: SuiteRun) -> list[str]:
    if run.record is None or run.record.derived is None:
        return []
    lines = _lines([times_table(run.record.derived.measurements)])
    if run.record.bundle:
        lines.append(f"saved: {visible(run.record.bundle)}")
    return lines


def _comparison(run: SuiteRun) -> list[str]:
    """The answer, and the table of all that is compared."""
    if run.contrast is None or run.base is None:
        return []
    shown: list[Block] = []
    if run.contrast.answer:
        shown.append(run.contrast.answer)
    shown += [block for block in run.contrast.blocks if isinstance(block, Table)]
    lines = ["", f"against {visible(str(run.base.bundle))} (A; B is this session):"]
    lines += _lines(shown)
    lines += [f"SLOWER: {visible(name)}" for name in run.contrast.worse]
    lines += [f"not compared: {visible(sentence)}" for sentence in run.contrast.lost]
    if undecided(run) and run.settings.processes == 1:
        lines.append("no verdict from one process: give --d5-processes 6")
    return lines


def _lines(blocks: Sequence[Block]) -> list[str]:
    return blocks_text(blocks, drawn=False).splitlines()
