"""JAX's "MNIST from scratch", on digits, measured in place. What was added is marked with "d5".

python examples/instrumented_jax.py [FOLDER]
"""

import sys
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from sklearn.datasets import load_digits

import deep500 as d5  # d5

LAYER_SIZES = [64, 128, 128, 10]
STEP_SIZE = 0.1
EPOCHS = 5
BATCH_SIZE = 128

digits = load_digits()
images = (digits.images.reshape(-1, 64) / 16).astype(np.float32)
labels = np.eye(10, dtype=np.float32)[digits.target]
train_images, test_images = images[:1500], images[1500:]
train_labels, test_labels = labels[:1500], labels[1500:]


def init_params(scale, layer_sizes, rng):
    return [
        (scale * rng.standard_normal((m, n)).astype("f"), np.zeros(n, "f"))
        for m, n in pairwise(layer_sizes)
    ]


def predict(params, inputs):
    activations = inputs
    for w, b in params[:-1]:
        activations = jnp.tanh(jnp.dot(activations, w) + b)
    final_w, final_b = params[-1]
    logits = jnp.dot(activations, final_w) + final_b
    return logits - logsumexp(logits, axis=1, keepdims=True)


def loss(params, batch):
    inputs, targets = batch
    return -jnp.mean(jnp.sum(predict(params, inputs) * targets, axis=1))


@jax.jit
def accuracy(params, inputs, targets):
    return jnp.mean(
        jnp.argmax(predict(params, inputs), axis=1) == jnp.argmax(targets, axis=1)
    )


@jax.jit
def update(params, batch):
    value, grads = jax.value_and_grad(loss)(params, batch)
    moved = [
        (w - STEP_SIZE * dw, b - STEP_SIZE * db)
        for (w, b), (dw, db) in zip(params, grads, strict=True)
    ]
    return moved, value


def data_stream(rng):
    for _ in range(len(train_images) // BATCH_SIZE):
        chosen = rng.integers(0, len(train_images), BATCH_SIZE)
        yield train_images[chosen], train_labels[chosen]


out = sys.argv[1] if len(sys.argv) > 1 else None
settings = {"step size": STEP_SIZE, "batch size": BATCH_SIZE}  # d5
with d5.instrument(
    "from scratch", seed=0, out=out, settings=settings, wait=True
) as run:  # d5
    rng = np.random.default_rng(0)
    params = init_params(0.1, LAYER_SIZES, rng)
    for epoch in range(EPOCHS):
        for batch in run.batches(data_stream(rng)):  # d5: `in data_stream(rng)` before
            with run.region("update"):  # d5
                params, value = update(params, batch)
            run.step(loss=value, examples=BATCH_SIZE)  # d5
        test_accuracy = 100 * accuracy(params, test_images, test_labels)
        run.evaluation("test", accuracy=test_accuracy)  # d5
        print(f"Epoch {epoch}: test set accuracy {test_accuracy:.1f}%")

print(f"d5 show {run.folder}")  # d5
