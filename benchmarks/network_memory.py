"""Predicted against measured peak memory of a training step, on the reference and on PyTorch.

    python benchmarks/network_memory.py [--batch 32] [--optimizer Adam]

Predicted from shapes alone (`d5.network_costs`); measured as the bytes that the allocators hand out: NumPy's by
tracemalloc, PyTorch's by the profiler's memory events. Goal: a ratio from 0.8 to 1.2 on every line.
"""

import argparse
import sys

from deep500 import optimizers
from deep500.bench.networks.measured_memory import measured_training
from deep500.costs.examples import random_inputs
from deep500.costs.memory import training_memory
from deep500.costs.shapes import input_tensors
from deep500.frameworks import framework
from deep500.networks import create

GOAL = 0.2
FRAMEWORKS = ("reference", "pytorch")
NETWORKS = {
    "MLP": lambda: create("mlp", hidden=(512, 512), shape=(784,), outputs=10),
    "LeNet": lambda: create("lenet"),
    "VGG-11": lambda: create(
        "vgg", depth=11, width=0.25, shape=(3, 32, 32), outputs=10
    ),
    "ResNet-20": lambda: create("resnet", depth=20),
    "GPT": lambda: create(
        "gpt", width=128, layers=2, heads=4, shape=(64,), outputs=500
    ),
    "ViT": lambda: create(
        "vit", width=64, layers=2, heads=4, patch=8, shape=(3, 32, 32), outputs=10
    ),
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
    print(
        "within 20 % everywhere"
        if not far
        else f"{far} lines are farther off than 20 %"
    )
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())
