"""Optimizers as users of PyTorch, optax and Keras write them, adapted to the contract of a framework's own optimizer.

Nothing is imported to recognise them: a class or an object tells by the names of its bases where it comes from.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..contracts.native_optimizer import LibraryOptimizer
from ..errors import Deep500Error
from . import library_adapter

# by framework: the adapter, and the module of the class from which all optimizers of its library are derived
ADAPTERS = {
    "pytorch": ("TorchOptimizer", "torch.optim.optimizer"),
    "tensorflow": ("KerasOptimizer", "keras.src.optimizers.base_optimizer"),
    "jax": ("OptaxOptimizer", ""),
}


def library_maker(value: Any) -> Callable[..., LibraryOptimizer] | None:
    """What makes an optimizer of a library's class, or of a function of optax, from its arguments; None for others."""
    framework = _framework(value)
    if framework is None:
        return None
    adapter = _adapter(framework)

    def make(*args: Any, **options: Any) -> LibraryOptimizer:
        _check_arguments(framework, value, args, options)
        return adapter(value, args, tuple(options.items()))

    make.__name__ = value.__name__
    return make


def library_optimizer(value: Any) -> LibraryOptimizer | None:
    """The optimizer that a class, a `functools.partial` of one, or an object of a library stands for; else None."""
    if isinstance(value, functools.partial):
        maker = library_maker(value.func)
        return maker(*value.args, **value.keywords) if maker else None
    maker = library_maker(value)
    if maker is not None:
        return maker()
    if _is_transformation(value):
        return _adapter("jax")(_Unchanging(value))
    owner = _framework(type(value))
    if owner == "tensorflow":
        config = tuple(value.get_config().items())
        return _adapter(owner)(type(value), (), config)
    if owner == "pytorch":
        return _adapter(owner)(type(value), (), _torch_options(value))
    return None


class _Unchanging:
    """A function that returns the same gradient transformation each time: it has no state."""

    def __init__(self, value: Any):
        self.value = value
        self.__name__ = "optax transformation"

    def __call__(self) -> Any:
        return self.value


def _adapter(framework: str) -> Any:
    name, _ = ADAPTERS[framework]
    return library_adapter(framework, name)


def _framework(value: Any) -> str | None:
    """The framework of a class of an optimizer, or of a function that makes one."""
    if inspect.isfunction(value):
        package = value.__module__.partition(".")[0]
        return "jax" if package == "optax" else None
    if not isinstance(value, type):
        return None
    for framework, (_, module) in ADAPTERS.items():
        if module and any(base.__module__ == module for base in value.__mro__):
            return framework
    return None


def _is_transformation(value: Any) -> bool:
    """Whether this is a GradientTransformation of optax: a pair of functions, init and update."""
    return (
        isinstance(value, tuple)
        and getattr(value, "_fields", ())[:2] == ("init", "update")
        and type(value).__module__.partition(".")[0] == "optax"
    )


def _torch_options(optimizer: Any) -> tuple[tuple[str, Any], ...]:
    """The arguments that an optimizer of PyTorch was made with, as it keeps them."""
    parameters = inspect.signature(type(optimizer)).parameters
    defaults: Mapping[str, Any] = optimizer.defaults
    return tuple(
        (name, value) for name, value in defaults.items() if name in parameters
    )


def _check_arguments(
    framework: str, maker: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> None:
    """Raise a Deep500Error if the library would not take these arguments."""
    first = (None,) if framework == "pytorch" else ()
    signature = inspect.signature(maker)
    try:
        signature.bind(*first, *args, **options)
    except TypeError as error:
        names = list(signature.parameters)[len(first) :]
        listed = ", ".join(names)
        raise Deep500Error(
            f"{maker.__name__} cannot be made of these settings ({error}); it takes: {listed}"
        ) from None
