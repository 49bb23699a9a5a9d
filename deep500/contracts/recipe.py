"""The recipe contract: FIXED + MUTABLE + METRICS, as data that can be compared and hashed."""

import functools
import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import registry
from ..definition import Definition
from ..errors import Deep500Error, did_you_mean
from .dataset import Dataset
from .loss import Loss
from .metric import Metric
from .model import Model
from .precision import Precision
from .sampler import Sampler
from .task import Task

# An entry that is a definition: the folder that its names are of, and what it must be
DEFINITIONS: dict[str, tuple[str, type]] = {
    "model": ("networks", Model),
    "dataset": ("datasets", Dataset),
    "task": ("tasks", Task),
    "loss": ("losses", Loss),
    "train_sampler": ("samplers", Sampler),
    "optimizer": ("optimizers", object),
    "precision": ("precisions", Precision),
}
FIXED_DEFINITIONS = ("model", "dataset", "task", "loss", "train_sampler")
FIXED_KEYS: dict[str, Any] = {
    **dict.fromkeys(FIXED_DEFINITIONS, (str, type, Definition)),
    **{f"{key}_args": (tuple, list) for key in FIXED_DEFINITIONS},
    **{f"{key}_kwargs": dict for key in FIXED_DEFINITIONS},
    "epochs": int,
}
MUTABLE_KEYS: dict[str, Any] = {
    "batch_size": int,
    "executor": object,
    "executor_kwargs": dict,
    "optimizer": object,
    "optimizer_args": (tuple, list),
    "optimizer_kwargs": dict,
    "precision": (str, type, Definition),
    "precision_args": (tuple, list),
    "precision_kwargs": dict,
}
NEEDED = ("model", "dataset", "epochs", "batch_size", "executor", "optimizer")


@dataclass(frozen=True)
class Recipe:
    """What is fixed, what may be changed, and which results are acceptable.

    FIXED    model, dataset, task (classification), loss (the task's), train_sampler (ShuffleSampler), epochs
    MUTABLE  batch_size, executor (a framework's from_model, or its name), executor_kwargs, optimizer,
             precision (float32)
    METRICS  pairs of a metric and its target (None: only reported)

    A model, data set, task, loss, sampler or optimizer is given as a name, as a definition, or as a class with its
    arguments in the entries <key>_args and <key>_kwargs.
    """

    name: str
    fixed: Mapping[str, Any]
    mutable: Mapping[str, Any]
    metrics: Sequence[tuple[Metric, float | None]]
    source: str | None = None  # the hash of the file it was read from

    def __post_init__(self) -> None:
        self._check_part("FIXED", FIXED_KEYS, self.fixed)
        self._check_part("MUTABLE", MUTABLE_KEYS, self.mutable)
        if missing := [key for key in NEEDED if key not in {**self.fixed, **self.mutable}]:
            raise Deep500Error(f"recipe {self.name}: {missing[0]!r} is missing")
        self._check_metrics()
        if self.fixed["epochs"] < 1 or self.mutable["batch_size"] < 1:
            raise Deep500Error(f"recipe {self.name}: epochs and batch_size must be at least 1")

    def _check_part(self, part: str, known: Mapping[str, Any], entries: Any) -> None:
        if not isinstance(entries, Mapping):
            raise Deep500Error(f"recipe {self.name}: {part} is not a dictionary")
        for key, value in entries.items():
            if key not in known:
                raise Deep500Error(
                    f"recipe {self.name}: {part} has no entry {key!r}.{did_you_mean(str(key), known)} "
                    f"Known: {', '.join(known)}"
                )
            if not isinstance(value, known[key]) or isinstance(value, bool):
                raise Deep500Error(f"recipe {self.name}: {part}[{key!r}] cannot be {value!r}")

    def _check_metrics(self) -> None:
        pairs = self.metrics
        if not isinstance(pairs, tuple | list) or not pairs or not all(map(_is_metric_pair, pairs)):
            raise Deep500Error(
                f"recipe {self.name}: METRICS is not a list of (metric, target) pairs"
            )
        for metric, target in pairs:
            number = isinstance(target, int | float) and not isinstance(target, bool)
            if target is not None and not number:
                raise Deep500Error(
                    f"recipe {self.name}: the target of {type(metric).__name__} is {target!r}: "
                    "give a number, or None"
                )

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
            "metrics": self._metrics_json(),
        }

    def make(self, key: str, **settings: Any) -> Any:
        """The definition that an entry stands for; `settings` come on top of the recipe's own."""
        entries = {**self.fixed, **self.mutable}
        kind, contract = DEFINITIONS[key]
        arguments = (
            entries.get(f"{key}_args", ()),
            {**entries.get(f"{key}_kwargs", {}), **settings},
        )
        definition = _made(kind, entries[key], *arguments)
        if not isinstance(definition, contract):
            raise Deep500Error(
                f"recipe {self.name}: {key!r} is a {type(definition).__name__}, and a "
                f"d5.{contract.__name__} is needed"
            )
        return definition

    @property
    def own_metrics(self) -> dict[str, Metric]:
        """The metrics that nobody else can look up by name: their values are recorded, by these keys."""
        keyed: dict[str, Metric] = {}
        counts: Counter[str] = Counter()
        for metric, _ in self.metrics:
            name = type(metric).__name__
            if name in registry.known("metrics") and registry.find("metrics", name) is type(metric):
                continue
            counts[name] += 1
            keyed[name if counts[name] == 1 else f"{name} {counts[name]}"] = metric
        return keyed

    def _metrics_json(self) -> list[list[Any]]:
        keys = {id(metric): key for key, metric in self.own_metrics.items()}
        written: list[list[Any]] = []
        for metric, target in self.metrics:
            form = _plain(metric)
            if id(metric) in keys:
                form["recorded"] = {
                    "key": keys[id(metric)],
                    "unit": metric.unit,
                    "kind": metric.kind,
                    "better": metric.better,
                }
            written.append([form, target])
        return written

    @property
    def hash(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


def _is_metric_pair(pair: object) -> bool:
    return isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], Metric)


