"""The judge's own evaluation of weights: the organiser's network, data, task and framework; nothing of a submission."""

import base64
import binascii
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from ..contracts.dataset import Split
from ..contracts.dataset_splits import loaded_splits
from ..contracts.executor import Executor
from ..contracts.recipe import Recipe
from ..contracts.task import Task
from ..errors import Deep500Error, Wrong
from ..training.building import recipe_dataset, recipe_executor, recipe_task
from ..training.evaluation import evaluate

BATCH = 256


class Refusal(Wrong):
    """A submission is not judged further: the layer that stopped it, and why. Nothing of its run is kept."""

    def __init__(self, layer: str, reason: str):
        self.layer = layer
        super().__init__(reason)


@dataclass(frozen=True)
class WeightsEvaluation:
    """What weights are worth on data that the submission never sees."""

    recipe: Recipe

    @cached_property
    def splits(self) -> dict[str, Split]:
        splits = loaded_splits(recipe_dataset(self.recipe))
        if splits["train"].augmentations:
            raise Deep500Error(
                "a contest hands out training data as arrays, and these have augmentations: leave them to MUTABLE code"
            )
        return splits

    @cached_property
    def task(self) -> Task:
        return recipe_task(self.recipe)

    @cached_property
    def executor(self) -> Executor:
        return recipe_executor(self.recipe, self.task, self.splits["train"], 0, 1)

    @cached_property
    def expected(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """The shape and dtype of every parameter of the organiser's network."""
        arrays = self.executor.arrays()
        return {name: (array.shape, str(array.dtype)) for name, array in arrays.items()}

    def weights(self, text: str) -> tuple[bytes, dict[str, np.ndarray]]:
        """The weights of a message, if they are those of the organiser's network; else a Refusal."""
        try:
            data = base64.b64decode(text, validate=True)
            arrays = load(data)
        except (binascii.Error, ValueError, SafetensorError, KeyError) as error:
            kind = type(error).__name__
            raise Refusal("weights", f"they are no safetensors ({kind})") from None
        found = {
            name: (array.shape, str(array.dtype)) for name, array in arrays.items()
        }
        if found != self.expected:
            raise Refusal("weights", self._misfit(found))
        return data, arrays

    def _misfit(self, found: Mapping[str, tuple[tuple[int, ...], str]]) -> str:
        for name, form in self.expected.items():
            if found.get(name) != form:
                return (
                    f"the parameter {name} is {found.get(name)}, and FIXED has {form}"
                )
        return f"{len(found)} parameters, and FIXED has {len(self.expected)}"

    def qualities(
        self, arrays: Mapping[str, np.ndarray], split: str
    ) -> dict[str, float | None]:
        self.executor.load(arrays)
        found = evaluate(self.executor, self.task, self.splits[split], BATCH, split)
        return {name: _finite(value) for name, value in found.items()}

    def loss(self) -> float | None:
        """The loss of the loaded weights on the first validation examples."""
        batch = self.splits["validation"].batch(slice(0, BATCH))
        outputs = self.executor.inference(batch)
        if "loss" not in outputs:
            return 0.0
        return _finite(float(self.executor.framework.array(outputs["loss"])))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
