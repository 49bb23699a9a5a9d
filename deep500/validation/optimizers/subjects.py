"""Creates an optimizer from a user's text: `Adam`, `Adam(0.01, beta1=0.8)`, `my_file.py:MyAdam`."""

import ast
from collections.abc import Mapping
from typing import Any

from ... import registry
from ...contracts.modifier import Modifier
from ...contracts.optimizer import Optimizer
from ...contracts.three_step import ThreeStepOptimizer
from ...custom.loading import load_class
from ...errors import Deep500Error, one_line

KINDS = (Optimizer, ThreeStepOptimizer)
SMALL_RATE = 0.01  # for a rule whose rate has no default


def load_optimizer(text: str, settings: Mapping[str, Any] | None = None) -> Any:
    """A built-in optimizer or one from a file, with the settings in its brackets and those passed by name.

    Raises `Deep500Error` if the text cannot be parsed, or names something that is not an optimizer.
    """
    name, args, options = _parse(text)
    options = options | dict(settings or {})
    file, colon, class_name = name.rpartition(":")
    if colon:
        cls = load_class(file, class_name, KINDS, "optimizer")
    else:
        cls = registry.named("optimizers", name)
    if issubclass(cls, Modifier):
        raise Deep500Error(
            f"{cls.__name__} changes gradients and is no optimizer by itself"
        )
    if not args and "learning_rate" not in options and _needs_rate(cls):
        args = [SMALL_RATE]
    try:
        return cls(*args, **options)
    except Deep500Error:
        raise
    except Exception as error:  # code from anyone
        reason = one_line(error, kind=True)
        raise Deep500Error(f"{text} cannot be made: {reason}") from None


def _parse(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, and the positional and named settings in the brackets, which must be literals."""
    name, bracket, settings = text.partition("(")
    if not bracket:
        return text, [], {}
    try:
        call = ast.parse(f"f({settings}", mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError
        args = [ast.literal_eval(value) for value in call.args]
        options = {}
        for keyword in call.keywords:
            options[str(keyword.arg)] = ast.literal_eval(keyword.value)
    except (ValueError, SyntaxError):
        raise Deep500Error(
            f"{text!r} cannot be read: write settings as in Adam(0.01, beta1=0.8)"
        ) from None
    return name, args, options


def _needs_rate(cls: type) -> bool:
    """Whether the optimizer is a dataclass whose learning rate has no default."""
    fields = getattr(cls, "__dataclass_fields__", {})
    return "learning_rate" in fields and not hasattr(cls, "learning_rate")
