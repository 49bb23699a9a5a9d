"""How often `check_network` is right: planted divergences located at their node, honest networks without an alarm.

    python benchmarks/network_check.py --planted 20
    python benchmarks/network_check.py --honest --framework pytorch jax tensorflow onnxruntime

A planted divergence is one kernel of one framework, wrong by 1 % forward or backward, in a network of 50 layers.
"""

import argparse
import random
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

import deep500 as d5
from deep500.check.networks import check_network
from deep500.contracts.operator import Operator
from deep500.frameworks import framework as find_framework

LAYERS = 50
FRAMEWORKS = ("pytorch", "jax", "tensorflow", "onnxruntime")
WRONG_BY = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--planted", type=int, default=0, metavar="N")
    parser.add_argument("--honest", action="store_true")
    parser.add_argument("--framework", nargs="+", default=list(FRAMEWORKS))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.planted:
        located = [located_plant(k, args) for k in range(args.planted)]
        print(f"located at the right node: {sum(located)} of {len(located)}")
    if args.honest:
        alarms = [
            false_alarm(build, name) for build in NETWORKS for name in args.framework
        ]
        print(f"false alarms: {sum(alarms)} of {len(alarms)} pairs")


def located_plant(number: int, args: argparse.Namespace) -> bool:
    """Plant one error, look for it, and say what came of it."""
    draw = random.Random(f"{args.seed} {number}")
    place, turn = number % len(DEEP), number // len(DEEP)
    network = DEEP[place](LAYERS)
    framework = args.framework[(place + turn) % len(args.framework)]
    direction = ("forward", "backward")[(place + turn // 2) % 2]
    node = draw.choice(network.nodes).name
    start = time.monotonic()
    report = check_network(
        planted(network, node, framework, direction), [framework], isolated=False
    )
    first = report.first
    right = first is not None and (first.case, first.name) == (node, direction)
    said = "right" if right else f"WRONG: {report.text}"
    seconds = time.monotonic() - start
    what = f"{network.name} {framework} {direction} {node}"
    print(f"{number:3} {what}: {said} ({seconds:.1f} s)", flush=True)
    return right


def false_alarm(build: Callable[[], d5.Network], framework: str) -> bool:
    start = time.monotonic()
    report = check_network(build(), [framework])
    alarm = report.first is not None
    seconds = time.monotonic() - start
    print(f"{build.__name__} {report.text} ({seconds:.1f} s)", flush=True)
    return alarm


def planted(
    network: d5.Network, name: str, framework: str, direction: str
) -> d5.Network:
    """A copy in which this node's kernel is wrong on this framework."""
    twin = network.copy()
    nodes = []
    for node in twin.nodes:
        if node.name == name:
            node = replace(node, operator=wrong(node.operator, framework, direction))
        nodes.append(node)
    twin.nodes = nodes
    return twin


def wrong(operator: Operator, framework: str, direction: str) -> Operator:
    """The operator with a kernel, or a formula where there is no kernel, that is wrong on one framework."""
    cls = type(operator)
    methods: dict[str, Any] = {"__module__": cls.__module__, "domain": "planted"}
    if operator.native(framework) is not None:
        methods[framework] = wrong_kernel(getattr(cls, framework), framework, direction)
    else:
        name = direction
        methods[name] = wrong_formula(
            getattr(cls, name), type(find_framework(framework).xp)
        )
    changed = type(cls.__name__, (cls,), methods)
    return changed(**operator.settings)


def wrong_kernel(kernel: Callable, framework: str, direction: str) -> Callable:
    @wraps(kernel)
    def changed(self: Any, module: Any, *inputs: Any) -> Any:
        made = kernel(self, module, *inputs)
        first, *rest = made if isinstance(made, tuple | list) else (made,)
        if direction == "forward":
            first = first * (1 + WRONG_BY)
        else:  # the same value, with another derivative
            first = first + WRONG_BY * (first - constant(framework, module, first))
        return (first, *rest) if rest else first

    return changed


def constant(framework: str, module: Any, value: Any) -> Any:
    """The value, without its derivative."""
    if framework == "pytorch":
        return value.detach()
    if framework == "jax":
        return module.lax.stop_gradient(value)
    return module.stop_gradient(value)


def wrong_formula(formula: Callable, namespace: type) -> Callable:
    @wraps(formula)
    def changed(self: Any, xp: Any, *values: Any, **named: Any) -> Any:
        made = formula(self, xp, *values, **named)
        if type(xp) is not namespace:
            return made
        first, *rest = made if isinstance(made, tuple | list) else (made,)
        return (first * (1 + WRONG_BY), *rest) if rest else first * (1 + WRONG_BY)

    return changed


class Layers:
    """A network that is built layer by layer, with weights that keep the size of what flows through."""

    def __init__(self, name: str, seed: int = 0):
        self.network, self.draw = d5.Network(name), np.random.default_rng(seed)
        self.x = ""

    def weight(self, name: str, *shape: int, gain: float = 1.4) -> str:
        inputs = int(np.prod(shape[1:])) or 1
        value = self.draw.standard_normal(shape) * gain / inputs**0.5
        return self.network.add_param(name, value.astype("float32"))

    def vector(
        self, name: str, size: int, mean: float = 0.0, trainable: bool = True
    ) -> str:
        value = mean + 0.1 * np.abs(self.draw.standard_normal(size))
        return self.network.add_param(name, value.astype("float32"), trainable)

    def dense(self, k: int, inputs: int, outputs: int) -> None:
        weight = self.weight(f"weight{k}", outputs, inputs)
        bias = self.vector(f"bias{k}", outputs)
        self.add("Gemm", weight, bias, name=f"dense{k}", transB=1)

    def conv(self, k: int, channels: int, inputs: int | None = None) -> None:
        weight = self.weight(f"weight{k}", channels, inputs or channels, 3, 3)
        bias = self.vector(f"bias{k}", channels)
        self.add(
            "Conv",
            weight,
            bias,
            name=f"conv{k}",
            pads=(1, 1, 1, 1),
            kernel_shape=(3, 3),
        )

    def add(self, operator: str, *others: Any, name: str, **attributes: Any) -> str:
        inputs = (self.x, *others)
        self.x = self.network.add_node(
            operator, inputs, [f"{name}.out"], name=name, **attributes
        )
        return self.x

    def with_loss(self) -> d5.Network:
        self.network.add_output(self.x)
        return d5.losses.CrossEntropy().attach(self.network, self.x, "label")


def deep_mlp(layers: int = LAYERS) -> d5.Network:
    made = Layers("deep_mlp")
    made.x = made.network.add_input("x", (0, 16))
    for k in range(layers):
        made.dense(k, 16, 16)
        made.add(("Relu", "Tanh", "Gelu", "Sigmoid")[k % 4], name=f"activation{k}")
    made.dense(layers, 16, 10)
    return made.with_loss()


def deep_cnn(layers: int = LAYERS) -> d5.Network:
    made = Layers("deep_cnn")
    made.x = made.network.add_input("x", (0, 3, 6, 6))
    made.conv(0, 6, 3)
    for k in range(1, layers):
        made.add("Relu", name=f"activation{k}")
        made.conv(k, 6)
    made.add("GlobalAveragePool", name="pool")
    made.add("Flatten", name="flat")
    made.dense(layers, 6, 10)
    return made.with_loss()


def deep_residual(layers: int = LAYERS) -> d5.Network:
    """Blocks of convolution, batch normalisation and a shortcut."""
    made = Layers("deep_residual")
    made.x = made.network.add_input("x", (0, 4, 5, 5))
    for k in range(layers):
        shortcut = made.x
        made.conv(k, 4)
        statistics = [
            made.vector(f"{name}{k}", 4, 1.0, name == "scale")
            for name in ("scale", "var")
        ]
        shift, mean = (
            made.vector(f"shift{k}", 4),
            made.vector(f"mean{k}", 4, 0.0, False),
        )
        made.add(
            "BatchNormalization",
            statistics[0],
            shift,
            mean,
            statistics[1],
            name=f"norm{k}",
        )
        made.add("Add", shortcut, name=f"sum{k}")
        made.add("Relu", name=f"activation{k}")
    made.add("GlobalAveragePool", name="pool")
    made.add("Flatten", name="flat")
    made.dense(layers, 4, 10)
    return made.with_loss()


def deep_transformer(layers: int = LAYERS) -> d5.Network:
    """Layer normalisation, a product of two parts of it through softmax, a shortcut: five nodes to a layer."""
    made = Layers("deep_transformer")
    tokens = made.network.add_input("tokens", (0, 6), "int64")
    table = made.weight("table", 20, 8)
    made.x = made.network.add_node(
        "Gather", (table, tokens), ["embedded"], name="embedding"
    )
    for k in range(layers // 5):
        shortcut = made.x
        scale, shift = made.vector(f"scale{k}", 8, 1.0), made.vector(f"shift{k}", 8)
        normal = made.add("LayerNormalization", scale, shift, name=f"norm{k}")
        made.add("MatMul", made.weight(f"query{k}", 8, 8), name=f"query{k}")
        keys = made.network.add_node(
            "Transpose", (normal,), [f"keys{k}"], name=f"keys{k}", perm=(0, 2, 1)
        )
        made.add("MatMul", keys, name=f"scores{k}")
        made.add("Softmax", name=f"softmax{k}", axis=-1)
        made.add("MatMul", normal, name=f"mixed{k}")
        made.add("Add", shortcut, name=f"sum{k}")
    made.add("ReduceMean", (1,), name="mean", keepdims=0)
    made.dense(layers, 8, 10)
    return made.with_loss()


def digits_cnn() -> d5.Network:
    return d5.networks.DigitsCnn().build((1, 8, 8), 10)


DEEP: tuple[Callable[[int], d5.Network], ...] = (
    deep_mlp,
    deep_cnn,
    deep_residual,
    deep_transformer,
)
NETWORKS: tuple[Callable[[], d5.Network], ...] = (*DEEP, digits_cnn)  # type: ignore[arg-type]

if __name__ == "__main__":
    main()
