"""One network: built, edited, costed, run on every framework, checked node by node, trained, and written back."""

import numpy as np

import deep500 as d5

# A standard architecture, or a file: d5.Network.from_onnx("model.onnx").
network = d5.networks.create("resnet", depth=8, outputs=10, shape=(3, 16, 16), seed=0)
print(network.name, len(network.nodes), "nodes;", "dimensions:", network.dimensions)

# An edit that can never fit is refused at once, with the names.
try:
    network.add_node("MatMul", ["logits", "x"], ["nonsense"])
except d5.Deep500Error as error:
    print("refused:", error)

# Swap every Relu for another operator; the other network stays as it is.
leaky = d5.transformations.ReplaceOperator("Relu", d5.operators.LeakyRelu(alpha=0.1))(
    network
)
print({type(node.operator).__name__ for node in leaky.nodes})

# The same weights and data on several frameworks.
rng = np.random.default_rng(0)
batch = {
    "x": rng.standard_normal((4, 3, 16, 16)).astype("float32"),
    "label": np.arange(4),
}
losses = {}
for name in ("reference", "pytorch", "onnxruntime"):
    executor = d5.framework(name).executor(network)
    losses[name] = float(executor.framework.array(executor.inference(batch)["loss"]))
print(losses)
assert max(losses.values()) - min(losses.values()) < 1e-4

# Where would they diverge, forward or backward, and by how much may they?
report = d5.check_network(network, framework="pytorch")
print("agrees" if report.ok else f"diverges at {report.first}")
assert report.ok

# Train it, and take the weights home.
executor = d5.framework("pytorch").executor(network)
step = executor.training_step(d5.optimizers.Adam(0.01))
for _ in range(5):
    loss = float(executor.framework.array(step(batch)["loss"]))
network.load_state_dict(executor.arrays())
network.save("resnet8.onnx")
print("loss after five steps:", round(loss, 3))
