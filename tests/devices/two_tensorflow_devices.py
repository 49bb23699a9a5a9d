"""What TensorFlow does on the second of two devices of the host: facts, printed as JSON; the arguments name them.

Graphs run under the policy by which TensorFlow refuses copies between devices that nobody asked for. Single operators
do not: TensorFlow itself keeps their axes on the first device.
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

import deep500 as d5
from deep500.contracts.executor import Executor
from deep500.operators import Relu, Softmax

from .subjects import (
    batch,
    losses,
    message,
    network,
    on_device,
    with_custom_operator,
    without_parameters,
)

FIRST: Any = d5.framework("tensorflow")
tf = FIRST.module
HOST = tf.config.list_physical_devices("CPU")[0]
TWICE = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(HOST, TWICE)
SECOND = FIRST.on("cpu:1")


@contextmanager
def without_copies() -> Iterator[None]:
    tf.config.experimental.set_device_policy("explicit")
    try:
        yield
    finally:
        tf.config.experimental.set_device_policy("silent")


def places(values: Any) -> list[str]:
    return sorted({x.device.rpartition("device:")[2] for x in tf.nest.flatten(values)})


def devices() -> list[str]:
    return [info.word for info in FIRST.devices()]


def missing() -> str:
    return message(FIRST.on, "cpu:2")


def losses_on_both() -> list[list[float]]:
    with without_copies():
        return [losses(framework.executor(network())) for framework in (FIRST, SECOND)]


def stays() -> dict[str, list[str]]:
    """Where everything of an executor is that is built for the second device and called outside of its scope."""
    found = {}
    policies: dict[str, AbstractContextManager] = {
        "deferred": without_copies(),
        "eager": nullcontext(),
    }
    for execution, policy in policies.items():
        with policy:
            executor = FIRST.executor(network(), device="cpu:1", execution=execution)
            found[execution] = places(values_of(executor))
    return found


def values_of(executor: Executor) -> list[Any]:
    """All that an executor and its step hold or return."""
    step: Any = executor.training_step(d5.optimizers.Adam())
    inputs = batch(executor.structure)
    values = [step(inputs), step.states, step._device_count]
    step.backprop(inputs)
    values.append(executor.gradients)
    step.update()
    step.load_state(step.state())
    executor.load(executor.arrays())
    executor.load_flat_gradients(executor.flat_gradients())
    return [*values, executor.params, executor.gradients, executor.inference(inputs)]


def no_parameters() -> list[str]:
    executor = SECOND.executor(without_parameters())
    return places(executor.inference({"x": np.ones((2, 3), np.float32)}))


def operators() -> list[str]:
    x = np.ones((2, 3), np.float32)
    kernel, _ = SECOND.kernel(Relu())
    composed = SECOND.formula(Softmax())(SECOND.tensor(x))
    call = SECOND.forward_call(Relu(), [x], "compiled")
    timed = call.function(*call.arguments)
    derivative = SECOND.backward_call(Relu(), [x], [x], "native")
    gradients = derivative.function(*derivative.arguments)
    return places([kernel(SECOND.tensor(x)), composed, timed, gradients])


def random_steps() -> list[str]:
    executor = SECOND.executor(network(random=True))
    step = executor.training_step(d5.optimizers.Adam())
    with without_copies():
        return places([step(batch(executor.structure)), executor.params])


def optimizer_of_keras() -> list[str]:
    from deep500.frameworks.tensorflow import AdamOptimizer

    executor = SECOND.executor(network())
    step = executor.training_step(AdamOptimizer())
    return places([step(batch(executor.structure)), executor.params])


def wrapped() -> dict[str, Any]:
    """A Keras model runs where its variables are, and is refused elsewhere."""
    with tf.device("/CPU:1"):
        model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
        model.build((None, 6))
    inputs = batch(network())
    arguments = {"loss": d5.losses.CrossEntropy(), "inputs": ["x"]}
    executor = SECOND.from_model(model, **arguments)
    step = executor.training_step(d5.optimizers.SGD(0.1))
    there = places([step(inputs), executor.params])
    model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
    model.build((None, 6))
    refused = message(lambda: SECOND.from_model(model, **arguments))
    return {"there": there, "refused": refused}


def elsewhere() -> str:
    """A batch on another device than the network, which a graph would copy under any policy."""
    executor = SECOND.executor(network())
    return message(executor.inference, on_device(FIRST, executor.structure))


def policy() -> str:
    """What TensorFlow says of such a copy under the policy of these tests."""
    x = np.ones(3, np.float32)
    with without_copies():
        return message(SECOND.scoped(tf.add), FIRST.tensor(x), SECOND.tensor(x))


def custom_operator() -> str:
    """A custom operator on an accelerator, which is not there: only the word of the device is asked."""
    accelerated = FIRST.on("cpu:1")
    accelerated.device = "gpu:0"
    (node,) = [n for n in with_custom_operator().nodes if n.operator.adapted]
    return message(accelerated.custom_op, node.operator.adapted)


def waits() -> list[bool]:
    """Whether work that was queued is done before and after `sync`."""
    done = threading.Event()
    release = threading.Event()

    def work(x: np.ndarray) -> np.ndarray:
        release.wait(5)
        done.set()
        return x

    @tf.function
    def waiting(x: Any) -> Any:
        return tf.numpy_function(work, [x], tf.float32)

    tf.config.experimental.set_synchronous_execution(False)
    try:
        with tf.device("/CPU:1"):
            y = waiting(tf.zeros(1))
        before = done.is_set()
        threading.Timer(0.05, release.set).start()
        SECOND.sync(y)
        return [before, done.is_set()]
    finally:
        tf.config.experimental.set_synchronous_execution(True)


if __name__ == "__main__":
    print(json.dumps({name: globals()[name]() for name in sys.argv[1:]}))
