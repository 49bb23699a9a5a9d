"""The framework contract: an engine that can compute, and what it can do."""

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import Unsupported
from ..namespace import Namespace
from .network import Network
from .operator import Operator

if TYPE_CHECKING:
    from .executor import Executor


@dataclass(frozen=True)
class Abilities:
    """The talks' columns: what a framework offers by itself."""

    standard_operators: bool = True
    custom_operators: bool = False
    deferred: bool = False
    eager: bool = False
    compiled: bool = False
    transformable: bool = False
    autodiff: bool = False
    datasets: bool = False
    optimizers: bool = False
    distributed: bool = False


class Framework(ABC):
    """An adapter: finds the framework lazily, translates arrays, runs operators and networks.

    The clock calls `sync`; nothing else reads time. A value on the framework's side is called native.
    """

    name: ClassVar[str]
    module_name: ClassVar[str]  # what is imported, and looked for without importing
    extra: ClassVar[str] = ""  # pip install 'deep500-bench[extra]'
    abilities: ClassVar[Abilities] = Abilities()

    @classmethod
    def available(cls) -> bool:
        """Whether it is installed; imports nothing."""
        return importlib.util.find_spec(cls.module_name) is not None

    @cached_property
    def module(self) -> ModuleType:
        """The framework itself, imported when first used."""
        if not self.available():
            raise Unsupported(f"{self.name} is not installed: pip install 'deep500-bench[{self.extra}]'")
        return importlib.import_module(self.module_name)

    @property
    @abstractmethod
    def xp(self) -> Namespace:
        """The array namespace that formulas run on."""

    @abstractmethod
    def tensor(self, array: Any, dtype: str | None = None) -> Any:
        """A native value from a NumPy array (or anything NumPy takes)."""

    @abstractmethod
    def array(self, tensor: Any) -> np.ndarray:
        """A NumPy array from a native value."""

    def sync(self) -> None:  # noqa: B027 - most frameworks have nothing to do
        """Wait until the device has finished; nothing to do where calls return when they are done."""

    def set_threads(self, count: int) -> None:
        raise Unsupported(f"{self.name} has no setting for the number of threads")

    def kernel(self, operator: Operator) -> tuple[Callable[..., tuple], str]:
        """How an operator runs here: its own kernel ("native") or our formula ("composed")."""
        if (native := operator.native(self.name)) is not None:
            return lambda *inputs: _tuple(native(self.module, *inputs)), "native"
        return lambda *inputs: operator.run(self.xp, *inputs), "composed"

    def evaluate(self, operator: Operator, inputs: Sequence[Any], composed: bool = False) -> list[np.ndarray]:
        """The outputs of one operator for NumPy inputs (static ones as they are, None where left out).

        `composed` asks for our formula even where there is a native kernel.
        """
        run = (lambda *values: operator.run(self.xp, *values)) if composed else self.kernel(operator)[0]
        return [self.array(y) for y in operator.published(run(*self._natives(inputs)))]

    def gradient(self, operator: Operator, inputs: Sequence[Any],
                 grads: Sequence[np.ndarray | None]) -> list[np.ndarray | None]:
        """One gradient per input by our formulas, from the gradients of the outputs (None: nobody used that one)."""
        answer = gradient_formula(self.xp, operator, self._natives(inputs), self._natives(grads))
        return [None if g is None else self.array(g) for g in answer]

    def _natives(self, values: Sequence[Any]) -> list[Any]:
        return [self.tensor(v) if isinstance(v, np.ndarray | np.generic) else v for v in values]

    @abstractmethod
    def executor(self, network: Network) -> "Executor":
        """Build the network once, to be run many times."""

    def from_model(self, model: Any) -> "Executor":
        """An executor for a d5.Network; an adapter may take its framework's own models too."""
        if isinstance(model, Network):
            return self.executor(model)
        raise Unsupported(f"{self.name} takes a d5.Network, not a {type(model).__name__}")


def gradient_formula(xp: Namespace, operator: Operator, inputs: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """The formula and its derivative over any namespace; an output that nobody used gets a gradient of zeros."""
    results = operator.run(xp, *inputs)
    made = operator.published(results)
    given = [*grads, *[None] * len(made)]
    full = [xp.zeros_like(y) if g is None else g for g, y in zip(given, made, strict=False)]
    return operator.gradients(xp, full, inputs, results)


def _tuple(result: Any) -> tuple:
    return tuple(result) if isinstance(result, tuple | list) else (result,)
