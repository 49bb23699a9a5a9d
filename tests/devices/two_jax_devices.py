"""What JAX does on the second of two devices of the host: facts, printed as JSON; the arguments name them."""

import json
import os
import sys
from typing import Any

os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
)
os.environ["PJRT_NPROC"] = "2"

import jax
import numpy as np

import deep500 as d5
from deep500.frameworks.jax import _run
from deep500.operators import Relu, Softmax

from .subjects import batch, losses, message, network, on_device, without_parameters

FIRST: Any = d5.framework("jax")
# which the adapter switches off, and which GPUs always have
_ = FIRST.module
jax.config.update("jax_cpu_enable_async_dispatch", True)
SECOND = FIRST.on("cpu:1")


def places(values: Any) -> list[str]:
    """Where the arrays of a tree are; those that are not committed may move."""
    found = set()
    for array in jax.tree.leaves(values):
        committed = "" if array.committed else " for now"
        found.add(f"{array.device}{committed}")
    return sorted(found)


def devices() -> list[str]:
    return [info.word for info in FIRST.devices()]


def missing() -> str:
    return message(FIRST.on, "cpu:2")


def losses_on_both() -> list[list[float]]:
    return [losses(framework.executor(network())) for framework in (FIRST, SECOND)]


def stays() -> dict[str, list[str]]:
    """Where everything of an executor is that is built for the second device and called outside of its context."""
    executor = FIRST.executor(network(), device="cpu:1")
    step = executor.training_step(d5.optimizers.Adam())
    inputs = batch(executor.structure)
    facts = {"outputs": places(step(inputs)), "params": places(executor.params)}
    step.backprop(inputs)
    facts["gradients"] = places(executor.gradients)
    step.update()
    facts["updated"] = places(executor.params)
    step.load_state(step.state())
    executor.load(executor.arrays())
    executor.load_flat_params(executor.flat_params())
    executor.load_flat_gradients(executor.flat_gradients())
    facts["loaded"] = places([step.states, executor.params, executor.gradients])
    facts["count"] = places(step._device_count)
    facts["inference"] = places(executor.inference(inputs))
    return facts


def no_parameters() -> dict[str, list[str]]:
    inputs = {"x": np.ones((2, 3), np.float32)}
    found = {}
    for execution in ("compiled", "eager"):
        executor = SECOND.executor(without_parameters(), execution=execution)
        found[execution] = places(executor.inference(inputs))
    return found


def operators() -> dict[str, list[str]]:
    x = np.ones((2, 3), np.float32)
    kernel, _ = SECOND.kernel(Relu())
    composed = _run(SECOND, Softmax(), "composed", [x])
    return {"kernel": places(kernel(SECOND.tensor(x))), "composed": places(composed)}


def wrapped() -> list[str]:
    executor = FIRST.from_model(
        lambda params, x: x @ params["w"],
        params={"w": np.ones((6, 3), np.float32)},
        loss=d5.losses.CrossEntropy(),
        device="cpu:1",
    )
    step = executor.training_step(d5.optimizers.SGD(0.1))
    outputs = step(batch(network()))
    return places([outputs, executor.params])


def guarded() -> dict[str, str]:
    """Training under JAX's guard against copies to the device that nobody asked for."""
    executor = SECOND.executor(network())
    step = executor.training_step(d5.optimizers.Adam())
    on_host = batch(executor.structure)
    inputs = on_device(SECOND, executor.structure)
    step(inputs)  # constants are copied while it is compiled
    executor.inference(inputs)
    with jax.transfer_guard_host_to_device("disallow"):
        return {
            "step": message(step, inputs),
            "inference": message(executor.inference, inputs),
            "from the host": message(step, on_host),
        }


def random_steps() -> dict[str, Any]:
    """The same with two random operators, and the copies to the device that are asked for."""
    executor = SECOND.executor(network(random=True))
    step = executor.training_step(d5.optimizers.Adam())
    inputs = on_device(SECOND, executor.structure)
    step(inputs)
    assert len(executor.random) == 2
    copied, put = [], jax.device_put

    def counted(*values: Any) -> Any:
        copied.append(values)
        return put(*values)

    jax.device_put = counted  # type: ignore[assignment]
    try:
        with jax.transfer_guard_host_to_device("disallow"):
            return {"step": message(step, inputs), "copies": len(copied)}
    finally:
        jax.device_put = put


def elsewhere() -> str:
    """A batch on another device than the network."""
    executor = SECOND.executor(network())
    there = {}
    for name, value in batch(executor.structure).items():
        there[name] = FIRST.committed(value)
    return message(executor.inference, there)


def waits() -> dict[str, list[bool]]:
    """Whether a long computation is finished before and after `sync`, with its output and without."""

    @jax.jit
    def long(x: Any) -> Any:
        return jax.lax.fori_loop(0, 200, lambda _, y: y @ x, x)

    x = SECOND.tensor(np.eye(500, dtype=np.float32))
    long(x).block_until_ready()
    found = {}
    for name in ("output", "device"):
        y = long(x)
        before = y.is_ready()
        SECOND.sync(y if name == "output" else None)
        found[name] = [before, y.is_ready()]
    return found


if __name__ == "__main__":
    print(json.dumps({name: globals()[name]() for name in sys.argv[1:]}))
