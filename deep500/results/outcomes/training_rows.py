"""The run of a recipe as rows: every series by step, every evaluation, and what each seed reached at its end."""

from collections.abc import Iterator, Mapping
from itertools import chain

from ...contracts.sample_row import LevelId, SampleRow
from ...training.recipe_blocks import Epoch, Look, SeedEnd
from .data import RecipeRecord

UNITS = {"seconds": "s", "data": "s", "batch": "examples"}


def training_rows(record: RecipeRecord) -> Iterator[SampleRow]:
    """Every number that is finite; the name is the recipe's."""
    name = record.plan.recipe.name
    units = dict(UNITS)
    if record.plan.task:
        units |= {each.name: each.unit for each in record.plan.task.qualities}
    steps: dict[int, int] = {}
    for block in record.blocks:
        if isinstance(block, Epoch):
            yield from _epoch(name, block, steps.get(block.seed, 0), units)
            steps[block.seed] = block.evaluation.step
        elif isinstance(block, SeedEnd):
            levels: dict[str, LevelId] = {"seed": block.seed}
            for quality, value in block.test.items():
                unit = units.get(quality, "")
                yield from _row(name, f"test {quality}", unit, value, levels)
            build = block.build_seconds
            yield from _row(name, "building time", "s", build, levels)


def _epoch(
    name: str, epoch: Epoch, done: int, units: Mapping[str, str]
) -> Iterator[SampleRow]:
    number = epoch.evaluation.epoch
    for series, values in epoch.series.items():
        for index, value in enumerate(values):
            levels: dict[str, LevelId] = {
                "seed": epoch.seed,
                "epoch": number,
                "step": done + index + 1,
            }
            yield from _row(name, series, units.get(series, ""), value, levels)
    for look in chain(epoch.within, [epoch.evaluation]):
        yield from _look(name, epoch.seed, look, units)


def _look(
    name: str, seed: int, look: Look, units: Mapping[str, str]
) -> Iterator[SampleRow]:
    levels: dict[str, LevelId] = {
        "seed": seed,
        "epoch": look.epoch,
        "step": look.step,
    }
    for quality, value in look.validation.items():
        unit = units.get(quality, "")
        yield from _row(name, f"validation {quality}", unit, value, levels)
    yield from _row(name, "training time", "s", look.seconds, levels)


def _row(
    name: str,
    quantity: str,
    unit: str,
    value: float | None,
    levels: Mapping[str, LevelId],
) -> Iterator[SampleRow]:
    if value is not None:
        yield SampleRow(name, quantity, unit, float(value), levels)
