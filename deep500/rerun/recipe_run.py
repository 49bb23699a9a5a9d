"""One run of a recipe: every epoch of a seed is on disk before the next one starts."""

import copy
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from safetensors.numpy import save

from .. import registry
from ..bundle.records.recording import recording
from ..canonical import shown
from ..contracts.dataset_splits import loaded_splits
from ..contracts.executor import Executor
from ..contracts.metric import History
from ..contracts.procedure import Procedure
from ..contracts.recipe import Recipe, construct
from ..contracts.sampler import Sampler
from ..distributed.consensus import warn_of_apart_replicas
from ..distributed.recipe_ranks import RecipeRanks, raise_for_all_ranks
from ..errors import Deep500Error, Deep500Warning, errors_of_user_code
from ..measure.load import Load
from ..measure.sensing.others import Others
from ..results.outcomes.data import RecipeRecord
from ..schema import encoded
from ..training.attempts import crash_reason
from ..training.building import (
    in_float32,
    recipe_dataset,
    recipe_executor,
    recipe_procedure,
    recipe_task,
)
from ..training.checks import check_data
from ..training.events import Event
from ..training.gradient_noise import MeasureNoise
from ..training.recipe_blocks import (
    Epoch,
    RecipeBlock,
    SeedCrash,
    SeedEnd,
    ends_of,
    epochs_of,
    weights_of,
)
from ..training.recipe_plan import RecipePlan
from ..training.trainer import Trainer
from .rehearsal import rehearse
from .run_files import RunFiles
from .written_history import (
    NewNumbers,
    finite_qualities,
    own_metric_values,
    written_look,
)


