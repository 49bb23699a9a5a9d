"""`d5 bench convolution`: sampled truths are exact, wrong results are found, ratios are to PyTorch's best layout."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deep500 as d5
from deep500.bench.convolution_benchmark import ConvolutionBenchmark
from deep500.bench.convolutions import candidates, jobs
from deep500.bench.convolutions.jobs import ConvolutionJob
from deep500.bench.convolutions.shapes import NETWORKS, problems_of
from deep500.bench.convolutions.truth import sampled_truth
from deep500.contracts.convolution import DIRECTIONS
from deep500.contracts.convolution_text import problem_of, problem_text
from deep500.errors import Wrong
from deep500.micro_batches.running import algorithm
from deep500.results.convolutions.numbers import ConvolutionNumbers

SHAPE = "2x4x9x8,6x3x2,pad=1x0x2x1,stride=2x1,dilation=1x2,groups=2"
SMALL = "2x3x8x8,4x3x3,pad=1"


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_sampled_truth_is_the_formula(direction: str) -> None:
    problem = problem_of(SHAPE)
    top, left, bottom, right = problem.pads
    conv = d5.operators.Conv(
        pads=(top, left, bottom, right),
        strides=problem.strides,
        dilations=problem.dilations,
        group=problem.groups,
    )
    random = np.random.default_rng(0)
    x, w = (
        random.standard_normal(shape)
        for shape in (problem.input_shape, problem.filter_shape)
    )
    [y] = d5.evaluate(conv, [x, w])
    dy = random.standard_normal(y.shape)
    dx, dw = d5.gradient(conv, [x, w], grads=[dy])
    a, b, expected = {
        "forward": (x, w, y),
        "data": (dy, w, dx),
        "filter": (x, dy, dw),
    }[direction]
    assert expected.shape == problem.shapes(direction)[2]
    places, values, sizes = sampled_truth(problem, direction, a, b, seed=3)
    np.testing.assert_allclose(values, expected[places], 1e-12, 1e-12)
    assert (sizes >= np.abs(values)).all()


def job(candidate: str, direction: str, shape: str = SMALL) -> ConvolutionJob:
    return ConvolutionJob(shape, direction, candidate, 1)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(
    "candidate", ["direct", candidates.TORCH, candidates.CHANNELS_LAST]
)
def test_candidates_are_right(candidate: str, direction: str) -> None:
    for shape in (SMALL, "2x4x9x8,6x3x2,pad=1x0,stride=2x1,dilation=1x2,groups=2"):
        subject = job(candidate, direction, shape).subject()
        subject.check()
        assert subject.facts()["error"] < 1e-5


class Halved:
    """An algorithm that leaves the second half of the channels out."""

    def __init__(self, name: str, examples: int):
        self.own = algorithm(name, examples)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)

    def run(
        self, problem: Any, direction: str, a: Any, *rest: Any, **options: Any
    ) -> None:
        half = a.copy()
        half[:, a.shape[1] // 2 :] = 0
        self.own.run(problem, direction, half, *rest, **options)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_wrong_algorithm_is_found(
    direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "algorithm", Halved)
    with pytest.raises(Wrong, match="direct gives a wrong"):
        job("direct", direction).subject().check()


def test_numbers_and_report(tmp_path: Path) -> None:
    benchmark = ConvolutionBenchmark(
        shape=(SMALL,), convolution=("direct", "im2col"), threads=1
    )
    record = d5.run_benchmark(
        benchmark, budget_s=2, processes=1, out=tmp_path / "bench", seed=1
    )
    numbers = record.derived
    assert isinstance(numbers, ConvolutionNumbers)
    assert len(numbers.cells) == len(DIRECTIONS) * (2 + 3)
    problem = problem_of(SMALL)
    for direction in DIRECTIONS:
        own = [c for c in numbers.cells if c.direction == direction]
        native = [c for c in own if c.native]
        [best] = [c for c in native if c.ratio is None]
        assert best.seconds == min(c.seconds for c in native)
        for cell in own:
            if cell is best:
                continue
            assert cell.rival is not None
            assert best.candidate in cell.rival
            assert cell.ratio is not None
            if cell.direct_rate is not None:
                assert cell.direct_rate * cell.seconds == pytest.approx(
                    problem.direct_operations
                )
        [direct] = [c for c in own if c.candidate == "direct"]
        assert direct.workspace == algorithm("direct").workspace(problem, direction)
    for_all = d5.report(tmp_path / "bench", "html") if hasattr(d5, "report") else ""
    assert isinstance(for_all, str)


@pytest.mark.parametrize("name", [*NETWORKS, "deepbench:tiny"])
def test_shapes_by_name(name: str) -> None:
    if name in ("vgg16", "alexnet"):
        pytest.skip("their dense layers take seconds to draw")
    problems = problems_of(name, 2)
    texts = [problem_text(problem) for problem in problems]
    assert len(texts) == len(set(texts)) > 1
    assert all(problem.batch == 2 for problem in problems)


def test_the_convolutions_of_resnet18() -> None:
    texts = [problem_text(problem) for problem in problems_of("resnet18", 8)]
    assert texts[0] == "8x3x224x224,64x7x7,pad=3,stride=2"
    assert "8x64x56x56,64x3x3,pad=1" in texts
    assert len(texts) == 11


def test_factors_that_make_no_sense_are_refused() -> None:
    mistakes: dict[str, dict[str, Any]] = {
        "no convolution is named 'winograd'": {"convolution": ("winograd",)},
        "no direction is named 'backward'": {"direction": ("backward",)},
        "no layout is named 'blocked'": {"layout": ("blocked",)},
        "--shape names": {"shape": (SMALL, SMALL)},
        "--batch -1": {"batch": -1},
        "threads is -1": {"threads": -1},
    }
    for message, settings in mistakes.items():
        with pytest.raises(d5.Deep500Error, match=message):
            ConvolutionBenchmark(**settings)
    for shape, message in {
        "resnet19": "Did you mean 'resnet18'",
        "1x2": "is no convolution",
        "deepbench:huge": "no tier is named",
    }.items():
        with pytest.raises(d5.Deep500Error, match=message):
            ConvolutionBenchmark(shape=(shape,)).jobs()


def test_rivals_share_their_inputs() -> None:
    first, second = (
        jobs.ConvolutionSubject(job(name, "forward")) for name in ("direct", "im2col")
    )
    assert first.a is second.a
    assert jobs._truth.cache_info().currsize <= 64
