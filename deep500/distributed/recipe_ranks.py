"""All ranks of a recipe's run: rank 0 leads and writes the bundle, the others follow its orders."""

import json
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..contracts.dataset import Split
from ..contracts.dataset_splits import loaded_splits
from ..contracts.executor import Executor
from ..contracts.recipe import Recipe
from ..contracts.task import Task
from ..contracts.transport import (
    DEADLINE,
    AllGather,
    Program,
    RankFailure,
    Transport,
    Wait,
)
from ..custom.building import can_build
from ..errors import Deep500Error
from ..training.attempts import crash_reason
from ..training.building import (
    recipe_dataset,
    recipe_executor,
    recipe_framework,
    recipe_leaves,
    recipe_task,
)
from ..training.checkpoint import load_checkpoint, save_checkpoint
from ..training.events import Event
from ..training.trainer import Trainer
from .distribution import Distribution
from .recipe_training import recipe_sampler
from .shards import check_ranks
from .trainer import DistributedTrainer

# variables by which libraries choose kernels for a processor
KERNELS = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE")
# seconds that followers wait while rank 0 loads and rehearses
ORDER_DEADLINE = 600.0


class RecipeRanks:
    """The ranks of one run, seen from this process."""

    def __init__(
        self,
        recipe: Recipe,
        distribution: Distribution,
        deadline: float = DEADLINE,
    ):
        self.recipe = recipe
        self.distribution = distribution
        self.transport: Transport = distribution.open(deadline)
        self.leads = 0 in self.transport.ranks
        self.has_followers = len(self.transport.ranks) < self.transport.size
        self._check_same()

    def trainer(
        self,
        task: Task,
        splits: Mapping[str, Split],
        seed: int,
        epochs: int,
        threads: object,
        events: Iterable[Event],
    ) -> DistributedTrainer:
        """The trainer of one seed, with an executor for every rank of this process."""
        sampler = recipe_sampler(self.recipe, seed)
        trainers = self.distribution.scheme.trainers(self.transport.size)
        # before thousands of executors are made in vain
        check_ranks(splits["train"], sampler.batch_size, trainers)
        executors: dict[int, Executor] = {}
        for rank in self.transport.ranks:
            executors[rank] = recipe_executor(
                self.recipe, task, splits["train"], seed, threads
            )
        return DistributedTrainer(
            self.distribution.scheme,
            self.transport,
            executors,
            self.recipe.make_optimizer(),
            splits=splits,
            sampler=sampler,
            epochs=epochs,
            events=events,
            task=task,
        )

    def order(self, document: Mapping[str, Any] | None = None) -> Any:
        """On rank 0, tell the others what to do next; on these, the answer is what that is."""
        return self._gathered(document)[0] if self.has_followers else document

    def barrier(self) -> None:
        """Wait until every rank is here."""
        if self.has_followers:
            self._gathered(None)

    def _gathered(self, document: Any) -> list[Any]:
        """The documents of all ranks."""
        text = json.dumps(document).encode()

        def program(rank: int) -> Program:
            handle = yield AllGather(np.frombuffer(text, np.uint8).copy(), uneven=True)
            [texts] = yield Wait([handle], max(ORDER_DEADLINE, self.transport.deadline))
            return [json.loads(text.tobytes()) for text in texts]

        results = self.transport.run(program)
        return results[min(results)]

    def _check_same(self) -> None:
        """Refuse ranks that run another recipe, or another version of something that decides on numbers."""
        if not self.has_followers:
            return
        reports = self._gathered(self._facts())
        for rank, report in enumerate(reports):
            for fact, value in report.items():
                if value != reports[0][fact]:
                    raise Deep500Error(
                        f"rank {rank} has the {fact} {str(value)[:20]}, and rank 0 has "
                        f"{str(reports[0][fact])[:20]}: start all ranks with the same"
                    )

    def _facts(self) -> dict[str, str]:
        from importlib.metadata import version

        facts = {
            "recipe": self.recipe.hash,
            "version of deep500": version("deep500-bench"),
            "version of NumPy": np.__version__,
            "version of Python": platform.python_version(),
        }
        leaves = recipe_leaves(self.recipe)
        # fixed kernels have the same bits everywhere
        if leaves is not None and leaves.kernels != "fixed":
            facts |= self._facts_of_kernels()
        return facts

    def _facts_of_kernels(self) -> dict[str, str]:
        """What decides on the bits of a leaf's gradient."""
        facts = {
            f"{name} of the environment": os.getenv(name, "unset") for name in KERNELS
        }
        facts["kernels with fixed bits"] = "there" if can_build() else "missing"
        owner = recipe_framework(self.recipe)
        if owner is not None:
            facts[f"version of {owner.name}"] = str(owner.module.__version__)
        return facts


def follow(
    recipe: Recipe,
    distribution: Distribution,
    data: str | Path | None = None,
    deadline: float = DEADLINE,
) -> None:
    """On a rank other than 0: train what rank 0 orders, until it orders nothing more."""
    group = RecipeRanks(recipe, distribution, deadline)
    task = recipe_task(recipe)
    splits = loaded_splits(recipe_dataset(recipe, data))
    is_begun = False  # whether an epoch of any seed is done
    while order := group.order():
        [rank] = group.transport.ranks
        keeper = FollowersCheckpoints(
            group, Path(order["checkpoints"]), order["seed"], rank
        )
        trainer = group.trainer(
            task,
            splits,
            order["seed"],
            order["epochs"],
            order["threads"],
            [keeper],
        )
        start = load_checkpoint(keeper.path(order["done"])) if order["done"] else None
        try:
            trainer.run(start)
        except (Exception, SystemExit) as error:
            if is_begun or start or trainer.epoch:
                raise_for_all_ranks(recipe, order["seed"], error)
            raise
        is_begun = True
        keeper.remove()
    group.transport.close()


def raise_for_all_ranks(recipe: Recipe, seed: int, error: BaseException) -> NoReturn:
    """Raise what a seed crashed of on this rank, with how to go on: all ranks end with it, to begin anew together.

    That another rank is lost or has failed, and a defect of Deep500, are raised as they are.
    """
    reason = crash_reason(error)
    if not reason or isinstance(error, RankFailure):
        raise error
    raise Deep500Error(
        f"recipe {recipe.name}: seed {seed} crashed, and all ranks end with it ({reason}): --resume goes on after "
        "the last epoch that is on disk"
    ) from error


class FollowersCheckpoints(Event):
    """Keeps the state of a rank other than 0 after every epoch, in a file of its own beside rank 0's."""

    def __init__(self, group: RecipeRanks, folder: Path, seed: int, rank: int):
        self.group = group
        self.folder = folder
        self.seed = seed
        self.rank = rank

    def path(self, epochs: int) -> Path:
        return self.folder / f"rank-{self.rank}-{self.seed}-{epochs}.safetensors"

    def after_epoch(self, trainer: Trainer, record: dict[str, Any]) -> None:
        """The state of the epoch before is kept, too: the block of this one may not be on disk yet."""
        epochs = len(trainer.evaluations)
        save_checkpoint(self.path(epochs), trainer.checkpoint())
        self.group.barrier()
        self.path(epochs - 2).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove what is left of a seed that is done."""
        for file in self.folder.glob(f"rank-{self.rank}-{self.seed}-*.safetensors"):
            file.unlink(missing_ok=True)
