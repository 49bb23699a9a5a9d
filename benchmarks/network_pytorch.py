"""Networks exported from PyTorch, on our PyTorch executor, against the nn.Modules that they come from; one thread.

    python benchmarks/network_pytorch.py [MODEL …] [--seconds 10] [--compile]

Every module is exported by torch.onnx.export(dynamo=True), with optimize=False and optimize=True, in evaluation mode,
which is what exporters write. Outputs and losses are compared first. Runs alternate in one process (module, executor,
executor, module); a ratio is the median of executor / module over such rounds, with its 95 % interval, for the CPU
time of the process and for elapsed time. Goal: at most 1.02, and 1.05 for the upper end. `--compile` compares
`executor(..., compile=True)` with torch.compile of the module. At last one call of a network of one node, against an
nn.Module with that node: goal at most 2.
"""

import argparse
import io
import logging
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from resnet_backprop import ResNet18
from torch import nn
from torch.nn import functional

import deep500
from deep500.contracts.executor import Executor
from deep500.contracts.network import Network
from deep500.frameworks import framework
from deep500.measure.statistics.comparison import Comparison, compare

GOAL, HIGHEST, GOAL_ONE_NODE = 1.02, 1.05, 2.0
CLASSES, WORDS, LENGTH, WIDTH, HEADS, LAYERS = 10, 256, 64, 128, 4, 4
ROUND_S = 0.02  # that a timed run lasts at least
# neighbours depend on each other, so that an interval takes more than twenty
FEWEST_ROUNDS = 60
Call = Callable[[], Any]


class Mlp(nn.Sequential):
    def __init__(self) -> None:
        hidden = [nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.GELU()]
        super().__init__(
            *hidden, nn.Linear(128, 64), nn.Softplus(), nn.Linear(64, CLASSES)
        )


