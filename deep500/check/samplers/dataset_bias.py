"""Measures how unequal the classes of a data set are, per split and compared with chance, as numbers and a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...contracts.dataset import Column, Dataset, Split
from ...errors import Deep500Error
from .distributions import chi_square, independence

RESAMPLES = 2000
LEVEL = 0.95
MOST_BARS = 40  # with more classes than that, the picture is a line


@dataclass(frozen=True)
class SplitBias:
    """The class counts of one split.

    `deviation` is the total variation distance of their shares from equal ones: the share of the examples that would
    have to change class. `low` and `high` are a confidence interval of at least 95 %: the deviations of two samples
    differ by at most their distance, which is resampled. `by_chance` is what 95 % of splits of this size stay below if
    all classes are equally likely, and `p_equal` the probability of such unequal counts in that case (chi-square test).
    """

    name: str
    counts: Sequence[int]
    deviation: float
    low: float
    high: float
    by_chance: float
    p_equal: float | None

    @property
    def n(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True)
class BiasReport:
    """The classes of all splits; `p_same` is the probability that splits of the same distribution differ this much."""

    label: str
    splits: Sequence[SplitBias]
    p_same: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def dataset_bias(
    data: Dataset | Mapping[str, Split], label: str = "label", seed: int = 0
) -> BiasReport:
    """Count the classes of every split, and measure how far they are from equal shares and from each other.

    Raises `Deep500Error` if the column `label` does not hold classes.
    """
    splits = data.load() if isinstance(data, Dataset) else data
    labels = {}
    largest = 0
    for name, split in splits.items():
        values = _labels(name, split, label)
        labels[name] = values
        largest = max(largest, int(values.max()))
    rng = np.random.default_rng(seed)
    biases = []
    for name, values in labels.items():
        counts = np.bincount(values, minlength=largest + 1)
        biases.append(_split_bias(name, counts, rng))
    table = np.array([bias.counts for bias in biases], float)
    return BiasReport(label, biases, independence(table))


def _labels(name: str, split: Split, label: str) -> np.ndarray:
    if label not in split.columns:
        names = ", ".join(split.columns)
        raise Deep500Error(
            f"the split {name!r} has no classes {label!r}; it has: {names}"
        )
    column = split.columns[label]
    if isinstance(column, Column):
        values = column[:]
    else:
        values = np.asarray(column)
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise Deep500Error(
            f"{label!r} of the split {name!r} holds {values.dtype} of the shape {values.shape}: classes "
            "are one whole number for each example"
        )
    if not len(values) or values.min() < 0:
        raise Deep500Error(
            f"{label!r} of the split {name!r} is empty or has negative classes"
        )
    return values


def _split_bias(name: str, counts: np.ndarray, rng: np.random.Generator) -> SplitBias:
    n = int(counts.sum())
    shares = counts / n
    classes = len(counts)
    equal = np.full(classes, 1 / classes)
    resampled = rng.multinomial(n, shares, RESAMPLES) / n
    under_equality = rng.multinomial(n, equal, RESAMPLES) / n
    deviation = float(_distance(shares, equal))
    margin = float(np.quantile(_distance(resampled, shares), LEVEL))
    by_chance = float(np.quantile(_distance(under_equality, equal), LEVEL))
    low = max(0.0, deviation - margin)
    high = min(1.0, deviation + margin)
    p_equal = chi_square(counts, n * equal)
    return SplitBias(name, counts.tolist(), deviation, low, high, by_chance, p_equal)


def _distance(shares: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The total variation distance, along the last axis."""
    return np.abs(shares - others).sum(axis=-1) / 2


def bias_svg(report: BiasReport) -> str:
    """A histogram of the classes of every split, as shares, with the equal share as a line."""
    from ...reports import canvas

    with canvas.settings():
        count = len(report.splits)
        figure = canvas.figure(1.5 * count + 0.4)
        grid = figure.subplots(count, 1, sharex=True, squeeze=False)
        column = grid[:, 0]
        deviations = []
        for number, split in enumerate(report.splits):
            _draw(column[number], split, canvas.colour(number))
            deviations.append(f"{split.name}: deviation {split.deviation:.3f}")
        column[-1].set_xlabel(f"class ({report.label})")
        listed = ", ".join(deviations)
        return canvas.svg(figure, "bias", f"Shares of the classes. {listed}")


def _draw(axes: Any, split: SplitBias, colour: str) -> None:
    shares = np.array(split.counts) / split.n
    classes = np.arange(len(shares))
    if len(shares) > MOST_BARS:
        axes.step(classes, shares, where="mid", color=colour, linewidth=1)
    else:
        axes.bar(classes, shares, color=colour, width=0.8)
    equal_share = 1 / len(shares)
    axes.axhline(equal_share, color=colour, linestyle="--", linewidth=1)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("share")
    interval = f"[{split.low:.3f}, {split.high:.3f}]"
    title = (
        f"{split.name}: n = {split.n}, deviation from equal shares {split.deviation:.3f} "
        f"{interval}, by chance up to {split.by_chance:.3f}"
    )
    axes.set_title(title, loc="left")
