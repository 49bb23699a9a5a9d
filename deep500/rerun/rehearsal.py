"""One step of a recipe on two examples, so that errors in it show up before anything is written."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..contracts.dataset import Split
from ..contracts.procedure import Procedure
from ..contracts.recipe import Recipe
from ..contracts.task import Task
from ..distributed.distribution import Distribution
from ..errors import Deep500Error, Unsupported, one_line, with_place
from ..schema import encoded
from ..training.building import recipe_procedure
from ..training.example_sizes import example_values
from ..training.metric_summary import qualities
from ..training.outcome import recipe_plan
from ..training.recipe_plan import RecipePlan
from ..training.sources import Sources, sources_for


@dataclass(frozen=True)
class Rehearsal:
    """The plan with what was found out, and the measurements for the metrics that need more than the history."""

    plan: RecipePlan
    sources: Sources


def rehearse(
    recipe: Recipe,
    task: Task,
    plan: RecipePlan,
    splits: Mapping[str, Split],
    distribution: Distribution | None,
) -> Rehearsal:
    """Train one step on two examples; raises a Deep500Error if that is not possible."""
    recipe_plan(encoded(plan))
    for metric in recipe.own_metrics.values():
        metric.for_qualities(qualities(plan))
    train = splits["train"]
    try:
        procedure = recipe_procedure(recipe, task, train, 0, plan.threads)
        procedure.step(train.batch(slice(0, 2)))
    except Unsupported as error:
        raise _unsupported(recipe, error) from None
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:
        reason = with_place(error)
        raise Deep500Error(
            f"recipe {recipe.name} cannot be trained: {reason}"
        ) from None
    sources = _metric_sources(recipe, procedure)
    unavailable = dict(sources.unavailable)
    if distribution:
        unavailable |= distribution.unavailable
    kernels: dict[str, str] = {}
    for executor in procedure.executors.values():
        kernels |= executor.kernels()
    framework = procedure.framework.name
    complete = replace(
        plan,
        unavailable=unavailable,
        framework=framework,
        kernels=kernels,
        update=_update_kernel(recipe, framework),
        data={name: split.digest() for name, split in splits.items()},
        examples={name: len(split) for name, split in splits.items()},
        values=example_values(train),
    )
    return Rehearsal(complete, sources)


def _unsupported(recipe: Recipe, error: Unsupported) -> Unsupported:
    """The error of a framework that lacks a kernel, with the precision that asks for it and what works instead."""
    if not recipe.has("precision"):
        return error
    precision = recipe.make("precision")
    if precision.dtype is None:
        return error
    name = type(precision).__name__
    advice = "choose another framework with --framework"
    if "emulated" in precision.settings:
        advice += (
            f", or 'precision={name}(emulated=True)', which rounds on every framework"
        )
    message = one_line(error)
    return Unsupported(
        f"the precision {name} needs kernels for {precision.dtype} that are not there ({message}): {advice}"
    )


def _metric_sources(recipe: Recipe, procedure: Procedure) -> Sources:
    """The measurements for the metrics that need more than the history."""
    executor = next(iter(procedure.executors.values()))
    return sources_for(recipe.all_metrics(), executor, recipe.entry("batch_size"))


def _update_kernel(recipe: Recipe, framework: str) -> str:
    """Whether all optimizers run as the framework's own ("native") or any as our formula ("composed")."""
    names = [*recipe.entry("optimizers", {})] or [""]
    optimizers = [recipe.make_optimizer(name) for name in names]
    native = all(optimizer.native(framework) for optimizer in optimizers)
    return "native" if native else "composed"
