"""Which axes an operator may name: one that its input does not have is refused, also where a formula would wrap it."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .operator import Operator

NAMES = ("axis", "axes", "batch_axis", "time_axis")  # of settings and static inputs


def of_first_input(operator: "Operator", first: Any, *others: Any) -> range:
    """The axes of the first input, from the front and from the back; a number alone counts as one element."""
    rank = max(len(first.shape), 1)
    return range(-rank, rank)


def check_axes(operator: "Operator", inputs: Sequence[Any]) -> None:
    """Raise a ValueError if the operator names an axis out of its range."""
    allowed = operator.axis_range(*inputs)
    if allowed is None:
        return
    for axis in _named_axes(operator, inputs):
        if axis not in allowed:
            raise ValueError(
                f"axis {axis} of {type(operator).__name__} is out of range: give one from {allowed[0]} to {allowed[-1]}"
            )


def _named_axes(operator: "Operator", inputs: Sequence[Any]) -> Iterator[int]:
    settings = operator.settings
    values = [settings[name] for name in NAMES if name in settings]
    for name, value in zip(operator.inputs, inputs, strict=False):
        if name in NAMES and name in operator.static:
            values.append(value)
    for value in values:
        if isinstance(value, int):
            yield value
        elif isinstance(value, tuple | list):
            yield from value
