"""The checks of a sampler, one function for each property."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...contracts.sampler import Sampler
from ..report import CheckResult
from .distributions import chi_square, independence, smallest_of
from .drawing import SamplerDraws, is_in_range, joined

MOST_EXAMPLES = 16  # examples whose positions are tested
POSITION_BINS = 8
PAIR_BINS = 4


def all_checks(draws: SamplerDraws, level: float) -> list[CheckResult]:
    """The results of all checks; those of distributions apply only if every drawn value is the index of an example."""
    checks = [
        determinism(draws),
        index_range(draws),
        batch_sizes(draws),
        coverage(draws),
        epochs_differ(draws),
        ranks_are_parted(draws),
    ]
    tests: dict[str, Callable[[SamplerDraws, float], CheckResult]] = {
        "shares": shares,
        "positions": positions,
        "independence of epochs": epochs_are_independent,
        "independence of seeds": seeds_are_independent,
    }
    for name, test in tests.items():
        if draws.in_range:
            checks.append(test(draws, level))
        else:
            checks.append(_not_applicable(name, "not all that is drawn are examples"))
    return checks


def determinism(draws: SamplerDraws) -> CheckResult:
    """An epoch must be the same when it is drawn again, after others, and by an equal sampler."""
    rank = getattr(draws.sampler, "rank", 0)
    twin = draws.sampler.for_rank(rank)
    differing = 0
    for epoch, batches in enumerate(draws.first_epochs):
        differing += not _same(batches, draws.batches(epoch))
        differing += not _same(batches, draws.batches(epoch, twin))
    text = "an epoch that is drawn again differs: a run cannot be resumed"
    return _counted("determinism", differing, text)


def index_range(draws: SamplerDraws) -> CheckResult:
    bad = 0
    for order in draws.orders:
        bad += not is_in_range(order, draws.size)
    text = f"{bad} epochs hold what is no number from 0 to {draws.size - 1}"
    return _counted("indices", bad, text)


def batch_sizes(draws: SamplerDraws) -> CheckResult:
    """All batches but the last must be full; those of one of several ranks may lack one example."""
    full = draws.sampler.batch_size
    several_ranks = draws.sampler.ranks > 1
    least = full - several_ranks
    bad = 0
    for batches in draws.first_epochs:
        sizes = np.array([len(batch) for batch in batches])
        too_large = sizes > full
        too_small = sizes[:-1] < least
        bad += int(too_large.sum())
        bad += int(too_small.sum())
        if not several_ranks:
            is_empty = sizes[-1:] == 0
            bad += int(is_empty.sum())
    text = f"{bad} batches have another size than {full}"
    return _counted("batch sizes", bad, text)


def coverage(draws: SamplerDraws) -> CheckResult:
    """Every example must come once in every epoch."""
    if not draws.sampler.every_example_once:
        return _not_applicable("coverage", "it does not promise every example once")
    worst = 0
    text = ""
    examples = np.arange(draws.size)
    for epoch, order in enumerate(draws.orders):
        different = np.unique(order)
        covered = int(np.isin(different, examples).sum())
        missing = draws.size - covered
        repeated = len(order) - len(different)
        faults = missing + repeated
        if faults > worst:
            worst = faults
            text = (
                f"epoch {epoch} has {len(order)} draws, {len(different)} different ones, and misses "
                f"{missing} of {draws.size} examples"
            )
    return _counted("coverage", worst, text)


def epochs_differ(draws: SamplerDraws) -> CheckResult:
    """No epoch may have the order of the one before if the sampler shuffles; every epoch must if it does not."""
    equal = 0
    pairs = list(pairwise(draws.orders))
    for before, after in pairs:
        equal += np.array_equal(before, after)
    if not draws.sampler.shuffles:
        text = "it promises one order for all epochs, and they differ"
        return _counted("order", len(pairs) - equal, text)
    # with few examples, some orders come twice by chance
    allowed = _equal_by_chance(draws, len(pairs))
    text = f"{equal} of {len(pairs)} epochs have the order of the one before"
    return _counted("order", equal, text, allowed)


def ranks_are_parted(draws: SamplerDraws) -> CheckResult:
    """The ranks together must draw every example once."""
    ranks = draws.sampler.ranks
    if ranks == 1:
        return _not_applicable("ranks", "there is one rank")
    samplers = [draws.sampler.for_rank(rank) for rank in range(ranks)]
    worst = 0
    text = ""
    for epoch in range(3):
        parts = [joined(draws.batches(epoch, sampler)) for sampler in samplers]
        drawn = joined(parts)
        different = len(np.unique(drawn))
        missing = draws.size - different
        repeated = len(drawn) - different
        faults = missing + repeated
        if faults > worst:
            worst = faults
            text = (
                f"{ranks} ranks draw {len(drawn)} examples in epoch {epoch}, and only {different} of "
                f"{draws.size} different ones"
            )
    return _counted("ranks", worst, text)


def shares(draws: SamplerDraws, level: float) -> CheckResult:
    """Every example must be drawn as often as its share says."""
    if draws.sampler.every_example_once:
        return _not_applicable("shares", "every example comes once")
    counts = np.bincount(joined(draws.orders), minlength=draws.size)
    if draws.sampler.ranks > 1:
        return _not_applicable(
            "shares", "the draws of one of several ranks depend on each other"
        )
    expected = draws.sampler.shares(draws.size) * counts.sum()
    probability = chi_square(counts, expected)
    return _judged("shares", probability, level)


def positions(draws: SamplerDraws, level: float) -> CheckResult:
    """An example must be equally likely at every place of an epoch."""
    if not draws.sampler.shuffles:
        return _not_applicable("positions", "it does not shuffle")
    probabilities = []
    for example in _some_examples(draws.size):
        places, lengths = _places(draws, example)
        bins = (places * POSITION_BINS) // lengths
        counts = np.bincount(bins, minlength=POSITION_BINS)
        longest = int(lengths.max(initial=1))
        expected = _bin_shares(longest, POSITION_BINS) * counts.sum()
        probabilities.append(chi_square(counts, expected))
    return _judged("positions", smallest_of(probabilities), level)


def epochs_are_independent(draws: SamplerDraws, level: float) -> CheckResult:
    """An example's place must not depend on its place in the epoch before."""
    name = "independence of epochs"
    if not draws.sampler.shuffles:
        return _not_applicable(name, "it does not shuffle")
    even_epochs = draws.orders[::2]
    odd_epochs = draws.orders[1::2]
    pairs = list(zip(even_epochs, odd_epochs, strict=False))
    probability = _independence(pairs, draws.size)
    return _judged(name, probability, level)


