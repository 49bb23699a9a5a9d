"""A recipe with things of its own: run on two frameworks, tested for equivalence, and verified."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import deep500 as d5


class Rings(d5.Dataset):
    """Points in a disc; the class is whether they lie in its inner half."""

    size: int = 600

    def load(self):
        rng = np.random.default_rng(0)
        x = rng.uniform(-1, 1, (self.size, 2)).astype(np.float32)
        label = (np.hypot(x[:, 0], x[:, 1]) < 0.8).astype(np.int64)
        cuts = np.split(np.arange(self.size), [self.size * 3 // 5, self.size * 4 // 5])
        parts = zip(("train", "validation", "test"), cuts, strict=True)
        return {
            name: d5.Split({"x": x[rows], "label": label[rows]}) for name, rows in parts
        }


class StepsToHalf(d5.Metric):
    """How many steps it takes until the loss has halved."""

    kind = "count"
    unit = "steps"
    better = "lower"

    def value(self, history):
        for step, loss in enumerate(history.losses, 1):
            if loss < history.losses[0] / 2:
                return step
        return None  # never: the worst of all values


FIXED = {
    "model": "mlp",
    "model_kwargs": {"hidden": (16,)},
    "dataset": Rings,
    "epochs": 15,
}
MUTABLE = {
    "batch_size": 20,
    "executor": "reference",
    "optimizer": d5.optimizers.Adam(0.02),
}
METRICS = [(d5.TestAccuracy(), 85.0), (StepsToHalf, None), (d5.Throughput(), None)]
CLAIMS = [d5.TestAccuracy() >= 80.0]

with TemporaryDirectory() as folder:
    outcomes = {}
    for framework in ("reference", "pytorch"):
        mutable = {**MUTABLE, "executor": framework}
        place = Path(folder) / framework
        outcomes[framework] = d5.run_recipe(
            FIXED, mutable, METRICS, claims=CLAIMS, seeds=3, folder=place, name="rings"
        )
    for framework, outcome in outcomes.items():
        accuracy = outcome.derived.metrics[0]
        claim = outcome.derived.claims[0]
        print(framework, accuracy.median, "%;", claim.claim, claim.verdict)
        assert outcome, "the target is met"

    # Does another framework converge to the same quality? Two one-sided tests over paired seeds.
    bundles = [outcome.bundle for outcome in outcomes.values()]
    print(
        "accuracy within 1.5 points:",
        d5.compare(*bundles, equivalent=1.5).equivalence,
    )

    # Anyone can check a bundle: every hash, and every number from the raw samples.
    assert all(d5.verify(bundle).ok for bundle in bundles)
