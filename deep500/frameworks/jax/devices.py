"""JAX's devices by the words of this project."""

from functools import cache

import jax

from ...contracts.device import ACCELERATOR, HOST, DeviceInfo
from ...errors import Unsupported, one_line


def devices() -> list[DeviceInfo]:
    """The host's devices, then those of JAX's first choice on this machine."""
    found = _local(HOST)
    usual = jax.local_devices()
    if usual[0].platform != HOST:
        found = [*found, *usual]
    indices: dict[str, int] = {}
    infos = []
    for device in found:
        kind = _kind(device)
        index = indices.get(kind, 0)
        indices[kind] = index + 1
        infos.append(_info(device, kind, index))
    return infos


@cache
def local_device(word: str) -> jax.Device:
    """The device of a word that `devices` gave."""
    kind, _, index = word.partition(":")
    found = _local(kind)
    if not found:
        raise Unsupported(
            f"JAX has no {kind} in this process: set JAX_PLATFORMS={kind}, or leave it unset"
        )
    return found[int(index or 0)]


@cache
def is_usual(word: str) -> bool:
    """Whether JAX uses this device if nobody asks for one."""
    return jax.local_devices()[0] == local_device(word)


def _local(kind: str) -> list[jax.Device]:
    """This process's devices of a kind; none if JAX was started without it."""
    try:
        return jax.local_devices(backend=kind)
    except RuntimeError as error:
        if "nknown backend" not in one_line(error):
            raise
        return []


def _kind(device: jax.Device) -> str:
    """ "cpu", "tpu", "cuda" or "rocm": JAX calls the last two "gpu"."""
    if device.platform != ACCELERATOR:
        return device.platform
    is_rocm = "rocm" in device.client.platform_version.lower()
    return "rocm" if is_rocm else "cuda"


def _info(device: jax.Device, kind: str, index: int) -> DeviceInfo:
    word = f"{kind}:{index}"
    if kind == HOST:
        return DeviceInfo(HOST if index == 0 else word)
    memory = device.memory_stats() or {}
    driver = one_line(device.client.platform_version)
    return DeviceInfo(word, device.device_kind, driver, memory.get("bytes_limit", 0))
