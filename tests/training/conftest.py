"""A small run that every test of training starts from."""

from collections.abc import Callable
from typing import Any

import pytest

from deep500.contracts.dataset import Split
from deep500.datasets.synthetic_images import SyntheticImages
from deep500.samplers.shuffle_sampler import ShuffleSampler
from deep500.training.trainer import Trainer

from .softmax_regression import PAIRS


@pytest.fixture(scope="session")
def splits() -> dict[str, Split]:
    return SyntheticImages(250).load()


@pytest.fixture
def trainer(splits: dict[str, Split]) -> Callable[..., Trainer]:
    def make(pair: str = "softmax regression", **settings: Any) -> Trainer:
        executor, optimizer = PAIRS[pair]()
        usual = {
            "executor": executor,
            "optimizer": optimizer,
            "splits": splits,
            "sampler": ShuffleSampler(16, seed=7),
            "epochs": 4,
        }
        return Trainer(**{**usual, **settings})

    return make
