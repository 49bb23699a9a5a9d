"""Problem sizes of published benchmarks, for our operators; a tier limits them and says what it leaves out."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ... import registry
from ...errors import Deep500Error, Unsupported
from .jobs import BenchProblem

DATA = Path(__file__).with_name("deepbench.json")
GATES = {"vanilla": ("RNN", 1), "gru": ("GRU", 3), "lstm": ("LSTM", 4)}


@dataclass(frozen=True)
class SuiteTier:
    """Limits on the size and the number of problems."""

    most_flops: float
    most: int


TIERS = {
    "tiny": SuiteTier(1e8, 12),
    "small": SuiteTier(2e9, 40),
    "full": SuiteTier(float("inf"), 10**6),
}


@dataclass(frozen=True)
class Suite:
    """The problems of one tier, and in words how many of how many they are."""

    problems: list[BenchProblem]
    scope: str


def suite(name: str, tier: str = "tiny") -> Suite:
    """The problems of deepbench:gemm, deepbench:conv or deepbench:rnn; raises a Deep500Error for any other name."""
    family, _, kind = name.partition(":")
    if family != "deepbench" or kind not in {*MAKERS, "all_reduce"}:
        names = ", ".join(f"deepbench:{k}" for k in MAKERS)
        raise Deep500Error(f"no suite is named {name!r}; there are: {names}")
    if kind == "all_reduce":
        raise Unsupported(
            "deepbench:all_reduce needs several processes that communicate: it is not for operators"
        )
    if tier not in TIERS:
        raise Deep500Error(f"no tier is named {tier!r}; there are: {', '.join(TIERS)}")
    limit = TIERS[tier]
    flops = FLOPS[kind]
    every = _rows(kind)
    within = [row for row in every if flops(row) <= limit.most_flops]
    chosen = _spread(within, limit.most)
    problems = [MAKERS[kind](row) for row in chosen]
    counts = len(every), len(within), len(chosen)
    return Suite(problems, _scope(name, tier, *counts))


def _rows(kind: str) -> list[tuple]:
    """The distinct problems of one kind, as rows of numbers by increasing size."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    distinct = set()
    for rows in data["problems"][kind].values():
        distinct |= {tuple(row) for row in rows}
    flops = FLOPS[kind]
    return sorted(distinct, key=lambda row: (flops(row), row))


def part(problems: Sequence[BenchProblem], text: str) -> list[BenchProblem]:
    """Part 2/5 is every fifth problem from the second on."""
    which, _, of = text.partition("/")
    if not (which.isdigit() and of.isdigit() and 1 <= int(which) <= int(of)):
        raise Deep500Error(f"--part {text!r} is not of the form 2/5")
    first = int(which) - 1
    return list(problems[first :: int(of)])


def _spread(rows: list[tuple], most: int) -> list[tuple]:
    """At most so many rows, spread evenly over the sizes, the smallest and the largest among them."""
    if len(rows) <= most:
        return rows
    last = len(rows) - 1
    spread = []
    for i in range(most):
        index = round(i * last / (most - 1))
        spread.append(rows[index])
    return spread


def _scope(name: str, tier: str, every: int, within: int, chosen: int) -> str:
    """How many problems were chosen of how many, and why the others were left out."""
    if chosen == every:
        return f"{name}, tier {tier}: all {every} problems, none scaled"
    beyond = every - within
    skipped = within - chosen
    most_flops = TIERS[tier].most_flops
    return (
        f"{name}, tier {tier}: {chosen} of {every} problems, none scaled; left out: the {beyond} beyond "
        f"{most_flops:.0e} flop, and {skipped} of the {within} others (those "
        f"measured are spread evenly over the sizes)"
    ).replace("e+0", "e")


def _gemm(row: tuple) -> BenchProblem:
    m, n, k, transposes_a, transposes_b = row
    a = f"{m}x{k}"
    b = f"{k}x{n}"
    letter_a = letter_b = "N"
    attributes = {}
    if transposes_a:
        a = f"{k}x{m}"
        letter_a = "T"
        attributes["transA"] = 1
    if transposes_b:
        b = f"{n}x{k}"
        letter_b = "T"
        attributes["transB"] = 1
    name = f"gemm {m}x{n}x{k} {letter_a}{letter_b}"
    return BenchProblem("Gemm", attributes, f"{a},{b}", name)


def _conv(row: tuple) -> BenchProblem:
    w, h, c, n, k, fw, fh, pad_w, pad_h, stride_w, stride_h = row
    settings = {
        "pads": (pad_h, pad_w, pad_h, pad_w),
        "strides": (stride_h, stride_w),
    }
    images = f"{n}x{c}x{h}x{w}"
    filters = f"{k}x{c}x{fh}x{fw}"
    padding = f"pad {pad_h}x{pad_w} stride {stride_h}x{stride_w}"
    name = f"conv {images} {k}x{fh}x{fw} {padding}"
    return BenchProblem("Conv", settings, f"{images},{filters}", name)


def _rnn(row: tuple) -> BenchProblem:
    hidden, batch, steps, cell = row
    operator, gates = GATES[cell]
    registry.find("operators", operator)
    # As PyTorch draws the weights: with larger ones a long recurrence is chaotic.
    scale = (3 * hidden) ** -0.5
    rows = gates * hidden
    weights = f"{scale:.4f}*1x{rows}x{hidden}"
    shape = f"{steps}x{batch}x{hidden},{weights},{weights}"
    name = f"{cell} hidden {hidden} batch {batch} steps {steps}"
    return BenchProblem(operator, {"hidden_size": hidden}, shape, name)


def _gemm_flops(row: tuple) -> float:
    return 2.0 * row[0] * row[1] * row[2]


def _conv_flops(row: tuple) -> float:
    w, h, c, n, k, fw, fh, pad_w, pad_h, stride_w, stride_h = row
    out_w = (w + 2 * pad_w - fw) // stride_w + 1
    out_h = (h + 2 * pad_h - fh) // stride_h + 1
    return 2.0 * n * k * c * fw * fh * out_w * out_h


def _rnn_flops(row: tuple) -> float:
    hidden, batch, steps, cell = row
    _, gates = GATES[cell]
    return 4.0 * gates * steps * batch * hidden**2


MAKERS: dict[str, Callable[[tuple], BenchProblem]] = {
    "gemm": _gemm,
    "conv": _conv,
    "rnn": _rnn,
}
FLOPS: dict[str, Callable[[tuple], float]] = {
    "gemm": _gemm_flops,
    "conv": _conv_flops,
    "rnn": _rnn_flops,
}
