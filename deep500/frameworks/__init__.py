"""Looks up frameworks by name: packages in this folder, and modules of the entry point group `deep500.frameworks`."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np

from .. import registry
from ..contracts.framework import Framework
from ..contracts.native_optimizer import LibraryOptimizer, NativeOptimizer
from ..contracts.operator import Operator
from ..custom.operators import CustomOp, as_operator
from ..errors import Deep500Error, unknown

FOR_TESTS = {"fake"}  # can be looked up by name, but is never listed


def framework(name: str) -> Framework:
    """Return the adapter with this name, without importing the framework itself.

    "pytorch@cuda:0" is PyTorch on that device, which is looked up. Raises Deep500Error if there is no such adapter or
    device.
    """
    if not isinstance(name, str):
        raise Deep500Error(
            f"{name!r:.99} is no name of a framework: give one, such as 'pytorch'"
        )
    adapter, has_device, device = name.partition("@")
    if has_device:
        return _adapter_on(adapter, device)
    return _package_adapter(name)


@cache
def _adapter_on(name: str, device: str) -> Framework:
    """The adapter that is bound to a device: one for each device, as there is one for each framework."""
    return _package_adapter(name).on(device)


@cache
def _package_adapter(name: str) -> Framework:
    modules = registry.packages("frameworks")
    if name not in modules:
        raise unknown("framework", name, known_frameworks())
    package = registry.package("frameworks", name)
    adapter = getattr(package, "FRAMEWORK", None)
    if not isinstance(adapter, Framework):
        raise Deep500Error(
            f"the framework {name!r} cannot be used: {package.__name__} has no FRAMEWORK"
        )
    return adapter


def adapter_name(word: str) -> str:
    """The name of the framework in a word that may name its device too: "pytorch" in "pytorch@cuda:0"."""
    return word.partition("@")[0]


def known_frameworks() -> list[str]:
    """Return the names of all frameworks that have an adapter."""
    return sorted(registry.packages("frameworks").keys() - FOR_TESTS)


def available_frameworks() -> list[str]:
    """Return the names of the frameworks that are installed."""
    return [name for name in known_frameworks() if framework(name).available()]


def devices_of(words: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What is known of the devices in these words, such as "pytorch@cuda:0"; nothing of the host."""
    found = {}
    for word in words:
        adapter = framework(word)
        if not adapter.on_host:
            found[word] = asdict(adapter.device_info)
    return found


def framework_names(names: str | Sequence[str]) -> list[str]:
    """One name or several as a list; raises Deep500Error for one without an adapter."""
    several: list[Any] = list(names) if isinstance(names, list | tuple) else [names]
    for name in several:
        framework(name)
    return several


def native_optimizers(name: str) -> dict[str, type[NativeOptimizer]]:
    """Return the framework's own optimizers by class name, such as MomentumOptimizer."""
    members = vars(registry.package("frameworks", adapter_name(name)))
    optimizers = {}
    for key, value in members.items():
        if not isinstance(value, type) or issubclass(value, LibraryOptimizer):
            continue
        if issubclass(value, NativeOptimizer):
            optimizers[key] = value
    return optimizers


def library_adapter(name: str, adapter: str) -> type[LibraryOptimizer]:
    """Return the class of a framework that adapts the optimizers of its library, such as TorchOptimizer."""
    return vars(registry.package("frameworks", name))[adapter]


def evaluate(
    operator: Operator | CustomOp,
    inputs: Sequence[Any],
    framework: str = "reference",
) -> list[np.ndarray]:
    """Return the outputs of one operator, as the framework computes them.

    Inputs are arrays of NumPy or of any framework, lists, or numbers, which take the dtype of the other inputs. Static
    inputs (axes, shapes) are numbers, lists or arrays. None stands for an optional input that is left out.
    """
    return _adapter(framework).evaluate(as_operator(operator), inputs)


def gradient(
    operator: Operator | CustomOp,
    inputs: Sequence[Any],
    grads: Sequence[Any],
    framework: str = "reference",
) -> list[np.ndarray | None]:
    """Return one gradient per input, from the gradients of the outputs; None for an input that has no gradient."""
    return _adapter(framework).gradient(as_operator(operator), inputs, grads)


_adapter = framework  # the functions above have a parameter of that name