def _plain(value: Any) -> Any:
    """A JSON value that says everything that matters about an entry of a recipe."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(v) for key, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, Definition):
        return _plain_definition(value)
    if inspect.ismethod(value):  # a framework's from_model: what matters is whose
        owner = type(value.__self__)
        return {
            "name": f"{owner.__module__}:{owner.__qualname__}.{value.__name__}",
            "source": source_hash(owner),
        }
    if isinstance(value, functools.partial):
        return {
            "partial": _plain(value.func),
            "args": _plain(value.args),
            "kwargs": _plain(value.keywords),
        }
    if isinstance(value, type) or callable(value):
        return {"name": f"{value.__module__}:{value.__qualname__}", "source": source_hash(value)}
    raise Deep500Error(
        f"a recipe cannot hold {value!r}: use numbers, texts, definitions, functions or classes"
    )


def _plain_definition(definition: Definition) -> dict[str, Any]:
    """One of ours by its name and settings; another one by its source, too."""
    kind = type(definition)
    form = {"definition": kind.__name__, "settings": _plain(definition.settings)}
    if kind.__module__.partition(".")[0] != __package__.partition(".")[0]:
        form["source"] = source_hash(kind)
    return form


def _made(kind: str, entry: Any, args: Sequence[Any], settings: Mapping[str, Any]) -> Any:
    """The definition for a name, a class with its arguments, or a definition (whose settings may be replaced)."""
    if isinstance(entry, Definition):
        if args:
            raise Deep500Error(f"{entry!r} has its settings already: give its class to take {args}")
        maker: Any = functools.partial(replace, entry)
    elif isinstance(entry, str):
        maker = registry.named(kind, entry)
    else:
        maker = entry
    try:
        return maker(*args, **settings)
    except TypeError as error:
        shown = entry if isinstance(entry, str) else getattr(entry, "__name__", entry)
        given = ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in settings.items())])
        raise Deep500Error(f"{shown!r} cannot be made with ({given}): {error}") from None


def source_hash(value: Any) -> str | None:
    try:
        return hashlib.sha256(inspect.getsource(value).encode()).hexdigest()
    except (OSError, TypeError):  # built in C, or typed at a prompt: it has no source
        return None