def seeds_are_independent(draws: SamplerDraws, level: float) -> CheckResult:
    """An example's place must not depend on its place in the same epoch under another seed."""
    name = "independence of seeds"
    other = _other_seed(draws.sampler)
    if not draws.sampler.shuffles or other is None:
        return _not_applicable(name, "it does not shuffle, or its seed is not its own")
    pairs = []
    half = draws.epochs // 2
    for epoch, order in enumerate(draws.orders[:half]):
        other_order = joined(draws.batches(epoch, other))
        pairs.append((order, other_order))
    probability = _independence(pairs, draws.size)
    return _judged(name, probability, level)


def _other_seed(sampler: Sampler) -> Sampler | None:
    takes_seed = "seed" in inspect.signature(type(sampler)).parameters
    if sampler.ranks > 1 or not takes_seed:
        return None
    return replace(sampler, seed=sampler.seed + 1)


def _independence(
    pairs: list[tuple[np.ndarray, np.ndarray]], size: int
) -> float | None:
    """The probability that places in independent orders seem to depend on each other as much as in these pairs."""
    first_bins = []
    second_bins = []
    for first, second in pairs:
        first_bins.append(_place_bins(first, size))
        second_bins.append(_place_bins(second, size))
    row_bins = np.array(first_bins)
    column_bins = np.array(second_bins)
    probabilities = []
    for example in _some_examples(size):
        rows = row_bins[:, example]
        columns = column_bins[:, example]
        in_both = (rows >= 0) & (columns >= 0)
        table = np.zeros((PAIR_BINS, PAIR_BINS))
        cells = (rows[in_both], columns[in_both])
        np.add.at(table, cells, 1)
        probabilities.append(independence(table))
    return smallest_of(probabilities)


def _place_bins(order: np.ndarray, size: int) -> np.ndarray:
    """For every example the bin of the place at which it first occurs; -1 if it does not."""
    bins = np.full(size, -1)
    length = max(1, len(order))
    # backwards, so that the first place is written last
    places = np.arange(len(order))[::-1]
    examples = order[::-1]
    bins[examples] = places * PAIR_BINS // length
    return bins


def _places(draws: SamplerDraws, example: int) -> tuple[np.ndarray, np.ndarray]:
    """The places of an example in all epochs, and the length of the epoch for each place."""
    places: list[int] = []
    lengths: list[int] = []
    for order in draws.orders:
        epoch_places = np.flatnonzero(order == example)
        places.extend(epoch_places.tolist())
        lengths.extend([len(order)] * len(epoch_places))
    return np.array(places, np.int64), np.array(lengths, np.int64)


def _bin_shares(length: int, bins: int) -> np.ndarray:
    """The share of an epoch's places that are in each bin."""
    bin_of_place = np.arange(length) * bins // length
    return np.bincount(bin_of_place, minlength=bins) / length


def _some_examples(size: int) -> list[int]:
    """All examples, or `MOST_EXAMPLES` evenly spaced ones."""
    evenly_spaced = np.linspace(0, size - 1, MOST_EXAMPLES)
    return np.unique(evenly_spaced.astype(int)).tolist()


def _equal_by_chance(draws: SamplerDraws, pairs: int) -> int:
    """How many epochs may have the order of the one before: more are less likely than one in a million."""
    from scipy import stats

    length = min(draws.size, 20)
    factors = np.arange(1, length + 1, dtype=float)
    permutations = float(np.prod(factors))
    probability = 1 / permutations
    return int(stats.poisson.isf(1e-6, pairs * probability))


def _judged(name: str, probability: float | None, level: float) -> CheckResult:
    if probability is None:
        return _not_applicable(
            name, "there are too few draws for a test: more epochs are needed"
        )
    text = ""
    if probability < level:
        shown = f"{probability:.2g}"
        text = f"so large a deviation has the probability {shown} if it is right"
    return CheckResult(name, probability >= level, probability, level, text)


def _counted(name: str, faults: int, text: str, allowed: int = 0) -> CheckResult:
    """A check that counts faults; the text is used if there are more than allowed."""
    if faults <= allowed:
        text = ""
    return CheckResult(name, faults <= allowed, faults, allowed, text)


def _not_applicable(name: str, reason: str) -> CheckResult:
    return CheckResult(name, None, bound=0, text=reason)


def _same(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    """Whether two epochs have equal batches."""
    if len(first) != len(second):
        return False
    pairs = zip(first, second, strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)
