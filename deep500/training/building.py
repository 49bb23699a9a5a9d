"""From a recipe to what is trained: its task, its network with a loss, its executor."""

from dataclasses import replace
from typing import Any

from ..contracts.dataset import Split
from ..contracts.executor import Executor
from ..contracts.framework import Framework
from ..contracts.model import Model
from ..contracts.network import Network
from ..contracts.procedure import Procedure
from ..contracts.recipe import Recipe
from ..contracts.task import Task
from ..errors import Deep500Error
from ..frameworks import framework
from .low_precision import LowPrecision
from .trainer import named_task


def recipe_task(recipe: Recipe) -> Task:
    """The task of a recipe; classification if it names none."""
    return recipe.make("task") if "task" in recipe.fixed else named_task(None)


def recipe_executor(
    recipe: Recipe, task: Task, train: Split, seed: int, threads: object
) -> Executor:
    """The executor of one seed, with the initial parameters of that seed."""
    try:
        model, options = _model(recipe, task, train, seed)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise Deep500Error(f"the model of recipe {recipe.name} cannot be built: {error}") from None
    from_model = recipe.mutable["executor"]
    if isinstance(from_model, str):
        from_model = framework(from_model).from_model
    model = in_precision(recipe, model, from_model)
    options["seed"] = seed
    if isinstance(threads, int):  # a text says that the framework has its own number
        options["threads"] = threads
    try:
        return from_model(model, **options | recipe.mutable.get("executor_kwargs", {}))
    except TypeError as error:
        raise Deep500Error(
            f"the executor of recipe {recipe.name} cannot be made: {error}"
        ) from None


def recipe_procedure(recipe: Recipe, executor: Executor) -> Procedure | None:
    """How a recipe in low precision trains; None for one in float32, which an executor does by itself."""
    if "precision" not in recipe.mutable:
        return None
    return LowPrecision(executor, recipe.make("optimizer"), recipe.make("precision"))


def in_float32(recipe: Recipe) -> Recipe:
    """The same recipe without its low precision."""
    mutable = {key: v for key, v in recipe.mutable.items() if not key.startswith("precision")}
    return replace(recipe, mutable=mutable)


def in_precision(recipe: Recipe, model: Any, from_model: Any) -> Any:
    """The network in the precision of the recipe; Unsupported if the framework lacks the dtype."""
    if "precision" not in recipe.mutable:
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


def _model(recipe: Recipe, task: Task, train: Split, seed: int) -> tuple[Any, dict[str, Any]]:
    """The model for the data, with its own loss, the recipe's or the task's; and what `from_model` must know of it."""
    definition: Model = recipe.make("model")
    loss = recipe.make("loss") if "loss" in recipe.fixed else None
    model = definition.for_task(task, train, seed)
    if not isinstance(model, Network):  # a framework's own
        names = {"inputs": [task.input], "outputs": [task.prediction], "label": task.target}
        return model, {"loss": loss or task.loss(), **names}
    if loss and "loss" in model.outputs:
        raise Deep500Error(
            f"recipe {recipe.name}: FIXED['loss'] is {type(loss).__name__}, and the model "
            f"{type(definition).__name__} brings its own loss: take one of them out"
        )
    return task.attach_loss(model, loss), {}
