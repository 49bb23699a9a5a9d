"""Run a recipe: every seed is trained from its own weights, every epoch is on disk before the next one starts."""

import copy
import hashlib
import math
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors.numpy import save

from . import registry
from .contracts.executor import Executor
from .contracts.framework import ITS_OWN, Framework
from .contracts.metric import History, Metric
from .contracts.recipe import Recipe
from .contracts.result import Record
from .contracts.sampler import Sampler
from .errors import Deep500Error, errors_of_user_code, one_line
from .evidence.recording import Recording, recording
from .evidence.resuming import finished_record
from .frameworks import framework
from .training.building import in_float32, recipe_executor, recipe_procedure, recipe_task
from .training.checkpoint import load_checkpoint, save_checkpoint
from .training.events import Event
from .training.gradient_noise import MeasureNoise
from .training.outcome import CENSORING, check_plan, qualities
from .training.trainer import Trainer
from .validation.sources import sources_for

LEVEL = 0.95


@dataclass(frozen=True)
class Tier:
    """How much of a recipe is run: fewer seeds and epochs, never another logic."""

    seeds: int
    epochs: float  # share of the recipe's


TIERS = {"tiny": Tier(2, 0.1), "small": Tier(6, 1.0), "full": Tier(20, 1.0)}


@dataclass(frozen=True)
class Outcome:
    """What a recipe's run came to; true if it is acceptable."""

    bundle: Path
    derived: Mapping[str, Any]
    record: Record
    trained: bool = True  # False: it was finished before, and nothing was left to do

    def __bool__(self) -> bool:
        return bool(self.derived["acceptable"])


def run_recipe(
    fixed: Mapping[str, Any], mutable: Mapping[str, Any], metrics: Any, **how: Any
) -> Outcome:
    """Run a recipe given as the three parts; `how` is that of `run` (folder, tier, seeds, resume, events)."""
    return run(Recipe(how.pop("name", "recipe"), fixed, mutable, metrics), **how)


def run(
    recipe: Recipe,
    folder: str | Path | None = None,
    tier: str = "small",
    seeds: int | None = None,
    resume: bool = False,
    events: Iterable[Event] = (),
) -> Outcome:
    """Train every seed, write the bundle and return what came out.

    `resume` goes on with the bundle in `folder`: from its last epoch, from the start if none was begun there, and
    without doing anything if it is finished.
    """
    plan = make_plan(recipe, tier, seeds)
    if resume and folder and (done := finished_record("recipe", plan, folder)):
        return Outcome(Path(folder), done.derived or {}, done, trained=False)
    recipe_run = _RecipeRun(recipe, plan, tuple(events))
    with (
        recording(
            "recipe", plan, folder, name=recipe.name, prepare=recipe_run.prepare, resume=resume
        ) as record,
        errors_of_user_code(f"recipe {recipe.name}"),
    ):
        finished = recipe_run.go(record)
    return Outcome(record.folder, finished.derived or {}, finished)


def make_plan(recipe: Recipe, tier: str, seeds: int | None) -> dict[str, Any]:
    """What will be run, written down before it is."""
    if tier not in TIERS:
        raise Deep500Error(f"no tier is named {tier!r}; there are: {', '.join(TIERS)}")
    count = TIERS[tier].seeds if seeds is None else seeds
    if not 1 <= count <= 10_000:
        raise Deep500Error(f"{count} seeds make no sense: give 1 to 10000")
    task = recipe_task(recipe)
    if not task.qualities:
        raise Deep500Error(
            f"the task {type(task).__name__} has no `qualities`: say what an evaluation reports"
        )
    epochs = min(recipe.fixed["epochs"], max(2, round(recipe.fixed["epochs"] * TIERS[tier].epochs)))
    return {
        "recipe": recipe.to_json(),
        "hash": recipe.hash,
        "tier": tier,
        "seeds": list(range(count)),
        "epochs": epochs,
        "task": {
            "name": type(task).__name__,
            "qualities": [asdict(quality) for quality in task.qualities],
        },
        "level": LEVEL,
        "censoring": CENSORING,
        "threads": recipe_threads(recipe),
    }


