"""How many values an example has, as the data set holds it and as it is trained with."""

from dataclasses import replace

from ..contracts.dataset import Split


def example_values(train: Split) -> dict[str, int]:
    """The values of the first example, without and with its augmentations: larger inputs take longer."""
    plain = replace(train, augmentations=())
    return {"dataset": _values(plain), "trained": _values(train)}


def _values(split: Split) -> int:
    batch = split.batch(slice(0, 1))
    return sum(int(column.size) for column in batch.values())
