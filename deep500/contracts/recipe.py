"""The recipe contract: FIXED + MUTABLE + METRICS, as data that can be compared and hashed."""

import functools
import inspect
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from .. import registry
from ..canonical import shown
from ..definition import Definition
from ..errors import (
    Deep500Error,
    did_you_mean,
    one_line,
    raising_function,
    unknown,
)
from ..hashing.canonical_form import canonical_form, form_hash
from ..hashing.own_code import fixed_form_hash, own_code
from .claim import Claim
from .metric import Metric
from .recipe_entries import (
    ALWAYS_NEEDED,
    ENTRIES,
    TABLE,
    argument_keys,
    definition_keys,
    subject_of,
)

Division = Literal["closed", "open"]
DIVISIONS = ("closed", "open")
SCALED = (
    "seeds",
    "epochs",
    "batch_size",
    "model_kwargs",
    "dataset_kwargs",
    "procedure_kwargs",
)


@dataclass(frozen=True)
class Recipe:
    """Which entries are fixed, which may be changed, and which results are acceptable.

    FIXED    model, dataset, task (classification), loss (the task's), train_sampler (ShuffleSampler), epochs; or
             a procedure of your own in place of the model
    MUTABLE  batch_size, executor (a framework's from_model, or its name), executor_kwargs, optimizer, precision
             (float32), events, workers, evaluate_every (steps, within epochs); for many ranks: ranks, transport,
             scheme, codec
    METRICS  pairs of a metric and its target (None: only reported)
    CLAIMS   optional: statements about the metrics, such as d5.TestAccuracy() >= 97.0
    TIERS    optional: by the name of a tier, how many seeds and epochs, and smaller data and networks

    A recipe may put any entry into FIXED or into MUTABLE. A model, data set, task, loss, sampler, optimizer or metric
    is given as a name, as a definition, or as a class with its arguments in the entries <key>_args and <key>_kwargs;
    a name is one of the recipe's file (`definitions`) or of the registry.
    """

    name: str
    fixed: Mapping[str, Any]
    mutable: Mapping[str, Any]
    metrics: Sequence[tuple[Metric, float | None]]
    source: str | None = None  # the hash of the file it was read from
    claims: Sequence[Claim] = ()
    tiers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    definitions: Mapping[str, Any] = field(default_factory=dict)
    division: Division = "closed"
    # FIXED entries changed in the open division
    differences: Sequence[tuple[str, Any, Any]] = ()
    # entries that the tier of a run changes
    scale: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None  # of the file it was read from

    def __post_init__(self) -> None:
        self._check_part("FIXED", self.fixed)
        self._check_part("MUTABLE", self.mutable)
        self._check_overlap()
        object.__setattr__(self, "fixed", self._resolved(self.fixed))
        object.__setattr__(self, "mutable", self._resolved(self.mutable))
        self._check_needed()
        self._check_counts()
        object.__setattr__(self, "metrics", self._checked_metrics())
        self._check_claims()
        self._check_tiers()

    def entry(self, key: str, default: Any = None) -> Any:
        """The value of an entry of FIXED or MUTABLE, changed by the tier of this run."""
        value = self.mutable.get(key, self.fixed.get(key, default))
        if key not in self.scale:
            return value
        scaled = self.scale[key]
        if key.endswith("_kwargs"):
            return {**(value or {}), **scaled}
        return scaled

    def has(self, key: str) -> bool:
        """Whether the recipe has this entry."""
        return key in self.fixed or key in self.mutable

    def is_fixed(self, key: str) -> bool:
        """Whether an entry is FIXED; the arguments of a definition belong to the same part as the definition."""
        subject = subject_of(key)
        if key in self.fixed or subject in self.fixed:
            return True
        if key in self.mutable or subject in self.mutable:
            return False
        return ENTRIES[key].part == "FIXED"

    def with_settings(
        self, changes: Mapping[str, Any], division: str = "closed"
    ) -> "Recipe":
        """The same recipe with other entries. Changing a FIXED one is an error in the closed division.

        The open division records it as a difference. A definition that is replaced loses its arguments.
        """
        if division not in DIVISIONS:
            raise unknown("division", division, DIVISIONS)
        fixed, mutable = dict(self.fixed), dict(self.mutable)
        for key in changes:
            self._check_change(key, division)
            part = fixed if self.is_fixed(key) else mutable
            for argument in argument_keys(key):
                part.pop(argument, None)
        for key, value in changes.items():
            part = fixed if self.is_fixed(key) else mutable
            part[key] = value
        changed = replace(self, fixed=fixed, mutable=mutable)
        new_differences = _form_differences(self.fixed, changed.fixed)
        differences = (*self.differences, *new_differences)
        return replace(changed, division=division, differences=differences)  # type: ignore[arg-type]

    def _check_change(self, key: str, division: str) -> None:
        """Raise a Deep500Error if there is no such entry, or if it is FIXED in the closed division."""
        if key not in ENTRIES:
            raise self._no_entry("MUTABLE", key)
        if division == "closed" and self.is_fixed(key):
            mutable = ", ".join(self._mutable_keys())
            raise Deep500Error(
                f"{key!r} is FIXED in recipe {self.name}: the closed division sets MUTABLE entries only "
                f"({mutable}); --division open records the difference"
            )

    def at_tier(self, tier: str) -> "Recipe":
        """The same recipe with the changes of one of its tiers."""
        settings = self.tiers.get(tier, {})
        scale = {key: value for key, value in settings.items() if key != "seeds"}
        return replace(self, scale=scale)

    def to_json(self) -> dict:
        """The canonical form: definitions by name and settings, functions and classes by name and source."""
        metrics = []
        for metric, target in self.metrics:
            metrics.append([self._metric_form(metric), target])
        form = {
            "name": self.name,
            "file": self.source,
            "fixed": canonical_form(self.fixed),
            "mutable": canonical_form(self.mutable),
            "metrics": metrics,
        }
        if self.claims:
            form["claims"] = [self._claim_form(claim) for claim in self.claims]
        if self.tiers:
            form["tiers"] = canonical_form(self.tiers)
        if self.own_code:
            form["code"] = self.own_code
        return form

    @functools.cached_property
    def own_code(self) -> dict[str, dict[str, str]]:
        """The user's files that take part besides the recipe's own, with their SHA-256."""
        others = [*self.mutable.values(), *self.all_metrics()]
        return own_code(self.fixed.values(), others, self.path)

    def make(self, key: str, *before: Any, **settings: Any) -> Any:
        """The definition of an entry, constructed with `before`, the recipe's own arguments and `settings`."""
        entry = TABLE[key]
        args = (*before, *self.entry(f"{key}_args", ()))
        kwargs = {**self.entry(f"{key}_kwargs", {}), **settings}
        definition = construct(entry.folder, self.entry(key), args, kwargs)
        if not isinstance(definition, entry.contract):
            actual = type(definition).__name__
            contract = entry.contract.__name__
            raise Deep500Error(
                f"recipe {self.name}: {key!r} is a {actual}, and a d5.{contract} is needed"
            )
        return definition

    def make_optimizer(self, name: str = "") -> Any:
        """The optimizer, or the one of that name in the entry "optimizers"."""
        if not name:
            return self.make("optimizer")
        optimizers = self.entry("optimizers", {})
        if name not in optimizers:
            raise unknown(f"optimizer in recipe {self.name}", name, optimizers)
        return construct("optimizers", optimizers[name], (), {})

    @property
    def own_metrics(self) -> dict[str, Metric]:
        """The metrics that are not in the registry, by the keys under which their values are recorded."""
        by_key: dict[str, Metric] = {}
        counts: Counter[str] = Counter()
        for metric in self.all_metrics():
            if _is_ours(metric) or metric in by_key.values():
                continue
            name = type(metric).__name__
            counts[name] += 1
            key = name
            if counts[name] > 1:
                key = f"{name} {counts[name]}"
            by_key[key] = metric
        return by_key

    @property
    def hash(self) -> str:
        return form_hash(self.to_json())

    @property
    def fixed_hash(self) -> str:
        """The hash of FIXED alone, with the user's files that its definitions come from."""
        form = {"fixed": canonical_form(self.fixed), "code": self.own_code}
        return fixed_form_hash(form)

    def all_metrics(self) -> list[Metric]:
        """The metrics of METRICS and of CLAIMS."""
        metrics = [metric for metric, _ in self.metrics]
        for claim in self.claims:
            metrics += claim.metrics.values()
        return metrics

    def _metric_form(self, metric: Metric) -> dict[str, Any]:
        form = canonical_form(metric)
        for key, recorded in self.own_metrics.items():
            if recorded == metric and type(recorded) is type(metric):
                form["recorded"] = {
                    "key": key,
                    "unit": metric.unit,
                    "kind": metric.kind,
                    "better": metric.better,
                    **_declared_range(metric),
                }
        return form

    def _claim_form(self, claim: Claim) -> dict[str, Any]:
        metrics = {}
        for name, metric in claim.metrics.items():
            metrics[name] = self._metric_form(metric)
        numbers = canonical_form(claim.numbers)
        return {
            "claim": type(claim).__name__,
            "metrics": metrics,
            "numbers": numbers,
        }

    def _mutable_keys(self) -> list[str]:
        return [key for key in ENTRIES if not self.is_fixed(key)]

    def _resolved(self, entries: Mapping[str, Any]) -> dict[str, Any]:
        """The entries, with names that the recipe's file defines replaced by their definitions."""
        resolved = dict(entries)
        for key in definition_keys():
            value = resolved.get(key)
            if isinstance(value, str) and value in self.definitions:
                resolved[key] = self.definitions[value]
        return resolved

    def _no_entry(self, part: str, key: Any) -> Deep500Error:
        suggestion = did_you_mean(str(key), ENTRIES)
        names = ", ".join(TABLE)
        return Deep500Error(
            f"recipe {self.name}: {part} has no entry {key!r}.{suggestion} "
            f"Known: {names}, and the _args and _kwargs of definitions"
        )

    def _check_part(self, part: str, entries: Any) -> None:
        if not isinstance(entries, Mapping):
            raise Deep500Error(f"recipe {self.name}: {part} is not a dictionary")
        for key, value in entries.items():
            if key not in ENTRIES:
                raise self._no_entry(part, key)
            takes = ENTRIES[key].takes
            if isinstance(value, bool):
                # which is an int, too
                is_taken = isinstance(takes, tuple) and bool in takes
            else:
                is_taken = isinstance(value, takes)
            if not is_taken:
                raise Deep500Error(
                    f"recipe {self.name}: {part}[{key!r}] cannot be {shown(value)}"
                )

    def _check_overlap(self) -> None:
        both = [key for key in self.fixed if key in self.mutable]
        if both:
            raise Deep500Error(
                f"recipe {self.name}: {both[0]!r} is in FIXED and in MUTABLE: leave it in one of them"
            )

    def _check_needed(self) -> None:
        needed = list(ALWAYS_NEEDED)
        if not self.has("procedure"):
            needed += ["model", "optimizer"]
        for key in needed:
            if not self.has(key):
                raise Deep500Error(f"recipe {self.name}: {key!r} is missing")

    def _check_counts(self) -> None:
        if self.entry("epochs") < 1 or self.entry("batch_size") < 1:
            raise Deep500Error(
                f"recipe {self.name}: epochs and batch_size must be at least 1"
            )
        if self.entry("evaluate_every", 1) < 1:
            raise Deep500Error(
                f"recipe {self.name}: evaluate_every must be at least 1 step"
            )

    def _checked_metrics(self) -> list[tuple[Metric, float | None]]:
        """The pairs of METRICS, each metric as an instance."""
        pairs = self.metrics
        if not isinstance(pairs, tuple | list) or not pairs:
            raise self._not_pairs()
        checked = []
        for pair in pairs:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise self._not_pairs()
            written, target = pair
            metric = self._metric(written)
            self._check_target(metric, target)
            checked.append((metric, target))
        return checked

    def _not_pairs(self) -> Deep500Error:
        return Deep500Error(
            f"recipe {self.name}: METRICS is not a list of (metric, target) pairs"
        )

    def _metric(self, written: Any) -> Metric:
        """The metric that METRICS gives as an instance, a class or a name."""
        if isinstance(written, str):
            defined = self.definitions.get(written)
            written = defined or registry.named("metrics", written)
        if isinstance(written, type) and issubclass(written, Metric):
            written = construct("metrics", written, (), {})
        if not isinstance(written, Metric):
            raise self._not_pairs()
        return written

    def _check_target(self, metric: Metric, target: Any) -> None:
        name = type(metric).__name__
        if target is None:
            return
        if not isinstance(target, int | float) or isinstance(target, bool):
            raise Deep500Error(
                f"recipe {self.name}: the target of {name} is {target!r}: give a number, or None"
            )
        if metric.better is None:
            raise Deep500Error(
                f"recipe {self.name}: {name} has the target {target:g}, and no direction: set its `better` to "
                "'lower' or 'higher', or give None as target"
            )

    def _check_claims(self) -> None:
        if not isinstance(self.claims, tuple | list):
            raise Deep500Error(f"recipe {self.name}: CLAIMS is not a list of claims")
        for claim in self.claims:
            if not isinstance(claim, Claim):
                raise Deep500Error(
                    f"recipe {self.name}: CLAIMS holds {claim!r}: a claim is written like "
                    "d5.TestAccuracy() >= 97.0 or d5.claims.Faster(a, b, 1.2)"
                )
            name = type(claim).__name__
            if registry.find("claims", name) is not type(claim):
                raise Deep500Error(
                    f"recipe {self.name}: the claim {name} is not one of ours, and nobody could "
                    "judge it without running the recipe's code"
                )

    def _check_tiers(self) -> None:
        if not isinstance(self.tiers, Mapping):
            raise Deep500Error(f"recipe {self.name}: TIERS is not a dictionary")
        for tier, settings in self.tiers.items():
            if not isinstance(settings, Mapping):
                raise Deep500Error(
                    f"recipe {self.name}: TIERS[{tier!r}] is not a dictionary"
                )
            for key, value in settings.items():
                self._check_scaled(tier, key, value)

    def _check_scaled(self, tier: str, key: str, value: Any) -> None:
        """Raise a Deep500Error if a tier may not set this entry to this value."""
        if key not in SCALED:
            names = ", ".join(SCALED)
            raise Deep500Error(
                f"recipe {self.name}: the tier {tier!r} sets {key!r}, and a tier scales the amount of "
                f"work only: {names}"
            )
        expected_type = Mapping if key.endswith("_kwargs") else int
        if not isinstance(value, expected_type) or isinstance(value, bool):
            raise Deep500Error(
                f"recipe {self.name}: TIERS[{tier!r}][{key!r}] cannot be {shown(value)}"
            )


