"""Softmax regression on tokens with a token-weighted loss, in NumPy; every bug is an argument."""

import numpy as np


class Training:
    def __init__(self, bug="", dropout=0.0):
        random = np.random.default_rng(0)
        self.bug, self.dropout = bug, dropout
        self.w = random.normal(size=(6, 4)).astype(np.float32)
        self.b = np.zeros(4, np.float32)
        self.momentum = {"w": np.zeros_like(self.w), "b": np.zeros_like(self.b)}
        self.count = 0
        self.left = {}

    def batch(self):
        random = np.random.default_rng(1)
        x = random.normal(size=(8, 5, 6)).astype(np.float32)
        label = random.integers(0, 4, (8, 5))
        lengths = np.array([5, 1, 2, 4, 1, 3, 5, 2])
        mask = (np.arange(5) < lengths[:, None]).astype(np.float32)
        return {"x": x, "label": label, "mask": mask}

    def sums(self, batch):
        x, label, mask = batch["x"], batch["label"], batch["mask"]
        if self.dropout:
            x = x * (np.random.random(x.shape) > self.dropout)
        logits = x @ self.w + self.b
        logits = logits - logits.max(-1, keepdims=True)
        p = np.exp(logits)
        p /= p.sum(-1, keepdims=True)
        one = np.eye(4, dtype=np.float32)[label]
        if self.bug == "place":
            mask = mask * (1 + np.arange(len(mask), dtype=np.float32))[:, None]
        d = (p - one) * mask[..., None]
        loss = -(np.log((p * one).sum(-1)) * mask).sum()
        return (
            {"w": np.einsum("nti,ntj->ij", x, d), "b": d.sum((0, 1))},
            loss,
            mask.sum(),
        )

    def both(self, micro_batches):
        sums = [self.sums(m) for m in micro_batches]
        if self.bug == "mean of means":
            k = len(sums)
            return {n: sum(g[n] / t for g, _, t in sums) / k for n in "wb"}, sum(
                value / t for _, value, t in sums
            ) / k
        if self.bug == "sum of means":
            return {n: sum(g[n] / t for g, _, t in sums) for n in "wb"}, sum(
                value / t for _, value, t in sums
            )
        tokens = sum(t for *_, t in sums)
        total = {n: sum(g[n] for g, *_ in sums) / tokens for n in "wb"}
        loss = sum(value for _, value, _ in sums) / tokens
        if self.bug == "window" and len(sums) > 1:
            total = {n: g * len(sums) / 4 for n, g in total.items()}
        if self.bug == "leak":
            total = {n: g + self.left.get(n, 0) for n, g in total.items()}
            self.left = total
        if self.bug == "logged" and len(sums) > 1:
            loss = sums[-1][1] / sums[-1][2]
        return total, loss

    def gradients(self, micro_batches):
        return self.both(micro_batches)[0]

    def over_ranks(self, shards):
        if self.bug == "ddp":
            found = [self.gradients(s) for s in shards]
            return {n: sum(g[n] for g in found) / len(found) for n in "wb"}
        return self.gradients([m for s in shards for m in s])

    def step(self, micro_batches):
        g, loss = self.both(micro_batches)
        self.count += 1
        rate = 0.1 / self.count
        for n in "wb":
            self.momentum[n] = 0.9 * self.momentum[n] + g[n]
            setattr(
                self, n, (getattr(self, n) - rate * self.momentum[n]).astype(np.float32)
            )
        return loss

    def state(self):
        state = {"w": self.w, "b": self.b, "count": self.count}
        if self.bug != "momentum":
            state["momentum"] = self.momentum
        if self.bug == "count":
            del state["count"]
        return state

    def load(self, state):
        for k, v in state.items():
            setattr(self, k, v)

    def evaluate(self, batch):
        if self.bug == "evaluates":
            self.b = self.b + np.float32(1e-3)
        return self.sums(batch)[1]
