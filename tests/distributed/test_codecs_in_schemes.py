"""Codecs inside of AllReduce: identities, exact bytes, residuals that survive a checkpoint."""

import warnings

import numpy as np
import pytest

import deep500 as d5
from deep500.codecs.identity import Identity
from deep500.codecs.momentum_correction import MomentumCorrection
from deep500.codecs.top_k import TopK
from deep500.collectives.ring import Ring
from deep500.contracts.codec import Codec
from deep500.errors import Deep500Error
from deep500.optimizers.momentum import Momentum
from deep500.optimizers.sgd import SGD
from deep500.schemes.all_reduce import AllReduce

from .test_all_reduce import largest_difference
from .test_simulation import RECIPE
from .training import distributed


@pytest.mark.parametrize("codec", [Identity(), TopK(1.0)])
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_codec_that_keeps_everything_changes_nothing(
    codec: Codec, ranks: int
) -> None:
    plain, coded = (
        distributed(AllReduce(), ranks),
        distributed(AllReduce(codec=codec), ranks),
    )
    plain.run(), coded.run()
    assert largest_difference(plain.executor.arrays(), coded.executor.arrays()) < 1e-6
    dropping = distributed(AllReduce(codec=TopK(0.01)), ranks)
    dropping.run()
    assert (
        largest_difference(plain.executor.arrays(), dropping.executor.arrays()) > 1e-3
    )


def test_bytes_are_those_of_the_codec() -> None:
    codec = TopK(0.05)
    run = distributed(AllReduce(codec=codec), 3)
    history = run.run()
    [bucket] = run.executor.layout.buckets()
    each = codec.wire_bytes(bucket.stop - bucket.start)
    assert history.counters["bytes of rank 2"] == 8 * each * 2  # to two others
    assert each < 4 * (bucket.stop - bucket.start) / 5


def test_a_gather_of_many_ranks_costs_more_than_an_allreduce() -> None:
    """Signs are 32 times shorter, and 64 ranks pass them on to 63 others."""
    sent = {}
    for codec in (None, d5.codecs.Sign()):
        run = d5.simulate(AllReduce(codec=codec), RECIPE, ranks=64, epochs=1)
        sent[codec is None] = run.bytes[0]
    assert sent[True] < sent[False] < 2 * sent[True]


def test_momentum_that_would_count_twice_is_said() -> None:
    scheme = AllReduce(codec=MomentumCorrection(TopK(0.1)))
    with pytest.warns(UserWarning, match="MomentumCorrection has momentum, and so"):
        distributed(scheme, 2, optimizer=Momentum(0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        distributed(scheme, 2, optimizer=SGD(0.1))
        distributed(AllReduce(codec=TopK(0.1)), 2, optimizer=Momentum(0.1))


def test_residuals_are_in_the_checkpoint() -> None:
    codec = TopK(0.05)
    whole = distributed(AllReduce(codec=codec), 2, epochs=2)
    whole.run()
    first = distributed(AllReduce(codec=codec), 2, epochs=1)
    first.run()
    checkpoint = first.checkpoint()
    section = checkpoint.sections["communication"]
    assert any("residual" in name and np.any(value) for name, value in section.items())
    second = distributed(AllReduce(codec=codec), 2, epochs=2)
    second.run(checkpoint)
    assert largest_difference(whole.executor.arrays(), second.executor.arrays()) == 0
    section.clear()
    third = distributed(AllReduce(codec=codec), 2, epochs=2)
    third.run(checkpoint)
    assert largest_difference(whole.executor.arrays(), third.executor.arrays()) > 0


def test_a_codec_with_a_collective_is_refused() -> None:
    with pytest.raises(Deep500Error, match="leave collective="):
        distributed(AllReduce(codec=TopK(0.1), collective=Ring()), 2)
