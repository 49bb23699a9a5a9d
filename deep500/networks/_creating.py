"""Creates a network from a name and settings."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from .. import registry
from ..contracts.network import Network
from ..errors import Deep500Error, did_you_mean


def create(
    name: str,
    shape: Any,
    outputs: int | None,
    seed: int,
    dtype: str | None,
    settings: Mapping[str, Any],
) -> Network:
    definition = _definition(registry.named("networks", name), settings)
    if shape is None or outputs is None:
        usual_shape, usual_outputs = definition.usual_sizes()
        if shape is None:
            shape = usual_shape
        if outputs is None:
            outputs = usual_outputs
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise Deep500Error(
            f"shape is {shape!r:.99}: give the sizes of one input, such as (1, 28, 28)"
        )
    if dtype:
        return definition.build(shape, outputs, seed, dtype=dtype)
    return definition.build(shape, outputs, seed)


def _definition(kind: Any, settings: Mapping[str, Any]) -> Any:
    names = [field.name for field in fields(kind)]
    for setting in settings:
        if setting not in names:
            suggestion = did_you_mean(setting, names)
            known_names = ", ".join(["shape", "outputs", "seed", "dtype", *names])
            raise Deep500Error(
                f"{kind.__name__} has no setting {setting!r}.{suggestion} Known: {known_names}"
            )
    try:
        return kind(**settings)
    except TypeError as error:
        raise Deep500Error(f"{kind.__name__} cannot be made: {error}") from None