def recipe_threads(recipe: Recipe) -> int | str:
    """One, so that a seed gives the same bits again; a framework that cannot be told has its own number."""
    executor = recipe.mutable["executor"]
    if isinstance(executor, str):
        owner: object = framework(executor)
    else:
        owner = getattr(executor, "__self__", None)
    if isinstance(owner, Framework) and not owner.sets_threads:
        return ITS_OWN
    return 1


class _RecipeRun:
    """One run of a recipe, from its first seed or from where it was interrupted."""

    def __init__(self, recipe: Recipe, plan: dict[str, Any], events: tuple[Event, ...]):
        self.recipe, self.plan, self.events = recipe, plan, events
        self.first_states = [copy.deepcopy(event.state()) for event in events]
        self.task = recipe_task(recipe)

    def prepare(self) -> dict[str, Any]:
        """Load the data and rehearse; returns what is to be added to the plan."""
        with errors_of_user_code(f"recipe {self.recipe.name}"):
            self.splits = self.recipe.make("dataset").load()
            return self._rehearse()

    def go(self, record: Recording) -> Record:
        self.record = record
        # beside the bundle, gone when it is finished
        self.checkpoints = record.folder.with_name(record.folder.name + ".checkpoints")
        try:
            self.checkpoints.mkdir(exist_ok=True)
            for seed in self.plan["seeds"]:
                if not any("test" in b and b["seed"] == seed for b in self.blocks):
                    self._train(seed)
            finished = record.finish(files=self._files())
        except BaseException:
            if not self.blocks:
                shutil.rmtree(self.checkpoints, ignore_errors=True)
            raise
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        return finished

    @property
    def blocks(self) -> list[dict[str, Any]]:
        return self.record.blocks

    def _files(self) -> dict[str, bytes]:
        seeds = self.plan["seeds"]
        return {f"weights-{seed}.safetensors": self._kept_weights(seed) for seed in seeds}

    def _rehearse(self) -> dict[str, Any]:
        """One step of two examples: whatever is wrong with the recipe shows before anything is written."""
        check_plan(self.plan)
        self.task.check_arrays(self.splits)
        for metric in self.recipe.own_metrics.values():
            metric.for_qualities(qualities(self.plan))
        executor, optimizer = self._executor(0), self.recipe.make("optimizer")
        try:
            executor.training_step(optimizer)(self.splits["train"].batch(slice(0, 2)))
        except (TypeError, ValueError, RuntimeError, AttributeError) as error:
            raise Deep500Error(
                f"recipe {self.recipe.name} cannot be trained: {one_line(error, kind=True)}"
            ) from None
        self.sources = sources_for(
            [metric for metric, _ in self.recipe.metrics],
            executor,
            self.recipe.mutable["batch_size"],
        )
        return {
            "unavailable": self.sources.unavailable,
            "framework": executor.framework.name,
            "kernels": executor.kernels(),
            "update": "native" if optimizer.native(executor.framework.name) else "composed",
            "data": {name: split.digest() for name, split in self.splits.items()},
        }

    def _train(self, seed: int) -> None:
        for event, state in zip(self.events, self.first_states, strict=True):
            event.load_state(state)  # no seed starts from what another one has left behind
        executor = self._executor(seed)
        procedure = recipe_procedure(self.recipe, executor)
        trainer = Trainer(
            procedure or executor,
            None if procedure else self.recipe.make("optimizer"),
            self.splits,
            self._sampler(seed),
            self.plan["epochs"],
            [*self.events, *self._measuring_events(seed), _Record(self, seed)],
            task=self.task,
        )
        done = [b for b in self.blocks if b["seed"] == seed]
        start = load_checkpoint(self._checkpoint(seed, len(done))) if done else None
        if start and self._digest(self._checkpoint(seed, len(done))) != done[-1]["checkpoint"]:
            raise Deep500Error(
                f"the checkpoint of seed {seed} is not the one that the bundle names: start anew"
            )
        history = trainer.run(start)
        weights = save(executor.arrays())
        partial = self._weights(seed).with_suffix(".partial")
        with open(partial, "wb") as file:
            file.write(weights)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self._weights(seed))
        block = {
            "seed": seed,
            "test": _finite_qualities(history.evaluations[-1]["test"]),
            "build_seconds": trainer.build_seconds,
            "weights": hashlib.sha256(weights).hexdigest(),
        }
        if own := self.recipe.own_metrics:
            block["recorded"] = {key: _own_value(m, history) for key, m in own.items()}
        self._append(block)
        for old in self.checkpoints.glob(f"{seed}-*.safetensors"):
            old.unlink()

    def _measuring_events(self, seed: int) -> list[Event]:
        """What measures beside the steps: sources of metrics, and the noise of low precision."""
        events = list(self.sources.events)
        if "precision" in self.recipe.mutable:
            exact, train = in_float32(self.recipe), self.splits["train"]
            threads = self.plan["threads"]
            events.append(
                MeasureNoise(lambda: recipe_executor(exact, self.task, train, seed, threads))
            )
        return events

    def keep(self, trainer: Trainer, seed: int, record: dict[str, Any]) -> None:
        """After an epoch: first the checkpoint, then the block that names it; then the one before may go."""
        history = trainer.history()
        path = self._checkpoint(seed, len(history.evaluations))
        save_checkpoint(path, trainer.checkpoint())
        evaluation = {key: record[key] for key in ("epoch", "step", "seconds")}
        self._append(
            {
                "seed": seed,
                "series": self._new_numbers(seed, history),
                "counters": history.counters,
                "evaluation": evaluation | {"validation": _finite_qualities(record["validation"])},
                "checkpoint": self._digest(path),
            }
        )
        self._checkpoint(seed, len(history.evaluations) - 1).unlink(missing_ok=True)

    def _append(self, block: dict[str, Any]) -> None:
        """Add a block; the first one after a resumption says so."""
        if self.record.resumption is not None:
            block["resumed"] = self.record.resumption
            self.record.resumption = None
        self.record.append(block)

    def _new_numbers(self, seed: int, history: History) -> dict[str, list[float | None]]:
        """What every series has got since the last block of this seed."""
        written: Counter[str] = Counter()
        for block in self.blocks:
            if block["seed"] == seed:
                written.update({name: len(part) for name, part in block["series"].items()})
        return {
            name: [_finite(number) for number in numbers[written[name] :]]
            for name, numbers in history.series.items()
        }

    def _executor(self, seed: int) -> Executor:
        return recipe_executor(
            self.recipe, self.task, self.splits["train"], seed, self.plan["threads"]
        )

    def _sampler(self, seed: int) -> Sampler:
        settings = {"batch_size": self.recipe.mutable["batch_size"], "seed": seed}
        if "train_sampler" in self.recipe.fixed:
            return self.recipe.make("train_sampler", **settings)
        return registry.find("samplers", "ShuffleSampler")(**settings)

    def _checkpoint(self, seed: int, epochs: int) -> Path:
        return self.checkpoints / f"{seed}-{epochs}.safetensors"

    def _weights(self, seed: int) -> Path:
        return self.checkpoints / f"{seed}.weights"

    def _kept_weights(self, seed: int) -> bytes:
        try:
            weights = self._weights(seed).read_bytes()
        except OSError as error:
            raise Deep500Error(
                f"no weights of seed {seed} in {self.checkpoints} ({error.strerror}): start anew"
            ) from None
        [wanted] = [b["weights"] for b in self.blocks if b["seed"] == seed and "test" in b]
        if hashlib.sha256(weights).hexdigest() != wanted:
            raise Deep500Error(
                f"the weights of seed {seed} in {self.checkpoints} are not those of the bundle: start anew"
            )
        return weights

    @staticmethod
    def _digest(path: Path) -> str:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


class _Record(Event):
    """Writes every epoch into the bundle."""

    def __init__(self, recipe_run: _RecipeRun, seed: int):
        self.recipe_run, self.seed = recipe_run, seed

    def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> None:
        self.recipe_run.keep(trainer, self.seed, record)


def _own_value(metric: Metric, history: History) -> float | None:
    """What a metric of the recipe's own says; a bundle cannot hold a number that is not finite."""
    try:
        value = metric.value(history)
        return None if value is None else _finite(float(value))
    except Exception as error:  # whatever code from anyone does
        raise Deep500Error(
            f"the metric {type(metric).__name__} cannot be computed: {one_line(error, kind=True)}"
        ) from None


def _finite_qualities(qualities: Mapping[str, float]) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in qualities.items()}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
