"""Builds what a recipe trains: its task, its network with a loss, its executor, its procedure."""

import inspect
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..contracts.dataset import Dataset, Split
from ..contracts.executor import Executor
from ..contracts.framework import Framework
from ..contracts.leaves import Leaves, leaves_of
from ..contracts.model import Model
from ..contracts.network import Network
from ..contracts.procedure import Procedure, Setup
from ..contracts.recipe import Recipe, construct
from ..contracts.task import Task
from ..definition import Definition
from ..errors import Deep500Error, with_place
from ..frameworks import framework
from .low_precision import LowPrecision
from .matching import named_task
from .one_network import OneNetwork
from .reproducible_checks import check_executor, check_framework

# parameters that a model factory may have
ABOUT_DATA = "shape", "outputs", "seed"
# entries with which a run has no leaves
NOT_REPRODUCIBLE = {
    "procedure": "a procedure of one's own computes its steps itself",
    "precision": "a loss scale and rounded weights are not divided into leaves",
}


def recipe_task(recipe: Recipe) -> Task:
    """The task of a recipe; classification if it names none."""
    if recipe.has("task"):
        return recipe.make("task")
    return named_task(None)


def recipe_dataset(recipe: Recipe, folder: str | Path | None = None) -> Dataset:
    """The data set of a recipe, with its files in `folder`; raises a Deep500Error if it reads no files."""
    dataset: Dataset = recipe.make("dataset")
    if folder is None:
        return dataset
    if "folder" not in dataset.settings:
        raise Deep500Error(
            f"the data set {type(dataset).__name__} reads no files: leave --data {folder} out"
        )
    return replace(dataset, folder=str(folder))  # type: ignore[call-arg]


def recipe_framework(recipe: Recipe) -> Framework | None:
    """The framework that makes the recipe's executors; None if a function of the user does."""
    executor = recipe.entry("executor")
    if isinstance(executor, str):
        return framework(executor)
    return _owning_framework(executor)


def _owning_framework(from_model: Any) -> Framework | None:
    """The framework of which this is a bound method; None if it is another function."""
    owner = getattr(from_model, "__self__", None)
    return owner if isinstance(owner, Framework) else None


def recipe_procedure(
    recipe: Recipe, task: Task, train: Split, seed: int, threads: object
) -> Procedure:
    """The procedure that one seed runs, with the initial parameters of that seed."""
    if not recipe.has("procedure"):
        executor = recipe_executor(recipe, task, train, seed, threads)
        optimizer = recipe.make_optimizer()
        if recipe.has("precision"):
            return LowPrecision(executor, optimizer, recipe.make("precision"))
        return OneNetwork(executor, optimizer)
    make = partial(_executor, recipe, seed, threads)
    setup = Setup(make, recipe.make_optimizer, train, task, seed)
    procedure = recipe.make("procedure", setup)
    if not isinstance(procedure, Procedure):
        kind = type(procedure).__name__
        raise Deep500Error(
            f"recipe {recipe.name}: 'procedure' makes a {kind}, and a d5.Procedure is needed"
        )
    return procedure


def recipe_executor(
    recipe: Recipe, task: Task, train: Split, seed: int, threads: object
) -> Executor:
    """The executor of one seed, with the initial parameters of that seed."""
    try:
        model, options = recipe_model(recipe, task, train, seed)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise Deep500Error(
            f"the model of recipe {recipe.name} cannot be built: {with_place(error)}"
        ) from None
    return _executor(recipe, seed, threads, model, **options)


def _executor(
    recipe: Recipe, seed: int, threads: object, model: Any, **options: Any
) -> Executor:
    from_model = recipe.entry("executor")
    if isinstance(from_model, str):
        from_model = framework(from_model).from_model
    leaves = recipe_leaves(recipe)
    owner = _owning_framework(from_model)
    if leaves is not None and owner is not None:
        check_framework(owner)
    fixed_threads = threads if isinstance(threads, int) else 1
    if leaves is not None and isinstance(threads, int):
        # some kernels of frameworks add in another order with more
        threads = 1
    model = in_precision(recipe, model, from_model)
    options["seed"] = seed
    if isinstance(threads, int):  # a string means that the framework decides
        options["threads"] = threads
    options |= recipe.entry("executor_kwargs", {})
    try:
        executor = from_model(model, **options)
    except TypeError as error:
        raise Deep500Error(
            f"the executor of recipe {recipe.name} cannot be made: {with_place(error)}"
        ) from None
    if leaves is not None:
        check_executor(executor)
        executor.leaves = leaves
        executor.threads = fixed_threads
    return executor


