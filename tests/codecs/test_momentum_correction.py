"""Momentum correction against the algorithm of the paper, written for one number at a time."""

import numpy as np
import pytest

import deep500 as d5
from deep500.codecs.momentum_correction import MomentumCorrection
from deep500.codecs.qsgd import QSGD
from deep500.codecs.top_k import TopK
from deep500.contracts.codec import Key, run_together
from deep500.errors import Deep500Error

RANKS, SIZE, KEPT = 3, 40, 4


def papers(gradients: np.ndarray, momentum: float) -> np.ndarray:
    """The means of all steps by algorithm 4 of Lin et al., for gradients by step, rank and place."""
    velocity = np.zeros((RANKS, SIZE))
    accumulated = np.zeros((RANKS, SIZE))
    means = []
    for step in gradients:
        mean = np.zeros(SIZE)
        for rank in range(RANKS):
            velocity[rank] = momentum * velocity[rank] + step[rank]
            accumulated[rank] += velocity[rank]
            for place in np.argsort(-np.abs(accumulated[rank]))[:KEPT]:
                mean[place] += accumulated[rank][place] / RANKS
                accumulated[rank][place] = velocity[rank][place] = 0
        means.append(mean)
    return np.array(means)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_means_are_those_of_the_paper(momentum: float) -> None:
    gradients = np.random.default_rng(1).standard_normal((12, RANKS, SIZE))
    codec = MomentumCorrection(TopK(KEPT / SIZE), momentum)
    states = [codec.init(SIZE, "float64") for _ in range(RANKS)]
    for number, wanted in enumerate(papers(gradients, momentum)):
        ranks = []
        for rank in range(RANKS):
            key = Key(0, number, rank, RANKS, "w")
            ranks.append(codec.aggregate(gradients[number, rank], states[rank], key))
        for mean in run_together(ranks):
            np.testing.assert_allclose(mean, wanted, atol=1e-12)


def test_without_momentum_it_is_the_codec() -> None:
    gradient = np.random.default_rng(2).standard_normal(SIZE)
    means = []
    for codec in (TopK(0.1), MomentumCorrection(TopK(0.1), 0.0)):
        state = codec.init(SIZE, "float64")
        for step in range(3):
            [mean] = run_together([codec.aggregate(gradient, state, Key(step=step))])
        means.append(mean)
    np.testing.assert_array_equal(means[0], means[1])


def test_it_is_what_it_declares() -> None:
    codec = MomentumCorrection(TopK(0.1) | QSGD(bits=4))
    reports = d5.check_codec(codec, dtypes="float32")
    assert reports.ok, reports.text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MomentumCorrection(TopK(0.1), 1.0), "momentum of MomentumCorrection"),
        (lambda: MomentumCorrection(QSGD()), "keeps no residual in which velocities"),
    ],
)
def test_bad_settings_are_refused(make: object, message: str) -> None:
    with pytest.raises(Deep500Error, match=message):
        make()  # type: ignore[operator]
