"""From a recipe to what is trained: its task, its network with a loss, its executor, its procedure."""

import inspect
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..contracts.dataset import Dataset, Split
from ..contracts.executor import Executor
from ..contracts.framework import Framework
from ..contracts.model import Model
from ..contracts.network import Network
from ..contracts.procedure import Procedure, Setup
from ..contracts.recipe import Recipe, construct
from ..contracts.task import Task
from ..definition import Definition
from ..errors import Deep500Error
from ..frameworks import framework
from .low_precision import LowPrecision
from .one_network import OneNetwork
from .trainer import named_task

ABOUT_DATA = ("shape", "outputs", "seed")  # what a factory of models may ask for


def recipe_task(recipe: Recipe) -> Task:
    """The task of a recipe; classification if it names none."""
    return recipe.make("task") if recipe.has("task") else named_task(None)


def recipe_dataset(recipe: Recipe, folder: str | Path | None = None) -> Dataset:
    """The data set of a recipe, with its files in `folder`."""
    dataset: Dataset = recipe.make("dataset")
    if folder is None:
        return dataset
    if "folder" not in dataset.settings:
        raise Deep500Error(
            f"the data set {type(dataset).__name__} reads no files: leave --data {folder} out"
        )
    return replace(dataset, folder=str(folder))  # type: ignore[call-arg]


def recipe_framework(recipe: Recipe) -> Framework | None:
    """The framework that makes the recipe's executors; None if that is a function of the user's own."""
    executor = recipe.entry("executor")
    owner = (
        framework(executor)
        if isinstance(executor, str)
        else getattr(executor, "__self__", None)
    )
    return owner if isinstance(owner, Framework) else None


def recipe_procedure(
    recipe: Recipe, task: Task, train: Split, seed: int, threads: object
) -> Procedure:
    """What one seed trains, with the initial parameters of that seed."""
    if not recipe.has("procedure"):
        executor = recipe_executor(recipe, task, train, seed, threads)
        if recipe.has("precision"):
            return LowPrecision(
                executor, recipe.make_optimizer(), recipe.make("precision")
            )
        return OneNetwork(executor, recipe.make_optimizer())
    make = partial(_executor, recipe, seed, threads)
    setup = Setup(make, recipe.make_optimizer, train, task, seed)
    procedure = recipe.make("procedure", setup)
    if not isinstance(procedure, Procedure):
        raise Deep500Error(
            f"recipe {recipe.name}: 'procedure' makes a {type(procedure).__name__}, and a d5.Procedure is needed"
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
            f"the model of recipe {recipe.name} cannot be built: {error}"
        ) from None
    return _executor(recipe, seed, threads, model, **options)


def _executor(
    recipe: Recipe, seed: int, threads: object, model: Any, **options: Any
) -> Executor:
    from_model = recipe.entry("executor")
    if isinstance(from_model, str):
        from_model = framework(from_model).from_model
    model = in_precision(recipe, model, from_model)
    options["seed"] = seed
    if isinstance(threads, int):  # a text says that the framework has its own number
        options["threads"] = threads
    try:
        return from_model(model, **options | recipe.entry("executor_kwargs", {}))
    except TypeError as error:
        raise Deep500Error(
            f"the executor of recipe {recipe.name} cannot be made: {error}"
        ) from None


def in_float32(recipe: Recipe) -> Recipe:
    """The same recipe without its low precision."""
    mutable = {
        key: v for key, v in recipe.mutable.items() if not key.startswith("precision")
    }
    return replace(recipe, mutable=mutable)


def in_precision(recipe: Recipe, model: Any, from_model: Any) -> Any:
    """The network in the precision of the recipe; Unsupported if the framework lacks the dtype."""
    if not recipe.has("precision"):
        return model
    if not isinstance(model, Network):
        raise Deep500Error(
            f"recipe {recipe.name}: a precision is put into a d5.Network, and the model is a framework's own: set "
            "its precision there"
        )
    precision = recipe.make("precision")
    owner = getattr(from_model, "__self__", None)
    if isinstance(owner, Framework):
        precision.check(owner)
    return precision(model)


def recipe_model(
    recipe: Recipe, task: Task, train: Split, seed: int
) -> tuple[Any, dict[str, Any]]:
    """The model for the data, with its own loss, the recipe's or the task's; and what `from_model` must know of it."""
    loss = recipe.make("loss") if recipe.has("loss") else None
    model = _built(recipe, task, train, seed)
    if not isinstance(model, Network):  # a framework's own
        options = {
            "inputs": [task.input],
            "outputs": [task.prediction],
            "label": task.target,
        }
        if (
            isinstance(model, tuple) and len(model) == 2
        ):  # a JAX function and its parameters
            model, options["params"] = model
        return model, {"loss": loss or task.loss(), **options}
    if loss and "loss" in model.outputs:
        raise Deep500Error(
            f"recipe {recipe.name}: FIXED['loss'] is {type(loss).__name__}, and the model "
            f"{_model_name(recipe)} brings its own loss: take one of them out"
        )
    return task.attach_loss(model, loss), {}


def _built(recipe: Recipe, task: Task, train: Split, seed: int) -> Any:
    """The model of a d5.Model, or of a class or function that makes a framework's own model."""
    entry = recipe.entry("model")
    is_class = isinstance(entry, type)
    if isinstance(entry, str | Definition) or (
        is_class and issubclass(entry, Definition)
    ):
        definition = recipe.make("model")
        if not isinstance(definition, Model):
            raise Deep500Error(
                f"recipe {recipe.name}: 'model' is a {type(definition).__name__}, and a d5.Model is needed"
            )
        return definition.for_task(task, train, seed)
    owner = recipe_framework(recipe)
    if owner is not None:
        owner.seed_generator(seed)
    shape, outputs = task.sizes(train)
    facts = {"shape": shape, "outputs": outputs, "seed": seed}
    asked = inspect.signature(entry).parameters
    settings = {name: facts[name] for name in ABOUT_DATA if name in asked}
    settings |= recipe.entry("model_kwargs", {})
    return construct("networks", entry, recipe.entry("model_args", ()), settings)


def _model_name(recipe: Recipe) -> str:
    entry = recipe.entry("model")
    if isinstance(entry, str):
        return entry
    return getattr(entry, "__name__", type(entry).__name__)
