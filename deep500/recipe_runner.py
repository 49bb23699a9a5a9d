"""Run a recipe: every seed is trained from its own weights, every epoch is on disk before the next one starts."""

import hashlib
import importlib.util
import math
import os
import re
import runpy
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.numpy import save

from . import registry
from .contracts.executor import Executor
from .contracts.network import Network
from .contracts.recipe import Recipe
from .contracts.result import Record
from .contracts.sampler import Sampler
from .errors import Deep500Error
from .evidence.recording import Recording, recording
from .training.checkpoint import load_checkpoint, save_checkpoint
from .training.events import Event
from .training.outcome import check_plan
from .training.trainer import Trainer

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

    def __bool__(self) -> bool:
        return bool(self.derived["acceptable"])


def load_recipe(path: str | Path) -> Recipe:
    """Read FIXED, MUTABLE and METRICS from a Python file, which is run for that; its __main__ part is not."""
    path, known = Path(path), known_recipes()
    if not path.is_file() and str(path) in known:
        path = known[str(path)]
    if not path.is_file():
        raise Deep500Error(f"there is no recipe {path}: give a file, or one of {', '.join(known)}")
    try:
        found = runpy.run_path(str(path), run_name="d5_recipe")
    except Deep500Error:
        raise
    except BaseException as error:  # whatever a file from anyone does, including sys.exit
        if isinstance(error, KeyboardInterrupt):
            raise
        what = " ".join(str(error).split())[:200]
        raise Deep500Error(
            f"the recipe {path} cannot be read: {type(error).__name__}: {what}"
        ) from None
    for part in ("FIXED", "MUTABLE", "METRICS"):
        if part not in found:
            raise Deep500Error(
                f"the recipe {path} has no {part}: a recipe is FIXED + MUTABLE + METRICS"
            )
    source = hashlib.sha256(path.read_bytes()).hexdigest()
    return Recipe(path.stem, found["FIXED"], found["MUTABLE"], found["METRICS"], source)


def known_recipes() -> dict[str, Path]:
    """The recipes that come with Deep500, by name."""
    spec = importlib.util.find_spec("recipes")
    folders = spec.submodule_search_locations or [] if spec else []
    return {
        file.stem: file
        for folder in folders
        for file in sorted(Path(folder).glob("[!_]*.py"))
        if file.stem != "recipe"
    }


def run_recipe(
    fixed: Mapping[str, Any], mutable: Mapping[str, Any], metrics: Any, **how: Any
) -> Outcome:
    """Run a recipe given as the three parts; `how` is that of `cook` (folder, tier, seeds, resume, events)."""
    return cook(Recipe(how.pop("name", "recipe"), fixed, mutable, metrics), **how)


def cook(
    recipe: Recipe,
    folder: str | Path | None = None,
    tier: str = "small",
    seeds: int | None = None,
    resume: bool = False,
    events: Iterable[Event] = (),
) -> Outcome:
    """Train every seed, write the bundle and return what came out."""
    plan = make_plan(recipe, tier, seeds)
    cooking = _Cooking(recipe, plan, tuple(events))
    with recording(
        "recipe", plan, folder, name=recipe.name, prepare=cooking.prepare, resume=resume
    ) as record:
        finished = cooking.go(record)
    return Outcome(record.folder, finished.derived or {}, finished)


def make_plan(recipe: Recipe, tier: str, seeds: int | None) -> dict[str, Any]:
    """What will be run, written down before it is."""
    if tier not in TIERS:
        raise Deep500Error(f"no tier is named {tier!r}; there are: {', '.join(TIERS)}")
    count = TIERS[tier].seeds if seeds is None else seeds
    if not 1 <= count <= 10_000:
        raise Deep500Error(f"{count} seeds make no sense: give 1 to 10000")
    epochs = min(recipe.fixed["epochs"], max(2, round(recipe.fixed["epochs"] * TIERS[tier].epochs)))
    return {
        "recipe": recipe.to_json(),
        "hash": recipe.hash,
        "tier": tier,
        "seeds": list(range(count)),
        "epochs": epochs,
        "level": LEVEL,
        "threads": 1,
    }


