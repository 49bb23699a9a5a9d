"""What a run measures for the metrics that need it."""

import math

import pytest

import deep500 as d5
from deep500.errors import Deep500Error
from deep500.measure.machine.host.files import HostFiles
from deep500.training.events import Event
from deep500.training.sources import sources_for
from deep500.training.sources.energy import energy
from deep500.training.sources.work import work
from deep500.training.trainer import Trainer


@pytest.fixture
def executor():
    network = d5.networks.Mlp().build((1, 8, 8), 10, seed=0)
    return d5.framework("reference").executor(network)


def test_only_what_is_needed_is_measured(executor):
    assert sources_for([d5.TestAccuracy(), d5.Throughput()], executor, 32).events == ()


def test_a_run_leaves_the_counters_that_metrics_read(executor):
    metrics = [
        d5.metrics.PeakMemory(),
        d5.metrics.TrainingAccuracy(),
        d5.metrics.FlopRate(),
    ]
    sources = sources_for(metrics, executor, 32)
    data = d5.datasets.Digits().load()
    optimizer, sampler = d5.optimizers.SGD(0.1), d5.ShuffleSampler(32)
    history = Trainer(
        executor,
        optimizer,
        splits=data,
        sampler=sampler,
        epochs=2,
        events=sources.events,
    ).run()
    values = [metric.value(history) for metric in metrics]
    assert all(value is not None and value > 0 for value in values)
    assert values[0] > 20  # MiB: Python alone holds as much
    assert 50 < values[1] <= 100
    gap = d5.metrics.GeneralisationGap().value(history)
    assert math.isclose(gap, values[1] - d5.TestAccuracy().value(history))


def test_the_work_of_a_matrix_product_is_known(executor):
    """Forward 2mnk of each of the layers, backward twice that, activations and loss on top."""
    shapes = [p.shape for p in executor.params.values() if len(p.shape) == 2]
    products = sum(2 * math.prod(shape) for shape in shapes)
    flops = work(executor, 32).value
    assert 3 * products <= flops < 3.3 * products


def test_energy_from_counters_and_the_reason_where_there_are_none(tmp_path, executor):
    with pytest.raises(Deep500Error, match="no sensor of energy: .*powercap"):
        energy(executor, 32, HostFiles(tmp_path))
    package = tmp_path / "sys/class/powercap/intel-rapl:0"
    package.mkdir(parents=True)
    for name, text in {
        "name": "package-0",
        "energy_uj": "1000",
        "max_energy_range_uj": "9" * 12,
    }.items():
        (package / name).write_text(text)
    counter = energy(executor, 32, HostFiles(tmp_path))

    class Consume(Event):
        """An epoch that takes 5 J."""

        def before_epoch(self, trainer, epoch):
            (package / "energy_uj").write_text(str(5_000_000 * (epoch + 1) + 1000))

    data, sampler = d5.datasets.Digits().load(), d5.ShuffleSampler(512)
    events = [counter, Consume()]
    history = Trainer(
        executor,
        d5.optimizers.SGD(0.1),
        splits=data,
        sampler=sampler,
        epochs=2,
        events=events,
    ).run()
    assert d5.metrics.Energy().value(history) == pytest.approx(10.0)
