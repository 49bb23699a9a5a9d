"""Networks on JAX and TensorFlow against the same thing written by hand for the engine.

    python benchmarks/network_engines.py jax [--budget 60] [--seed 0]
    python benchmarks/network_engines.py tensorflow

One thread, interleaved; ratios are ours / theirs with their 95 % intervals. "call" is one Relu of 8 numbers: what a
call costs beyond the engine's own jitted function or `tf.function` (goal at most 1.3). "inference" and "step" are a
multilayer perceptron, 64 × 256 → 512 → 512 → 10, forward, and a whole step with Adam, on native batches (goal at most
1.02): by hand with jax.jit and donated memory, or with Keras, its Adam and `tf.function`.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from deep500 import measure
from deep500.contracts.network import Network
from deep500.frameworks import framework
from deep500.networks import Mlp
from deep500.optimizers import Adam

BATCH, WIDTH, HIDDEN, CLASSES = 64, 256, (512, 512), 10
GOALS = {"call": 1.3, "inference": 1.02, "step": 1.02}
Pair = dict[str, Callable[[], Any]]  # "hand" and "ours"


def one_node() -> Network:
    network = Network("relu")
    network.add_input("x", ("batch",))
    network.add_output(network.add_node("Relu", ("x",), ["y"]))
    return network


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((BATCH, WIDTH)).astype("float32")
    return {"x": x, "label": rng.integers(0, CLASSES, BATCH)}


def ours(name: str, network: Network) -> dict[str, Callable[[], Any]]:
    """Our side of every comparison."""
    fw = framework(name)
    batch = {key: fw.tensor(value) for key, value in arrays().items()}
    small = {"x": fw.tensor(np.ones(8, "float32"))}
    relu, executor = fw.executor(one_node()), fw.executor(network)
    step = fw.executor(network).training_step(Adam())
    return {
        "call": lambda: relu.inference(small),
        "inference": lambda: executor.inference({"x": batch["x"]}),
        "step": lambda: step(batch),
    }


def jax_by_hand(network: Network) -> dict[str, Callable[[], Any]]:
    import jax
    import jax.numpy as jnp

    batch = {key: jnp.asarray(value) for key, value in arrays().items()}
    small = jnp.ones(8, "float32")
    params = {key: jnp.array(value) for key, value in network.params.items()}
    zeros = {key: jnp.zeros_like(value) for key, value in params.items()}
    layers = ["fc1", "fc2", "logits"]

    def forward(params: Any, x: Any) -> Any:
        for layer in layers:
            x = x @ params[f"{layer}.weight"].T + params[f"{layer}.bias"]
            x = jax.nn.relu(x) if layer != "logits" else x
        return x

    def loss(params: Any, x: Any, label: Any) -> tuple[Any, Any]:
        logits = forward(params, x)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], axis=1)
        return -jnp.mean(chosen), logits

    def step(
        params: Any, means: Any, squares: Any, count: Any, x: Any, label: Any
    ) -> Any:
        gradient = jax.value_and_grad(loss, has_aux=True)
        (value, logits), grads = gradient(params, x, label)
        count = count + 1
        means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, grads)
        squares = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, squares, grads)

        def moved(p: Any, m: Any, s: Any) -> Any:
            spread = jnp.sqrt(s / (1 - 0.999**count)) + 1e-8
            return p - 1e-3 * m / (1 - 0.9**count) / spread

        return (
            jax.tree.map(moved, params, means, squares),
            means,
            squares,
            count,
            value,
            logits,
        )

    compiled = jax.jit(step, donate_argnums=(0, 1, 2, 3))
    infer, relu = jax.jit(forward), jax.jit(jax.nn.relu)
    kept = {"fixed": params}
    count = jnp.zeros((), "float32")
    state = [*jax.tree.map(jnp.array, (params, zeros, zeros)), count]

    def run_step() -> Any:
        *state[:], value, logits = compiled(*state, batch["x"], batch["label"])
        return value, logits

    return {
        "call": lambda: relu(small),
        "inference": lambda: infer(kept["fixed"], batch["x"]),
        "step": run_step,
    }


def tensorflow_by_hand(network: Network) -> dict[str, Callable[[], Any]]:
    tf = framework("tensorflow").module
    layers = tf.keras.layers
    batch = {key: tf.convert_to_tensor(value) for key, value in arrays().items()}
    small = tf.ones(8)
    hidden = [layers.Dense(width, activation="relu") for width in HIDDEN]
    model = tf.keras.Sequential(
        [tf.keras.Input((WIDTH,)), *hidden, layers.Dense(CLASSES)]
    )
    for layer, name in zip(model.layers, ("fc1", "fc2", "logits"), strict=True):
        layer.set_weights(
            [network.params[f"{name}.weight"].T, network.params[f"{name}.bias"]]
        )
    adam = tf.keras.optimizers.Adam(1e-3, epsilon=1e-8)
    adam.build(model.trainable_variables)
    criterion = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(autograph=False)
    def infer(x: Any) -> Any:
        return model(x, training=False)

    @tf.function(autograph=False)
    def step(x: Any, label: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            value = criterion(label, logits)
        adam.apply(tape.gradient(value, model.trainable_variables))
        return value, logits

    relu = tf.function(tf.nn.relu, autograph=False)
    return {
        "call": lambda: relu(small),
        "inference": lambda: infer(batch["x"]),
        "step": lambda: step(batch["x"], batch["label"]),
    }


BY_HAND = {"jax": jax_by_hand, "tensorflow": tensorflow_by_hand}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("framework", choices=[*BY_HAND])
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    framework(args.framework).set_threads(1)
    network = Mlp(HIDDEN).build((WIDTH,), CLASSES)
    mine, theirs = ours(args.framework, network), BY_HAND[args.framework](network)
    good = True
    for what, goal in GOALS.items():
        pair = {"hand": theirs[what], "ours": mine[what]}
        result = measure.run(pair, budget_s=args.budget / len(GOALS), seed=args.seed)
        ratio, time = result.compare("hand", "ours"), result.interval("hand")
        good = good and ratio.ratio <= goal
        print(
            f"{args.framework} {what}: ours / hand = {ratio.ratio:.3f} "
            f"[{ratio.low:.3f}, {ratio.high:.3f}], n = {ratio.n}, goal {goal}; "
            f"hand {time.estimate * 1e6:.1f} us",
            flush=True,
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
