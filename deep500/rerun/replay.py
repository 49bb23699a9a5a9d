"""Replays a recipe's run: evaluates the weights in its bundle again, and compares the resulting numbers."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..bundle import Bundle, read
from ..bundle.records.loading import HOSTILE, record_of
from ..bundle.records.resumption_note import recorded_environment
from ..contracts.recipe import Recipe
from ..errors import Deep500Error, Wrong
from ..hashing.imported_files import file_hashes, import_closure
from ..measure.machine import Environment, environment, environment_difference
from ..measure.machine.facts import Fact
from ..measure.machine.table import RESULTS
from ..reports.text import clean
from ..results.outcomes.data import RecipeRecord
from ..training.recipe_blocks import Epoch
from ..training.resumption import FactChange
from .rebuilding import changed_definitions, rebuilt_recipe
from .replayed_numbers import (
    ReplayComparison,
    own_metric_values,
    replayed_numbers,
)

# the classes of facts on which the bits of an evaluation may depend
SETUP = ("hardware compute", "software runtime", "benchmark measurement setup")
FACTS_SHOWN = 6
NOT_REPLAYED = (
    "not replayed: times, losses of steps and evaluations of earlier epochs, "
    "which do not follow from the last weights"
)


@dataclass(frozen=True)
class Replay:
    """Whether the recorded weights reproduce the recorded numbers: "same", "different" or "not decided"."""

    verdict: str
    comparisons: tuple[ReplayComparison, ...] = ()
    reason: str = ""  # why it is not decided
    # the differences from the environment of the run
    setup: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return {"same": 0, "different": 1, "not decided": 3}[self.verdict]

    @property
    def differences(self) -> list[str]:
        return [number.sentence for number in self.comparisons if not number.holds]

    @property
    def lines(self) -> list[str]:
        """The text for people: the verdict, then the details."""
        details = [*self.differences, *self._notes]
        return [self._sentence, *(f"  {line}" for line in details)]

    @property
    def _sentence(self) -> str:
        if self.verdict == "not decided":
            return f"replay not decided: {self.reason}"
        count = len(self.comparisons)
        if self.verdict == "different":
            different = len(self.differences)
            return f"NOT REPLAYED: the weights do not give {different} of {count} recorded numbers"
        seeds = {number.seed for number in self.comparisons}
        whose = "1 seed" if len(seeds) == 1 else f"{len(seeds)} seeds"
        sentence = f"replayed: the weights of {whose} give all {count} recorded numbers"
        inexact = sum(not number.same_bits for number in self.comparisons)
        if inexact:
            return f"{sentence}, {inexact} of them up to rounding"
        return f"{sentence} to the last bit"

    @property
    def _notes(self) -> list[str]:
        if not self.comparisons:
            return []
        if not self.setup:
            return [NOT_REPLAYED]
        facts = list(self.setup[:FACTS_SHOWN])
        others = len(self.setup) - FACTS_SHOWN
        if others > 0:
            facts.append(f"and {others} more")
        return [f"here differs: {'; '.join(facts)}", NOT_REPLAYED]

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "setup": list(self.setup),
            "numbers": [_number_json(number) for number in self.comparisons],
        }


def _number_json(comparison: ReplayComparison) -> dict[str, Any]:
    return {
        "seed": comparison.seed,
        "name": comparison.name,
        "recorded": comparison.recorded,
        "replayed": comparison.replayed,
        "allowed": comparison.allowed,
        "holds": comparison.holds,
    }


def replay(
    path: str | Path,
    recipe_file: Path | None = None,
    load_recipe: Callable[[Path], Recipe] | None = None,
) -> Replay:
    """Replay a bundle that verifies. `recipe_file` is run only if its hash is the one that the bundle records."""
    bundle = read(path)
    record = record_of(bundle)
    if record.kind.name != "recipe":
        raise Deep500Error(
            f"{path} is of kind {record.kind.name!r} and holds no weights to replay: `d5 verify` "
            "without --replay computes all its numbers again from its samples"
        )
    loaded_recipe = None
    if recipe_file is not None and load_recipe is not None:
        _check_recipe_file(record, recipe_file)
        loaded_recipe = load_recipe(recipe_file)
    if not record.finished:
        reason = "the run is unfinished, its weights are not in the bundle"
        return Replay("not decided", reason=reason)
    try:
        return _replayed(bundle, record, loaded_recipe)
    except Wrong:
        raise
    except Deep500Error as error:
        return Replay("not decided", reason=clean(error))
    except (*HOSTILE, MemoryError) as error:
        kind, text = type(error).__name__, clean(error)[:100]
        reason = f"its recipe cannot be made again ({kind}: {text})"
        return Replay("not decided", reason=reason)


def _replayed(
    bundle: Bundle, record: RecipeRecord, loaded_recipe: Recipe | None
) -> Replay:
    recipe = rebuilt_recipe(record.plan, loaded_recipe)
    setups = _Setups(record)

    def load_weights(seed: int) -> bytes:
        return bundle.load(f"weights-{seed}.safetensors")

    def has_same_setup(seed: int) -> bool:
        return not setups.differences(seed)

    numbers = replayed_numbers(record, recipe, load_weights, has_same_setup)
    if loaded_recipe is not None:
        numbers += own_metric_values(record, loaded_recipe)
    if not numbers:
        return Replay("not decided", reason="no seed was trained to its end")
    comparisons, setup = tuple(numbers), setups.all_differences
    if all(number.holds for number in numbers):
        return Replay("same", comparisons, setup=setup)
    if doubt := _doubt(record):
        return Replay("not decided", comparisons, doubt, setup)
    return Replay("different", comparisons, setup=setup)


def _doubt(record: RecipeRecord) -> str:
    """Why a difference of numbers is not conclusive; empty if it is."""
    if not record.plan.data:
        return "numbers differ, and the bundle has no checksum of its data: they may be others here"
    if changed := changed_definitions(record.plan):
        definitions = ", ".join(changed)
        return (
            f"numbers differ, and the source of {definitions} is not the recorded one"
        )
    return ""


class _Setups:
    """The differences between this environment and the one in which each seed was evaluated."""

    def __init__(self, record: RecipeRecord):
        self.record = record
        self.by_seed: dict[int, list[str]] = {}

    def differences(self, seed: int) -> list[str]:
        if seed not in self.by_seed:
            self.by_seed[seed] = self._differences(evaluated_in(self.record, seed))
        return self.by_seed[seed]

    def _differences(self, recorded: Environment) -> list[str]:
        lines = []
        for difference in environment_difference(recorded, self.here):
            if difference.weight == RESULTS and difference.class_name in SETUP:
                fact = clean(difference.fact)
                before, here = clean(difference.left), clean(difference.right)
                lines.append(f"{fact} {before} → {here}")
        return lines

    @cached_property
    def here(self) -> Environment:
        return environment()

    @property
    def all_differences(self) -> tuple[str, ...]:
        all_lines: list[str] = []
        for lines in self.by_seed.values():
            all_lines += lines
        return tuple(dict.fromkeys(all_lines))


def evaluated_in(record: RecipeRecord, seed: int) -> Environment:
    """The environment in which a seed was evaluated: environment.json with the changes of the last resumption."""
    begun_in = recorded_environment(record.environment)
    changes: Sequence[FactChange] = ()
    for block in record.blocks:
        if block.resumed:
            changes = block.resumed.changes
        if block.seed == seed and not isinstance(block, Epoch):
            break
    classes = {name: dict(facts) for name, facts in begun_in.classes.items()}
    for change in changes:
        unknown = "unknown" if change.now is None else None
        facts = classes.setdefault(change.class_name, {})
        facts[change.fact] = Fact(change.now, "resumed", unknown)
    return Environment(classes)


def _check_recipe_file(record: RecipeRecord, file: Path) -> None:
    """Raise a Deep500Error, without running the file, unless the bundle was made with exactly this file."""
    recorded = record.plan.recipe.file
    if recorded is None:
        raise Deep500Error(
            f"{record.bundle} names no file of its recipe (a script ran it): leave --recipe out"
        )
    try:
        actual = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise Deep500Error(
            f"the recipe {file} cannot be read: {error.strerror}"
        ) from None
    if actual != recorded:
        raise Deep500Error(
            f"{file} is not the recipe of this bundle: its SHA-256 is {actual[:12]}…, "
            f"and the bundle was made with {clean(recorded)[:12]}…"
        )
    imported = record.plan.recipe.code.files
    files = import_closure([file], file.parent)
    for name, digest in file_hashes(files).items():
        if name in imported and imported[name] != digest:
            raise Deep500Error(
                f"{files[name]} is not the file that the recipe of this bundle imports: its SHA-256 is {digest[:12]}…, "
                f"and the bundle was made with {clean(imported[name])[:12]}…"
            )
