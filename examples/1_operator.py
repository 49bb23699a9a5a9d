"""One operator: evaluate it, differentiate it, check it, write your own, and train with it on every framework."""

import numpy as np

import deep500 as d5

x = np.random.default_rng(0).standard_normal((4, 6)).astype("float32")

# A built-in operator is a definition: attributes are fields, and every framework runs it.
op = d5.operators.LeakyRelu(alpha=0.3)
print("LeakyRelu:", d5.evaluate(op, [x])[0].round(2)[0])
print("its gradient:", d5.gradient(op, [x], grads=[np.ones_like(x)])[0].round(2)[0])


# Your own is a class with forward and backward on NumPy arrays.
class IPowOp(d5.CustomPythonOp):
    def __init__(self, power):
        super().__init__()
        self.power = power

    def forward(self, inputs):
        return inputs[0] ** self.power

    def backward(self, grads, fwd_inputs, fwd_outputs):
        return grads[0] * self.power * fwd_inputs[0] ** (self.power - 1)


# Is it right, forward and backward?
report = d5.check_operator(IPowOp(3).operator, framework="pytorch")
print(
    "IPowOp(3):", "right" if report.ok else "wrong", f"by {len(report.checks)} checks"
)
assert report.ok

# It is a node like any other, and trains wherever the network runs.
network = d5.Network("powers")
network.add_input("x", (0, 6))
network.add_param("w", np.linspace(-1, 1, 18, dtype="float32").reshape(6, 3))
network.add_node("MatMul", ["x", "w"], ["h"])
network.add_node(IPowOp(2), ["h"], ["p"])
network.add_node("ReduceMean", ["p"], ["loss"], keepdims=0)
network.add_output("loss")
for name in d5.available_frameworks():
    fw = d5.framework(name)
    step = fw.executor(network).training_step(d5.optimizers.SGD(0.1))
    losses = [float(fw.array(step({"x": x})["loss"])) for _ in range(5)]
    print(f"{name:12}", " ".join(f"{loss:.4f}" for loss in losses))
    assert losses[-1] < losses[0]
