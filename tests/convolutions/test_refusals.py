"""What an algorithm cannot compute is refused with the reason, in one line; NaN and infinities reach what is stated."""

from dataclasses import replace

import numpy as np
import pytest

from deep500.contracts.convolution import DIRECTIONS, ConvolutionProblem
from deep500.convolutions.direct import Direct
from deep500.convolutions.fft import Fft
from deep500.convolutions.fft_tiled import FftTiled
from deep500.convolutions.im2col import Im2col
from deep500.convolutions.pointwise import Pointwise
from deep500.convolutions.winograd4 import Winograd4
from deep500.errors import Deep500Error

from .problems import algorithms, arguments, computed

PLAIN = ConvolutionProblem(1, 4, 12, 12, 4, (3, 3))


@pytest.mark.parametrize(
    ("algorithm", "changes", "reason"),
    [
        (Winograd4(), {"kernel": (5, 5)}, "its kernel is 3 x 3, and this one is 5 x 5"),
        (
            Winograd4(),
            {"strides": (2, 1)},
            "its stride and dilation are 1, and this one has stride 2 x 1 and dilation 1 x 1",
        ),
        (Winograd4(), {"dilations": (2, 2)}, "its stride and dilation are 1"),
        (Pointwise(), {}, "its kernel is 1 x 1, and this one is 3 x 3"),
        (Fft(), {"strides": (2, 2)}, "its stride is 1, and this one is 2 x 2"),
        (Fft(), {"height": 600}, "its tiles have at most 512 elements"),
        (
            FftTiled(),
            {"kernel": (70, 1), "height": 80},
            "its tiles have at most 64 elements",
        ),
        (Direct(), {"dtype": "float64"}, "it computes in float32"),
        (Direct(), {"groups": 3}, "no 3 groups of equal size"),
        (Direct(), {"pads": (-1, 0, 0, 0)}, "none may be negative"),
        (Direct(), {"kernel": (13, 3)}, "larger than the padded input"),
        (Direct(), {"strides": (0, 1)}, "from 1 on"),
    ],
)
def test_a_refusal_says_why(algorithm, changes, reason: str) -> None:
    problem = replace(PLAIN, **changes)
    for direction in DIRECTIONS:
        refusal = algorithm.refusal(problem, direction)
        assert refusal is not None
        assert reason in refusal
        assert "\n" not in refusal
        with pytest.raises(Deep500Error, match="cannot compute this convolution"):
            algorithm.workspace(problem, direction)


def test_arrays_and_directions_that_do_not_fit_are_refused() -> None:
    a, b = arguments(PLAIN, "forward")
    out = np.empty(PLAIN.out_shape, np.float32)
    with pytest.raises(Deep500Error, match=r"float32\[4, 4, 3, 3\] is needed"):
        Direct().run(PLAIN, "forward", a, b[:2], out)
    with pytest.raises(Deep500Error, match="contiguous"):
        Direct().run(PLAIN, "forward", a[..., ::-1], b, out)
    with pytest.raises(Deep500Error, match="Known: forward, data, filter"):
        Direct().refusal(PLAIN, "backward")
    with pytest.raises(Deep500Error, match="images of Im2col is 0"):
        Im2col(images=0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_where_it_belongs_unless_it_spreads(
    value: float,
) -> None:
    problem = ConvolutionProblem(2, 20, 12, 13, 18, (3, 3), pads=(1, 1, 1, 1))
    spread = set()
    for direction in DIRECTIONS:
        a, b = arguments(problem, direction)
        right = computed(Direct(), problem, direction, a, b)
        a[0, 3, 0, 0] = value  # at a corner: not every tap meets it
        reached = computed(Direct(), problem, direction, a, b)
        belongs = ~np.isfinite(reached)
        assert belongs.any()
        assert np.all(reached[~belongs] == right[~belongs])
        for algorithm in algorithms():
            if algorithm.refusal(problem, direction):
                continue
            result = computed(algorithm, problem, direction, a, b)
            assert np.all(~np.isfinite(result[belongs])), algorithm
            if not np.all(np.isfinite(result[~belongs])):
                spread.add(algorithm)
    assert spread == {each for each in algorithms() if each.spreads}
