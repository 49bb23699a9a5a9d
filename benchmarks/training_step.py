"""A training step through the Trainer with its default events, against a hand-written native loop with fused Adam.

    python benchmarks/training_step.py [--only pytorch-mlp ...] [--processes 6] [--pairs 40] [--clock cpu] [--out FILE]

One thread, batch 64, shuffled batches out of arrays in memory, losses kept and not read. The bar is drawn as on a
terminal. In a fresh process a native loop, the same loop a second time (the A/A control) and the trainer take turns
in random order, a few steps each: an event of the trainer hands over. A pair is two such stretches side by side. The
ratio is trainer / native, the median over pairs, its 95 % interval over processes. Goals: at most 1.00 on PyTorch, 1.01
for a wrapped nn.Module, 1.02 on JAX (jit) and TensorFlow (tf.function), the upper end at most 0.03 above the goal.
On a machine that others use, `--clock cpu` counts the CPU time of the process, all its threads together. With --out,
finished processes are kept in that file, and the next call goes on behind them.
"""

import argparse
import io
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _kept import Kept

from deep500.measure import compare
from deep500.training.events import Event

BATCH, EXAMPLES = 64, 4096
STRETCH_SECONDS = 0.02
ROOM = 0.03  # of the upper end above the goal
GOALS = {
    "pytorch-mlp": 1.00,
    "pytorch-lenet": 1.00,
    "wrapped-mlp": 1.01,
    "wrapped-lenet": 1.01,
    "jax-mlp": 1.02,
    "jax-lenet": 1.02,
    "tensorflow-mlp": 1.02,
    "tensorflow-lenet": 1.02,
}
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
Step = Callable[[np.ndarray, np.ndarray], Any]


class Terminal(io.StringIO):
    """Somewhere to draw the bar as on a terminal."""

    def isatty(self) -> bool:
        return True


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    pictures = rng.standard_normal((EXAMPLES, 1, 28, 28)).astype("float32")
    return pictures, rng.integers(0, 10, EXAMPLES)


def network(name: str) -> Any:
    from deep500 import networks

    options: dict[str, Any] = {"hidden": (256, 128)} if name == "mlp" else {}
    return networks.create(name, outputs=10, shape=(1, 28, 28), seed=0, **options)


def torch_module(name: str) -> Any:
    from torch import nn

    if name == "mlp":
        layers = [
            nn.Flatten(),
            nn.Linear(784, 256),
            nn.ReLU(),
            nn.Linear(256, 128),
            nn.ReLU(),
        ]
        return nn.Sequential(*layers, nn.Linear(128, 10))
    convolutions = [nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2)]
    convolutions += [nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten()]
    dense = [
        nn.Linear(400, 120),
        nn.Tanh(),
        nn.Linear(120, 84),
        nn.Tanh(),
        nn.Linear(84, 10),
    ]
    return nn.Sequential(*convolutions, *dense)


