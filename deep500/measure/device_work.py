"""Work that a candidate leaves on a device when it returns: a clock that does not wait for it sees only its launch.

Standard library only: a framework is asked if the candidate has imported it.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..errors import Refused
from .clock import now

Wait = Callable[[], None]
# What the device may still do when the visits have ended: of their time, and in nanoseconds.
SHARE = 0.25
LEAST_NS = 200_000
LONG_ENOUGH_NS = 2_000_000  # visits in a row, so that what each leaves adds up
MOST_VISITS = 100
# looks that must agree: on a busy machine the host, too, waits for a CPU, while the device works or after it
NEEDED = 2
ADVICE = {
    "torch": "--sync torch.accelerator:synchronize",
    "jax": "call block_until_ready() on its result",
    "tensorflow": "--sync tensorflow.test.experimental:sync_devices",
}


def check_nothing_is_left(name: str, visit: Callable[[], int], visit_ns: int) -> None:
    """Raise `Refused` if devices work on for long after visits of a candidate have ended."""
    for module, wait in device_waits().items():
        wait()
        idle_ns = min(_elapsed_ns(wait) for _ in range(3))
        count = min(MOST_VISITS, max(1, LONG_ENOUGH_NS // max(1, visit_ns)))
        looks: list[bool] = []
        while max(looks.count(True), looks.count(False)) < NEEDED:
            timed_ns = sum(visit() for _ in range(count))
            left_ns = _elapsed_ns(wait) - idle_ns
            looks.append(left_ns > LEAST_NS + SHARE * timed_ns)
        if looks[-1]:
            raise Refused(_left(name, module, timed_ns, left_ns, count))


def _left(name: str, module: str, timed_ns: int, left_ns: int, count: int) -> str:
    visits = f"{count} visits" if count > 1 else "a visit"
    timed, left = f"{timed_ns / 1e6:.3g} ms", f"{left_ns / 1e6:.3g} ms"
    return (
        f"{name!r} returns before its work is done: {visits} took {timed}, and the device of {module} worked "
        f"{left} longer; wait for it: {ADVICE[module]}"
    )


def _elapsed_ns(function: Wait) -> int:
    began = now()
    function()
    return now() - began


def device_waits() -> dict[str, Wait]:
    """By framework that this process has imported and that has a device: a function that waits until it is idle."""
    waits = {}
    for name, find in FINDERS.items():
        module = sys.modules.get(name)
        wait = find(module) if module is not None else None
        if wait is not None:
            waits[name] = wait
    return waits


def _torch_wait(torch: Any) -> Wait | None:
    accelerator = getattr(torch, "accelerator", None)  # PyTorch 2.6 and later
    if accelerator is None or not accelerator.is_available():
        return None

    def wait() -> None:
        current = accelerator.current_device_index()
        for index in range(accelerator.device_count()):
            # a device that was never used would get a context by being waited for
            if index == current or accelerator.memory_reserved(index):
                accelerator.synchronize(index)

    return wait


def _jax_wait(jax: Any) -> Wait | None:
    bridge = sys.modules.get("jax._src.xla_bridge")
    if not getattr(bridge, "_backends", None):  # nothing was computed so far
        return None
    devices = [device for device in jax.devices() if device.platform != "cpu"]
    if not devices:
        return None

    def wait() -> None:
        for device in devices:  # programs run in the order of their launches
            jax.device_put(0, device).block_until_ready()
            (jax.device_put(0, device) + 1).block_until_ready()

    return wait


def _tensorflow_wait(tensorflow: Any) -> Wait | None:
    if not tensorflow.config.list_physical_devices("GPU"):
        return None
    return tensorflow.test.experimental.sync_devices


FINDERS: dict[str, Callable[[ModuleType], Wait | None]] = {
    "torch": _torch_wait,
    "jax": _jax_wait,
    "tensorflow": _tensorflow_wait,
}
