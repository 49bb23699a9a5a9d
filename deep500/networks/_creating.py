"""From a name and settings to a network."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from .. import registry
from ..contracts.network import Network
from ..errors import Deep500Error, did_you_mean


def create(
    name: str,
    shape: Sequence[int] | None,
    classes: int | None,
    seed: int,
    dtype: str | None,
    settings: Mapping[str, Any],
) -> Network:
    definition = _definition(registry.named("networks", name), settings)
    if shape is None or classes is None:
        usual_shape, usual_classes = definition.usual_sizes()
        shape = usual_shape if shape is None else shape
        classes = usual_classes if classes is None else classes
    options = {"dtype": dtype} if dtype else {}
    return definition.build(shape, classes, seed, **options)


def _definition(kind: Any, settings: Mapping[str, Any]) -> Any:
    known = [field.name for field in fields(kind)]
    for setting in settings:
        if setting not in known:
            raise Deep500Error(
                f"{kind.__name__} has no setting {setting!r}.{did_you_mean(setting, known)} "
                f"Known: {', '.join(['shape', 'classes', 'seed', 'dtype', *known])}"
            )
    try:
        return kind(**settings)
    except TypeError as error:
        raise Deep500Error(f"{kind.__name__} cannot be made: {error}") from None
