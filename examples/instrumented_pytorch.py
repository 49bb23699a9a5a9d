"""PyTorch's quick start, on digits, measured in place. What was added is marked with "d5".

python examples/instrumented_pytorch.py [FOLDER]
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import deep500 as d5  # d5

out = sys.argv[1] if len(sys.argv) > 1 else None
run = d5.instrument("quick start", seed=0, out=out, better={"accuracy": "higher"})  # d5

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32) / 16
labels = torch.tensor(digits.target)
parts = train_test_split(images, labels, test_size=0.2, random_state=0)
train_loader = DataLoader(
    TensorDataset(parts[0], parts[2]), batch_size=64, shuffle=True
)
test_loader = DataLoader(TensorDataset(parts[1], parts[3]), batch_size=64)


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(8 * 8, 128),
            nn.ReLU(),
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, x):
        return self.linear_relu_stack(self.flatten(x))


model = NeuralNetwork()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    model.train()
    for X, y in run.batches(train_loader):  # d5: `in train_loader` before
        with run.region("forward"):  # d5
            loss = loss_fn(model(X), y)
        with run.region("backward"):  # d5
            loss.backward()
        with run.region("update"):  # d5
            optimizer.step()
            optimizer.zero_grad()
        run.step(loss=loss, examples=len(X))  # d5


def test():
    model.eval()
    correct = 0
    with torch.no_grad():
        for X, y in test_loader:
            correct += (model(X).argmax(1) == y).sum().item()
    accuracy = 100 * correct / len(parts[1])
    run.evaluation("test", accuracy=accuracy)  # d5
    print(f"Accuracy: {accuracy:>0.1f}%")


for t in range(5):
    print(f"Epoch {t + 1}")
    train()
    test()

print(f"d5 show {run.finish().bundle}")  # d5
