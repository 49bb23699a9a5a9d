"""The tables of a benchmark of micro-batches, and the sentence that comes first."""

from collections.abc import Sequence

from ...costs.units import nbytes
from ...reports.blocks import Block, Bullets, Details, Table
from ...reports.tables import NOTHING, measured, seconds
from ...reports.text import Code, Text, clean
from .numbers import ANY_LIMIT, UNDIVIDED, StepNumbers, StepRatio

Steps = Sequence[StepNumbers]
LEGEND = [
    "Limit: of the workspace of each direction of each convolution; with --one-budget, of all together. Used: the "
    "largest workspace of the plans (with --one-budget, their sum).",
    "Convolutions: the sum of the times by which plans were chosen, and the sum of the same plans measured again. The "
    "first is too small on the average: the plan that happens to look fastest is chosen (winner's curse).",
    "Predicted step: the undivided step under the largest limit, plus the difference of the convolutions' times. "
    "Front: no other limit or policy is faster with no more workspace.",
    "PyTorch's own convolutions have no limit, and do not tell what they use.",
]


def title(steps: Steps) -> str:
    return " · ".join(dict.fromkeys(clean(step.network) for step in steps))


def answer(steps: Steps) -> str:
    """What dividing gains at the smallest limit at which something is gained most, in one line."""
    ratios = []
    for step in steps:
        if step.to_undivided and step.limit != ANY_LIMIT:
            ratios.append((step.to_undivided.value, step))
    if not ratios:
        return f"training steps under {len(steps)} limits and policies"
    value, best = min(ratios, key=lambda pair: pair[0])
    at = f"{clean(best.network)}, batch {best.batch:g}, within {clean(best.limit)}"
    if value >= 1:
        return f"micro-batches gain nothing: at best the step takes {value:.3f} of the undivided one ({at})"
    ratio = _ratio(best.to_undivided)
    return f"at best, micro-batches need {ratio} of the undivided step's time ({at})"


def step_table(steps: Steps) -> Table:
    headers = [
        "network",
        "batch",
        "limit",
        "policy",
        "used",
        "convolutions, predicted",
        "again",
        "step, predicted",
        "step, measured [interval], n",
        "to undivided",
        "to PyTorch",
        "front",
    ]
    rows: list[list[Text]] = []
    for step in steps:
        rows.append(
            [
                clean(step.network),
                f"{step.batch:g}",
                clean(step.limit),
                clean(step.policy),
                NOTHING if step.used is None else nbytes(step.used),
                seconds(step.predicted),
                seconds(step.again),
                seconds(step.step),
                measured(step.seconds, step.low, step.high, step.n),
                _ratio(step.to_undivided),
                _ratio(step.to_pytorch),
                "yes" if step.on_front else "",
            ]
        )
    return Table(headers, rows, "lrllrrrrrrrl")


def legend() -> Bullets:
    return Bullets(LEGEND)


def choices(steps: Steps) -> list[Block]:
    """Which layer chose what, one table for each step with a limit."""
    blocks: list[Block] = []
    for step in steps:
        if not step.plans:
            continue
        rows: list[list[Text]] = []
        for node, texts in step.plans.items():
            rows.append([Code(clean(node)), *(clean(text) for text in texts)])
        summary = (
            f"{clean(step.network)}, batch {step.batch:g}, within {clean(step.limit)}, "
            f"{clean(step.policy)}"
        )
        table = Table(["layer", "forward", "data", "filter"], rows, "llll")
        blocks.append(Details(summary, [table], long=step.policy == UNDIVIDED))
    return blocks


def _ratio(ratio: StepRatio | None) -> str:
    if ratio is None:
        return NOTHING
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.3f}"
    return f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
