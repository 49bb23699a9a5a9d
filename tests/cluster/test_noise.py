"""Noise takes the share of the time that it says, depends on nothing but its seed, and is read with its lines named."""

import numpy as np
import pytest

from deep500.cluster.disturbances import Disturbances
from deep500.cluster.engine import simulate_schedule
from deep500.cluster.network import ClusterNetwork
from deep500.cluster.schedule import CALC, Operation, schedule_of
from deep500.contracts.noise import Detours, Noise
from deep500.contracts.noise_trace import NoiseTrace, read_noise_trace
from deep500.errors import Deep500Error
from deep500.noises.periodic import Periodic
from deep500.noises.random_detours import RandomDetours
from deep500.noises.recorded_detours import RecordedDetours


def work_of(noise, nanoseconds=10_000_000, ranks=50, parts=10, seed=1):
    part = nanoseconds // parts
    program = [Operation(CALC, part)]
    for number in range(1, parts):
        program.append(Operation(CALC, part, after=[number - 1]))
    schedule = schedule_of([program] * ranks)
    return simulate_schedule(schedule, ClusterNetwork(), Disturbances(noise), seed)


@pytest.mark.parametrize(
    "noise",
    [
        Periodic(every=1e-4, lasting=1e-5),
        RandomDetours(every=1e-4, lasting=2e-5, tail=0),
        RandomDetours(every=1e-4, lasting=2e-5),
        RandomDetours(every=1e-4, lasting=2e-5, tail=3.0),
    ],
    ids=str,
)
def test_noise_takes_its_share_of_the_time(noise):
    outcome = work_of(noise)
    share = outcome.spent[:, 3].sum() / outcome.nanoseconds.sum()
    assert share == pytest.approx(noise.detours().share, rel=0.05)
    assert outcome.nanoseconds.tolist() == outcome.spent.sum(1).tolist()


def test_work_is_the_same_in_one_piece_or_in_many():
    # a detour delays what lies behind it, however the work is cut
    noise = RandomDetours(every=1e-4, lasting=2e-5)
    whole, cut = work_of(noise, parts=1), work_of(noise, parts=100)
    assert whole.nanoseconds.tolist() == cut.nanoseconds.tolist()


def test_hosts_are_independent_unless_all_are_interrupted_together():
    apart, together = Periodic(1e-3, 1e-4), Periodic(1e-3, 1e-4, together=True)
    assert len(set(work_of(apart, 100_000).nanoseconds.tolist())) > 2
    assert len(set(work_of(together, 100_000).nanoseconds.tolist())) == 1


class Table(Noise):
    def detours(self):
        return Detours(np.array([100, 700]), np.array([200, 750]), 1000, together=True)


def test_a_table_by_hand():
    # work begins at a phase that the seed draws; one whole period of 1000 ns has 850 ns of work
    for seed in range(20):
        outcome = work_of(Table(), 85_000, ranks=1, parts=1, seed=seed)
        assert abs(outcome.makespan - 100_000) <= 150


def test_a_trace_is_read_as_it_was_written(tmp_path):
    trace = NoiseTrace(np.array([5, 90]), np.array([17, 91]), 1000, "a machine")
    file = tmp_path / "noise.txt"
    file.write_text(trace.text())
    read = read_noise_trace(file)
    assert read.period == 1000
    assert read.machine == "a machine"
    assert (read.ends - read.starts).tolist()[1:] == [12, 1]
    assert RecordedDetours(str(file)).detours().share == pytest.approx(0.013)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", "has no detour"),
        ("5 3\nx y\n", "line 2: 'x y' is no detour"),
        ("5 3\n9\n", "line 2: '9' is no detour"),
        (
            "5 3\n6 1\n",
            "line 2: a detour of 1 ns at 6 ns, and the one before ends at 8",
        ),
        ("5 -3\n", "line 1: a detour of -3 ns"),
        ("5 1e300\n", "line 1"),
        ("# nanoseconds recorded: 4\n5 3\n", None),
    ],
)
def test_traces_that_are_none(tmp_path, text, expected):
    file = tmp_path / "noise.txt"
    file.write_text(text)
    if expected is None:
        assert read_noise_trace(file).period == 9
        return
    with pytest.raises(Deep500Error, match=expected):
        read_noise_trace(file)


@pytest.mark.parametrize(
    "noise",
    [
        lambda: Periodic(every=1e-6, lasting=1e-6).detours(),
        lambda: Periodic(every=-1.0),
        lambda: Periodic(every=float("nan")),
        lambda: RandomDetours(every=1e-9).detours(),
        lambda: RandomDetours(tail=0.5).detours(),
    ],
)
def test_noise_that_leaves_no_work(noise):
    with pytest.raises(Deep500Error):
        noise()
