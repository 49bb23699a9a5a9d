"""Convolutions as short texts: 8x64x56x56,128x3x3,pad=1,stride=2 has 8 images of 64 channels and 128 filters of 3x3."""

import re

from ..errors import Deep500Error, unknown
from .convolution import ConvolutionProblem

OPTIONS = ("pad", "stride", "dilation", "groups", "dtype")
FORM = (
    "NxCxHxW,KxRxS, and pad=1, stride=2, dilation=1, groups=1 or dtype=float64 behind them, as in "
    "8x64x56x56,64x3x3,pad=1"
)


def problem_text(problem: ConvolutionProblem) -> str:
    """The text of a convolution, without what is usual."""
    parts = [_sizes(problem.input_shape), _sizes((problem.filters, *problem.kernel))]
    options = {
        "pad": (problem.pads, (0, 0, 0, 0)),
        "stride": (problem.strides, (1, 1)),
        "dilation": (problem.dilations, (1, 1)),
        "groups": ((problem.groups,), (1,)),
    }
    for name, (sizes, usual) in options.items():
        if sizes != usual:
            short = sizes[:1] if len({*sizes}) == 1 else sizes
            parts.append(f"{name}={_sizes(short)}")
    if problem.dtype != "float32":
        parts.append(f"dtype={problem.dtype}")
    return ",".join(parts)


def problem_of(text: str) -> ConvolutionProblem:
    """The convolution of a text; raises a Deep500Error that shows the form if it is none."""
    images, filters, *rest = [*text.replace(" ", "").split(","), ""]
    batch, channels, height, width = _numbers(text, images, 4)
    count, *kernel = _numbers(text, filters, 3)
    options = {}
    for option in rest[:-1]:
        name, _, value = option.partition("=")
        if name not in OPTIONS:
            raise unknown(f"option of a convolution such as {text!r}", name, OPTIONS)
        options[name] = value
    pads = _axes(text, options.get("pad", "0"), 4, least=0)
    problem = ConvolutionProblem(
        batch,
        channels,
        height,
        width,
        count,
        (kernel[0], kernel[1]),
        _pair(_axes(text, options.get("stride", "1"), 2)),
        (pads[0], pads[1], pads[2], pads[3]),
        _pair(_axes(text, options.get("dilation", "1"), 2)),
        _axes(text, options.get("groups", "1"), 1)[0],
        options.get("dtype", "float32"),
    )
    _check(text, problem)
    return problem


def _check(text: str, problem: ConvolutionProblem) -> None:
    groups = problem.groups
    if problem.channels % groups or problem.filters % groups:
        raise Deep500Error(
            f"{text!r}: {problem.channels} channels and {problem.filters} filters do not fall into {groups} groups"
        )
    if 0 in problem.out_shape:
        raise Deep500Error(f"{text!r}: the kernel is larger than the padded input")
    if problem.dtype not in ("float32", "float64"):
        raise Deep500Error(
            f"{text!r}: the dtype is {problem.dtype}; there are float32 and float64"
        )


def _axes(text: str, value: str, count: int, least: int = 1) -> list[int]:
    """A number for every axis: the same for all, one for each of two (of pads: before and after alike), or all."""
    numbers = _numbers(text, value, None, least)
    if len(numbers) == 1:
        return numbers * count
    if len(numbers) == 2 and count == 4:
        return numbers * 2
    if len(numbers) != count:
        raise _malformed(text)
    return numbers


def _pair(numbers: list[int]) -> tuple[int, int]:
    return numbers[0], numbers[1]


def _numbers(text: str, part: str, count: int | None, least: int = 1) -> list[int]:
    if not re.fullmatch(r"\d{1,9}(x\d{1,9})*", part):
        raise _malformed(text)
    numbers = [int(number) for number in part.split("x")]
    if min(numbers) < least or (count is not None and len(numbers) != count):
        raise _malformed(text)
    return numbers


def _malformed(text: str) -> Deep500Error:
    return Deep500Error(f"{text!r} is no convolution: write {FORM}")


def _sizes(numbers: tuple[int, ...]) -> str:
    return "x".join(map(str, numbers))
