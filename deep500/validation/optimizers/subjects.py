"""From what a user names to an optimizer: `Adam`, `Adam(0.01, beta1=0.8)`, `my_file.py:MyAdam`."""

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
    """A built-in optimizer, or one in a file, with settings in brackets or by name."""
    name, args, options = _parts(text)
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
        raise Deep500Error(
            f"{text} cannot be made: {one_line(error, kind=True)}"
        ) from None


def _parts(text: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name, and what is in the brackets behind it: plain values only."""
    name, bracket, _ = text.partition("(")
    if not bracket:
        return text, [], {}
    try:
        call = ast.parse(f"f{text[len(name) :]}", mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError
        args = [ast.literal_eval(value) for value in call.args]
        options = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (ValueError, SyntaxError):
        raise Deep500Error(
            f"{text!r} cannot be read: write settings as in Adam(0.01, beta1=0.8)"
        ) from None
    return name, args, options


def _needs_rate(cls: type) -> bool:
    """Whether it is a definition whose learning rate has no default."""
    fields = getattr(cls, "__dataclass_fields__", {})
    return "learning_rate" in fields and not hasattr(cls, "learning_rate")