class RecipeRun:
    """One run of a recipe, from its first seed or from where it was interrupted."""

    def __init__(
        self,
        recipe: Recipe,
        plan: RecipePlan,
        events: Iterable[Event] = (),
        data: str | Path | None = None,
        group: RecipeRanks | None = None,
        expected_data: Mapping[str, str] | None = None,
    ):
        self.recipe = recipe
        self.plan = plan
        given = (*recipe.entry("events", ()), *events)
        self.events = checked_events(recipe.name, given)
        self.data = data
        self.group = group  # the ranks, if there are several
        self.expected_data = expected_data or {}
        self.first_states = [copy.deepcopy(event.state()) for event in self.events]
        self.task = recipe_task(recipe)
        self.blocks: list[RecipeBlock] = []

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
            subject=self.plan.fixed_hash or "",
        )
        with recorder as record:
            self.record = record
            self.blocks = record.kind.check_blocks(self.plan, record.blocks)
            self.files = RunFiles(record.folder)
            try:
                self.files.make()
                yield
            except BaseException:
                if not self.blocks:
                    self.files.remove()
                raise
            self.files.remove()

    def train_next(self) -> bool:
        """Train the next seed that is not trained yet; False if there is none."""
        trained = {block.seed for block in ends_of(self.blocks)}
        for seed in self.plan.seeds:
            if seed not in trained:
                with self._user_errors():
                    self._train(seed)
                return True
        return False

    def finish(self) -> RecipeRecord:
        """Write the manifest and all numbers, once every seed is trained."""
        if self.group:
            self.group.order(None)
        files = {}
        for seed, digest in weights_of(self.blocks).items():
            files[f"weights-{seed}.safetensors"] = self.files.weights(seed, digest)
        with self._user_errors():
            return self.record.finish(files=files)

    def _user_errors(self) -> AbstractContextManager[None]:
        return errors_of_user_code(f"recipe {self.recipe.name}")

    def prepare(self) -> dict[str, Any]:
        """Load the data and try one step; returns the plan with what was found out."""
        with self._user_errors():
            dataset = recipe_dataset(self.recipe, self.data)
            self.splits = loaded_splits(dataset)
            batch_size = self.recipe.entry("batch_size")
            check_data(self.splits, self.task, self.plan.epochs, batch_size)
            self._check_digests()
            distribution = self.group.distribution if self.group else None
            rehearsal = rehearse(
                self.recipe, self.task, self.plan, self.splits, distribution
            )
        self.sources = rehearsal.sources
        return encoded(rehearsal.plan)

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

    def _train(self, seed: int) -> None:
        for event, state in zip(self.events, self.first_states, strict=True):
            event.load_state(state)  # every seed starts from the same state
        epochs = epochs_of([block for block in self.blocks if block.seed == seed])
        attempts = self.files.attempts
        if crash := attempts.crash(seed, len(epochs)):
            self._append_crash(seed, crash, 0.0)
            return
        attempts.begin(seed, len(epochs))
        trainer = self._trainer(seed, epochs)
        if self.group:
            self._order(seed, len(epochs))
        start = None
        if epochs:
            digest = epochs[-1].checkpoint
            start = self.files.load_checkpoint(seed, len(epochs), digest)
        try:
            history = trainer.run(start)
        except KeyboardInterrupt:
            attempts.forget(seed)
            raise
        except (Exception, SystemExit) as error:
            reason = crash_reason(error)
            attempts.failed(seed, reason)
            if self.group and self.blocks:
                raise_for_all_ranks(self.recipe, seed, error)
            if not reason or not self._goes_on:
                raise
            self._append_crash(seed, reason, trainer.build_seconds)
            return
        self._append_end(seed, history, trainer)

    @property
    def _goes_on(self) -> bool:
        """Whether the other seeds can be trained after one that crashed.

        An error before anything was trained is one of the recipe. Ranks have to begin anew together.
        """
        return bool(self.blocks) and self.group is None

    def _append_end(self, seed: int, history: History, trainer: Trainer) -> None:
        """End a seed that was trained, with its weights beside the bundle."""
        if self.group:
            warn_of_apart_replicas(self.group.distribution.scheme, history)
        weights = self.files.save_weights(seed, save(trainer.trained_arrays()))
        end = SeedEnd(
            seed=seed,
            test=finite_qualities(history.evaluations[-1]["test"]),
            build_seconds=trainer.build_seconds,
            weights=weights,
            ended=history.ended,
            recorded=own_metric_values(self.recipe.own_metrics, history),
        )
        self._append(end)
        self.files.end_seed(seed)

    def _append_crash(self, seed: int, reason: str, build_s: float) -> None:
        """End a seed that crashed, and say so."""
        self._append(SeedCrash(seed=seed, crashed=reason, build_seconds=build_s))
        self.files.end_seed(seed)
        warnings.warn(
            f"seed {seed} crashed, and counts as one that reaches nothing: {reason}",
            Deep500Warning,
            stacklevel=2,
        )

    def _trainer(self, seed: int, epochs: list[Epoch]) -> Trainer:
        events = [
            *self.events,
            *self._measuring_events(seed),
            _Recorder(self, seed, epochs),
        ]
        plan = self.plan
        if self.group:
            return self.group.trainer(
                self.task, self.splits, seed, plan.epochs, plan.threads, events
            )
        subject, optimizer = self._subject(seed)
        return Trainer(
            subject,
            optimizer,
            splits=self.splits,
            sampler=self._sampler(seed),
            epochs=plan.epochs,
            events=events,
            task=self.task,
            workers=self.recipe.entry("workers", 0),
            evaluate_every=plan.evaluate_every,
        )

    def _order(self, seed: int, finished_epochs: int) -> None:
        """Tell the other ranks to train a seed."""
        assert self.group is not None
        self.group.order(
            {
                "epochs": self.plan.epochs,
                "threads": self.plan.threads,
                "seed": seed,
                "done": finished_epochs,
                "checkpoints": str(self.files.folder.absolute()),
            }
        )

    def _measuring_events(self, seed: int) -> list[Event]:
        """Events that measure between the steps: sources of metrics, and the noise of low precision."""
        events = list(self.sources.events)
        if self.recipe.has("precision"):
            exact = in_float32(self.recipe)
            train = self.splits["train"]

            def exact_executor() -> Executor:
                return recipe_executor(exact, self.task, train, seed, self.plan.threads)

            events.append(MeasureNoise(exact_executor))
        return events

    def keep(self, trainer: Trainer, epoch: Epoch) -> None:
        """After an epoch: write the checkpoint, then the block that names it; then delete the checkpoint before."""
        seed, number = epoch.seed, epoch.evaluation.epoch
        self.files.save_checkpoint(seed, number, trainer.checkpoint())
        if self.group:
            self.group.barrier()  # until every rank has saved its state of this epoch
        digest = self.files.checkpoint_digest(seed, number)
        self._append(replace(epoch, checkpoint=digest))
        self.files.remove_checkpoint(seed, number - 1)
        self.files.attempts.begin(seed, number)

    def _append(self, block: RecipeBlock) -> None:
        """Append a block; the first one after a resumption records the resumption."""
        if self.record.resumption is not None:
            block = replace(block, resumed=self.record.resumption)
            self.record.resumption = None
        self.record.append(block)
        self.blocks.append(block)

    def _subject(self, seed: int) -> tuple[Executor | Procedure, Any]:
        """The first two arguments of a trainer: an executor with its optimizer, or a procedure and None."""
        train, threads = self.splits["train"], self.plan.threads
        if self.recipe.has("procedure") or self.recipe.has("precision"):
            procedure = recipe_procedure(self.recipe, self.task, train, seed, threads)
            return procedure, None
        executor = recipe_executor(self.recipe, self.task, train, seed, threads)
        return executor, self.recipe.make_optimizer()

    def _sampler(self, seed: int) -> Sampler:
        settings = {"batch_size": self.recipe.entry("batch_size"), "seed": seed}
        if self.recipe.has("train_sampler"):
            return self.recipe.make("train_sampler", **settings)
        return registry.find("samplers", "ShuffleSampler")(**settings)


class _Recorder(Event):
    """Writes every epoch into the bundle, with what others used of the CPUs during it."""

    def __init__(self, recipe_run: RecipeRun, seed: int, epochs: list[Epoch]):
        self.recipe_run, self.seed = recipe_run, seed
        self.new_numbers = NewNumbers(epochs)
        self.others = Others()

    def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> None:
        load = None
        share = self.others.share()
        if share is not None:
            load = Load(round(share, 4), self.others.cpus)
            self.others.start()
        history = trainer.history()
        within = []
        for look in history.within_epochs:
            if look["epoch"] == record["epoch"]:
                within.append(written_look(look))
        epoch = Epoch(
            seed=self.seed,
            series=self.new_numbers.take(history),
            counters=history.counters,
            evaluation=written_look(record),
            within=within,
            load=load,
        )
        self.recipe_run.keep(trainer, epoch)


def checked_events(recipe: str, events: Iterable[Any]) -> tuple[Event, ...]:
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
