"""Run a recipe: train every seed from its own initial weights; write every epoch to disk before the next one starts."""

import copy
import hashlib
import math
import os
import shutil
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from safetensors.numpy import save

from .. import registry
from ..bundle.records.recording import recording
from ..bundle.records.resuming import finished_record
from ..canonical import shown
from ..contracts.claim import Claim
from ..contracts.dataset_splits import loaded_splits
from ..contracts.executor import Executor
from ..contracts.metric import History, Metric
from ..contracts.procedure import Procedure
from ..contracts.recipe import Recipe, construct, own_definitions
from ..contracts.result import Record
from ..contracts.sampler import Sampler
from ..contracts.transport import DEADLINE
from ..distributed.consensus import warn_of_apart_replicas
from ..distributed.crew import Crew, raise_for_all_ranks
from ..distributed.distribution import recipe_distribution
from ..errors import (
    Deep500Error,
    Deep500Warning,
    Unsupported,
    errors_of_user_code,
    one_line,
    place_of,
    raise_if_internal,
    with_place,
)
from ..measure.sensing.others import Others
from ..training.attempts import Attempts, crash_reason
from ..training.building import (
    in_float32,
    recipe_dataset,
    recipe_executor,
    recipe_procedure,
    recipe_task,
)
from ..training.checkpoint import load_checkpoint, save_checkpoint
from ..training.checks import check_data
from ..training.events import Event
from ..training.example_sizes import example_values
from ..training.gradient_noise import MeasureNoise
from ..training.outcome import check_plan, is_end, qualities
from ..training.planning import make_plan, tier_recipe
from ..training.sources import Sources, sources_for
from ..training.trainer import Trainer


@dataclass(frozen=True)
class Outcome:
    """The result of a recipe's run; true if it is acceptable."""

    bundle: Path
    derived: Mapping[str, Any]
    record: Record
    trained: bool = True  # False: the bundle was finished already

    def __bool__(self) -> bool:
        return bool(self.derived["acceptable"])


class RunOptions(TypedDict, total=False):
    """The options of `run`."""

    folder: str | Path | None
    tier: str
    seeds: int | Sequence[int] | None
    resume: bool
    events: Iterable[Event]
    threads: int | None
    data: str | Path | None
    expected_data: Mapping[str, str] | None
    deadline: float


def run_recipe(
    fixed: Mapping[str, Any],
    mutable: Mapping[str, Any],
    metrics: Any,
    *,
    name: str = "recipe",
    claims: Sequence[Claim] = (),
    tiers: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Unpack[RunOptions],
) -> Outcome:
    """Run a recipe given as its parts; the options are those of `run`.

    Names of definitions are looked up in the running script, too.
    """
    recipe = Recipe(
        name,
        fixed,
        mutable,
        metrics,
        claims=claims,
        tiers=tiers or {},
        definitions=own_definitions(vars(sys.modules["__main__"])),
    )
    return run(recipe, **options)


def run(
    recipe: Recipe,
    folder: str | Path | None = None,
    tier: str = "small",
    seeds: int | Sequence[int] | None = None,
    resume: bool = False,
    events: Iterable[Event] = (),
    threads: int | None = None,
    data: str | Path | None = None,
    expected_data: Mapping[str, str] | None = None,
    deadline: float = DEADLINE,
) -> Outcome:
    """Train every seed, write the bundle and return the outcome.

    `seeds` is how many seeds there are, or which ones. `threads` is the thread count of frameworks that have such a
    setting, `data` the folder with the data set's files. `expected_data` are the checksums that the splits must have.
    `deadline` is how long ranks wait for each other. `resume` continues the bundle in `folder` after its last epoch,
    starts it if it does not exist, and does nothing if it is finished.
    """
    recipe = tier_recipe(recipe, tier)
    plan = make_plan(recipe, tier, seeds, threads)
    distribution = recipe_distribution(recipe)
    if distribution is not None:
        plan["distribution"] = distribution.to_json(recipe.entry("batch_size"))
    crew = Crew(recipe, distribution, deadline) if distribution else None
    if resume and folder:
        earlier = finished_outcome(plan, folder)
        if earlier:
            if crew:
                crew.order(None)
            return earlier
    recipe_run = RecipeRun(recipe, plan, events, data)
    recipe_run.expected_data = expected_data or {}
    recipe_run.crew = crew
    with recipe_run.recording(folder, resume):
        while recipe_run.train_next():
            pass
        return recipe_run.finish()