def recipe_leaves(recipe: Recipe) -> Leaves | None:
    """The leaves of reproducible training; None if the recipe does not ask for it."""
    leaves = leaves_of(recipe.entry("reproducible", False))
    if leaves is None:
        return None
    for key, reason in NOT_REPRODUCIBLE.items():
        if recipe.has(key):
            raise Deep500Error(
                f"recipe {recipe.name} cannot be trained reproducibly with {key!r}: {reason}; leave it out"
            )
    return leaves


def in_float32(recipe: Recipe) -> Recipe:
    """The same recipe without its low precision."""
    mutable = {}
    for key, value in recipe.mutable.items():
        if not key.startswith("precision"):
            mutable[key] = value
    return replace(recipe, mutable=mutable)


def in_precision(recipe: Recipe, model: Any, from_model: Any) -> Any:
    """The network in the precision of the recipe; raises Unsupported if the framework lacks the dtype."""
    if not recipe.has("precision"):
        return model
    if not isinstance(model, Network):
        raise Deep500Error(
            f"recipe {recipe.name}: a precision is put into a d5.Network, and the model is a framework's own: set "
            "its precision there"
        )
    precision = recipe.make("precision")
    owner = _owning_framework(from_model)
    if owner is not None:
        precision.check(owner)
    return precision(model)


def recipe_model(
    recipe: Recipe, task: Task, train: Split, seed: int
) -> tuple[Any, dict[str, Any]]:
    """The model for the data, with its own loss, the recipe's or the task's; and the options for `from_model`."""
    loss = recipe.make("loss") if recipe.has("loss") else None
    model = _built(recipe, task, train, seed)
    if not isinstance(model, Network):
        return _native_model(model, loss, task)
    if loss and "loss" in model.outputs:
        raise Deep500Error(
            f"recipe {recipe.name}: FIXED['loss'] is {type(loss).__name__}, and the model "
            f"{_model_name(recipe)} brings its own loss: take one of them out"
        )
    return task.attach_loss(model, loss), {}


def _native_model(model: Any, loss: Any, task: Task) -> tuple[Any, dict[str, Any]]:
    """A model of a framework, and the options with which `from_model` attaches the loss to it."""
    options = {
        "loss": loss or task.loss(),
        "inputs": [task.input],
        "outputs": [task.prediction],
        "label": task.target,
    }
    is_pair = isinstance(model, tuple) and len(model) == 2
    if is_pair:  # a JAX function and its parameters
        model, options["params"] = model
    return model, options


def _built(recipe: Recipe, task: Task, train: Split, seed: int) -> Any:
    """The network of a d5.Model, or what a class or function returns that builds a model of a framework."""
    entry = recipe.entry("model")
    is_class = isinstance(entry, type)
    is_definition_class = is_class and issubclass(entry, Definition)
    if isinstance(entry, str | Definition) or is_definition_class:
        definition = recipe.make("model")
        if not isinstance(definition, Model):
            kind = type(definition).__name__
            raise Deep500Error(
                f"recipe {recipe.name}: 'model' is a {kind}, and a d5.Model is needed"
            )
        return definition.for_task(task, train, seed)
    owner = recipe_framework(recipe)
    if owner is not None:
        owner.seed_generator(seed)
    shape, outputs = task.sizes(train)
    facts = {"shape": shape, "outputs": outputs, "seed": seed}
    parameters = inspect.signature(entry).parameters
    settings = {name: facts[name] for name in ABOUT_DATA if name in parameters}
    settings |= recipe.entry("model_kwargs", {})
    args = recipe.entry("model_args", ())
    return construct("networks", entry, args, settings)


def _model_name(recipe: Recipe) -> str:
    entry = recipe.entry("model")
    if isinstance(entry, str):
        return entry
    return getattr(entry, "__name__", type(entry).__name__)
