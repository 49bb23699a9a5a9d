"""The update of optimizers written once against the frameworks' own: torch.optim with fused=True, and optax under jit.

    python benchmarks/optimizers.py [--framework pytorch|jax] [--parameters mlp|resnet50] [--budget 60] [--seed 0]

One thread. Gradients are there; parameters and state are updated in place (JAX: in donated buffers). "mlp" has the
parameters of 784-256-128-10, "resnet50" those of ResNet-50. "ours" is the second half of our training step on PyTorch;
on JAX, whose users compile an update into their own step, it is our rule in the same jitted function as optax's, and
"step" is the second half of our training step. Ratios are paired, ours / theirs; goal: at most 1.00, with the upper end
of the interval at most 0.03 higher. "control" is the framework's own optimizer a second time.
"""

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from deep500 import measure
from deep500.contracts.optimizer import Optimizer
from deep500.errors import TooFewSamples
from deep500.frameworks import framework
from deep500.networks import ResNet
from deep500.optimizers import Adam, AdamW, Momentum
from deep500.training.given_gradients import batch_of, fed_executor

GOAL = 1.0
ALLOWANCE = 0.03  # of the upper end of the interval
OURS: dict[str, Optimizer] = {
    "Momentum": Momentum(0.01, 0.9),
    "Adam": Adam(1e-3),
    "AdamW": AdamW(1e-3, weight_decay=1e-2),
}
Arrays = dict[str, np.ndarray]
Update = Callable[[], object]


def mlp_shapes() -> dict[str, tuple[int, ...]]:
    sizes = (784, 256, 128, 10)
    shapes: dict[str, tuple[int, ...]] = {}
    for i in range(3):
        shapes[f"layer{i}.weight"] = (sizes[i + 1], sizes[i])
        shapes[f"layer{i}.bias"] = (sizes[i + 1],)
    return shapes


def resnet_shapes() -> dict[str, tuple[int, ...]]:
    network = ResNet(50).build((3, 224, 224), 1000, seed=0)
    return {name: network.params[name].shape for name in network.trainable}


SHAPES = {"mlp": mlp_shapes, "resnet50": resnet_shapes}


def drawn(shapes: dict[str, tuple[int, ...]], seed: int) -> Arrays:
    rng = np.random.default_rng(seed)
    arrays = {}
    for name, shape in shapes.items():
        arrays[name] = 0.01 * rng.standard_normal(shape, np.float32)
    return arrays


def our_update(
    name: str, optimizer: Optimizer, params: Arrays, grads: Arrays
) -> Update:
    """The second half of our training step, over and over along the same gradients."""
    step: Any = fed_executor(name, params, "float32").training_step(optimizer)
    step.backprop(batch_of(grads, "float32"))

    def update() -> None:
        step._has_gradients = True  # they are still there
        step.update()

    return update


def torch_update(which: str, params: Arrays, grads: Arrays) -> Update:
    import torch

    tensors = [torch.tensor(value, requires_grad=True) for value in params.values()]
    for tensor, grad in zip(tensors, grads.values(), strict=True):
        tensor.grad = torch.tensor(grad)
    makers = {
        "Momentum": lambda: torch.optim.SGD(tensors, 0.01, momentum=0.9, fused=True),
        "Adam": lambda: torch.optim.Adam(tensors, 1e-3, fused=True),
        "AdamW": lambda: torch.optim.AdamW(
            tensors, 1e-3, weight_decay=1e-2, fused=True
        ),
    }
    return makers[which]().step


def optax_update(which: str, params: Arrays, grads: Arrays) -> Update:
    import jax
    import optax  # type: ignore[import-untyped]

    rules = {
        "Momentum": lambda: optax.sgd(0.01, momentum=0.9),
        "Adam": lambda: optax.adam(1e-3),
        "AdamW": lambda: optax.adamw(1e-3, weight_decay=1e-2),
    }
    rule = rules[which]()
    state = rule.init({name: jax.numpy.array(value) for name, value in params.items()})

    def changed(values: Any, state: Any, gradients: Any) -> tuple[Any, Any]:
        updates, state = rule.update(gradients, state, values)
        return optax.apply_updates(values, updates), state

    return jitted_update(changed, state, params, grads)