def own_definitions(names: Mapping[str, Any]) -> dict[str, Any]:
    """The classes and functions that a file defines itself and the classes that it imports from elsewhere."""
    module = names.get("__name__")
    package = __name__.partition(".")[0]
    definitions: dict[str, Any] = {}
    for name, value in names.items():
        origin = getattr(value, "__module__", None)
        if isinstance(value, type):
            is_definition = not str(origin).startswith(f"{package}.")
        else:
            is_definition = inspect.isfunction(value) and origin == module
        if is_definition:
            definitions[name] = value
    return definitions


def _form_differences(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[tuple[str, Any, Any]]:
    """The entries whose canonical forms differ, with both forms."""
    forms_before = canonical_form(before)
    forms_after = canonical_form(after)
    differences = []
    for key in sorted({**before, **after}):
        was = forms_before.get(key)
        now = forms_after.get(key)
        if was != now:
            differences.append((key, was, now))
    return differences


def _is_ours(metric: Metric) -> bool:
    name = type(metric).__name__
    if name not in registry.known("metrics"):
        return False
    return registry.find("metrics", name) is type(metric)


def _declared_range(metric: Metric) -> dict[str, float]:
    """The ends of the range that a metric declares."""
    if metric.scale is None:
        return {}
    ends = {"low": metric.scale.low, "high": metric.scale.high}
    return {name: end for name, end in ends.items() if math.isfinite(end)}


def construct(
    folder: str, entry: Any, args: Sequence[Any], settings: Mapping[str, Any]
) -> Any:
    """The definition that an entry of a recipe describes.

    The entry is a name or a class, which is called with the arguments, or a definition, whose settings are replaced.
    Raises a Deep500Error if it does not take the arguments.
    """
    maker: Callable[..., Any] = entry
    if isinstance(entry, Definition):
        if args:
            raise Deep500Error(
                f"{entry!r} has its settings already: give its class to take {args}"
            )
        maker = functools.partial(replace, entry)  # type: ignore[type-var]
    elif isinstance(entry, str):
        if not folder:
            raise Deep500Error(
                f"{entry!r} is not a class or function of the recipe's file"
            )
        maker = registry.named(folder, entry)
    elif not callable(entry):
        return entry
    try:
        return maker(*args, **settings)
    except Deep500Error:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, TypeError):
            reason = str(error)
        else:
            reason = one_line(error, kind=True)
        place = raising_function(error)
        if place is not None:
            reason += f", in {place}"
        elif not isinstance(error, TypeError):
            raise
        name = entry if isinstance(entry, str) else getattr(entry, "__name__", entry)
        arguments = [shown(value) for value in args]
        for key, value in settings.items():
            arguments.append(f"{key}={shown(value)}")
        listed = ", ".join(arguments)
        raise Deep500Error(
            f"{name!r} cannot be made with ({listed}): {reason}"
        ) from None
