"""`d5 bench microbatch`: steps under limits are checked, predicted and measured; planted errors are found."""

from pathlib import Path
from typing import Any

import pytest

import deep500 as d5
from deep500.bench.convolutions import shapes
from deep500.bench.micro_batch_benchmark import MicroBatchBenchmark
from deep500.bench.micro_batches import subject
from deep500.bench.micro_batches.jobs import PYTORCH, MicroBatchJob
from deep500.errors import Wrong
from deep500.micro_batches import running
from deep500.results.micro_batches.numbers import MicroBatchNumbers, StepNumbers
from deep500.results.micro_batches.page import answer
from deep500.results.micro_batches.pictures import pictures

BATCH = 4


@pytest.fixture(autouse=True)
def small_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP500_HOME", str(tmp_path))
    monkeypatch.setitem(shapes.NETWORKS, "digits", ("digits_cnn", {}))
    subject._training.cache_clear()


def benchmark(**settings: Any) -> MicroBatchBenchmark:
    usual = {
        "model": ("digits",),
        "batch": (BATCH,),
        "workspace": ("64KiB", "16KiB"),
        "convolution": ("direct", "im2col"),
        "threads": 1,
    }
    return MicroBatchBenchmark(**{**usual, **settings})


def test_jobs_hold_their_plans() -> None:
    jobs = benchmark().jobs()
    names = [(job.workspace, job.policy) for job in jobs]
    assert names == [
        ("", PYTORCH),
        ("16KiB", "undivided"),
        ("16KiB", "powers of two"),
        ("64KiB", "undivided"),
        ("64KiB", "powers of two"),
    ]
    for job in jobs[1:]:
        assert job.used <= {"16KiB": 16384, "64KiB": 65536}[job.workspace]
        assert [node for node, *_ in job.plans] == ["conv1", "conv2"]
        assert job.predicted > 0
        assert job.again > 0
    assert jobs[2].predicted <= jobs[1].predicted


def test_a_limit_that_is_too_small_is_left_out_with_its_reason() -> None:
    *_, job = benchmark(workspace=("1KiB",)).jobs()
    with pytest.raises(d5.Deep500Error, match="a workspace of 1 KiB is too small"):
        job.subject()


def test_steps_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    job = benchmark(workspace=("16KiB",)).jobs()[-1]
    plans = tuple((node, *["1 im2col"] * 3) for node, *_ in job.plans)
    divided = MicroBatchJob(**{**job.settings, "plans": plans})
    divided.subject().check()

    class LastPart:
        """Keeps the last part of a gradient by the filters, as the published code of µ-cuDNN does."""

        def __init__(self, name: str, examples: int):
            self.own = right(name, examples)
            self.workspace = self.own.workspace

        def run(self, *arguments: Any, accumulate: bool, threads: int) -> None:
            self.own.run(*arguments, accumulate=False, threads=threads)

    right = running.algorithm
    monkeypatch.setattr(running, "algorithm", LastPart)
    with pytest.raises(Wrong, match=r"the gradient of 'conv\d.weight' differs"):
        divided.subject().check()


def step(
    limit: str, policy: str, used: int, seconds: float, **more: Any
) -> StepNumbers:
    usual: dict[str, Any] = dict.fromkeys(
        ("predicted", "again", "step", "low", "high", "to_undivided", "to_pytorch")
    )
    usual |= {"network": "digits", "batch": 4, "n": 9, "on_front": False, "plans": {}}
    return StepNumbers(
        **{
            **usual,
            "limit": limit,
            "policy": policy,
            "used": used,
            "seconds": seconds,
            **more,
        }
    )


@pytest.mark.slow
def test_a_whole_run(tmp_path: Path) -> None:
    """In this process: others would not know the small network."""
    pytest.importorskip("torch")
    monkey = benchmark(model=("resnet18",), batch=(1,), workspace=("1MiB",))
    record = d5.run_benchmark(monkey, budget_s=20, processes=1, out=tmp_path / "bench")
    numbers = record.derived
    assert isinstance(numbers, MicroBatchNumbers)
    plain, undivided, divided = numbers.steps
    assert plain.limit == "any"
    assert undivided.to_undivided is None
    assert divided.to_undivided is not None
    assert undivided.step == pytest.approx(undivided.seconds)


def test_answers_and_pictures() -> None:
    from deep500.results.micro_batches.numbers import StepRatio

    steps = [
        step("1MiB", "undivided", 1, 2.0),
        step("1MiB", "powers of two", 1, 1.0, to_undivided=StepRatio(0.5, 0.4, 0.6)),
        step("8MiB", "undivided", 2, 0.9),
        step("8MiB", "powers of two", 2, 0.9, to_undivided=StepRatio(1.0, 0.9, 1.1)),
    ]
    assert answer(steps) == (
        "at best, micro-batches need 0.500 [0.400, 0.600] of the undivided step's time "
        "(digits, batch 4, within 1MiB)"
    )
    assert answer(steps[2:]).startswith("micro-batches gain nothing")
    [picture] = pictures(steps)
    assert "undivided" in picture.svg


def test_factors_that_make_no_sense_are_refused() -> None:
    mistakes: dict[str, dict[str, Any]] = {
        "Did you mean 'resnet18'": {"model": ("resnet19",)},
        "give an amount of memory": {"workspace": ("much",)},
        "--batch 0": {"batch": (0,)},
        "no policy of micro-batches": {"policy": ("all",)},
        "no convolution is named 'winograd'": {"convolution": ("winograd",)},
    }
    for message, settings in mistakes.items():
        with pytest.raises(d5.Deep500Error, match=message):
            benchmark(**settings)
