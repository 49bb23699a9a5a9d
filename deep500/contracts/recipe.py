"""The recipe contract: FIXED + MUTABLE + METRICS, as data that can be compared and hashed."""

import functools
import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..definition import Definition
from ..errors import Deep500Error
from .metric import Metric

FIXED_KEYS: dict[str, Any] = {
    "model": str,
    "model_kwargs": dict,
    "dataset": str,
    "dataset_kwargs": dict,
    "train_sampler": type,
    "epochs": int,
}
MUTABLE_KEYS: dict[str, Any] = {
    "batch_size": int,
    "executor": object,
    "executor_kwargs": dict,
    "optimizer": object,
    "optimizer_args": (tuple, list),
    "optimizer_kwargs": dict,
}
NEEDED = ("model", "dataset", "epochs", "batch_size", "executor", "optimizer")


@dataclass(frozen=True)
class Recipe:
    """What is fixed, what may be changed, and which results are acceptable.

    FIXED    model, model_kwargs, dataset, dataset_kwargs, train_sampler, epochs
    MUTABLE  batch_size, executor (a framework's from_model), executor_kwargs, optimizer (a class), optimizer_args,
             optimizer_kwargs
    METRICS  pairs of a metric and its target (None: only reported)
    """

    name: str
    fixed: Mapping[str, Any]
    mutable: Mapping[str, Any]
    metrics: Sequence[tuple[Metric, float | None]]
    source: str | None = None  # the hash of the file it was read from

    def __post_init__(self) -> None:
        for part, known, given in (
            ("FIXED", FIXED_KEYS, self.fixed),
            ("MUTABLE", MUTABLE_KEYS, self.mutable),
        ):
            if not isinstance(given, Mapping):
                raise Deep500Error(f"recipe {self.name}: {part} is not a dictionary")
            for key, value in given.items():
                if key not in known:
                    raise Deep500Error(
                        f"recipe {self.name}: {part} has no entry {key!r}; it knows {', '.join(known)}"
                    )
                if not isinstance(value, known[key]) or isinstance(value, bool):
                    raise Deep500Error(f"recipe {self.name}: {part}[{key!r}] cannot be {value!r}")
        if missing := [key for key in NEEDED if key not in {**self.fixed, **self.mutable}]:
            raise Deep500Error(f"recipe {self.name}: {missing[0]!r} is missing")
        if not (
            isinstance(self.metrics, tuple | list)
            and self.metrics
            and all(
                isinstance(m, tuple | list) and len(m) == 2 and isinstance(m[0], Metric)
                for m in self.metrics
            )
        ):
            raise Deep500Error(
                f"recipe {self.name}: METRICS is not a list of (metric, target) pairs"
            )
        for metric, target in self.metrics:
            if target is not None and (
                isinstance(target, bool) or not isinstance(target, int | float)
            ):
                raise Deep500Error(
                    f"recipe {self.name}: the target of {type(metric).__name__} is {target!r}: "
                    "give a number, or None"
                )
        if self.fixed["epochs"] < 1 or self.mutable["batch_size"] < 1:
            raise Deep500Error(f"recipe {self.name}: epochs and batch_size must be at least 1")

    def with_settings(self, changes: Mapping[str, Any]) -> "Recipe":
        """The same recipe with other MUTABLE entries; FIXED ones are refused."""
        for key in changes:
            if key in FIXED_KEYS:
                raise Deep500Error(
                    f"{key!r} is FIXED in recipe {self.name}: only MUTABLE entries can be set "
                    f"({', '.join(MUTABLE_KEYS)})"
                )
        return replace(self, mutable={**self.mutable, **changes})

    def to_json(self) -> dict:
        """The canonical form: definitions by name and settings, functions and classes by name and source."""
        return {
            "name": self.name,
            "file": self.source,
            "fixed": _plain(self.fixed),
            "mutable": _plain(self.mutable),
            "metrics": [[_plain(metric), target] for metric, target in self.metrics],
        }

    @property
    def hash(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    """A JSON value that says everything that matters about an entry of a recipe."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, Definition):
        return {"definition": type(value).__name__, "settings": _plain(value.settings)}
    if inspect.ismethod(value):  # a framework's from_model: what matters is whose
        owner = type(value.__self__)
        return {
            "name": f"{owner.__module__}:{owner.__qualname__}.{value.__name__}",
            "source": _source_hash(owner),
        }
    if isinstance(value, functools.partial):
        return {
            "partial": _plain(value.func),
            "args": _plain(value.args),
            "kwargs": _plain(value.keywords),
        }
    if isinstance(value, type) or callable(value):
        return {"name": f"{value.__module__}:{value.__qualname__}", "source": _source_hash(value)}
    raise Deep500Error(
        f"a recipe cannot hold {value!r}: use numbers, texts, definitions, functions or classes"
    )


def _source_hash(value: Any) -> str | None:
    try:
        return hashlib.sha256(inspect.getsource(value).encode()).hexdigest()
    except (OSError, TypeError):  # built in C, or typed at a prompt: it has no source
        return None
