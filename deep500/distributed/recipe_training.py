"""From a recipe to a trainer on many ranks."""

from collections.abc import Iterable

from .. import registry
from ..contracts.dataset_splits import loaded_splits
from ..contracts.executor import Executor
from ..contracts.recipe import Recipe
from ..contracts.sampler import Sampler
from ..contracts.scheme import Scheme
from ..contracts.transport import Transport
from ..training.building import recipe_executor, recipe_framework, recipe_task
from ..training.events import Event
from .distribution import check_whole_epochs
from .trainer import DistributedTrainer


def distributed_trainer(
    recipe: Recipe,
    scheme: Scheme,
    transport: Transport,
    seed: int,
    epochs: int,
    events: Iterable[Event] = (),
    trainer: type[DistributedTrainer] = DistributedTrainer,
) -> DistributedTrainer:
    """The trainer of one seed: every rank of this process has the initial parameters of that seed."""
    check_whole_epochs(recipe)
    task = recipe_task(recipe)
    splits = loaded_splits(recipe.make("dataset"))
    owner = recipe_framework(recipe)
    threads = 1 if owner is None or owner.sets_threads else None
    executors: dict[int, Executor] = {}
    for rank in transport.ranks:
        executors[rank] = recipe_executor(recipe, task, splits["train"], seed, threads)
    return trainer(
        scheme,
        transport,
        executors,
        recipe.make_optimizer(),
        splits=splits,
        sampler=recipe_sampler(recipe, seed),
        epochs=epochs,
        events=events,
        task=task,
    )


def recipe_sampler(recipe: Recipe, seed: int) -> Sampler:
    """The sampler of whole batches, for one seed."""
    settings = {"batch_size": recipe.entry("batch_size"), "seed": seed}
    if recipe.has("train_sampler"):
        return recipe.make("train_sampler", **settings)
    return registry.find("samplers", "ShuffleSampler")(**settings)
