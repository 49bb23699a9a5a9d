"""NVIDIA's devices: their names, which of them a run uses, and their energy."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .files import Unavailable
from .nvml import Nvml

VISIBLE = "CUDA_VISIBLE_DEVICES"
ORDER = "CUDA_DEVICE_ORDER"
BUS_ORDER = "PCI_BUS_ID"
# what frameworks call them
WORDS = ("cuda", "gpu", "tensorrt")


def device_names() -> list[str]:
    """The devices that NVML names; an absent library names none."""
    try:
        nvml = Nvml()
    except Unavailable:
        # no driver: no device of theirs can be used
        return []
    with nvml:
        return [nvml.name(index) for index in range(nvml.count())]


def used_devices(
    nvml: Nvml, word: str | None, environment: Mapping[str, str] = os.environ
) -> list[int]:
    """NVML's numbers of the devices of a word such as "cuda:1", or without one, of all that programs may see.

    Raises `Unavailable` if there is none, or if it cannot be told which one a word means.
    """
    visible = _visible(nvml, environment.get(VISIBLE))
    if not visible:
        raise Unavailable(f"NVML lists no device that {VISIBLE} lets programs see")
    if word is None:
        return visible
    kind, _, number = word.partition(":")
    if kind not in WORDS:
        raise Unavailable(f"the run is on {word}, of which NVML knows nothing")
    index = int(number or 0)
    if index >= len(visible):
        raise Unavailable(f"NVML lists {len(visible)} visible devices, and no {word}")
    names = {nvml.name(device) for device in visible}
    if len(names) > 1 and environment.get(ORDER) != BUS_ORDER:
        raise Unavailable(
            f"CUDA may number these different devices otherwise than NVML: set {ORDER}={BUS_ORDER}"
        )
    return [visible[index]]


def _visible(nvml: Nvml, setting: str | None) -> list[int]:
    """NVML's numbers in the order in which CUDA numbers the devices, by the variable's rules."""
    everything = list(range(nvml.count()))
    if setting is None:
        return everything
    visible = []
    for word in setting.split(","):
        device = _device_of(nvml, word.strip(), everything)
        if device is None:  # CUDA ignores what follows a wrong one
            break
        visible.append(device)
    return visible


def _device_of(nvml: Nvml, word: str, everything: list[int]) -> int | None:
    if word.isdecimal():
        return int(word) if int(word) in everything else None
    for device in everything:
        if word and nvml.uuid(device).startswith(word):
            return device
    return None
