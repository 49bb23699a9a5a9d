"""The promises of a sampler, each tested by itself."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ...contracts.sampler import Sampler
from .distributions import chi_square, independence, smallest_of
from .drawing import Draws, is_in_range, joined
from .report import SamplerCheck

MOST_EXAMPLES = 16  # whose positions are tested
POSITION_BINS = 8
PAIR_BINS = 4


def all_checks(draws: Draws, level: float) -> list[SamplerCheck]:
    """Every promise; the distributions only if everything that is drawn is the number of an example."""
    checks = [
        determinism(draws),
        index_range(draws),
        batch_sizes(draws),
        coverage(draws),
    ]
    checks += [epochs_differ(draws), ranks_are_parted(draws)]
    tests: dict[str, Callable[[Draws, float], SamplerCheck]] = {
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


def determinism(draws: Draws) -> SamplerCheck:
    """The same epoch, asked for again, after others, and of an equal sampler."""
    twin = draws.sampler.for_rank(getattr(draws.sampler, "rank", 0))
    differing = 0
    for epoch, batches in enumerate(draws.first_epochs):
        for again in (draws.batches(epoch), draws.batches(epoch, twin)):
            differing += not _same(batches, again)
    text = "an epoch that is drawn again differs: a run cannot be resumed"
    return _counted("determinism", differing, text)


def index_range(draws: Draws) -> SamplerCheck:
    bad = 0
    for order in draws.orders:
        bad += not is_in_range(order, draws.size)
    text = f"{bad} epochs hold what is no number from 0 to {draws.size - 1}"
    return _counted("indices", bad, text)


def batch_sizes(draws: Draws) -> SamplerCheck:
    """All batches are full but the last one; those of one of several ranks may lack one example."""
    sampler = draws.sampler
    several_ranks = sampler.ranks > 1
    bad = 0
    for batches in draws.first_epochs:
        sizes = np.array([len(batch) for batch in batches])
        bad += int((sizes > sampler.batch_size).sum())
        bad += int((sizes[:-1] < sampler.batch_size - several_ranks).sum())
        if not several_ranks:
            bad += int((sizes[-1:] == 0).sum())
    text = f"{bad} batches have another size than {sampler.batch_size}"
    return _counted("batch sizes", bad, text)


def coverage(draws: Draws) -> SamplerCheck:
    """Every example once in every epoch."""
    if not draws.sampler.every_example_once:
        return _not_applicable("coverage", "it does not promise every example once")
    worst = 0
    text = ""
    for epoch, order in enumerate(draws.orders):
        different = np.unique(order)
        missing = draws.size - int(np.isin(different, np.arange(draws.size)).sum())
        faults = missing + len(order) - len(different)
        if faults > worst:
            worst = faults
            text = (
                f"epoch {epoch} has {len(order)} draws, {len(different)} different ones, and misses "
                f"{missing} of {draws.size} examples"
            )
    return _counted("coverage", worst, text)


def epochs_differ(draws: Draws) -> SamplerCheck:
    """No epoch is like the one before if it shuffles, every epoch is if it does not."""
    equal = 0
    pairs = list(zip(draws.orders, draws.orders[1:], strict=False))
    for before, after in pairs:
        equal += np.array_equal(before, after)
    if not draws.sampler.shuffles:
        text = "it promises one order for all epochs, and they differ"
        return _counted("order", len(pairs) - equal, text)
    # of few examples, some orders come twice by chance
    allowed = _equal_by_chance(draws, len(pairs))
    text = f"{equal} of {len(pairs)} epochs have the order of the one before"
    return _counted("order", equal, text, allowed)


def ranks_are_parted(draws: Draws) -> SamplerCheck:
    """The ranks together draw as often as there are examples, and no two draw the same one."""
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
        faults = (draws.size - different) + (len(drawn) - different)
        if faults > worst:
            worst = faults
            text = (
                f"{ranks} ranks draw {len(drawn)} examples in epoch {epoch}, and only {different} of "
                f"{draws.size} different ones"
            )
    return _counted("ranks", worst, text)


def shares(draws: Draws, level: float) -> SamplerCheck:
    """How often every example is drawn, against its share."""
    if draws.sampler.every_example_once:
        return _not_applicable("shares", "every example comes once")
    counts = np.bincount(joined(draws.orders), minlength=draws.size)
    if draws.sampler.ranks > 1:
        return _not_applicable(
            "shares", "the draws of one of several ranks depend on each other"
        )
    expected = draws.sampler.shares(draws.size) * counts.sum()
    return _judged("shares", chi_square(counts, expected), level)


def positions(draws: Draws, level: float) -> SamplerCheck:
    """Whether every place of an epoch is as likely, for each of some examples."""
    if not draws.sampler.shuffles:
        return _not_applicable("positions", "it does not shuffle")
    probabilities = []
    for example in _some_examples(draws.size):
        places, lengths = _places(draws, example)
        bins = (places * POSITION_BINS) // lengths
        counts = np.bincount(bins, minlength=POSITION_BINS)
        expected = (
            _bin_shares(int(lengths.max(initial=1)), POSITION_BINS) * counts.sum()
        )
        probabilities.append(chi_square(counts, expected))
    return _judged("positions", smallest_of(probabilities), level)


def epochs_are_independent(draws: Draws, level: float) -> SamplerCheck:
    """Whether an example's place says anything about its place in the next epoch."""
    name = "independence of epochs"
    if not draws.sampler.shuffles:
        return _not_applicable(name, "it does not shuffle")
    pairs = list(zip(draws.orders[::2], draws.orders[1::2], strict=False))
    return _judged(name, _independence(pairs, draws.size), level)


