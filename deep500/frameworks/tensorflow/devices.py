"""TensorFlow's devices by the words of this project."""

from functools import cache

import tensorflow as tf  # type: ignore[import-untyped]

from ...contracts.device import HOST, DeviceInfo


def devices() -> list[DeviceInfo]:
    """The logical devices, the host's first. TensorFlow starts its threads."""
    found = []
    for device in tf.config.list_logical_devices():
        kind = device.device_type.lower()
        number = int(device.name.rpartition(":")[2])
        found.append(_info(kind, number))
    found.sort(key=lambda info: info.kind != HOST)
    return found


def _info(kind: str, number: int) -> DeviceInfo:
    word = f"{kind}:{number}"
    if kind == HOST:
        return DeviceInfo(HOST if number == 0 else word)
    physical = tf.config.list_physical_devices(kind.upper())
    if number >= len(physical):
        return DeviceInfo(word)
    details = tf.config.experimental.get_device_details(physical[number])
    return DeviceInfo(word, details.get("device_name", ""))


@cache
def has_accelerators() -> bool:
    """Whether TensorFlow would place work elsewhere than on the host if nobody asks."""
    kinds = {device.device_type for device in tf.config.list_physical_devices()}
    return kinds != {HOST.upper()}


def scope_name(word: str) -> str:
    """The device as `tf.device` names it; empty where nothing runs elsewhere."""
    if word == HOST and not has_accelerators():
        return ""
    kind, _, number = word.partition(":")
    return f"/{kind.upper()}:{number or 0}"