class _Cooking:
    """One run of a recipe, from its first seed or from where it was interrupted."""

    def __init__(self, recipe: Recipe, plan: dict[str, Any], events: tuple[Event, ...]):
        self.recipe, self.plan, self.events = recipe, plan, events

    def prepare(self) -> dict[str, Any]:
        """Load the data and rehearse; returns what is to be added to the plan."""
        self.splits = _definition(
            "datasets", self.recipe.fixed["dataset"], self.recipe.fixed.get("dataset_kwargs", {})
        ).load()
        return self._rehearse()

    def go(self, record: Recording) -> Record:
        self.record = record
        self.kitchen = record.folder.with_name(
            record.folder.name + ".checkpoints"
        )  # beside the bundle, gone when it is finished
        try:
            self.kitchen.mkdir(exist_ok=True)
            for seed in self.plan["seeds"]:
                if not any("test" in b and b["seed"] == seed for b in self.blocks):
                    self._train(seed)
            finished = record.finish(files=self._files())
        except BaseException:
            if not self.blocks:
                shutil.rmtree(self.kitchen, ignore_errors=True)
            raise
        shutil.rmtree(self.kitchen, ignore_errors=True)
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
        executor, optimizer = self._executor(0), self._optimizer()
        try:
            executor.training_step(optimizer)(self.splits["train"].batch(slice(0, 2)))
        except (TypeError, ValueError, RuntimeError, AttributeError) as error:
            what = " ".join(str(error).split())[:200]
            raise Deep500Error(
                f"recipe {self.recipe.name} cannot be trained: {type(error).__name__}: {what}"
            ) from None
        return {
            "framework": executor.framework.name,
            "kernels": executor.kernels(),
            "update": "native" if optimizer.native(executor.framework.name) else "composed",
        }

    def _train(self, seed: int) -> None:
        executor = self._executor(seed)
        sampler: Sampler = self.recipe.fixed.get(
            "train_sampler", registry.find("samplers", "ShuffleSampler")
        )(self.recipe.mutable["batch_size"], seed)
        trainer = Trainer(
            executor,
            self._optimizer(),
            self.splits,
            sampler,
            self.plan["epochs"],
            [*self.events, _Record(self, seed)],
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
        self.record.append(
            {
                "seed": seed,
                "test": history.evaluations[-1]["test"],
                "build_seconds": trainer.build_seconds,
                "weights": hashlib.sha256(weights).hexdigest(),
            }
        )
        for old in self.kitchen.glob(f"{seed}-*.safetensors"):
            old.unlink()

    def keep(self, trainer: Trainer, seed: int, record: dict[str, Any]) -> None:
        """After an epoch: first the checkpoint, then the block that names it; then the one before may go."""
        history = trainer.history()
        first = history.evaluations[-2]["step"] if len(history.evaluations) > 1 else 0
        path = self._checkpoint(seed, len(history.evaluations))
        save_checkpoint(path, trainer.checkpoint())
        losses = [loss if math.isfinite(loss) else None for loss in history.losses[first:]]
        self.record.append(
            {
                "seed": seed,
                "losses": losses,
                "step_seconds": history.step_seconds[first:],
                "samples": history.samples,
                "evaluation": record,
                "checkpoint": self._digest(path),
            }
        )
        self._checkpoint(seed, len(history.evaluations) - 1).unlink(missing_ok=True)

    def _executor(self, seed: int) -> Executor:
        fixed, mutable = self.recipe.fixed, self.recipe.mutable
        data = self.splits["train"].arrays
        definition = _definition("networks", fixed["model"], fixed.get("model_kwargs", {}))
        try:
            network: Network = definition.build(
                data["x"].shape[1:], int(data["label"].max()) + 1, seed
            )
        except (TypeError, ValueError, ArithmeticError) as error:
            raise Deep500Error(
                f"the model of recipe {self.recipe.name} cannot be built: {error}"
            ) from None
        try:
            executor = mutable["executor"](network, **mutable.get("executor_kwargs", {}))
        except TypeError as error:
            raise Deep500Error(
                f"the executor of recipe {self.recipe.name} cannot be made: {error}"
            ) from None
        executor.framework.set_threads(self.plan["threads"])
        return executor

    def _optimizer(self) -> Any:
        mutable = self.recipe.mutable
        try:
            return mutable["optimizer"](
                *mutable.get("optimizer_args", ()), **mutable.get("optimizer_kwargs", {})
            )
        except TypeError as error:
            raise Deep500Error(
                f"the optimizer of recipe {self.recipe.name} cannot be made: {error}"
            ) from None

    def _checkpoint(self, seed: int, epochs: int) -> Path:
        return self.kitchen / f"{seed}-{epochs}.safetensors"

    def _weights(self, seed: int) -> Path:
        return self.kitchen / f"{seed}.weights"

    def _kept_weights(self, seed: int) -> bytes:
        try:
            weights = self._weights(seed).read_bytes()
        except OSError as error:
            raise Deep500Error(
                f"no weights of seed {seed} in {self.kitchen} ({error.strerror}): start anew"
            ) from None
        [wanted] = [b["weights"] for b in self.blocks if b["seed"] == seed and "test" in b]
        if hashlib.sha256(weights).hexdigest() != wanted:
            raise Deep500Error(
                f"the weights of seed {seed} in {self.kitchen} are not those of the bundle: start anew"
            )
        return weights

    @staticmethod
    def _digest(path: Path) -> str:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


class _Record(Event):
    """Writes every epoch into the bundle."""

    def __init__(self, cooking: _Cooking, seed: int):
        self.cooking, self.seed = cooking, seed

    def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> None:
        self.cooking.keep(trainer, self.seed, record)


def _definition(kind: str, name: str, settings: Mapping[str, Any]) -> Any:
    """A recipe names things in small letters ("digits_cnn"); the file of that name holds the class."""
    by_file = {registry.file_stem(n): n for n in registry.known(kind)}
    found = registry.find(kind, by_file.get(re.sub(r"\W", "_", name), name))
    try:
        return found(**settings)
    except TypeError as error:
        raise Deep500Error(f"{name!r} cannot be made with {dict(settings)}: {error}") from None