def torch_step(name: str) -> Step:
    import torch

    model, criterion = torch_module(name), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)

    def step(x: np.ndarray, label: np.ndarray) -> Any:
        optimizer.zero_grad()
        loss = criterion(model(torch.from_numpy(x)), torch.from_numpy(label))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def jax_step(name: str) -> Step:
    import jax
    import optax
    from jax import numpy as jnp
    from jax.nn import log_softmax

    params = {key: jnp.array(value) for key, value in network(name).params.items()}
    optimizer = optax.adam(1e-3)
    state = optimizer.init(params)

    def dense(params: Any, layer: str, x: Any) -> Any:
        return x @ params[f"{layer}.weight"].T + params[f"{layer}.bias"]

    def mlp(params: Any, x: Any) -> Any:
        x = x.reshape(len(x), -1)
        x = jax.nn.relu(dense(params, "fc1", x))
        return dense(params, "logits", jax.nn.relu(dense(params, "fc2", x)))

    def convolved(params: Any, layer: str, x: Any, padding: int) -> Any:
        around = [(padding, padding)] * 2
        y = (
            jax.lax.conv(x, params[f"{layer}.weight"], (1, 1), "VALID")
            if not padding
            else None
        )
        if y is None:
            y = jax.lax.conv_general_dilated(
                x, params[f"{layer}.weight"], (1, 1), around
            )
        return jnp.tanh(y + params[f"{layer}.bias"][:, None, None])

    def pooled(x: Any) -> Any:
        return (
            jax.lax.reduce_window(
                x, 0.0, jax.lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
            )
            / 4
        )

    def lenet(params: Any, x: Any) -> Any:
        x = pooled(convolved(params, "conv1", x, 2))
        x = pooled(convolved(params, "conv2", x, 0)).reshape(len(x), -1)
        x = jnp.tanh(dense(params, "fc1", x))
        return dense(params, "fc3", jnp.tanh(dense(params, "fc2", x)))

    forward = {"mlp": mlp, "lenet": lenet}[name]

    def loss_of(params: Any, x: Any, label: Any) -> Any:
        logs = log_softmax(forward(params, x))
        return -jnp.mean(jnp.take_along_axis(logs, label[:, None], axis=1))

    def update(params: Any, state: Any, x: Any, label: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(params, x, label)
        changes, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, changes), state, loss

    compiled = jax.jit(update, donate_argnums=(0, 1))

    def step(x: np.ndarray, label: np.ndarray) -> Any:
        nonlocal params, state
        params, state, loss = compiled(params, state, x, label.astype("int32"))
        loss.block_until_ready()
        return loss

    return step


