"""AllReduce with a codec and a collective for sparse streams, and with a second stage of coding."""

import numpy as np
import pytest

from deep500.codecs.identity import Identity
from deep500.codecs.momentum_correction import MomentumCorrection
from deep500.codecs.one_bit import OneBit
from deep500.codecs.threshold import Threshold
from deep500.codecs.top_k import TopK
from deep500.collectives.ok_topk import OkTopk
from deep500.collectives.ring import Ring
from deep500.collectives.spar_cml import SparCML
from deep500.collectives.ssar_split_all_gather import SSARSplitAllGather
from deep500.contracts.scheme import Scheme
from deep500.errors import Deep500Error
from deep500.optimizers.sgd import SGD
from deep500.schemes.all_reduce import AllReduce

from .test_all_reduce import largest_difference
from .training import distributed


@pytest.mark.parametrize(
    ("scheme", "same_as", "bound"),
    [
        (AllReduce(TopK(1.0), SSARSplitAllGather()), AllReduce(), 1e-5),
        (AllReduce(TopK(0.05), SparCML()), AllReduce(TopK(0.05)), 1e-5),
        (AllReduce(Identity(), second_stage=True), AllReduce(), 1e-5),
    ],
    ids=str,
)
@pytest.mark.parametrize("ranks", [1, 3])
def test_another_way_to_the_same_mean(
    scheme: Scheme, same_as: Scheme, bound: float, ranks: int
) -> None:
    run, wanted = distributed(scheme, ranks), distributed(same_as, ranks)
    run.run(), wanted.run()
    difference = largest_difference(run.executor.arrays(), wanted.executor.arrays())
    assert difference < bound


@pytest.mark.parametrize(
    "scheme",
    [
        AllReduce(TopK(0.05), SparCML()),
        AllReduce(TopK(0.05), OkTopk()),
        AllReduce(OneBit(), second_stage=True),
        AllReduce(MomentumCorrection(TopK(0.05))),
        AllReduce(MomentumCorrection(TopK(0.05)), SSARSplitAllGather()),
    ],
    ids=str,
)
def test_a_run_goes_on_from_a_checkpoint(scheme: Scheme) -> None:
    plain = SGD(0.01)
    whole = distributed(scheme, 3, optimizer=plain, epochs=2)
    whole.run()
    first = distributed(scheme, 3, optimizer=plain, epochs=1)
    first.run()
    second = distributed(scheme, 3, optimizer=plain, epochs=2)
    second.run(first.checkpoint())
    assert largest_difference(whole.executor.arrays(), second.executor.arrays()) == 0


def test_sparse_sums_send_less_than_a_gather() -> None:
    sent = {}
    for collective in (None, SparCML()):
        run = distributed(AllReduce(TopK(0.01), collective), 16)
        run.run()
        sent[str(collective)] = run.transport.traffic[1].sent_bytes
    assert sent[str(SparCML())] < 1.2 * sent["None"]
    run = distributed(AllReduce(), 16)
    run.run()
    assert max(sent.values()) < run.transport.traffic[1].sent_bytes


def test_the_choice_is_in_the_state_of_the_worker() -> None:
    run = distributed(AllReduce(TopK(0.05), SparCML()), 3)
    run.run()
    state = run.checkpoint().sections["communication"]
    choices = [value for name, value in state.items() if name.endswith("choice")]
    assert len(choices) == 3
    _, seconds, expected, came = choices[0]
    [bucket] = run.executor.layout.buckets()
    assert seconds > 0
    # the fill-in of the step before is expected again
    assert 0.05 * bucket.stop <= came <= 0.15 * bucket.stop + 3
    assert 0.5 * came < expected < 2 * came


def test_a_second_stage_sends_two_payloads() -> None:
    """2 (P - 1) / P of one in every step, and P - 1 without."""
    sent = {}
    for stage in (False, True):
        run = distributed(AllReduce(OneBit(), second_stage=stage), 4)
        history = run.run()
        sent[stage] = history.counters["bytes of rank 2"]
    assert sent[True] < 0.6 * sent[False]


def test_a_second_stage_loses_nothing() -> None:
    """All steps together move the model by the sum of the gradients, but for the residuals of both stages."""
    optimizer = SGD(0.01)
    coded = distributed(
        AllReduce(OneBit(), second_stage=True), 3, optimizer=optimizer, epochs=6
    )
    plain = distributed(AllReduce(), 3, optimizer=optimizer, epochs=6)
    begin = {name: value.copy() for name, value in plain.executor.arrays().items()}
    coded.run(), plain.run()
    apart, moved = 0.0, 0.0
    for name, value in plain.executor.arrays().items():
        apart += float(np.square(coded.executor.arrays()[name] - value).sum())
        moved += float(np.square(value - begin[name]).sum())
    assert apart < 0.1 * moved


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (AllReduce(TopK(0.1), Ring()), "or by one for sparse streams such as SparCML"),
        (AllReduce(second_stage=True), "give a codec, such as OneBit"),
        (AllReduce(TopK(0.1), SparCML(), second_stage=True), "and no collective"),
        (AllReduce(Threshold(0.1), second_stage=True), "give a codec of fixed size"),
        (AllReduce(collective=OkTopk()), "has no all_reduce"),
    ],
    ids=str,
)
def test_combinations_that_mean_nothing_are_refused(
    scheme: Scheme, message: str
) -> None:
    with pytest.raises(Deep500Error, match=message):
        scheme.check(2)