def finished_outcome(plan: Mapping[str, Any], folder: str | Path) -> Outcome | None:
    """The outcome of a run of this plan that is finished already; None if there is none."""
    record = finished_record("recipe", plan, folder)
    if record is None:
        return None
    return Outcome(Path(folder), record.derived or {}, record, trained=False)


class RecipeRun:
    """One run of a recipe, from its first seed or from where it was interrupted."""

    def __init__(
        self,
        recipe: Recipe,
        plan: dict[str, Any],
        events: Iterable[Event] = (),
        data: str | Path | None = None,
    ):
        self.recipe = recipe
        self.plan = plan
        given = (*recipe.entry("events", ()), *events)
        self.events = _checked_events(recipe.name, given)
        self.data = data
        self.expected_data: Mapping[str, str] = {}
        self.crew: Crew | None = None  # the ranks, if there are several
        self.first_states = [copy.deepcopy(event.state()) for event in self.events]
        self.task = recipe_task(recipe)
        # by seed: how many numbers of every series are in the blocks
        self._written: dict[int, Counter[str]] = {}

    @contextmanager
    def recording(self, folder: str | Path | None, resume: bool) -> Iterator[None]:
        """Keep the run in a bundle: what is trained inside is on disk, whatever ends it."""
        recorder = recording(
            "recipe",
            self.plan,
            folder,
            name=self.recipe.name,
            prepare=self.prepare,
            resume=resume,
            subject=self.plan["fixed_hash"],
        )
        with recorder as record:
            self.record = record
            # beside the bundle, gone when it is finished
            self.checkpoints = record.folder.with_name(
                record.folder.name + ".checkpoints"
            )
            try:
                self.checkpoints.mkdir(exist_ok=True)
                yield
            except BaseException:
                if not self.blocks:
                    shutil.rmtree(self.checkpoints, ignore_errors=True)
                raise
            shutil.rmtree(self.checkpoints, ignore_errors=True)

    def train_next(self) -> bool:
        """Train the next seed that is not trained yet; False if there is none."""
        for seed in self.plan["seeds"]:
            if self._last_block(seed) is None:
                with self._user_errors():
                    self._train(seed)
                return True
        return False

    def finish(self) -> Outcome:
        """Write the manifest and all numbers, once every seed is trained."""
        if self.crew:
            self.crew.order(None)
        with self._user_errors():
            finished = self.record.finish(files=self._files())
        return Outcome(self.record.folder, finished.derived or {}, finished)

    def _user_errors(self) -> AbstractContextManager[None]:
        return errors_of_user_code(f"recipe {self.recipe.name}")

    def prepare(self) -> dict[str, Any]:
        """Load the data and try one step; returns the entries to add to the plan."""
        with self._user_errors():
            dataset = recipe_dataset(self.recipe, self.data)
            self.splits = loaded_splits(dataset)
            check_data(
                self.splits,
                self.task,
                self.plan["epochs"],
                self.recipe.entry("batch_size"),
            )
            self._check_digests()
            return self._rehearse()

    def _check_digests(self) -> None:
        """Raise a Deep500Error if the data are not the expected ones."""
        for name, digest in self.expected_data.items():
            actual = self.splits[name].digest() if name in self.splits else "none"
            if actual != digest:
                split = name[:40]
                start, recorded = actual[:12], digest[:12]
                raise Deep500Error(
                    f"the data of recipe {self.recipe.name} are not those of the original: the split "
                    f"{split!r} has the SHA-256 {start}…, recorded is {recorded}…"
                )

    @property
    def blocks(self) -> list[dict[str, Any]]:
        return self.record.blocks

    def _last_block(self, seed: int) -> dict[str, Any] | None:
        """The block that ends the training of a seed, or None if it has not ended."""
        for block in self.blocks:
            if block["seed"] == seed and is_end(block):
                return block
        return None

    def _files(self) -> dict[str, bytes]:
        files = {}
        for block in self.blocks:
            if "test" in block:
                name = f"weights-{block['seed']}.safetensors"
                files[name] = self._saved_weights(block)
        return files

    def _rehearse(self) -> dict[str, Any]:
        """Train one step on two examples, so that errors in the recipe show up before anything is written."""
        check_plan(self.plan)
        for metric in self.recipe.own_metrics.values():
            metric.for_qualities(qualities(self.plan))
        try:
            procedure = self._procedure(0)
            procedure.step(self.splits["train"].batch(slice(0, 2)))
        except Unsupported as error:
            raise self._unsupported(error) from None
        except (TypeError, ValueError, RuntimeError, AttributeError) as error:
            reason = with_place(error)
            raise Deep500Error(
                f"recipe {self.recipe.name} cannot be trained: {reason}"
            ) from None
        self.sources = self._metric_sources(procedure)
        kernels: dict[str, str] = {}
        for executor in procedure.executors.values():
            kernels |= executor.kernels()
        framework = procedure.framework.name
        update = self._update_kernel(framework)
        digests = {name: split.digest() for name, split in self.splits.items()}
        unavailable = dict(self.sources.unavailable)
        if self.crew:
            unavailable |= self.crew.distribution.unavailable
        return {
            "unavailable": unavailable,
            "framework": framework,
            "kernels": kernels,
            "update": update,
            "data": digests,
            "examples": {name: len(split) for name, split in self.splits.items()},
            "values": example_values(self.splits["train"]),
        }

    def _unsupported(self, error: Unsupported) -> Unsupported:
        """The error of a framework that lacks a kernel, with the precision that asks for it and what works instead."""
        if not self.recipe.has("precision"):
            return error
        precision = self.recipe.make("precision")
        if precision.dtype is None:
            return error
        name = type(precision).__name__
        advice = "choose another framework with --framework"
        if "emulated" in precision.settings:
            advice += f", or 'precision={name}(emulated=True)', which rounds on every framework"
        message = one_line(error)
        return Unsupported(
            f"the precision {name} needs kernels for {precision.dtype} that are not there ({message}): {advice}"
        )

    def _metric_sources(self, procedure: Procedure) -> Sources:
        """The measurements for the metrics that need more than the history."""
        executor = next(iter(procedure.executors.values()))
        metrics = self.recipe.all_metrics()
        return sources_for(metrics, executor, self.recipe.entry("batch_size"))

    def _update_kernel(self, framework: str) -> str:
        """Whether all optimizers run as the framework's own ("native") or any as our formula ("composed")."""
        names = [*self.recipe.entry("optimizers", {})] or [""]
        optimizers = [self.recipe.make_optimizer(name) for name in names]
        native = all(optimizer.native(framework) for optimizer in optimizers)
        return "native" if native else "composed"

    def _train(self, seed: int) -> None:
        for event, state in zip(self.events, self.first_states, strict=True):
            event.load_state(state)  # every seed starts from the same state
        epochs = [block for block in self.blocks if block["seed"] == seed]
        attempts = Attempts(self.checkpoints)
        if crash := attempts.crash(seed, len(epochs)):
            self._append_crash(seed, crash, 0.0)
            return
        attempts.begin(seed, len(epochs))
        trainer = self._trainer(seed)
        if self.crew:
            self._order(seed, len(epochs))
        start = None
        if epochs:
            start = self._load_checkpoint(seed, len(epochs), epochs[-1]["checkpoint"])
        try:
            history = trainer.run(start)
        except KeyboardInterrupt:
            attempts.forget(seed)
            raise
        except (Exception, SystemExit) as error:
            reason = crash_reason(error)
            attempts.failed(seed, reason)
            if self.crew and self.blocks:
                raise_for_all_ranks(self.recipe, seed, error)
            if not reason or not self._goes_on:
                raise
            self._append_crash(seed, reason, trainer.build_seconds)
            return
        if self.crew:
            warn_of_apart_replicas(self.crew.distribution.scheme, history)
        weights = save(trainer.trained_arrays())
        self._save_weights(seed, weights)
        block = {
            "seed": seed,
            "test": _finite_qualities(history.evaluations[-1]["test"]),
            "build_seconds": trainer.build_seconds,
            "weights": hashlib.sha256(weights).hexdigest(),
        }
        if history.ended:
            block["ended"] = history.ended
        metrics = self.recipe.own_metrics
        if metrics:
            block["recorded"] = {
                key: _metric_value(metric, history) for key, metric in metrics.items()
            }
        self._append(block)
        self._remove_checkpoints(seed)

    @property
    def _goes_on(self) -> bool:
        """Whether the other seeds can be trained after one that crashed.

        An error before anything was trained is one of the recipe. Ranks have to begin anew together.
        """
        return bool(self.blocks) and self.crew is None

    def _append_crash(self, seed: int, reason: str, build_s: float) -> None:
        """End a seed that crashed, and say so."""
        self._append({"seed": seed, "crashed": reason, "build_seconds": build_s})
        self._remove_checkpoints(seed)
        warnings.warn(
            f"seed {seed} crashed, and counts as one that reaches nothing: {reason}",
            Deep500Warning,
            stacklevel=2,
        )

    def _remove_checkpoints(self, seed: int) -> None:
        for old in self.checkpoints.glob(f"{seed}-*.safetensors"):
            old.unlink()
        Attempts(self.checkpoints).forget(seed)

    def _load_checkpoint(self, seed: int, epochs: int, digest: str) -> Any:
        """The checkpoint after so many epochs; a Deep500Error if its SHA-256 is not this one."""
        path = self._checkpoint(seed, epochs)
        start = load_checkpoint(path)
        if start and self._digest(path) != digest:
            raise Deep500Error(
                f"the checkpoint of seed {seed} is not the one that the bundle names: start anew"
            )
        return start

    def _save_weights(self, seed: int, weights: bytes) -> None:
        """Write the trained weights of a seed to disk, all or nothing."""
        path = self._weights(seed)
        partial = path.with_suffix(".partial")
        with open(partial, "wb") as file:
            file.write(weights)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)

    def _trainer(self, seed: int) -> Trainer:
        events = [
            *self.events,
            *self._measuring_events(seed),
            _Record(self, seed),
        ]
        epochs = self.plan["epochs"]
        if self.crew:
            threads = self.plan["threads"]
            return self.crew.trainer(
                self.task, self.splits, seed, epochs, threads, events
            )
        subject, optimizer = self._subject(seed)
        return Trainer(
            subject,
            optimizer,
            splits=self.splits,
            sampler=self._sampler(seed),
            epochs=epochs,
            events=events,
            task=self.task,
            workers=self.recipe.entry("workers", 0),
            evaluate_every=self.plan.get("evaluate_every"),
        )

    def _order(self, seed: int, finished_epochs: int) -> None:
        """Tell the other ranks to train a seed."""
        assert self.crew is not None
        self.crew.order(
            {
                "epochs": self.plan["epochs"],
                "threads": self.plan["threads"],
                "seed": seed,
                "done": finished_epochs,
                "checkpoints": str(self.checkpoints.absolute()),
            }
        )

    def _measuring_events(self, seed: int) -> list[Event]:
        """Events that measure between the steps: sources of metrics, and the noise of low precision."""
        events = list(self.sources.events)
        if self.recipe.has("precision"):
            exact = in_float32(self.recipe)
            train = self.splits["train"]
            threads = self.plan["threads"]

            def exact_executor() -> Executor:
                return recipe_executor(exact, self.task, train, seed, threads)

            events.append(MeasureNoise(exact_executor))
        return events

    def keep(
        self,
        trainer: Trainer,
        seed: int,
        record: dict[str, Any],
        load: Mapping[str, Any],
    ) -> None:
        """After an epoch: write the checkpoint, then the block that names it; then delete the checkpoint before."""
        history = trainer.history()
        epochs = len(history.evaluations)
        path = self._checkpoint(seed, epochs)
        save_checkpoint(path, trainer.checkpoint())
        if self.crew:
            self.crew.barrier()  # until every rank has saved its state of this epoch
        within = {}
        if "evaluate_every" in self.plan:
            within["within"] = [
                _written_look(look)
                for look in history.within_epochs
                if look["epoch"] == record["epoch"]
            ]
        self._append(
            {
                "seed": seed,
                "series": self._new_numbers(seed, history),
                "counters": history.counters,
                "evaluation": _written_look(record),
                **within,
                "checkpoint": self._digest(path),
                **load,
            }
        )
        self._checkpoint(seed, epochs - 1).unlink(missing_ok=True)
        Attempts(self.checkpoints).begin(seed, epochs)

    def _append(self, block: dict[str, Any]) -> None:
        """Append a block; the first one after a resumption records the resumption."""
        if self.record.resumption is not None:
            block["resumed"] = self.record.resumption
            self.record.resumption = None
        self.record.append(block)

    def _new_numbers(
        self, seed: int, history: History
    ) -> dict[str, list[float | None]]:
        """The numbers that every series has gained since the last block of this seed."""
        if seed not in self._written:
            self._written[seed] = self._numbers_in_blocks(seed)
        written = self._written[seed]
        new_numbers = {}
        for name, numbers in history.series.items():
            unwritten = numbers[written[name] :]
            new_numbers[name] = [_finite(number) for number in unwritten]
            written[name] = len(numbers)
        return new_numbers

    def _numbers_in_blocks(self, seed: int) -> Counter[str]:
        """How many numbers of every series the blocks of a seed hold, also those of a run that is resumed."""
        written: Counter[str] = Counter()
        for block in self.blocks:
            if block["seed"] == seed:
                for name, part in block["series"].items():
                    written[name] += len(part)
        return written

    def _procedure(self, seed: int) -> Procedure:
        train, threads = self.splits["train"], self.plan["threads"]
        return recipe_procedure(self.recipe, self.task, train, seed, threads)

    def _subject(self, seed: int) -> tuple[Executor | Procedure, Any]:
        """The first two arguments of a trainer: an executor with its optimizer, or a procedure and None."""
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

    def _saved_weights(self, block: Mapping[str, Any]) -> bytes:
        seed = block["seed"]
        try:
            weights = self._weights(seed).read_bytes()
        except OSError as error:
            raise Deep500Error(
                f"no weights of seed {seed} in {self.checkpoints} ({error.strerror}): start anew"
            ) from None
        if hashlib.sha256(weights).hexdigest() != block["weights"]:
            raise Deep500Error(
                f"the weights of seed {seed} in {self.checkpoints} are not those of the bundle: start anew"
            )
        return weights

    @staticmethod
    def _digest(path: Path) -> str:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


