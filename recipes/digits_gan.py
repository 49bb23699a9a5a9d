"""A small GAN on handwritten digits: two networks and two optimizers, trained by a procedure of this file.

A generator makes pictures from noise, a discriminator learns to tell them from real ones. How good the generator is:
the distance between real and generated pictures in the mean and the deviation of every pixel.
"""

import numpy as np

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from recipes.recipe import run_recipe

PIXELS = 64


class NoisyDigits(d5.Dataset):
    """The digits as vectors in "x", each with the noise "z" that the evaluation starts from."""

    latent: int = 8

    def load(self):
        splits = {}
        for number, (name, split) in enumerate(d5.datasets.Digits().load().items()):
            x = split.arrays["x"].reshape(len(split), PIXELS)
            rng = np.random.Generator(np.random.Philox(key=number))
            z = rng.standard_normal((len(split), self.latent)).astype(np.float32)
            splits[name] = d5.Split({"x": x, "z": z})
        return splits


class LikeTheData(d5.Task):
    """Pictures like those of the data; every pixel's mean and deviation are compared."""

    input: str = "z"
    target: str = "x"
    prediction: str = "picture"
    qualities = (d5.Quality("pixel distance", "", "lower"),)

    def arrays(self):
        return {}

    def measure(self, outputs, batch):
        elements = {}
        for side, pictures in (("real", batch["x"]), ("made", outputs["picture"])):
            exact = pictures.astype(np.float64)
            for pixel in range(PIXELS):
                elements[f"{side} {pixel}"] = exact[:, pixel]
                elements[f"{side} {pixel} squared"] = exact[:, pixel] ** 2
        return elements

    def evaluate(self, means):
        distances = []
        for pixel in range(PIXELS):
            moments = []
            for side in ("real", "made"):
                mean = means[f"{side} {pixel}"]
                variance = max(0.0, means[f"{side} {pixel} squared"] - mean**2)
                moments.append(np.array([mean, np.sqrt(variance)]))
            distances.append(np.abs(moments[0] - moments[1]).mean())
        return {"pixel distance": float(np.mean(distances))}


def dense(network, name, x, sizes, rng, trainable=True):
    weight = (rng.standard_normal(sizes) / np.sqrt(sizes[0])).astype(np.float32)
    network.add_param(f"{name}.w", weight, trainable)
    network.add_param(f"{name}.b", np.zeros(sizes[1], np.float32), trainable)
    return network.add_node("Gemm", (x, f"{name}.w", f"{name}.b"), [f"{name}.out"])


def add_discriminator(network, x, width, rng, trainable):
    """Adds the output "loss": the mean of log(1 + exp(-sign * score)); the sign is 1 for what shall look real."""
    hidden = dense(network, "judge1", x, (PIXELS, width), rng, trainable)
    score = dense(
        network,
        "judge2",
        network.add_node("LeakyRelu", (hidden,)),
        (width, 1),
        rng,
        trainable,
    )
    network.add_input("sign", (0, 1))
    agreement = network.add_node("Mul", (score, "sign"))
    surprise = network.add_node("Softplus", (network.add_node("Neg", (agreement,)),))
    network.add_output(
        network.add_node("ReduceMean", (surprise,), ["loss"], keepdims=0)
    )


def discriminator(width, seed):
    network = d5.Network("discriminator")
    network.add_input("x", (0, PIXELS))
    add_discriminator(network, "x", width, np.random.default_rng([seed, 1]), True)
    return network


def generator(latent, width, seed):
    """The generator with a frozen discriminator behind it, through which its gradient comes."""
    rng = np.random.default_rng([seed, 0])
    network = d5.Network("generator")
    network.add_input("z", (0, latent))
    hidden = network.add_node(
        "Relu", (dense(network, "make1", "z", (latent, width), rng),)
    )
    pixels = dense(network, "make2", hidden, (width, PIXELS), rng)
    network.add_output(network.add_node("Sigmoid", (pixels,), ["picture"]))
    add_discriminator(
        network, "picture", width, np.random.default_rng([seed, 1]), False
    )
    return network


class Gan(d5.Procedure):
    """One step: the discriminator learns to tell real pictures from made ones, then the generator to deceive it."""

    def __init__(self, setup, width=64):
        self.series = {"loss": "loss", "discriminator loss": "discriminator loss"}
        self.latent = setup.train.specs["z"].shape[0]
        self.seed = setup.seed
        self.generator = setup.executor(generator(self.latent, width, setup.seed))
        self.discriminator = setup.executor(discriminator(width, setup.seed))
        self.executors = {
            "generator": self.generator,
            "discriminator": self.discriminator,
        }
        self.steps = {}
        for name, executor in self.executors.items():
            self.steps[name] = executor.training_step(setup.optimizer(name))
        self.count = 0

    def step(self, batch, first_row=0):
        rows = len(batch["x"])
        ones = np.ones((rows, 1), np.float32)
        made = self.generator.inference({"z": self.noise(rows, 0), "sign": ones})[
            "picture"
        ]
        pictures = np.concatenate([batch["x"], self.framework.array(made)])
        judged = {"x": pictures, "sign": np.concatenate([ones, -ones])}
        judgement = self.steps["discriminator"](judged)
        self.generator.load(self.generator.arrays() | self.discriminator.arrays())
        outputs = self.steps["generator"]({"z": self.noise(rows, 1), "sign": ones})
        self.count += 1
        return {"loss": outputs["loss"], "discriminator loss": judgement["loss"]}

    def inference(self, batch):
        ones = np.ones((len(batch["z"]), 1), np.float32)
        return self.generator.inference({"z": batch["z"], "sign": ones})

    def noise(self, rows, turn):
        rng = np.random.default_rng([self.seed, self.count, turn])
        return rng.standard_normal((rows, self.latent)).astype(np.float32)

    def state(self):
        state = {"count": np.array(self.count)}
        for name, step in self.steps.items():
            state |= {f"{name}.{key}": value for key, value in step.state().items()}
        return state

    def load_state(self, state):
        self.count = int(state["count"])
        for name, step in self.steps.items():
            step.load_state({key: state[f"{name}.{key}"] for key in step.state()})


FIXED = {
    "procedure": "Gan",
    "dataset": "NoisyDigits",
    "task": "LikeTheData",
    "train_sampler": d5.ShuffleSampler,
    "epochs": 40,
}

MUTABLE = {
    "batch_size": 64,
    "executor": d5fw.from_model,
    "optimizers": {
        "generator": d5.optimizers.Adam(0.001, 0.5),
        "discriminator": d5.optimizers.Adam(0.001, 0.5),
    },
}

METRICS = [
    (d5.FinalQuality("pixel distance"), 0.1),
    (d5.Throughput(), None),
]

TIERS = {
    "tiny": {"seeds": 2, "epochs": 2, "procedure_kwargs": {"width": 16}},
}

if __name__ == "__main__":
    run_recipe(FIXED, MUTABLE, METRICS, tiers=TIERS) or exit(1)
