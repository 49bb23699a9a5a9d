"""kill -9 at random moments: resumed, a run ends with the weights of one that nobody killed, to the last bit.

The recipe draws random numbers in every way that a run can: Dropout in the network, augmented data and a weighted
sampler. Its learning rate has a schedule, and worker processes read batches ahead in every other run.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deep500 import bundle
from deep500.bundle.records.verification import verify

RECIPE = '''
import numpy as np

import deep500 as d5



class Flipped(d5.datasets.Digits):
    def load(self):
        splits = super().load()
        splits["train"] = splits["train"].transformed(d5.augmentations.RandomFlip(), seed=3)
        return splits


class Dropped(d5.Model):
    """One hidden layer, half of which is dropped."""

    def build(self, shape, outputs, seed=0):
        rng = np.random.default_rng(seed)
        network = d5.Network("dropped")
        network.add_input("x", (0, *shape))
        pixels = int(np.prod(shape))
        for name, size in (("w1", (pixels, 32)), ("w2", (32, outputs))):
            network.add_param(name, (rng.standard_normal(size) / 6).astype(np.float32))
        flat = network.add_node("Flatten", ["x"])
        hidden = network.add_node("Relu", [network.add_node("MatMul", [flat, "w1"])])
        kept = network.add_node("Dropout", (hidden, 0.5, True))
        network.add_output(network.add_node("MatMul", [kept, "w2"], ["logits"]))
        return network


EXAMPLES = len(d5.datasets.Digits().load()["train"])
FIXED = {
    "model": Dropped,
    "dataset": Flipped,
    "train_sampler": d5.samplers.WeightedSampler,
    "train_sampler_kwargs": {"weights": tuple(1 + row % 3 for row in range(EXAMPLES))},
    "epochs": 4,
}
MUTABLE = {
    "batch_size": 64,
    "executor": "reference",
    "optimizer": d5.optimizers.Adam(d5.schedules.StepDecay(0.01, every=20, factor=0.5)),
    "workers": WORKERS,
}
METRICS = [(d5.TestAccuracy(), None)]
'''
BLOCKS = 10  # four epochs and an end, for each of two seeds
FRAMEWORKS = ("reference", "pytorch", "jax", "onnxruntime")


def command(folder: Path, framework: str) -> list[str]:
    words = [
        sys.executable,
        "-m",
        "deep500.cli",
        "run",
        "recipe.py",
        "--out",
        str(folder),
    ]
    return [*words, "--resume", "--seeds", "2", "--framework", framework]


def start(place: Path, folder: Path, framework: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(folder, framework),
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"DEEP500_HOME": str(place / "home")},
    )


def finished(place: Path, folder: Path, framework: str) -> dict[str, str]:
    """Begin the run, or go on with it, to its end; the hashes of the weights."""
    process = start(place, folder, framework)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    assert verify(folder).finished
    found = bundle.read(folder)
    return {name: found.files[name] for name in sorted(found.files)}


def killed(place: Path, folder: Path, framework: str, rng: random.Random) -> None:
    """Begin the run and kill it at a random moment after a random number of blocks."""
    process = start(place, folder, framework)
    blocks, delay = rng.randrange(BLOCKS), rng.uniform(0, 0.05)
    deadline = time.monotonic() + 300
    chain = folder / "samples.jsonl"
    while process.poll() is None and time.monotonic() < deadline:
        if chain.exists() and chain.read_bytes().count(b"\n") > blocks:
            break
        time.sleep(0.001)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """The weights of runs that nobody killed, by framework."""
    return {}


def uninterrupted(
    whole: dict[str, dict[str, str]], place: Path, framework: str
) -> dict[str, str]:
    if framework not in whole:
        whole[framework] = finished(place, place / "whole", framework)
    return whole[framework]


@pytest.mark.parametrize(
    ("framework", "moment"),
    [
        ("reference", 0),
        ("pytorch", 0),
        *(
            pytest.param(framework, moment, marks=pytest.mark.slow)
            for framework in FRAMEWORKS
            for moment in range(1, 21)
        ),
    ],
)
def test_killed_and_resumed_it_ends_in_the_same_bits(
    tmp_path: Path, whole: dict[str, dict[str, str]], framework: str, moment: int
) -> None:
    workers = moment % 2  # every other run reads ahead in a process
    (tmp_path / "recipe.py").write_text(RECIPE.replace("WORKERS", str(workers)))
    wanted = uninterrupted(whole, tmp_path, framework)
    killed(
        tmp_path, tmp_path / "run", framework, random.Random(f"{framework} {moment}")
    )
    assert finished(tmp_path, tmp_path / "run", framework) == wanted
