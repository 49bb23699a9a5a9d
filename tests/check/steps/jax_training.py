"""A training in JAX: pure functions, a token-weighted loss, momentum."""

import jax
import numpy as np
from jax import numpy as jnp


def loss_sum(params, batch):
    hidden = jnp.tanh(batch["x"] @ params["w"] + params["b"])
    logits = hidden @ params["v"]
    one = jax.nn.one_hot(batch["label"], 4)
    losses = -(jax.nn.log_softmax(logits) * one).sum(-1)
    return (losses * batch["mask"]).sum()


def make(bug=""):
    return Training(bug)


class Training:
    def __init__(self, bug):
        random = np.random.default_rng(0)
        shapes = {"w": (6, 8), "b": (8,), "v": (8, 4)}
        self.bug = bug
        self.params = {
            name: jnp.asarray(random.normal(size=shape), jnp.float32)
            for name, shape in shapes.items()
        }
        self.velocity = jax.tree.map(jnp.zeros_like, self.params)
        self.parts = jax.value_and_grad(loss_sum)

    def batch(self):
        random = np.random.default_rng(1)
        lengths = np.array([5, 1, 2, 4, 1, 3, 5, 2])
        return {
            "x": random.normal(size=(8, 5, 6)).astype(np.float32),
            "label": random.integers(0, 4, (8, 5)),
            "mask": (np.arange(5) < lengths[:, None]).astype(np.float32),
        }

    def both(self, micro_batches):
        found = [self.parts(self.params, part) for part in micro_batches]
        tokens = [part["mask"].sum() for part in micro_batches]
        weights = [1 / sum(tokens)] * len(tokens)
        if self.bug == "mean of means":
            weights = [1 / (count * len(tokens)) for count in tokens]
        loss = sum(w * part[0] for w, part in zip(weights, found, strict=True))
        scaled = [
            jax.tree.map(lambda g, w=w: w * g, part[1])
            for w, part in zip(weights, found, strict=True)
        ]
        return loss, jax.tree.map(lambda *gs: sum(gs), *scaled)

    def gradients(self, micro_batches):
        return self.both(micro_batches)[1]

    def step(self, micro_batches):
        loss, gradient = self.both(micro_batches)
        self.velocity = jax.tree.map(lambda v, g: 0.9 * v + g, self.velocity, gradient)
        self.params = jax.tree.map(lambda p, v: p - 0.1 * v, self.params, self.velocity)
        return float(loss)

    def state(self):
        if self.bug == "no velocity":
            return {"params": self.params}
        return {"params": self.params, "velocity": self.velocity}

    def load(self, state):
        for name, value in state.items():
            setattr(self, name, value)
