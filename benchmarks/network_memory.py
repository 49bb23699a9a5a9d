"""Predicted against measured peak memory of a training step, on the reference and on PyTorch.

    python benchmarks/network_memory.py [--batch 32] [--optimizer Adam]

Predicted from shapes alone (`d5.network_costs`); measured as the bytes that the allocators hand out: NumPy's by
tracemalloc, PyTorch's by the profiler's memory events. Goal: a ratio from 0.8 to 1.2 on every line.
"""

import argparse
import sys

from deep500 import optimizers
from deep500.contracts.network import Network
from deep500.frameworks import framework
from deep500.losses import CrossEntropy, TokenCrossEntropy
from deep500.networks import DigitsCnn, Mlp
from deep500.networks._classifier import Builder
from deep500.validation.networks.examples import random_inputs
from deep500.validation.networks.measured import measured_training
from deep500.validation.networks.memory import training_memory
from deep500.validation.networks.shapes import input_tensors

GOAL = 0.2
FRAMEWORKS = ("reference", "pytorch")


def residual() -> Network:
    """Convolutions with batch normalisation and shortcuts, for 32 x 32 pictures."""
    builder = Builder(Network("residual"), 0, "float32")
    network = builder.network
    x = network.add_input("x", (0, 3, 32, 32))
    x = normalised(builder, "stem", builder.conv("stem", x, 3, 16), 16)
    for i in range(4):
        y = normalised(builder, f"a{i}", builder.conv(f"a{i}", x, 16, 16), 16)
        y = builder.conv(f"b{i}", y, 16, 16)
        x = network.add_node("Relu", (network.add_node("Add", (x, y)),))
    pooled = network.add_node("GlobalAveragePool", (x,))
    network.add_output(builder.dense("logits", builder.flatten(pooled), 16, 10))
    return CrossEntropy().attach(network)


def normalised(builder: Builder, name: str, x: str, channels: int) -> str:
    import numpy as np

    network, ones = builder.network, np.ones(channels, "float32")
    scale = network.add_param(f"{name}.scale", ones)
    shift = network.add_param(f"{name}.shift", 0 * ones)
    mean = network.add_param(f"{name}.mean", 0 * ones, trainable=False)
    var = network.add_param(f"{name}.var", ones.copy(), trainable=False)
    y = network.add_node("BatchNormalization", (x, scale, shift, mean, var), training_mode=1)
    return builder.relu(y)


def transformer(width: int = 128, heads: int = 4, length: int = 64, words: int = 500) -> Network:
    """Two decoder blocks over tokens."""
    import numpy as np

    builder = Builder(Network("transformer"), 0, "float32")
    network, random = builder.network, np.random.default_rng(0)
    tokens = network.add_input("tokens", (0, length), "int64")

    def weight(name: str, *shape: int) -> str:
        return network.add_param(name, 0.05 * random.standard_normal(shape, "float32"))

    def norm(name: str, x: str) -> str:
        return network.add_node(
            "LayerNormalization", (x, weight(f"{name}.s", width), weight(f"{name}.b", width))
        )

    def split(name: str, x: str, perm: tuple[int, ...]) -> str:
        y = network.add_node("MatMul", (x, weight(name, width, width)))
        y = network.add_node("Reshape", (y, (0, length, heads, width // heads)))
        return network.add_node("Transpose", (y,), perm=perm)

    x = network.add_node("Gather", (weight("embedding", words, width), tokens))
    for i in range(2):
        h = norm(f"n{i}", x)
        q, v = split(f"q{i}", h, (0, 2, 1, 3)), split(f"v{i}", h, (0, 2, 1, 3))
        scores = network.add_node("MatMul", (q, split(f"k{i}", h, (0, 2, 3, 1))))
        mixed = network.add_node("MatMul", (network.add_node("Softmax", (scores,)), v))
        mixed = network.add_node("Transpose", (mixed,), perm=(0, 2, 1, 3))
        mixed = network.add_node("Reshape", (mixed, (0, length, width)))
        x = network.add_node(
            "Add", (x, network.add_node("MatMul", (mixed, weight(f"o{i}", width, width))))
        )
        h = network.add_node("MatMul", (norm(f"m{i}", x), weight(f"up{i}", width, 4 * width)))
        h = network.add_node("Gelu", (h,))
        x = network.add_node(
            "Add", (x, network.add_node("MatMul", (h, weight(f"down{i}", 4 * width, width))))
        )
    network.add_output(network.add_node("MatMul", (x, weight("head", width, words))))
    return TokenCrossEntropy().attach(network)


NETWORKS = {
    "MLP": lambda: Mlp(hidden=(512, 512)).build((784,), 10),
    "CNN": lambda: DigitsCnn().build((3, 32, 32), 10),
    "residual CNN": residual,
    "transformer": transformer,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--optimizer", default="Adam")
    args = parser.parse_args()
    optimizer = getattr(optimizers, args.optimizer)(learning_rate=0.001)
    far = 0
    for name, make in NETWORKS.items():
        network = make()
        tensors = input_tensors(network, args.batch)
        inputs = random_inputs(network, tensors)
        for engine in map(framework, FRAMEWORKS):
            predicted = training_memory(network, tensors, engine, optimizer)
            measured = measured_training(engine, network, inputs, optimizer)
            ratio = predicted.peak / measured
            far += abs(ratio - 1) > GOAL
            print(
                f"{name:12} {engine.name:9} batch {args.batch}: predicted {predicted.peak / 2**20:8.2f} MiB, "
                f"measured {measured / 2**20:8.2f} MiB, ratio {ratio:.3f} (peak: {predicted.place})"
            )
    print("within 20 % everywhere" if not far else f"{far} lines are farther off than 20 %")
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
