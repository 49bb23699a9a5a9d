"""Replay a recipe's run: evaluate the weights of its bundle again, and compare every number that follows from them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..bundle import Bundle, read
from ..contracts.recipe import Recipe
from ..contracts.result import Record
from ..errors import Deep500Error, Wrong
from ..measure.machine import Environment, environment, environment_difference
from ..measure.machine.facts import Fact
from ..measure.machine.table import RESULTS
from ..reports.text import clean
from ..results.outcomes.rebuilding import changed_definitions, rebuilt_recipe
from ..results.outcomes.replaying import Comparison, own_metric_values, replayed_numbers
from .loading import HOSTILE, record_of
from .resumption import recorded_environment

# what bears on the bits of an evaluation, as far as it can change results at all
SETUP = ("hardware compute", "software runtime", "benchmark measurement setup")
FACTS_SHOWN = 6
NOT_REPLAYED = (
    "not replayed: times, losses of steps and evaluations of earlier epochs, "
    "which do not follow from the last weights"
)


@dataclass(frozen=True)
class Replay:
    """What the recorded weights say about the recorded numbers: "same", "different" or "not decided"."""

    verdict: str
    comparisons: tuple[Comparison, ...] = ()
    reason: str = ""  # why it is not decided
    setup: tuple[str, ...] = ()  # what differs here from where the run was made

    @property
    def exit_code(self) -> int:
        return {"same": 0, "different": 1, "not decided": 3}[self.verdict]

    @property
    def differences(self) -> list[str]:
        return [c.sentence for c in self.comparisons if not c.holds]

    @property
    def lines(self) -> list[str]:
        """For people: the verdict, then what it rests on."""
        return [
            self._sentence,
            *(f"  {line}" for line in [*self.differences, *self._notes]),
        ]

    @property
    def _sentence(self) -> str:
        if self.verdict == "not decided":
            return f"replay not decided: {self.reason}"
        count = len(self.comparisons)
        if self.verdict == "different":
            return f"NOT REPLAYED: the weights do not give {len(self.differences)} of {count} recorded numbers"
        seeds = len({c.seed for c in self.comparisons})
        what = f"replayed: the weights of {seeds} seed{'s' * (seeds > 1)} give all {count} recorded numbers"
        inexact = sum(not c.same_bits for c in self.comparisons)
        return (
            f"{what}, {inexact} of them up to rounding"
            if inexact
            else f"{what} to the last bit"
        )

    @property
    def _notes(self) -> list[str]:
        if not self.comparisons:
            return []
        if not self.setup:
            return [NOT_REPLAYED]
        shown = list(self.setup[:FACTS_SHOWN])
        if (others := len(self.setup) - FACTS_SHOWN) > 0:
            shown.append(f"and {others} more")
        return [f"here differs: {'; '.join(shown)}", NOT_REPLAYED]

    def to_json(self) -> dict[str, Any]:
        numbers = []
        for c in self.comparisons:
            numbers.append(
                {
                    "seed": c.seed,
                    "name": c.name,
                    "recorded": c.recorded,
                    "replayed": c.replayed,
                    "allowed": c.allowed,
                    "holds": c.holds,
                }
            )
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "setup": list(self.setup),
            "numbers": numbers,
        }


def replay(
    path: str | Path,
    recipe_file: Path | None = None,
    load_recipe: Callable[[Path], Recipe] | None = None,
) -> Replay:
    """Replay a bundle that verifies. `recipe_file` is run only if its hash is the one that the bundle records."""
    found = read(path)
    record = record_of(found)
    if record.kind.name != "recipe":
        raise Deep500Error(
            f"{path} is of kind {record.kind.name!r} and holds no weights to replay: `d5 verify` "
            "without --replay computes all its numbers again from its samples"
        )
    own = None
    if recipe_file is not None and load_recipe is not None:
        _check_recipe_file(record, recipe_file)
        own = load_recipe(recipe_file)
    if not record.finished:
        return Replay(
            "not decided",
            reason="the run is unfinished, its weights are not in the bundle",
        )
    try:
        return _replayed(found, record, own)
    except Wrong:
        raise
    except Deep500Error as error:
        return Replay("not decided", reason=clean(error))
    except (*HOSTILE, MemoryError) as error:
        reason = f"its recipe cannot be made again ({type(error).__name__}: {clean(error)[:100]})"
        return Replay("not decided", reason=reason)


def _replayed(found: Bundle, record: Record, own: Recipe | None) -> Replay:
    recipe = rebuilt_recipe(record.plan, own)
    setups = _Setups(record)
    comparisons = replayed_numbers(
        record,
        recipe,
        lambda seed: found.load(f"weights-{seed}.safetensors"),
        lambda seed: not setups.differences(seed),
    )
    if own is not None:
        comparisons += own_metric_values(record, own)
    if not comparisons:
        return Replay("not decided", reason="no seed was trained to its end")
    if all(c.holds for c in comparisons):
        return Replay("same", tuple(comparisons), setup=setups.all_differences)
    if doubt := _doubt(record):
        return Replay("not decided", tuple(comparisons), doubt, setups.all_differences)
    return Replay("different", tuple(comparisons), setup=setups.all_differences)


def _doubt(record: Record) -> str:
    """Why numbers that differ prove nothing; empty if they do."""
    if "data" not in record.plan:
        return "numbers differ, and the bundle has no checksum of its data: they may be others here"
    if changed := changed_definitions(record.plan):
        return f"numbers differ, and the source of {', '.join(changed)} is not the recorded one"
    return ""


class _Setups:
    """What differs here from the machine and the software on which each seed was evaluated."""

    def __init__(self, record: Record):
        self.record = record
        self.by_seed: dict[int, list[str]] = {}

    def differences(self, seed: int) -> list[str]:
        if seed not in self.by_seed:
            recorded = evaluated_in(self.record, seed)
            self.by_seed[seed] = [
                f"{clean(d.fact)} {clean(d.left)} → {clean(d.right)}"
                for d in environment_difference(recorded, self.here)
                if d.weight == RESULTS and d.class_name in SETUP
            ]
        return self.by_seed[seed]

    @cached_property
    def here(self) -> Environment:
        return environment()

    @property
    def all_differences(self) -> tuple[str, ...]:
        every = [line for lines in self.by_seed.values() for line in lines]
        return tuple(dict.fromkeys(every))


def evaluated_in(record: Record, seed: int) -> Environment:
    """The environment in which a seed was evaluated: environment.json, or where the run was resumed last before."""
    begun_in = recorded_environment(record.environment)
    latest: Mapping[str, Any] = {"changes": ()}
    for block in record.blocks:
        latest = block.get("resumed", latest)
        if block["seed"] == seed and "test" in block:
            break
    classes = {name: dict(facts) for name, facts in begun_in.classes.items()}
    for change in latest["changes"]:
        unknown = "unknown" if change["now"] is None else None
        fact = Fact(change["now"], "resumed", unknown)
        classes.setdefault(change["class"], {})[change["fact"]] = fact
    return Environment(classes)


def _check_recipe_file(record: Record, file: Path) -> None:
    """A Deep500Error unless the bundle was made with this very file; it is not run before."""
    recorded = record.plan["recipe"].get("file")
    if not isinstance(recorded, str):
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
