"""Creates an optimizer from a user's text: `Adam`, `Adam(Cosine(0.01, 60)) | ClipByNorm(1.0)`, `my_file.py:MyAdam`."""

from collections.abc import Mapping
from typing import Any

from ...contracts.optimizer import Optimizer
from ...contracts.three_step import ThreeStepOptimizer
from ...definition_text import Names, Parts, parts_of
from ...errors import Deep500Error
from ...frameworks.library_optimizers import library_maker, library_optimizer

SMALL_RATE = 0.01  # for a rule whose rate has no default


def load_optimizer(text: str, settings: Mapping[str, Any] | None = None) -> Any:
    """An optimizer as its text describes it, with settings by name in addition to those in its brackets.

    Raises `Deep500Error` if the text cannot be read, or names something that is not an optimizer.
    """
    parts = parts_of(text, "optimizers", Names(adapted=library_maker))
    return _with_rate(parts.with_settings(settings or {}))


def _with_rate(parts: Parts) -> Any:
    """The optimizer, with a small rate if it has none."""
    has_rate = parts.is_chain or "learning_rate" in parts.given
    if not has_rate and _needs_rate(parts.maker):
        parts = parts.with_settings({"learning_rate": SMALL_RATE})
    return parts.whole()


def as_optimizer(value: Any) -> Any:
    """The optimizer that a value stands for: a text, an instance, a class, or one of PyTorch, optax or Keras.

    Raises `Deep500Error` for anything else.
    """
    if isinstance(value, str):
        return load_optimizer(value)
    if isinstance(value, Optimizer | ThreeStepOptimizer):
        return value
    kinds = (Optimizer, ThreeStepOptimizer)
    if isinstance(value, type) and issubclass(value, kinds):
        return _with_rate(Parts(value))
    optimizer = library_optimizer(value)
    if optimizer is None:
        raise Deep500Error(
            f"{value!r:.200} is no optimizer: give an instance, as in SGD(0.1), a text, as in 'my.py:Mine(0.1)', or "
            "torch.optim.Adam, functools.partial(torch.optim.Adam, lr=0.01), optax.adam(0.01), "
            "keras.optimizers.Adam(0.01)"
        )
    return optimizer


def _needs_rate(maker: Any) -> bool:
    """Whether the optimizer is a dataclass whose learning rate has no default."""
    fields = getattr(maker, "__dataclass_fields__", {})
    return "learning_rate" in fields and not hasattr(maker, "learning_rate")
