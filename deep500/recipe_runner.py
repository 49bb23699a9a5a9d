"""Run a recipe: every seed is trained from its own weights, every epoch is on disk before the next one starts."""

import copy
import hashlib
import math
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.numpy import save

from . import registry
from .contracts.executor import Executor
from .contracts.metric import History, Metric
from .contracts.procedure import Procedure
from .contracts.recipe import Recipe, own_definitions
from .contracts.result import Record
from .contracts.sampler import Sampler
from .contracts.transport import DEADLINE
from .distributed.crew import Crew
from .distributed.distribution import recipe_distribution
from .errors import Deep500Error, errors_of_user_code, one_line
from .evidence.recording import Recording, recording
from .evidence.resuming import finished_record
from .training.building import (
    in_float32,
    recipe_dataset,
    recipe_executor,
    recipe_procedure,
    recipe_task,
)
from .training.checkpoint import load_checkpoint, save_checkpoint
from .training.events import Event
from .training.gradient_noise import MeasureNoise
from .training.outcome import check_plan, qualities
from .training.planning import make_plan, tier_recipe
from .training.trainer import Trainer
from .validation.sources import Sources, sources_for


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
    """Run a recipe given as the three parts; `how` is that of `run` (folder, tier, seeds, resume, events …).

    It may also hold `name`, `claims` and `tiers`. Names of definitions are looked up in the script that is run, too.
    """
    parts = {key: how.pop(key) for key in ("claims", "tiers") if key in how}
    name = how.pop("name", "recipe")
    script = vars(sys.modules["__main__"])
    return run(
        Recipe(
            name, fixed, mutable, metrics, definitions=own_definitions(script), **parts
        ),
        **how,
    )


def run(
    recipe: Recipe,
    folder: str | Path | None = None,
    tier: str = "small",
    seeds: int | None = None,
    resume: bool = False,
    events: Iterable[Event] = (),
    threads: int | None = None,
    data: str | Path | None = None,
    expected_data: Mapping[str, str] | None = None,
    deadline: float = DEADLINE,
) -> Outcome:
    """Train every seed, write the bundle and return what came out.

    `threads` is the number for frameworks that can be told one, and `data` the folder with the data set's files.
    `expected_data` are the checksums that the splits must have. `deadline` is how long ranks wait for each other.
    `resume` goes on with the bundle in `folder`: from its last epoch, from the start if none was begun there, and
    without doing anything if it is finished.
    """
    recipe = tier_recipe(recipe, tier)
    plan = make_plan(recipe, tier, seeds, threads)
    distribution = recipe_distribution(recipe)
    if distribution is not None:
        plan["distribution"] = distribution.to_json(recipe.entry("batch_size"))
    crew = Crew(recipe, distribution, deadline) if distribution else None
    if resume and folder and (done := finished_record("recipe", plan, folder)):
        if crew:
            crew.order(None)
        return Outcome(Path(folder), done.derived or {}, done, trained=False)
    recipe_run = _RecipeRun(recipe, plan, (*recipe.entry("events", ()), *events), data)
    recipe_run.expected_data = expected_data or {}
    recipe_run.crew = crew
    with (
        recording(
            "recipe",
            plan,
            folder,
            name=recipe.name,
            prepare=recipe_run.prepare,
            resume=resume,
        ) as record,
        errors_of_user_code(f"recipe {recipe.name}"),
    ):
        finished = recipe_run.go(record)
    return Outcome(record.folder, finished.derived or {}, finished)


