"""Prints a hash of the weights after some steps: python fixed_hash.py NETWORK FRAMEWORK, in another environment."""

import hashlib
import sys
from typing import Any

import numpy as np

import deep500 as d5
from deep500.contracts.leaves import Leaves
from deep500.training.fixed_step import FixedStep
from deep500.training.steps import training_step

ROWS, STEPS, VOCABULARY = 48, 3, 29


def network_and_batches(name: str) -> tuple[Any, list[dict[str, np.ndarray]]]:
    random = np.random.default_rng(1)
    sizes: dict[str, Any] = {
        "mlp": ("mlp", (1, 8, 8), 10, {}),
        "cnn": ("digits_cnn", (1, 8, 8), 10, {}),
        "cnn with batch norm": ("digits_cnn", (1, 8, 8), 10, {"batch_norm": True}),
        "gpt": ("gpt", (16,), VOCABULARY, {"layers": 1, "width": 16, "heads": 2}),
    }
    model, shape, outputs, settings = sizes[name]
    network = d5.networks.create(
        model, outputs=outputs, shape=shape, seed=0, **settings
    )
    batches: list[dict[str, Any]] = []
    for _ in range(STEPS):
        if model == "gpt":
            tokens = random.integers(0, VOCABULARY, (ROWS, 17))
            batches.append({"x": tokens[:, :-1], "target": tokens[:, 1:]})
            continue
        pictures = random.random((ROWS, *shape), np.float32)
        labels = random.integers(0, outputs, ROWS)
        batches.append({"x": pictures, "label": labels})
    return network, batches


def weights_hash(
    name: str, framework: str, kernels: str = "fixed", threads: int = 1
) -> str:
    network, batches = network_and_batches(name)
    executor = d5.framework(framework).executor(network, seed=3)
    executor.leaves = Leaves(16, 40, kernels)
    executor.threads = threads
    optimizer = d5.optimizers.Adam(0.01) | d5.optimizers.ClipByNorm(1.0)
    step = training_step(executor, optimizer, "loss")
    assert isinstance(step, FixedStep) == (kernels == "fixed")
    inputs = [*executor.structure.inputs]
    digest = hashlib.sha256()
    for batch in batches:
        named = {name: batch.get(name, batch.get("target")) for name in inputs}
        outputs = step({n: v for n, v in named.items() if v is not None})
        digest.update(executor.framework.array(outputs["loss"]).tobytes())
    for key, value in sorted(executor.arrays().items()):
        digest.update(key.encode() + value.tobytes())
    return digest.hexdigest()


if __name__ == "__main__":
    print(*[weights_hash(name, sys.argv[1]) for name in sys.argv[2:]])
