"""An instrumented run as rows: times, values and regions of every step, and every evaluation."""

from collections.abc import Iterator

from ...contracts.sample_row import SampleRow
from .blocks import Evaluation, Stretch
from .numbers import ScriptRecord


def script_rows(record: ScriptRecord) -> Iterator[SampleRow]:
    """Every number that is finite; the name is the script's."""
    name = record.plan.name
    for block in record.blocks:
        if block.steps:
            yield from _steps(name, block.steps)
        if block.evaluation:
            yield from _evaluation(name, block.evaluation)


def _steps(name: str, stretch: Stretch) -> Iterator[SampleRow]:
    times = {"time": stretch.seconds}
    times |= {f"time of {region}": own for region, own in stretch.regions.items()}
    for quantity, seconds in times.items():
        for index, value in enumerate(seconds):
            levels = {"step": stretch.first + index}
            yield SampleRow(name, quantity, "s", float(value), levels)
    for quantity, values in stretch.values.items():
        for index, recorded in enumerate(values):
            if isinstance(recorded, int | float):
                levels = {"step": stretch.first + index}
                yield SampleRow(name, quantity, "", float(recorded), levels)


def _evaluation(name: str, evaluation: Evaluation) -> Iterator[SampleRow]:
    levels = {"step": evaluation.step}
    for quality, value in evaluation.qualities.items():
        if isinstance(value, int | float):
            quantity = f"{evaluation.split} {quality}"
            yield SampleRow(name, quantity, "", float(value), levels)
