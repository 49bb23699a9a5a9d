"""The format contract: a file format for networks."""

import importlib.util
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ..definition import Definition
from ..errors import Unsupported

if TYPE_CHECKING:
    import numpy as np

    from .network import Network


class Format(Definition):
    """Reads and writes networks. An error says in one line which part of the file cannot be used."""

    extra: ClassVar[str]  # pip install 'deep500-bench[extra]'

    def read(
        self,
        source: Any,
        input_values: "Mapping[str, np.ndarray] | None" = None,
    ) -> "Network":
        """The network in a file or in the format's own object.

        `input_values` are by name, for formats that allow an input where an operator needs a constant.
        """
        raise NotImplementedError

    def write(
        self, network: "Network", path: "str | os.PathLike[str] | None" = None
    ) -> Any:
        """The network as the format's own object, which is also written to `path` if one is given."""
        raise NotImplementedError

    def backward(
        self,
        network: "Network",
        y: str,
        sizes: Mapping[str, int] | None,
        training: bool,
    ) -> "Network":
        """The network with its backward pass: its outputs, and the gradients of y under `network.gradient`'s names.

        `sizes` are those of the named dimensions; with None, the network takes any sizes. Parameters are inputs.
        """
        raise Unsupported(f"{type(self).__name__} has no form for a backward pass")

    def require(self, *packages: str) -> None:
        """Raise `Unsupported`, with the command that installs it, if one of these packages is missing."""
        for package in packages:
            if importlib.util.find_spec(package) is None:
                raise Unsupported(
                    f"{package} is not installed: pip install 'deep500-bench[{self.extra}]'"
                )
