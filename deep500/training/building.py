"""From a recipe to what is trained: its task, its network with a loss, its executor."""

from typing import Any

from ..contracts.dataset import Split
from ..contracts.executor import Executor
from ..contracts.model import Model
from ..contracts.network import Network
from ..contracts.recipe import Recipe
from ..contracts.task import Task
from ..errors import Deep500Error
from ..frameworks import framework
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
    options["seed"] = seed
    if isinstance(threads, int):  # a text says that the framework has its own number
        options["threads"] = threads
    try:
        return from_model(model, **options | recipe.mutable.get("executor_kwargs", {}))
    except TypeError as error:
        raise Deep500Error(
            f"the executor of recipe {recipe.name} cannot be made: {error}"
        ) from None


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