def seeds_are_independent(draws: Draws, level: float) -> SamplerCheck:
    """The same for two seeds and the same epoch."""
    name = "independence of seeds"
    other = _other_seed(draws.sampler)
    if not draws.sampler.shuffles or other is None:
        return _not_applicable(name, "it does not shuffle, or its seed is not its own")
    pairs = []
    for epoch, order in enumerate(draws.orders[: draws.epochs // 2]):
        pairs.append((order, joined(draws.batches(epoch, other))))
    return _judged(name, _independence(pairs, draws.size), level)


def _other_seed(sampler: Sampler) -> Sampler | None:
    if sampler.ranks > 1:
        return None
    return replace(sampler, seed=sampler.seed + 1)


def _independence(
    pairs: list[tuple[np.ndarray, np.ndarray]], size: int
) -> float | None:
    """The probability of places in the first and second orders that depend on each other so much."""
    first = np.array([_place_bins(order, size) for order, _ in pairs])
    second = np.array([_place_bins(order, size) for _, order in pairs])
    probabilities = []
    for example in _some_examples(size):
        rows, columns = first[:, example], second[:, example]
        in_both = (rows >= 0) & (columns >= 0)
        table = np.zeros((PAIR_BINS, PAIR_BINS))
        np.add.at(table, (rows[in_both], columns[in_both]), 1)
        probabilities.append(independence(table))
    return smallest_of(probabilities)


def _place_bins(order: np.ndarray, size: int) -> np.ndarray:
    """For every example in which part of the order it comes first; -1 if it does not come."""
    bins = np.full(size, -1)
    places = np.arange(len(order))[::-1]  # so that the first place is written last
    bins[order[::-1]] = places * PAIR_BINS // max(1, len(order))
    return bins


def _places(draws: Draws, example: int) -> tuple[np.ndarray, np.ndarray]:
    """Where an example is in the epochs that have it, and how long these are."""
    places: list[int] = []
    lengths: list[int] = []
    for order in draws.orders:
        of_epoch = np.flatnonzero(order == example)
        places.extend(of_epoch.tolist())
        lengths.extend([len(order)] * len(of_epoch))
    return np.array(places, np.int64), np.array(lengths, np.int64)


def _bin_shares(length: int, bins: int) -> np.ndarray:
    """The share of the places of an epoch that every bin has."""
    return np.bincount(np.arange(length) * bins // length, minlength=bins) / length


def _some_examples(size: int) -> list[int]:
    """All examples, or some from the first to the last."""
    return np.unique(np.linspace(0, size - 1, MOST_EXAMPLES).astype(int)).tolist()


def _equal_by_chance(draws: Draws, pairs: int) -> int:
    """How many epochs may be like the one before: with more, chance is less likely than one in a million."""
    from scipy import stats

    length = min(draws.size, 20)
    probability = 1 / float(np.prod(np.arange(1, length + 1, dtype=float)))
    return int(stats.poisson.isf(1e-6, pairs * probability))


def _judged(name: str, probability: float | None, level: float) -> SamplerCheck:
    if probability is None:
        return _not_applicable(
            name, "there are too few draws for a test: more epochs are needed"
        )
    text = ""
    if probability < level:
        text = (
            f"so large a deviation has the probability {probability:.2g} if it is right"
        )
    return SamplerCheck(name, probability, level, statistical=True, text=text)


def _counted(name: str, faults: int, text: str, allowed: int = 0) -> SamplerCheck:
    """A count of faults; the text is for one that is too large."""
    if faults <= allowed:
        text = ""
    return SamplerCheck(name, faults, allowed, text=text)


def _not_applicable(name: str, reason: str) -> SamplerCheck:
    return SamplerCheck(name, None, 0, text=reason)


def _same(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    if len(first) != len(second):
        return False
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