class _Record(Event):
    """Writes every epoch into the bundle, with what others used of the CPUs during it."""

    def __init__(self, recipe_run: RecipeRun, seed: int):
        self.recipe_run, self.seed = recipe_run, seed
        self.others = Others()

    def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> None:
        load = {}
        share = self.others.share()
        if share is not None:
            load["load"] = {"others": round(share, 4), "cpus": self.others.cpus}
            self.others.start()
        self.recipe_run.keep(trainer, self.seed, record, load)


def _checked_events(recipe: str, events: Iterable[Any]) -> tuple[Event, ...]:
    """The events as objects: a class stands for one with its defaults."""
    checked = []
    for event in events:
        if isinstance(event, type) and issubclass(event, Event):
            event = construct("", event, (), {})
        if not isinstance(event, Event):
            raise Deep500Error(
                f"recipe {recipe}: 'events' holds {shown(event)}: give objects, such as d5.events.Plateau(3); "
                "`d5 list events` names them"
            )
        checked.append(event)
    return tuple(checked)


def _metric_value(metric: Metric, history: History) -> float | None:
    """The value of a metric of the recipe; None if it is not finite, since a bundle cannot hold such a number."""
    try:
        value = metric.value(history)
        if value is None:
            return None
        if not _is_number(value):
            raise Deep500Error(
                f"{place_of(metric.value)} gives {shown(value)}: `value` returns a number, or None"
            )
        return _finite(float(value))
    except Deep500Error:
        raise
    except Exception as error:  # a user's code may raise anything
        raise_if_internal(error)
        name = type(metric).__name__
        reason = with_place(error)
        raise Deep500Error(f"the metric {name} cannot be computed: {reason}") from None


def _is_number(value: Any) -> bool:
    """Whether it is a number, or an array of a single one."""
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return not isinstance(value, str | bytes)


def _written_look(record: Mapping[str, Any]) -> dict[str, Any]:
    """An evaluation on the validation data, for a block."""
    written = {key: record[key] for key in ("epoch", "step", "seconds")}
    written["validation"] = _finite_qualities(record["validation"])
    return written


def _finite_qualities(
    qualities: Mapping[str, float],
) -> dict[str, float | None]:
    return {name: _finite(value) for name, value in qualities.items()}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