def tensorflow_step(name: str) -> Step:
    import tensorflow as tf

    layers = tf.keras.layers
    if name == "mlp":
        parts = [layers.Flatten(), layers.Dense(256, "relu"), layers.Dense(128, "relu")]
        parts.append(layers.Dense(10))
    else:
        parts = [
            layers.Permute((2, 3, 1)),
            layers.Conv2D(6, 5, padding="same", activation="tanh"),
        ]
        parts += [layers.AveragePooling2D(2), layers.Conv2D(16, 5, activation="tanh")]
        parts += [
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(120, "tanh"),
        ]
        parts += [layers.Dense(84, "tanh"), layers.Dense(10)]
    model = tf.keras.Sequential([tf.keras.Input((1, 28, 28)), *parts])
    criterion = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

    @tf.function
    def update(x: Any, label: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = criterion(label, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    return lambda x, label: update(tf.constant(x), tf.constant(label))


NATIVE = {"pytorch": torch_step, "jax": jax_step, "tensorflow": tensorflow_step}


class NativeLoop:
    """A loop as anyone writes it: shuffle, index, step, keep the loss."""

    def __init__(self, step: Step, clock: Callable[[], float]):
        self.step, self.clock = step, clock
        self.pictures, self.labels = data()
        self.rng = np.random.default_rng(0)
        self.batches = self._batches()
        self.losses: list[Any] = []

    def __call__(self, steps: int) -> float:
        begin = self.clock()
        for _ in range(steps):
            x, label = next(self.batches)
            self.losses.append(self.step(x, label))
        return self.clock() - begin

    def _batches(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        while True:
            order = self.rng.permutation(EXAMPLES)
            self.losses.clear()
            for start in range(0, EXAMPLES, BATCH):
                chosen = order[start : start + BATCH]
                yield self.pictures[chosen], self.labels[chosen]


class TakeTurns(Event):
    """Hands over to the native loops after every stretch of the trainer's steps."""

    def __init__(
        self,
        new_loop: Callable[[], NativeLoop],
        clock: Callable[[], float],
        times: dict[str, list[float]],
        pairs: int,
        rng: random.Random,
    ):
        self.new_loop, self.clock = new_loop, clock
        self.times, self.pairs, self.rng = times, pairs, rng
        self.loops: dict[str, NativeLoop] = {}
        self.steps = 0  # of a stretch
        self.done = 0
        self.begun: float | None = None
        self.warm_up = 50

    def make_loops(self) -> None:
        """Build and warm up the native loops."""
        for name in ("native", "control"):
            self.loops[name] = self.new_loop()
            self.loops[name](50)
        step_seconds = self.loops["native"](50) / 50
        self.steps = max(2, round(STRETCH_SECONDS / step_seconds))

    def before_epoch(self, trainer: Any, epoch: int) -> None:
        self.begun, self.done = None, 0  # an evaluation lies in between

    def after_step(self, trainer: Any, outputs: Any) -> bool:
        if self.warm_up:
            self.warm_up -= 1
            return False
        if not self.loops:
            self.make_loops()
        self.done += 1
        if self.done < self.steps and self.begun is not None:
            return False
        if self.begun is not None:
            self.times["trainer"].append((self.clock() - self.begun) / self.steps)
        for name in self.rng.sample([*self.loops], 2):
            seconds = self.loops[name](self.steps) / self.steps
            if self.begun is not None:
                self.times[name].append(seconds)
        self.done = 0
        self.begun = self.clock()
        return len(self.times["trainer"]) >= self.pairs


def worker(
    case: str, pairs: int, seed: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds per step of the trainer and of both native loops, stretch by stretch."""
    import deep500 as d5
    from deep500.contracts.dataset import Split

    engine, name = case.split("-")
    fw = d5.framework("pytorch" if engine == "wrapped" else engine)
    fw.set_threads(1)
    times: dict[str, list[float]] = {"trainer": [], "native": [], "control": []}
    rng = random.Random(seed)
    turns = TakeTurns(
        lambda: NativeLoop(NATIVE[fw.name](name), clock), clock, times, pairs, rng
    )
    if seed % 2:
        turns.make_loops()  # what comes first may get the better memory, so they take turns in this, too
    if engine == "wrapped":
        import torch

        loss = torch.nn.CrossEntropyLoss()
        executor = fw.from_model(
            torch_module(name), loss=loss, inputs=["x"], outputs=["logits"]
        )
    else:
        executor = fw.executor(network(name))
    pictures, labels = data()
    train = Split({"x": pictures, "label": labels})
    few = Split({"x": pictures[:BATCH], "label": labels[:BATCH]})
    bar = d5.events.ProgressBar(Terminal())
    splits = {"train": train, "validation": few, "test": few}
    trainer = d5.Trainer(
        executor, d5.optimizers.Adam(), splits=splits, sampler=d5.ShuffleSampler(BATCH, seed=0), epochs=1000,
        events=[bar, turns],
    )  # fmt: skip
    trainer.run()
    return times


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=GOALS, default=[*GOALS])
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        print(
            json.dumps(worker(args.worker, args.pairs, args.seed, CLOCKS[args.clock]))
        )
        return 0
    kept = Kept(args.out)
    return 0 if all([judge(case, args, kept) for case in args.only]) else 1


def stretches(case: str, args: argparse.Namespace, seed: int) -> Any:
    """The times of a fresh process: of the trainer, the native loop, and that loop once more."""
    command = [sys.executable, __file__, "--worker", case, "--clock", args.clock]
    command += ["--pairs", str(args.pairs), "--seed", str(seed)]
    surroundings = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
    answer = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        env=surroundings,
    )
    return json.loads(answer.stdout.splitlines()[-1])


def judge(case: str, args: argparse.Namespace, kept: Kept) -> bool:
    """Measure one case in fresh processes, and print its ratio beside the control."""
    series: dict[str, list[list[float]]] = {"trainer": [], "native": [], "control": []}
    for number in range(args.processes):
        seed = args.seed + number
        process = partial(stretches, case, args, seed)
        times = kept.of(case, args.clock, args.pairs, seed, trial=process)
        length = min(map(len, times.values()))
        for name, values in times.items():
            series[name].append(values[:length])
    ours = compare(series["native"], series["trainer"], paired=True)
    same = compare(series["native"], series["control"], paired=True)
    goal = GOALS[case]
    good = ours.ratio <= goal and ours.high <= goal + ROOM
    print(
        f"{case:16} trainer / native = {ours.ratio:.3f} [{ours.low:.3f}, {ours.high:.3f}], "
        f"n = {ours.n} pairs in {ours.processes} processes; A/A {same.ratio:.3f} "
        f"[{same.low:.3f}, {same.high:.3f}]; native {ours.a.estimate * 1e3:.3f} ms ({args.clock}); "
        f"goal {goal:.2f}: {'reached' if good else 'not reached'}",
        flush=True,
    )
    return good


if __name__ == "__main__":
    sys.exit(main())
