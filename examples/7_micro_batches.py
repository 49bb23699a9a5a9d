"""Level 1: a training step within a limit of memory: which convolution computes how many examples at once, and how?"""

import numpy as np

import deep500 as d5

BATCH = 16
LIMIT = "32 KiB"
network = d5.networks.create("digits_cnn", seed=0)

divide = d5.transformations.MicroBatch(LIMIT, batch=BATCH, threads=1)
print(f"every convolution within {LIMIT} of workspace, for a batch of {BATCH}:")
for choice in divide.plans(network):
    plan, again = choice.plan, choice.again
    print(
        f"  {choice.layer.node} {choice.direction:8} {plan.text:28} {plan.workspace:6} bytes, "
        f"{1e6 * plan.seconds:5.0f} µs when it was chosen, {1e6 * again.seconds:5.0f} µs measured again"
    )

random = np.random.default_rng(0)
batch = {
    "x": random.random((BATCH, 1, 8, 8), np.float32),
    "label": random.integers(0, 10, BATCH),
}
losses = {}
gradients = {}
for name, variant in {"whole": network, "divided": divide(network)}.items():
    executor = d5.framework("pytorch").executor(variant)
    losses[name] = float(executor.inference_and_backprop(batch)["loss"])
    gradients[name] = executor.framework.array(executor.gradients["conv1.weight"])
difference = np.abs(gradients["divided"] - gradients["whole"]).max()
print(f"losses: {losses}; the gradients of conv1 differ by {difference:.1e} at most")
assert difference < 1e-4
