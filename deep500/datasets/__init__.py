"""Level 2: one data set per file; `datasets.Digits` is found in digits.py."""

from typing import TYPE_CHECKING, Any

from .. import registry
from ..errors import Deep500Error

if TYPE_CHECKING:
    from ..contracts.dataset import Split

__getattr__, __dir__ = registry.attach(__name__)


def load(name: str, **settings: Any) -> dict[str, "Split"]:
    """The splits "train", "validation" and "test" of the data set of that name: `load("digits")`."""
    from ..contracts.dataset_splits import loaded_splits

    dataset_class = registry.named("datasets", name)
    try:
        dataset = dataset_class(**settings)
    except TypeError as error:
        raise Deep500Error(f"the data set {name!r} cannot be made: {error}") from None
    return loaded_splits(dataset)
