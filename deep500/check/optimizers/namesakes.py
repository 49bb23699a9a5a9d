"""Finds the well-known optimizer of the same name as a user's: a class that is called Lion should compute Lion."""

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from ... import registry
from ...contracts.native_optimizer import LibraryOptimizer, NativeOptimizer
from ...contracts.optimizer import Optimizer
from ...contracts.three_step import NOT_STATE
from ...errors import Deep500Error
from ...frameworks.library_optimizers import library_maker
from ...user_files import installed
from .oracles import RULES
from .truths import FormulaTruth, OptimizerTruth, StepTruth, optimizer_name

# where the frameworks keep their own
LIBRARIES = {
    "pytorch": "torch.optim",
    "jax": "optax",
    "tensorflow": "keras.optimizers",
}
# other names of settings
ALIASES = {
    "learning_rate": ("lr", "rate", "eta"),
    "lr": ("learning_rate", "rate", "eta"),
    "beta1": ("b1", "beta_1"),
    "beta2": ("b2", "beta_2"),
    "b1": ("beta1", "beta_1"),
    "b2": ("beta2", "beta_2"),
    "beta_1": ("beta1", "b1"),
    "beta_2": ("beta2", "b2"),
    "epsilon": ("eps",),
    "eps": ("epsilon",),
    "weight_decay": ("decay", "wd"),
    "momentum": ("mu",),
}


@dataclass(frozen=True)
class Namesake:
    """The optimizer of the same name, as a truth.

    binding   Whether all settings of both correspond to each other, so that a difference is an error.
    """

    name: str
    truth: StepTruth
    binding: bool


def namesakes(optimizer: Any, framework: str) -> Iterator[Namesake]:
    """The built-in rule and the framework's own optimizer of the same name, with the same settings, if they exist."""
    settings = _settings(optimizer)
    letters = _letters(optimizer_name(optimizer))
    for name in RULES:
        if _letters(name) == letters:
            yield _built_in(name, optimizer, settings)
    if letters not in map(_letters, RULES):
        yield from _of_library(letters, framework, settings)


def _built_in(name: str, optimizer: Any, settings: Mapping[str, Any]) -> Namesake:
    rule: Any = registry.find("optimizers", name)
    wanted = [field.name for field in fields(rule)]
    values, unused = _matched(wanted, settings)
    is_complete = len(values) == len(wanted) and not unused
    if "learning_rate" in wanted and "learning_rate" not in values:
        rate = {field.name: field.default for field in fields(rule)}
        if rate["learning_rate"] is MISSING:
            values["learning_rate"] = 0.01
    # a framework's own may differ from ours in where it adds epsilon
    is_own = isinstance(optimizer, NativeOptimizer)
    binding = is_complete and not is_own
    return Namesake(name, FormulaTruth(rule(**values)), binding)


def _of_library(
    letters: str, framework: str, settings: Mapping[str, Any]
) -> Iterator[Namesake]:
    """The framework's own; a difference from it is said, and is no error: there may be several variants of a rule."""
    module = LIBRARIES.get(framework)
    if module is None:
        return
    try:
        library = installed(module)
    except Deep500Error:  # optax is optional
        return
    for name in dir(library):
        maker = library_maker(getattr(library, name))
        if maker is None or _letters(name) != letters:
            continue
        wanted = list(inspect.signature(getattr(library, name)).parameters)
        values, _ = _matched(wanted, settings)
        try:
            theirs = maker(**values)
        except Deep500Error:
            continue
        yield Namesake(f"{module}.{name}", OptimizerTruth(theirs), False)


def _matched(
    wanted: list[str], settings: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The settings under the names that are wanted, and those that were not used and are not zero."""
    values: dict[str, Any] = {}
    used: set[str] = set()
    for name in wanted:
        for alias in (name, *ALIASES.get(name, ())):
            if alias in settings:
                values[name] = settings[alias]
                used.add(alias)
                break
    unused = [name for name, value in settings.items() if value and name not in used]
    return values, unused


def _settings(optimizer: Any) -> dict[str, Any]:
    """The settings of an optimizer by name; of a plain class, its attributes that are numbers."""
    if isinstance(optimizer, LibraryOptimizer):
        settings = _library_settings(optimizer)
    elif isinstance(optimizer, Optimizer):
        settings = dict(optimizer.settings)
    else:
        settings = {
            name: value
            for name, value in vars(optimizer).items()
            if name not in NOT_STATE and isinstance(value, bool | int | float | tuple)
        }
    betas = settings.pop("betas", None)
    if isinstance(betas, tuple) and len(betas) == 2:
        settings["beta1"], settings["beta2"] = betas
    return settings


def _library_settings(optimizer: LibraryOptimizer) -> dict[str, Any]:
    """The arguments of a library's class or function by name, with its defaults."""
    first = (None,) if optimizer.framework == "pytorch" else ()
    try:
        bound = inspect.signature(optimizer.maker).bind(
            *first, *optimizer.args, **dict(optimizer.options)
        )
    except (TypeError, ValueError):
        return {}
    bound.apply_defaults()
    values = list(bound.arguments.items())[len(first) :]
    return {
        name: value
        for name, value in values
        if isinstance(value, bool | int | float | tuple)
    }


def _letters(name: str) -> str:
    """The letters of a name, without a My in front and an Optimizer behind."""
    core = re.sub(r"^(My|my_)|Optimizer$", "", name)
    return re.sub(r"[\W_]", "", core).lower()