def rule_update(which: str, params: Arrays, grads: Arrays) -> Update:
    """Our rule in the loop that optax is in, with state in the same form: one tree of parameters for every array.

    The count of steps is part of the state where it is one there.
    """
    xp, rule = framework("jax").xp, OURS[which]
    jnp = framework("jax").module.numpy
    first = {name: rule.init(xp, jnp.array(value)) for name, value in params.items()}
    keys = [*next(iter(first.values()))]

    def changed(values: Any, state: Any, gradients: Any) -> tuple[Any, Any]:
        trees, count = state
        states = {name: {key: trees[key][name] for key in keys} for name in values}
        new_values, new_states = {}, {}
        for name, param, new_state in rule.updates(
            xp, values, gradients, states, count + 1
        ):
            new_values[name] = param
            new_states[name] = new_state
        return new_values, (by_key(new_states), count + counted)

    def by_key(states: Any) -> Any:
        return {key: {name: states[name][key] for name in states} for key in keys}

    counted = 0 if which == "Momentum" else 1
    count = jnp.zeros((), "float32") if counted else 0
    return jitted_update(changed, (by_key(first), count), params, grads)


def jitted_update(
    changed: Callable[..., Any], state: Any, params: Arrays, grads: Arrays
) -> Update:
    """A compiled update, over and over along the same gradients, in donated buffers."""
    import jax

    values = {name: jax.numpy.array(value) for name, value in params.items()}
    gradients = {name: jax.numpy.array(value) for name, value in grads.items()}
    compiled = jax.jit(changed, donate_argnums=(0, 1))

    def update() -> None:
        nonlocal values, state
        values, state = compiled(values, state, gradients)

    return update


THEIRS = {"pytorch": torch_update, "jax": optax_update}


def compare(name: str, parameters: str, which: str, budget_s: float, seed: int) -> bool:
    """Measure one optimizer, print its ratios, and return whether the goal is met."""
    shapes = SHAPES[parameters]()
    params, grads = drawn(shapes, seed), drawn(shapes, seed + 1)
    theirs = THEIRS[name]
    by_step = our_update(name, OURS[which], params, grads)
    candidates = {
        "theirs": theirs(which, params, grads),
        "ours": by_step if name == "pytorch" else rule_update(which, params, grads),
        "control": theirs(which, params, grads),
    }
    if name == "jax":
        candidates["step"] = by_step
    result = measure.run(candidates, budget_s=budget_s, seed=seed)
    ratio, control = (
        result.compare("theirs", "ours"),
        result.compare("theirs", "control"),
    )
    print(
        f"{name}, {parameters}, {which}: ours / theirs = {ratio.ratio:.3f} [{ratio.low:.3f}, "
        f"{ratio.high:.3f}], n = {ratio.n}; control {control.ratio:.3f} [{control.low:.3f}, "
        f"{control.high:.3f}]; ours {milliseconds(result)}",
        flush=True,
    )
    if name == "jax":
        step = result.compare("theirs", "step")
        print(
            f"    step / theirs = {step.ratio:.3f} [{step.low:.3f}, {step.high:.3f}]",
            flush=True,
        )
    return ratio.ratio <= GOAL and ratio.high <= GOAL + ALLOWANCE


def milliseconds(result: measure.Result) -> str:
    """The time of our update, if there are enough independent samples to say."""
    try:
        time = result.interval("ours")
    except TooFewSamples as error:
        return f"unavailable ({error})"
    return f"{time.estimate * 1e3:.3f} ms [{time.low * 1e3:.3f}, {time.high * 1e3:.3f}]"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--framework", choices=[*THEIRS], default="pytorch")
    parser.add_argument("--parameters", choices=[*SHAPES], nargs="+", default=[*SHAPES])
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    framework(args.framework).set_threads(1)
    share = args.budget / len(args.parameters) / len(OURS)
    met = []
    for parameters in args.parameters:
        for which in OURS:
            try:
                met.append(compare(args.framework, parameters, which, share, args.seed))
            except TooFewSamples as error:
                print(
                    f"{args.framework}, {parameters}, {which}: not decided ({error})",
                    flush=True,
                )
                met.append(False)
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