class _RecipeRun:
    """One run of a recipe, from its first seed or from where it was interrupted."""

    def __init__(
        self,
        recipe: Recipe,
        plan: dict[str, Any],
        events: tuple[Event, ...],
        data: str | Path | None,
    ):
        self.recipe, self.plan, self.events = recipe, plan, events
        self.data = data
        self.expected_data: Mapping[str, str] = {}
        self.crew: Crew | None = None  # the ranks, if there are several
        self.first_states = [copy.deepcopy(event.state()) for event in events]
        self.task = recipe_task(recipe)

    def prepare(self) -> dict[str, Any]:
        """Load the data and rehearse; returns what is to be added to the plan."""
        with errors_of_user_code(f"recipe {self.recipe.name}"):
            self.splits = recipe_dataset(self.recipe, self.data).load()
            self._check_digests()
            return self._rehearse()

    def _check_digests(self) -> None:
        """Raise a Deep500Error if the data are not the expected ones."""
        for name, digest in self.expected_data.items():
            actual = self.splits[name].digest() if name in self.splits else "none"
            if actual != digest:
                raise Deep500Error(
                    f"the data of recipe {self.recipe.name} are not those of the original: the split "
                    f"{name[:40]!r} has the SHA-256 {actual[:12]}…, recorded is {digest[:12]}…"
                )

    def go(self, record: Recording) -> Record:
        self.record = record
        # beside the bundle, gone when it is finished
        self.checkpoints = record.folder.with_name(record.folder.name + ".checkpoints")
        try:
            self.checkpoints.mkdir(exist_ok=True)
            for seed in self.plan["seeds"]:
                if not any("test" in b and b["seed"] == seed for b in self.blocks):
                    self._train(seed)
            if self.crew:
                self.crew.order(None)
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
        return {
            f"weights-{seed}.safetensors": self._kept_weights(seed) for seed in seeds
        }

    def _rehearse(self) -> dict[str, Any]:
        """One step of two examples: whatever is wrong with the recipe shows before anything is written."""
        check_plan(self.plan)
        self.task.check_arrays(self.splits)
        for metric in self.recipe.own_metrics.values():
            metric.for_qualities(qualities(self.plan))
        procedure = self._procedure(0)
        try:
            procedure.step(self.splits["train"].batch(slice(0, 2)))
        except (TypeError, ValueError, RuntimeError, AttributeError) as error:
            raise Deep500Error(
                f"recipe {self.recipe.name} cannot be trained: {one_line(error, kind=True)}"
            ) from None
        self.sources = self._metric_sources(procedure)
        kernels: dict[str, str] = {}
        for executor in procedure.executors.values():
            kernels |= executor.kernels()
        return {
            "unavailable": self.sources.unavailable,
            "framework": procedure.framework.name,
            "kernels": kernels,
            "update": self._update_kernel(procedure.framework.name),
            "data": {name: split.digest() for name, split in self.splits.items()},
        }

    def _metric_sources(self, procedure: Procedure) -> Sources:
        """What measures for the metrics that need more than the history."""
        executor = next(iter(procedure.executors.values()))
        return sources_for(
            self.recipe.all_metrics(), executor, self.recipe.entry("batch_size")
        )

    def _update_kernel(self, framework: str) -> str:
        """Whether the optimizers run as the framework's own, or as our formula."""
        names = [*self.recipe.entry("optimizers", {})] or [""]
        optimizers = [self.recipe.make_optimizer(name) for name in names]
        native = all(optimizer.native(framework) for optimizer in optimizers)
        return "native" if native else "composed"

    def _train(self, seed: int) -> None:
        for event, state in zip(self.events, self.first_states, strict=True):
            event.load_state(
                state
            )  # no seed starts from what another one has left behind
        trainer = self._trainer(seed)
        done = [b for b in self.blocks if b["seed"] == seed]
        if self.crew:
            self._order(seed, len(done))
        start = load_checkpoint(self._checkpoint(seed, len(done))) if done else None
        if (
            start
            and self._digest(self._checkpoint(seed, len(done)))
            != done[-1]["checkpoint"]
        ):
            raise Deep500Error(
                f"the checkpoint of seed {seed} is not the one that the bundle names: start anew"
            )
        history = trainer.run(start)
        weights = save(trainer.trained_arrays())
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

    def _trainer(self, seed: int) -> Trainer:
        events = [*self.events, *self._measuring_events(seed), _Record(self, seed)]
        if self.crew:
            threads = self.plan["threads"]
            return self.crew.trainer(
                self.task, self.splits, seed, self.plan["epochs"], threads, events
            )
        subject, optimizer = self._subject(seed)
        return Trainer(
            subject,
            optimizer,
            self.splits,
            self._sampler(seed),
            self.plan["epochs"],
            events,
            task=self.task,
            workers=self.recipe.entry("workers", 0),
        )

    def _order(self, seed: int, epochs_done: int) -> None:
        """Tell the other ranks to train a seed."""
        assert self.crew is not None
        order = {key: self.plan[key] for key in ("epochs", "threads")}
        checkpoints = str(self.checkpoints.absolute())
        self.crew.order(
            order | {"seed": seed, "done": epochs_done, "checkpoints": checkpoints}
        )

    def _measuring_events(self, seed: int) -> list[Event]:
        """What measures beside the steps: sources of metrics, and the noise of low precision."""
        events = list(self.sources.events)
        if self.recipe.has("precision"):
            exact, train = in_float32(self.recipe), self.splits["train"]
            threads = self.plan["threads"]
            events.append(
                MeasureNoise(
                    lambda: recipe_executor(exact, self.task, train, seed, threads)
                )
            )
        return events

    def keep(self, trainer: Trainer, seed: int, record: dict[str, Any]) -> None:
        """After an epoch: first the checkpoint, then the block that names it; then the one before may go."""
        history = trainer.history()
        path = self._checkpoint(seed, len(history.evaluations))
        save_checkpoint(path, trainer.checkpoint())
        if self.crew:
            self.crew.barrier()  # until every rank has kept its own state of this epoch
        evaluation = {key: record[key] for key in ("epoch", "step", "seconds")}
        self._append(
            {
                "seed": seed,
                "series": self._new_numbers(seed, history),
                "counters": history.counters,
                "evaluation": evaluation
                | {"validation": _finite_qualities(record["validation"])},
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

    def _new_numbers(
        self, seed: int, history: History
    ) -> dict[str, list[float | None]]:
        """What every series has got since the last block of this seed."""
        written: Counter[str] = Counter()
        for block in self.blocks:
            if block["seed"] == seed:
                written.update(
                    {name: len(part) for name, part in block["series"].items()}
                )
        return {
            name: [_finite(number) for number in numbers[written[name] :]]
            for name, numbers in history.series.items()
        }

    def _procedure(self, seed: int) -> Procedure:
        threads = self.plan["threads"]
        return recipe_procedure(
            self.recipe, self.task, self.splits["train"], seed, threads
        )

    def _subject(self, seed: int) -> tuple[Executor | Procedure, Any]:
        """What a trainer takes: an executor with its optimizer, or a procedure."""
        if self.recipe.has("procedure") or self.recipe.has("precision"):
            return self._procedure(seed), None
        train, threads = self.splits["train"], self.plan["threads"]
        executor = recipe_executor(self.recipe, self.task, train, seed, threads)
        return executor, self.recipe.make_optimizer()

    def _sampler(self, seed: int) -> Sampler:
        settings = {"batch_size": self.recipe.entry("batch_size"), "seed": seed}
        if self.recipe.has("train_sampler"):
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
        [wanted] = [
            b["weights"] for b in self.blocks if b["seed"] == seed and "test" in b
        ]
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
