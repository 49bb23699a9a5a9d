"""Level 1: one network per file; `networks.ResNet` is found in resnet.py."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import registry

if TYPE_CHECKING:
    from ..contracts.network import Network

__getattr__, __dir__ = registry.attach(__name__)


def create(
    name: str,
    shape: Sequence[int] | None = None,
    outputs: int | None = None,
    seed: int = 0,
    dtype: str | None = None,
    **settings: Any,
) -> "Network":
    """The network of that name with its loss: `create("resnet", depth=44, outputs=10, shape=(3, 32, 32))`.

    `shape` is that of one input, `outputs` the number of classes, numbers or tokens, as for `build`; by
    default both are those of the literature. Parameters are float32 unless `dtype` says otherwise. The other settings
    are the definition's own: `networks.ResNet(depth=44)` has the same.
    """
    from ._creating import create as create_network

    return create_network(name, shape, outputs, seed, dtype, settings)