class LeNet(nn.Sequential):
    def __init__(self) -> None:
        first = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
        second = [nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        dense = [nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU()]
        super().__init__(*first, *second, *dense, nn.Linear(84, CLASSES))


class CausalBlock(nn.Module):
    """Attention to what came before, and two linear layers, each with a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        shape = (*x.shape[:2], HEADS, WIDTH // HEADS)
        q, k, v = (
            part.view(shape).transpose(1, 2) for part in self.qkv(x).split(WIDTH, 2)
        )
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = (
            nn.Embedding(WORDS, WIDTH),
            nn.Embedding(LENGTH, WIDTH),
        )
        self.blocks = nn.Sequential(*(CausalBlock() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.tokens(x) + self.places(torch.arange(x.shape[1]))
        return self.head(self.norm(self.blocks(x)))


class ViT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 4, 4)
        self.first = nn.Parameter(torch.randn(1, 1, WIDTH) / 50)
        self.places = nn.Parameter(torch.randn(1, LENGTH + 1, WIDTH) / 50)
        layer = nn.TransformerEncoderLayer(
            WIDTH,
            HEADS,
            4 * WIDTH,
            0.0,
            functional.gelu,
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.norm(self.encoder(x))[:, 0])


MODELS: dict[str, tuple[type[nn.Module], Callable[[], torch.Tensor]]] = {
    "mlp": (Mlp, lambda: torch.randn(32, 64)),
    "lenet": (LeNet, lambda: torch.randn(16, 1, 28, 28)),
    "vit": (ViT, lambda: torch.randn(4, 3, 32, 32)),
    "gpt": (Gpt, lambda: torch.randint(0, WORDS, (4, LENGTH))),
    "resnet18": (ResNet18, lambda: torch.randn(4, 3, 32, 32)),
}


@dataclass(frozen=True)
class Pair:
    """What is compared: one call of the module, and one of the executor."""

    name: str
    module: Call
    executor: Call


def exported(module: nn.Module, x: torch.Tensor, optimize: bool) -> Network:
    program = torch.onnx.export(
        module, (x,), dynamo=True, optimize=optimize, verbose=False
    )
    assert program is not None
    data = io.BytesIO()
    program.save(data)
    return deep500.Network.from_onnx(data.getvalue())


def with_loss(network: Network, labels: torch.Tensor) -> Network:
    """The mean cross entropy of the output, whose classes are the last axis."""
    network = network.copy()
    network.add_input("label", tuple(labels.shape), "int64")
    logits = network.outputs[0]
    if labels.ndim == 2:
        logits = network.add_node("Transpose", (logits,), perm=(0, 2, 1))
    loss = network.add_node("SoftmaxCrossEntropyLoss", (logits, "label"), ["loss"])
    network.add_output(loss)
    return network


def inference(
    name: str, module: nn.Module, executor: Executor, x: torch.Tensor
) -> Pair:
    source = next(iter(executor.structure.inputs))

    def native() -> torch.Tensor:
        with torch.no_grad():
            return module(x)

    pair = Pair(f"{name} inference", native, lambda: executor.inference({source: x}))
    output = pair.executor()[executor.structure.outputs[0]]
    torch.testing.assert_close(output, pair.module(), rtol=1e-3, atol=1e-4)
    return pair


def backprop(
    name: str,
    module: nn.Module,
    executor: Executor,
    x: torch.Tensor,
    labels: torch.Tensor,
) -> Pair:
    source = next(iter(executor.structure.inputs))
    criterion = nn.CrossEntropyLoss()

    def native() -> torch.Tensor:
        module.zero_grad()
        output = module(x)
        loss = criterion(output.transpose(1, 2) if labels.ndim == 2 else output, labels)
        loss.backward()
        return loss.detach()

    batch = {source: x, "label": labels}
    pair = Pair(
        f"{name} forward+backward",
        native,
        lambda: executor.inference_and_backprop(batch),
    )
    torch.testing.assert_close(
        pair.executor()["loss"], pair.module(), rtol=1e-4, atol=1e-5
    )
    return pair


def measured(pair: Pair, seconds: float) -> tuple[Comparison, Comparison]:
    """By CPU time and by elapsed time."""
    for call in (pair.module, pair.executor, pair.module, pair.executor):
        call()
    start = time.perf_counter()
    pair.module()
    calls = max(1, int(ROUND_S / (time.perf_counter() - start)))
    rounds = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(rounds) < FEWEST_ROUNDS:
        order = (pair.module, pair.executor, pair.executor, pair.module)
        first, second, third, fourth = (timed(call, calls) for call in order)
        rounds.append((first + fourth, second + third))
    samples = np.array(rounds)  # rounds x module and executor x CPU and elapsed
    cpu, elapsed = (
        compare(samples[:, 0, i], samples[:, 1, i], paired=True, level=0.95)
        for i in (0, 1)
    )
    return cpu, elapsed


def timed(call: Call, calls: int) -> np.ndarray:
    """CPU seconds of the process and elapsed seconds."""
    cpu, elapsed = time.process_time(), time.perf_counter()
    for _ in range(calls):
        call()
    return np.array([time.process_time() - cpu, time.perf_counter() - elapsed])


def show(
    pair: Pair, seconds: float, goal: float = GOAL, highest: float = HIGHEST
) -> bool:
    cpu, elapsed = measured(pair, seconds)
    is_met = cpu.ratio <= goal and cpu.high <= highest
    print(
        f"{pair.name}: CPU {_text(cpu)}, elapsed {_text(elapsed)}, n = {cpu.n}"
        f"{'' if is_met else '  above the goal'}",
        flush=True,
    )
    return is_met


def _text(ratio: Comparison) -> str:
    return f"{ratio.ratio:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def compare_model(name: str, optimize: bool, compiled: bool, seconds: float) -> bool:
    torch.manual_seed(0)
    kind, draw = MODELS[name]
    module, x = kind().eval(), draw()
    network = exported(module, x, optimize)
    labels = torch.randint(0, CLASSES, module(x).shape[:-1])
    pytorch = framework("pytorch")
    native: Any = torch.compile(module, dynamic=False) if compiled else module
    title = f"{name} optimize={optimize}{' compiled' if compiled else ''}"
    inferring = pytorch.executor(network, compile=compiled)
    training = pytorch.executor(with_loss(network, labels), compile=compiled)
    training.training = False
    pairs = [
        inference(title, native, inferring, x),
        backprop(title, native, training, x, labels),
    ]
    return all([show(pair, seconds) for pair in pairs])


def one_node(seconds: float) -> bool:
    network = Network("one node")
    network.add_input("x", ("batch", 4))
    network.add_output(network.add_node("Relu", ("x",), ["y"]))
    executor, module, x = (
        framework("pytorch").executor(network),
        nn.ReLU(),
        torch.randn(2, 4),
    )
    pair = Pair("one node", lambda: module(x), lambda: executor.inference({"x": x}))
    return show(pair, seconds, GOAL_ONE_NODE, GOAL_ONE_NODE)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "models", nargs="*", metavar="MODEL", help=f"{', '.join(MODELS)} (all)"
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="for every ratio (10)"
    )
    parser.add_argument(
        "--compile", action="store_true", help="compiled against torch.compile"
    )
    args = parser.parse_args()
    unknown = [name for name in args.models if name not in MODELS]
    if unknown:
        parser.error(
            f"no model is named {unknown[0]!r}; there are: {', '.join(MODELS)}"
        )
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    met = []
    for name in args.models or MODELS:
        for optimize in (False, True):
            met.append(compare_model(name, optimize, args.compile, args.seconds))
    met.append(one_node(args.seconds))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
