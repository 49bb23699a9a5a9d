"""Your own PyTorch module, trained and measured like any network of Deep500."""

import numpy as np
import torch

import deep500 as d5
import deep500.frameworks.pytorch as d5fw

module = torch.nn.Sequential(
    torch.nn.Flatten(),
    torch.nn.Linear(64, 32),
    torch.nn.ReLU(),
    torch.nn.Linear(32, 10),
)

# The module keeps its parameters; inputs are named as its forward names them, and here otherwise.
executor = d5fw.from_model(
    module,
    loss=torch.nn.CrossEntropyLoss(),
    inputs=["x"],
    outputs=["logits"],
    threads=1,
)

data = d5.datasets.Digits().load()
history = d5.Trainer(
    executor,
    d5.optimizers.Adam(),
    splits=data,
    sampler=d5.ShuffleSampler(64, seed=0),
    epochs=5,
).run()
print(f"test accuracy {history.evaluations[-1]['test']['accuracy']:.1f} %")

# A step in halves: gradients can be read and changed in between, all at once.
step = executor.training_step(d5.optimizers.SGD(0.1))
batch = data["train"].batch(np.arange(64))
print(f"loss {float(step.backprop(batch)['loss']):.3f}")
for buffer in executor.flat_gradients().values():
    buffer.clip(-0.01, 0.01, out=buffer)
step.update()
print(f"loss {float(executor.inference(batch)['loss']):.3f}")
