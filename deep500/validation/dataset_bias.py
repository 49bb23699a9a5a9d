"""How unequal the classes of a data set are: per split, with what chance alone would give, as numbers and a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..contracts.dataset import Column, Dataset, Split
from ..errors import Deep500Error
from .sampling.distributions import chi_square, independence

RESAMPLES = 2000
LEVEL = 0.95
MOST_BARS = 40  # of a picture


@dataclass(frozen=True)
class SplitBias:
    """The classes of one split.

    `deviation` is the total variation distance of their shares from equal ones: the share of the examples that would
    have to change class. `low` and `high` bound it at 95 % at least: it differs from that of other samples by their
    distance from this one at most, which is resampled. `by_chance` is what 95 % of splits of this size stay below if
    all classes are equally likely. `p_equal` is the probability of so unequal counts if they are (chi-square test).
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
    """The classes of all splits; `p_same` is the probability of splits that differ so much if they are drawn alike."""

    label: str
    splits: Sequence[SplitBias]
    p_same: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def dataset_bias(
    data: Dataset | Mapping[str, Split], label: str = "label", seed: int = 0
) -> BiasReport:
    """Count the classes of every split, and say how far they are from equal shares and from each other."""
    splits = data.load() if isinstance(data, Dataset) else data
    labels = {name: _labels(name, split, label) for name, split in splits.items()}
    classes = 1 + max(int(values.max(initial=0)) for values in labels.values())
    random = np.random.default_rng(seed)
    biases = []
    for name, values in labels.items():
        counts = np.bincount(values, minlength=classes)
        biases.append(_split_bias(name, counts, random))
    table = np.array([bias.counts for bias in biases], float)
    return BiasReport(label, biases, independence(table))


def _labels(name: str, split: Split, label: str) -> np.ndarray:
    if label not in split.columns:
        raise Deep500Error(
            f"the split {name!r} has no classes {label!r}; it has: {', '.join(split.columns)}"
        )
    column = split.columns[label]
    values = column[:] if isinstance(column, Column) else np.asarray(column)
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


def _split_bias(
    name: str, counts: np.ndarray, random: np.random.Generator
) -> SplitBias:
    n = int(counts.sum())
    equal = np.full(len(counts), 1 / len(counts))
    resampled = random.multinomial(n, counts / n, RESAMPLES) / n
    under_equality = random.multinomial(n, equal, RESAMPLES) / n
    deviation = float(_distance(counts / n, equal))
    margin = float(np.quantile(_distance(resampled, counts / n), LEVEL))
    by_chance = float(np.quantile(_distance(under_equality, equal), LEVEL))
    low, high = max(0.0, deviation - margin), min(1.0, deviation + margin)
    p_equal = chi_square(counts, n * equal)
    return SplitBias(name, counts.tolist(), deviation, low, high, by_chance, p_equal)


def _distance(shares: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The total variation distance, along the last axis."""
    return np.abs(shares - others).sum(axis=-1) / 2


def bias_svg(report: BiasReport) -> str:
    """A histogram of the classes of every split, as shares, with the equal share as a line."""
    from ..reports import canvas

    with canvas.settings():
        figure = canvas.figure(1.5 * len(report.splits) + 0.4)
        rows = figure.subplots(len(report.splits), 1, sharex=True, squeeze=False)
        for number, (axes, split) in enumerate(
            zip(rows[:, 0], report.splits, strict=True)
        ):
            _draw(axes, split, canvas.colour(number))
        rows[-1, 0].set_xlabel(f"class ({report.label})")
        described = ", ".join(
            f"{s.name}: deviation {s.deviation:.3f}" for s in report.splits
        )
        return canvas.svg(figure, "bias", f"Shares of the classes. {described}")


def _draw(axes: Any, split: SplitBias, colour: str) -> None:
    shares = np.array(split.counts) / split.n
    if len(shares) > MOST_BARS:
        axes.step(
            np.arange(len(shares)), shares, where="mid", color=colour, linewidth=1
        )
    else:
        axes.bar(np.arange(len(shares)), shares, color=colour, width=0.8)
    axes.axhline(1 / len(shares), color=colour, linestyle="--", linewidth=1)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("share")
    axes.set_title(
        f"{split.name}: n = {split.n}, deviation from equal shares {split.deviation:.3f} "
        f"[{split.low:.3f}, {split.high:.3f}], by chance up to {split.by_chance:.3f}",
        loc="left",
    )
