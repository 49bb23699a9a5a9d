"""Forward and backward of ResNet-18 on 32 x 32 pictures: our PyTorch executor against an nn.Module, one thread.

    python benchmarks/resnet_backprop.py [--budget 60] [--batch 8]

Both have the same weights, batch statistics in their normalisations, and give the gradients of all parameters; the
first losses and gradients are compared. The ratio is paired, ours / theirs: goal at most 1.03.
"""

import argparse
import sys

import numpy as np
import torch
from torch import nn

from deep500 import measure
from deep500.contracts.network import Network
from deep500.frameworks import framework

GOAL = 1.03
WIDTHS = (64, 128, 256, 512)
CLASSES = 10


class Block(nn.Module):
    """Two convolutions of 3 x 3 with a shortcut around them."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = None
        if stride > 1:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.bn3 = nn.BatchNorm2d(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        around = x if self.shortcut is None else self.bn3(self.shortcut(x))
        return torch.relu(y + around)


class ResNet18(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(64)
        blocks, inputs = [], 64
        for i, width in enumerate(WIDTHS):
            blocks += [Block(inputs, width, 2 if i else 1), Block(width, width, 1)]
            inputs = width
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(512, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(torch.relu(self.bn(self.conv(x))))
        return self.fc(x.mean((2, 3)))


class Builder:
    """The same network from our operators, with the module's weights under the module's names."""

    def __init__(self, module: ResNet18):
        self.module = module
        self.network = Network("ResNet-18")
        trained = {name for name, _ in module.named_parameters()}
        for name, value in module.state_dict().items():
            if not name.endswith("num_batches_tracked"):
                array = value.detach().numpy().copy()
                self.network.add_param(name, array, trainable=name in trained)

    def conv(self, x: str, name: str, stride: int, padding: int) -> str:
        pads, strides = (padding,) * 4, (stride, stride)
        inputs = (x, f"{name}.weight")
        return self.network.add_node(
            "Conv", inputs, [name], name=name, pads=pads, strides=strides
        )

    def norm(self, x: str, name: str) -> str:
        parts = ("weight", "bias", "running_mean", "running_var")
        inputs = (x, *(f"{name}.{part}" for part in parts))
        outputs = (name, f"{name}.new_mean", f"{name}.new_var")
        self.network.add_node(
            "BatchNormalization",
            inputs,
            outputs,
            name=name,
            training_mode=1,
            momentum=0.9,
        )
        self.network.state_updates[f"{name}.running_mean"] = f"{name}.new_mean"
        self.network.state_updates[f"{name}.running_var"] = f"{name}.new_var"
        return name

    def relu(self, x: str) -> str:
        return self.network.add_node("Relu", (x,))

    def block(self, x: str, name: str, stride: int) -> str:
        y = self.relu(
            self.norm(self.conv(x, f"{name}.conv1", stride, 1), f"{name}.bn1")
        )
        y = self.norm(self.conv(y, f"{name}.conv2", 1, 1), f"{name}.bn2")
        if stride > 1:
            x = self.norm(self.conv(x, f"{name}.shortcut", stride, 0), f"{name}.bn3")
        return self.relu(self.network.add_node("Add", (y, x)))

    def build(self) -> Network:
        network = self.network
        x = network.add_input("x", (0, 3, 32, 32))
        label = network.add_input("label", (0,), "int64")
        x = self.relu(self.norm(self.conv(x, "conv", 1, 1), "bn"))
        for i, block in enumerate(self.module.blocks):
            x = self.block(x, f"blocks.{i}", block.conv1.stride[0])
        pooled = network.add_node("ReduceMean", (x, (2, 3)), keepdims=0)
        logits = network.add_node(
            "Gemm", (pooled, "fc.weight", "fc.bias"), ["logits"], transB=1
        )
        network.add_output(
            network.add_node("SoftmaxCrossEntropyLoss", (logits, label), ["loss"])
        )
        return network


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=60.0, help="seconds (60)")
    parser.add_argument("--batch", type=int, default=8, help="pictures (8)")
    args = parser.parse_args()
    torch.manual_seed(0)
    module, criterion = ResNet18(), nn.CrossEntropyLoss()
    executor = framework("pytorch").executor(Builder(module).build(), threads=1)
    draw = np.random.default_rng(0)
    x = draw.standard_normal((args.batch, 3, 32, 32)).astype("float32")
    batch = {"x": x, "label": draw.integers(0, CLASSES, args.batch)}

    def theirs() -> torch.Tensor:
        module.zero_grad()
        output = module(torch.from_numpy(batch["x"]))
        loss = criterion(output, torch.from_numpy(batch["label"]))
        loss.backward()
        return loss.detach()

    loss, ours = theirs(), executor.inference_and_backprop(batch)["loss"]
    np.testing.assert_allclose(ours, loss, rtol=1e-5)
    for name, param in module.named_parameters():
        np.testing.assert_allclose(
            executor.gradients[name], param.grad, rtol=1e-2, atol=1e-4
        )
    candidates = {
        "module": theirs,
        "executor": lambda: executor.inference_and_backprop(batch),
    }
    result = measure.run(candidates, budget_s=args.budget)
    ratio = result.compare("module", "executor")
    print(
        f"ResNet-18 forward and backward, batch {args.batch}: executor / module = {ratio.ratio:.4f} "
        f"[{ratio.low:.4f}, {ratio.high:.4f}], n = {ratio.n}; "
        f"module {result.interval('module').estimate * 1e3:.1f} ms"
    )
    return 0 if ratio.high <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
