"""A rank killed at every step of a short run: the others stop, name it, and have no half-applied update."""

import numpy as np
import pytest

from deep500.contracts.transport import RankFailure
from deep500.schemes.all_reduce import AllReduce
from deep500.training.events import Event
from deep500.transports.virtual import Virtual

from .training import distributed

RANKS, VICTIM = 3, 1


def params(executor: object) -> np.ndarray:
    return np.concatenate([value.ravel() for value in executor.arrays().values()])  # type: ignore[attr-defined]


def test_no_survivor_has_half_an_update() -> None:
    states: dict[int, np.ndarray] = {}
    whole = distributed(AllReduce(), transport=Virtual(RANKS), epochs=1)
    record = whole._after_step

    def keep(replica, outputs):
        states[replica.step_count] = params(replica.executor)
        record(replica, outputs)

    whole.lead.after_step = keep
    whole.run()
    transport = whole.transport
    assert isinstance(transport, Virtual)
    ended_at = set()
    for step in range(transport.steps[VICTIM]):
        run = distributed(
            AllReduce(), transport=Virtual(RANKS, kill={VICTIM: step}), epochs=1
        )
        states[0] = params(run.executor)
        with pytest.raises(
            RankFailure, match=f"rank {VICTIM} (is lost|did not)"
        ) as raised:
            run.run()
        assert raised.value.ranks == (VICTIM,)
        for rank, replica in run.replicas.items():
            if rank != VICTIM:
                assert np.array_equal(
                    params(replica.executor), states[replica.step_count]
                )
                ended_at.add(replica.step_count)
    assert ended_at == set(states)  # the victim died in every step


@pytest.mark.parametrize("step", [30, 45])
def test_a_run_that_lost_a_rank_goes_on_from_its_last_epoch(step: int) -> None:
    whole = distributed(AllReduce(), RANKS, epochs=3)
    whole.run()
    broken = distributed(
        AllReduce(), transport=Virtual(RANKS, kill={VICTIM: step}), epochs=3
    )
    kept = []

    class KeepCheckpoints(Event):
        def after_epoch(self, trainer, record):
            kept.append(trainer.checkpoint())

    broken.events = (KeepCheckpoints(),)
    with pytest.raises(RankFailure):
        broken.run()
    assert kept
    resumed = distributed(AllReduce(), RANKS, epochs=3)
    resumed.run(kept[-1])
    assert np.array_equal(params(resumed.executor), params(whole.executor))
