"""A step over two networks and two optimizers: a small GAN, trained, saved and resumed through the trainer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deep500.contracts.dataset import Split
from deep500.contracts.network import Network
from deep500.contracts.procedure import Procedure
from deep500.contracts.task import Array, Arrays, Quality, Task
from deep500.errors import Deep500Error
from deep500.frameworks import framework
from deep500.optimizers import Adam
from deep500.samplers import ShuffleSampler
from deep500.training.checkpoint import load_checkpoint
from deep500.training.trainer import Trainer

from .test_checkpoint import Interrupt, interrupted, same

LATENT = 4


def dense(
    network: Network, name: str, x: str, sizes: tuple[int, int], trainable: bool = True
) -> str:
    rng = np.random.default_rng(len(name) + sizes[0])
    weight = (rng.standard_normal(sizes) / np.sqrt(sizes[0])).astype(np.float32)
    network.add_param(f"{name}.w", weight, trainable)
    network.add_param(f"{name}.b", np.zeros(sizes[1], np.float32), trainable)
    return network.add_node("Gemm", (x, f"{name}.w", f"{name}.b"), [name])


def add_discriminator(network: Network, x: str, trainable: bool = True) -> str:
    """Adds "loss": the mean of log(1 + exp(-sign * score)), where the sign is 1 for what shall look real."""
    hidden = network.add_node(
        "LeakyRelu", (dense(network, "judge1", x, (2, 16), trainable),)
    )
    score = dense(network, "judge2", hidden, (16, 1), trainable)
    network.add_input("sign", (0, 1))
    agreement = network.add_node("Mul", (score, "sign"))
    surprise = network.add_node("Softplus", (network.add_node("Neg", (agreement,)),))
    loss = network.add_node("ReduceMean", (surprise,), ["loss"], keepdims=0)
    network.add_output(loss)
    return loss


def discriminator() -> Network:
    network = Network("discriminator")
    network.add_input("x", (0, 2))
    add_discriminator(network, "x")
    return network


def generator() -> Network:
    """The generator with a frozen discriminator behind it, through which its gradient comes."""
    network = Network("generator")
    network.add_input("z", (0, LATENT))
    hidden = network.add_node("Tanh", (dense(network, "make1", "z", (LATENT, 16)),))
    samples = dense(network, "make2", hidden, (16, 2))
    network.add_output(samples)
    add_discriminator(network, samples, trainable=False)
    return network


class Gan(Procedure):
    """The discriminator learns to tell real points from made ones, then the generator to deceive it."""

    def __init__(self, on: str = "reference") -> None:
        framework(on).set_threads(1)
        self.series = {"loss": "loss", "discriminator loss": "discriminator loss"}
        make = framework(on).executor
        self.generator, self.discriminator = make(generator()), make(discriminator())
        self.executors = {
            "generator": self.generator,
            "discriminator": self.discriminator,
        }
        self.steps = {
            name: executor.training_step(Adam(0.005, 0.5))
            for name, executor in self.executors.items()
        }
        self.count = 0

    def step(self, batch: Mapping[str, Any], first_row: int = 0) -> dict[str, Any]:
        rows = len(batch["x"])
        ones = np.ones((rows, 1), np.float32)
        made = self.framework.array(
            self.generator.inference({"z": self.noise(rows, 0)})["make2"]
        )
        judged = {
            "x": np.concatenate([batch["x"], made]),
            "sign": np.concatenate([ones, -ones]),
        }
        judgement = self.steps["discriminator"](judged)
        self.generator.load(self.generator.arrays() | self.discriminator.arrays())
        outputs = self.steps["generator"]({"z": self.noise(rows, 1), "sign": ones})
        self.count += 1
        return {"loss": outputs["loss"], "discriminator loss": judgement["loss"]}

    def inference(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        return self.generator.inference({"z": batch["z"]})

    def noise(self, rows: int, turn: int) -> np.ndarray:
        rng = np.random.default_rng([self.count, turn])
        return rng.standard_normal((rows, LATENT)).astype(np.float32)

    def state(self) -> dict[str, np.ndarray]:
        state = {"count": np.array(self.count)}
        for name, step in self.steps.items():
            state |= {f"{name}.{key}": value for key, value in step.state().items()}
        return state

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.count = int(state["count"])
        for name, step in self.steps.items():
            step.load_state({key: state[f"{name}.{key}"] for key in step.state()})


class Points(Task):
    """Points like those of the data: how far are the means apart?"""

    input: str = "z"
    target: str = "x"
    prediction: str = "make2"
    qualities = (Quality("distance of means", "", "lower"),)

    def arrays(self) -> dict[str, Array]:
        return {"x": Array("real", 1), "z": Array("real", 1)}

    def measure(self, outputs: Arrays, batch: Arrays) -> dict[str, np.ndarray]:
        difference = outputs["make2"].astype(np.float64) - batch["x"]
        return {"right": difference[:, 0], "up": difference[:, 1]}

    def evaluate(self, means: Mapping[str, float]) -> dict[str, float]:
        return {"distance of means": float(np.hypot(means["right"], means["up"]))}


def points() -> dict[str, Split]:
    rng = np.random.default_rng(5)
    x = (rng.standard_normal((500, 2)) * 0.3 + [2.0, -1.0]).astype(np.float32)
    z = rng.standard_normal((500, LATENT)).astype(np.float32)
    cuts = {
        "train": slice(0, 300),
        "validation": slice(300, 400),
        "test": slice(400, None),
    }
    return {name: Split({"x": x[rows], "z": z[rows]}) for name, rows in cuts.items()}


def gan(on: str = "reference", epochs: int = 30, **settings: Any) -> Trainer:
    return Trainer(
        Gan(on),
        None,
        splits=points(),
        sampler=ShuffleSampler(32),
        epochs=epochs,
        task=Points,
        **settings,
    )


def test_it_learns_where_the_data_are() -> None:
    history = gan().run()
    first, last = history.evaluations[0]["validation"], history.evaluations[-1]["test"]
    assert last["distance of means"] < 0.5 < first["distance of means"]
    assert history.series.keys() == {
        "loss",
        "discriminator loss",
        "seconds",
        "data",
        "batch",
    }
    assert len(history.series["discriminator loss"]) == history.steps == 300


@pytest.mark.parametrize("steps", [1, 10, 17])
def test_a_resumed_run_ends_with_the_same_bits(tmp_path: Path, steps: int) -> None:
    path, whole, resumed = tmp_path / "gan.safetensors", gan(epochs=3), gan(epochs=3)
    history = whole.run()
    interrupted(gan(epochs=3, events=[Interrupt(steps, path)]))
    checkpoint = load_checkpoint(path)
    assert {
        "parameters of generator",
        "parameters of discriminator",
        "optimizer",
        "sampler",
    } == {*checkpoint.sections}
    again = resumed.run(checkpoint)
    for name, executor in whole.procedure.executors.items():
        assert same(executor.arrays(), resumed.procedure.executors[name].arrays())
    losses = ("loss", "discriminator loss")
    assert [again.series[name] for name in losses] == [
        history.series[name] for name in losses
    ]


def test_it_runs_on_pytorch_as_well() -> None:
    found, wanted = (
        gan(on, epochs=1).run().series["loss"] for on in ("pytorch", "reference")
    )
    assert found == pytest.approx(wanted, rel=1e-4)


def test_a_forgotten_part_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gan.safetensors"
    interrupted(gan(epochs=1, events=[Interrupt(3, path)]))
    checkpoint = load_checkpoint(path)
    del checkpoint.sections["parameters of discriminator"]
    with pytest.raises(
        Deep500Error, match="has no section 'parameters of discriminator'"
    ):
        gan(epochs=1).run(checkpoint)


def test_a_network_without_an_optimizer_is_refused() -> None:
    network = framework("reference").executor(discriminator())
    splits = {
        name: Split({**s.arrays, "sign": s.arrays["x"][:, :1]})
        for name, s in points().items()
    }

    class Judging(Points):
        prediction: str = "loss"

    with pytest.raises(
        Deep500Error, match="a network is trained by an optimizer, and there is none"
    ):
        Trainer(
            network,
            None,
            splits=splits,
            sampler=ShuffleSampler(32),
            epochs=1,
            task=Judging,
        ).run()
