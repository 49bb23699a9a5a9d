"""Sizes that others have agreed on, as problems of our operators; a tier says what it leaves out."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ... import registry
from ...errors import Deep500Error, Unsupported
from .jobs import Problem

DATA = Path(__file__).with_name("deepbench.json")
GATES = {"vanilla": ("RNN", 1), "gru": ("GRU", 3), "lstm": ("LSTM", 4)}


@dataclass(frozen=True)
class Tier:
    """Up to which size and how many problems."""

    most_flops: float
    most: int


TIERS = {
    "tiny": Tier(1e8, 12),
    "small": Tier(2e9, 40),
    "full": Tier(float("inf"), 10**6),
}


@dataclass(frozen=True)
class Suite:
    """The problems of one tier, and in words how many of how many they are."""

    problems: list[Problem]
    scope: str


def suite(name: str, tier: str = "tiny") -> Suite:
    """deepbench:gemm, deepbench:conv or deepbench:rnn."""
    family, _, kind = name.partition(":")
    if family != "deepbench" or kind not in {*MAKERS, "all_reduce"}:
        raise Deep500Error(
            f"no suite is named {name!r}; there are: {', '.join(f'deepbench:{k}' for k in MAKERS)}"
        )
    if kind == "all_reduce":
        raise Unsupported(
            "deepbench:all_reduce needs several processes that communicate: it is not for operators"
        )
    if tier not in TIERS:
        raise Deep500Error(f"no tier is named {tier!r}; there are: {', '.join(TIERS)}")
    data = json.loads(DATA.read_text(encoding="utf-8"))
    every = sorted(
        {tuple(row) for rows in data["problems"][kind].values() for row in rows},
        key=lambda row: (FLOPS[kind](row), row),
    )
    limit = TIERS[tier]
    within = [row for row in every if FLOPS[kind](row) <= limit.most_flops]
    chosen = _spread(within, limit.most)
    return Suite(
        [MAKERS[kind](row) for row in chosen], _scope(name, tier, every, within, chosen)
    )


def part(problems: Sequence[Problem], text: str) -> list[Problem]:
    """Part 2/5 is every fifth problem from the second on."""
    which, _, of = text.partition("/")
    if not (which.isdigit() and of.isdigit() and 1 <= int(which) <= int(of)):
        raise Deep500Error(f"--part {text!r} is not of the form 2/5")
    return list(problems[int(which) - 1 :: int(of)])


def _spread(rows: list[tuple], most: int) -> list[tuple]:
    """Evenly over the sizes, the smallest and the largest among them."""
    if len(rows) <= most:
        return rows
    return [rows[round(i * (len(rows) - 1) / (most - 1))] for i in range(most)]


def _scope(
    name: str, tier: str, every: Sequence, within: Sequence, chosen: Sequence
) -> str:
    if len(chosen) == len(every):
        return f"{name}, tier {tier}: all {len(every)} problems, none scaled"
    beyond = len(every) - len(within)
    return (
        f"{name}, tier {tier}: {len(chosen)} of {len(every)} problems, none scaled; left out: the {beyond} beyond "
        f"{TIERS[tier].most_flops:.0e} flop, and {len(within) - len(chosen)} of the {len(within)} others (those "
        f"measured are spread evenly over the sizes)"
    ).replace("e+0", "e")


def _gemm(row: tuple) -> Problem:
    m, n, k, a_t, b_t = row
    shape = f"{k}x{m}," if a_t else f"{m}x{k},"
    shape += f"{n}x{k}" if b_t else f"{k}x{n}"
    turned = {name: 1 for name, turn in (("transA", a_t), ("transB", b_t)) if turn}
    return Problem("Gemm", turned, shape, f"gemm {m}x{n}x{k} {'NT'[a_t]}{'NT'[b_t]}")


def _conv(row: tuple) -> Problem:
    w, h, c, n, k, fw, fh, pad_w, pad_h, stride_w, stride_h = row
    settings = {"pads": (pad_h, pad_w, pad_h, pad_w), "strides": (stride_h, stride_w)}
    return Problem(
        "Conv",
        settings,
        f"{n}x{c}x{h}x{w},{k}x{c}x{fh}x{fw}",
        f"conv {n}x{c}x{h}x{w} {k}x{fh}x{fw} pad {pad_h}x{pad_w} stride {stride_h}x{stride_w}",
    )


def _rnn(row: tuple) -> Problem:
    hidden, batch, steps, cell = row
    operator, gates = GATES[cell]
    registry.find("operators", operator)
    scale = f"{(3 * hidden) ** -0.5:.4f}"  # as PyTorch draws them: with larger ones a long recurrence is chaotic
    weights = f"{scale}*1x{gates * hidden}x{hidden}"
    return Problem(
        operator,
        {"hidden_size": hidden},
        f"{steps}x{batch}x{hidden},{weights},{weights}",
        f"{cell} hidden {hidden} batch {batch} steps {steps}",
    )


def _gemm_flops(row: tuple) -> float:
    return 2.0 * row[0] * row[1] * row[2]


def _conv_flops(row: tuple) -> float:
    w, h, c, n, k, fw, fh, pad_w, pad_h, stride_w, stride_h = row
    return (
        2.0
        * n
        * k
        * c
        * fw
        * fh
        * ((w + 2 * pad_w - fw) // stride_w + 1)
        * ((h + 2 * pad_h - fh) // stride_h + 1)
    )


def _rnn_flops(row: tuple) -> float:
    hidden, batch, steps, cell = row
    return 4.0 * GATES[cell][1] * steps * batch * hidden**2


MAKERS: dict[str, Callable[[tuple], Problem]] = {
    "gemm": _gemm,
    "conv": _conv,
    "rnn": _rnn,
}
FLOPS: dict[str, Callable[[tuple], float]] = {
    "gemm": _gemm_flops,
    "conv": _conv_flops,
    "rnn": _rnn_flops,
}
