"""The talks' own program, as printed; as a script, it is one rank of whoever launched it."""

import os
import sys
from typing import Any

import numpy as np

import deep500 as d5
from deep500 import DistributedOptimizer
from deep500.distributed.communication import Communication

STEPS = 4


class ConsistentNeighbors(DistributedOptimizer):
    # Follows communication scheme from https://arxiv.org/pdf/1705.09056.pdf

    def step(self, inputs):
        self.base_optimizer.new_input()
        for param in self.network.get_params():
            self.base_optimizer.prepare_param(param)
        output = self.executor.inference_and_backprop(inputs, self.base_optimizer.loss)
        gradients = self.network.gradient(self.base_optimizer.loss)
        for param_name, grad_name in gradients:
            param, grad = self.network.fetch_tensors([param_name, grad_name])
            grad = self.communication.reduce_from_neighbors(grad) / 3
            param = self.base_optimizer.update_rule(grad, param, param_name)  # type: ignore[assignment]
            self.network.feed_tensor(param_name, param)

        return output


def train(
    communication: Communication,
    engine: str = "reference",
    kind: Any = ConsistentNeighbors,
) -> list[np.ndarray]:
    """A few steps of softmax regression on data of this rank's own; the parameters."""
    net = d5.Network("softmax regression")
    net.add_input("x", ("batch", 6))
    net.add_input("label", ("batch",), "int64")
    net.add_param("w", np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3))
    net.add_param("b", np.zeros(3, np.float32))
    net.add_node("Gemm", ["x", "w", "b"], ["logits"])
    net.add_node("SoftmaxCrossEntropyLoss", ["logits", "label"], ["loss"])
    net.add_output("loss")
    executor = d5.framework(engine).from_model(net)
    opt = kind(d5.optimizers.Momentum(0.1, 0.9), executor, communication=communication)
    rng = np.random.default_rng(communication.rank)
    for _ in range(STEPS):
        x = rng.standard_normal((8, 6)).astype(np.float32)
        label = rng.integers(0, 3, 8)
        output = opt.step({"x": x, "label": label})
        assert np.isfinite(float(output["loss"]))
    return [*executor.arrays().values()]


if __name__ == "__main__":
    here = d5.communication(sys.argv[1])
    params = train(here, sys.argv[2])
    bits = np.concatenate([p.ravel() for p in params]).tobytes().hex()
    # at once: ranks share this output
    os.write(1, f"params {here.rank} {bits}\n".encode())
